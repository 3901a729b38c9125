package clients

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// agentClient is a coding agent that runs without a terminal.
type agentClient struct {
	name, version string
	window        int           // of the model
	patience      time.Duration // bounds a whole run
	tools         func(folder string) agentTools
	// command makes the call that gives it the task, with home as its own folder and
	// its compaction switched off by its documented setting.
	command func(ctx context.Context, t *testing.T, home, baseURL string) *exec.Cmd
	// history is all that it keeps of the conversation.
	history func(t *testing.T, home string) string
}

// agentRun is what is left of a run.
type agentRun struct {
	folder, home string
	out          string
	err          error
	script       *agentScript
}

func (a agentClient) run(t *testing.T, m *model, baseURL string) agentRun {
	t.Helper()
	r := agentRun{folder: t.TempDir(), home: t.TempDir(), script: m.agent}
	m.agent.tools = a.tools(r.folder)
	writeTask(t, r.folder)
	ctx, cancel := context.WithTimeout(t.Context(), a.patience)
	defer cancel()
	c := a.command(ctx, t, r.home, baseURL)
	c.Dir = r.folder
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	r.err = c.Run()
	r.out = out.String()
	return r
}

// test gives the task to the agent without the gateway, where it dies at the
// window, and with it.
func (a agentClient) test(t *testing.T) {
	t.Parallel()
	bare := newModel(t)
	bare.window, bare.agent = a.window, &agentScript{}
	direct := a.run(t, bare, bare.url+"/v1")
	calls, lost := direct.script.told()
	done := finished(t, direct.folder)
	if len(lost) > 0 || done == 0 || done == taskFiles || strings.Contains(direct.out, taskDone) {
		t.Fatalf("direct: %d files done after %d calls, lost %q, %v:\n%s", done, calls, lost, direct.err, tail(direct.out))
	}
	if !strings.Contains(direct.out, "maximum context length") {
		t.Fatalf("direct: it ended otherwise than at the window, %v:\n%s", direct.err, tail(direct.out))
	}
	matrix.note("%s direct: %d of %d files done when it died at the window, after %d calls", a.name, done, taskFiles, calls)

	behind := newModel(t)
	behind.window, behind.agent = a.window, &agentScript{}
	g := startGateway(t, behind)
	front := record(t, g.data)
	behind.agent.got = front.forwarded
	through := a.run(t, behind, front.url+"/v1")
	calls, lost = through.script.told()
	if through.err != nil || len(lost) > 0 || calls != taskCalls || !strings.Contains(through.out, taskDone) {
		t.Fatalf("through the gateway: %d calls of %d, lost %q, %v:\n%s", calls, taskCalls, lost, through.err, tail(through.out))
	}
	if done := finished(t, through.folder); done != taskFiles {
		t.Errorf("through the gateway: %d files of %d are done", done, taskFiles)
	}
	v := front.judge(a.window)
	for _, breach := range v.bad {
		t.Error(breach)
	}
	if len(v.handoff) < 2 {
		t.Errorf("%d folds: the conversation was to outgrow its window more than once", len(v.handoff))
	}
	a.ownState(t, front, through)
	g.holdsNothing(t)
	matrix.note("%s through the gateway: %d of %d files, %d calls, %d folds; %d of %d requests were forwarded folded",
		a.name, taskFiles, taskFiles, calls, len(v.handoff), v.folded, len(front.pairs))
	matrix.add(row{client: a.name, version: a.version, name: "long task", direct: "dies at the window, the task unfinished",
		gateway: fmt.Sprintf("finishes: %d of %d files, %d tool calls", taskFiles, taskFiles, calls)})
}

// ownState: the agent knows nothing of the folds. What it keeps is the whole
// conversation, and each of its requests is the one before with something added.
func (a agentClient) ownState(t *testing.T, front *recorder, r agentRun) {
	t.Helper()
	history := a.history(t, r.home)
	if strings.Contains(history, handoffBegin[1:len(handoffBegin)-1]) {
		t.Error("a handoff stands in the agent's own history")
	}
	for round := range taskRounds {
		if !strings.Contains(history, fmt.Sprintf("call_r%d_0", round)) {
			t.Errorf("call %d is not in the agent's own history", round)
		}
	}
	for i := range taskFiles {
		if !strings.Contains(history, fmt.Sprintf("pending: %d", taskNumber(i))) {
			t.Errorf("what %s held is not in the agent's own history", taskFile(i))
		}
	}
	var before []chatMessage
	for i, p := range front.pairs {
		now, _, err := messagesOf(p.original)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(p.original, []byte(`"tools":[`)) {
			continue // a side request
		}
		for k := range before {
			if k >= len(now) || !bytes.Equal(before[k].raw, now[k].raw) {
				t.Errorf("request %d changes message %d of the one before", i, k)
				break
			}
		}
		before = now
	}
}

func tail(s string) string { return s[max(0, len(s)-3000):] }

func TestPi(t *testing.T) {
	needInstalled(t)
	const name = "@earendil-works/pi-coding-agent"
	agentClient{
		name: "pi", version: versionOf(t, name), window: 16_000, patience: 4 * time.Minute,
		tools: func(string) agentTools { return piTools },
		command: func(ctx context.Context, t *testing.T, home, baseURL string) *exec.Cmd {
			writeJSON(t, filepath.Join(home, "models.json"), map[string]any{"providers": map[string]any{"tested": map[string]any{
				"baseUrl": baseURL, "api": "openai-completions", "apiKey": apiKey,
				"models": []any{map[string]any{"id": smallModel, "contextWindow": 1_000_000, "maxTokens": 2048}},
			}}})
			writeJSON(t, filepath.Join(home, "settings.json"), map[string]any{"compaction": map[string]any{"enabled": false}, "retry": map[string]any{"enabled": false}})
			c := exec.CommandContext(ctx, nodeProgram(t), filepath.Join(installed, "node_modules", filepath.FromSlash(name), "dist", "bundle", "cli.js"),
				"--print", "--provider", "tested", "--model", smallModel, "--session-dir", filepath.Join(home, "sessions"),
				"--no-extensions", "--no-skills", "--no-context-files", taskText)
			c.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "PI_CODING_AGENT_DIR=" + home, "PI_OFFLINE=1", "PI_TELEMETRY=0", "PI_SKIP_VERSION_CHECK=1"}
			return c
		},
		history: func(t *testing.T, home string) string {
			names, err := filepath.Glob(filepath.Join(home, "sessions", "*.jsonl"))
			if err != nil || len(names) != 1 {
				names, err = filepath.Glob(filepath.Join(home, "sessions", "*", "*.jsonl"))
			}
			if err != nil || len(names) != 1 {
				t.Fatalf("%d histories: %v", len(names), err)
			}
			raw, err := os.ReadFile(names[0])
			if err != nil {
				t.Fatal(err)
			}
			return string(raw)
		},
	}.test(t)
}

func writeJSON(t *testing.T, name string, v any) {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, raw, 0o600); err != nil {
		t.Fatal(err)
	}
}
