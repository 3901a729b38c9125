package clients

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A coding agent's task: in each of so many files one line says what is pending,
// with a number that only the file tells, and is to say that it is done, with the
// next number. Files are worked on in pairs: read both at once, edit both at once,
// check both in a shell.
const (
	taskFiles  = 28
	taskRounds = taskFiles / 2 * 3
	taskCalls  = taskFiles/2*4 + taskFiles/2
	taskText   = "Every file notes-NN.txt here has one line that begins with 'pending:'. Make it say 'done:' with the next number. Work on two files at a time, and check each pair."
	taskDone   = "All files are done."
)

func taskFile(i int) string { return fmt.Sprintf("notes-%02d.txt", i) }

// taskNumber is what stands in a file, and no more than there.
func taskNumber(i int) int { return 4000 + i*i*37%997 }

// writeTask makes the files: each some 1,300 tokens, with its line in the middle.
func writeTask(t *testing.T, folder string) {
	t.Helper()
	for i := range taskFiles {
		var b strings.Builder
		for line := range 70 {
			if line == 35 {
				fmt.Fprintf(&b, "pending: %d\n", taskNumber(i))
			}
			fmt.Fprintf(&b, "Note %d of file %d: harbour %s has %d berths and %s.\n", line, i, pick(i, line, 0), 3+(i*line)%17, pick(i, line, 1))
		}
		if err := os.WriteFile(filepath.Join(folder, taskFile(i)), []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

var taskWords = strings.Fields("alpha bravo charlie delta echo foxtrot golf hotel india juliet kilo lima mike november oscar papa quebec")

func pick(a, b, c int) string { return taskWords[(a*31+b*17+c*7)%len(taskWords)] }

// finished counts the files whose line is as the task wants it.
func finished(t *testing.T, folder string) int {
	t.Helper()
	n := 0
	for i := range taskFiles {
		raw, err := os.ReadFile(filepath.Join(folder, taskFile(i)))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(raw), fmt.Sprintf("\ndone: %d\n", taskNumber(i)+1)) && !strings.Contains(string(raw), "pending:") {
			n++
		}
	}
	return n
}

// agentTools are the names and shapes of an agent's tools.
type agentTools struct {
	read func(file string) call
	edit func(file, before, after string) call
	bash func(command string) call
}

// agentScript plays the model of the task. It knows nothing but what the request
// holds: the round by the ids of the last results, the numbers from their text.
type agentScript struct {
	tools agentTools
	// got is told of every request that is no summary's, with its answer to come.
	got func(body []byte)

	mu    sync.Mutex
	calls int
	lost  []string // what the script could not make sense of
}

var (
	pendingLine = regexp.MustCompile(`pending: (\d+)`)
	roundID     = regexp.MustCompile(`^call_r(\d+)_(\d)$`)
)

func (a *agentScript) answer(w http.ResponseWriter, req chatRequest, body []byte) {
	if a.got != nil {
		a.got(body)
	}
	if len(req.Tools) == 0 {
		reply(w, req, message{Content: "Notes"}, "stop") // a side request, such as one for a title
		return
	}
	round, results := -1, map[string]string{}
	for i := len(req.Messages) - 1; i >= 0 && req.Messages[i].Role == "tool"; i-- {
		id := roundID.FindStringSubmatch(req.Messages[i].ToolCallID)
		if id == nil {
			a.fail(w, "a result of an unknown call "+req.Messages[i].ToolCallID)
			return
		}
		_, _ = fmt.Sscan(id[1], &round)
		results[id[2]] = textOf(req.Messages[i].Content)
	}
	calls, problem := a.next(round, results)
	if problem != "" {
		a.fail(w, problem)
		return
	}
	a.mu.Lock()
	a.calls += len(calls)
	a.mu.Unlock()
	if len(calls) == 0 {
		reply(w, req, message{Content: taskDone}, "stop")
		return
	}
	reply(w, req, message{Content: fmt.Sprintf("Round %d of the harbour notes.", round+1), Calls: calls}, "tool_calls")
}

// next is what the model calls after a round with these results.
func (a *agentScript) next(round int, results map[string]string) ([]call, string) {
	next := round + 1
	if next == taskRounds {
		return nil, ""
	}
	first := next / 3 * 2
	pair := []int{first, first + 1}
	var calls []call
	switch next % 3 {
	case 0:
		if round >= 0 && strings.Count(results["0"], "done: ") != 2 {
			return nil, fmt.Sprintf("round %d: the check says %q", round, results["0"])
		}
		for _, i := range pair {
			calls = append(calls, a.tools.read(taskFile(i)))
		}
	case 1:
		for k, i := range pair {
			m := pendingLine.FindStringSubmatch(results[fmt.Sprint(k)])
			if m == nil {
				return nil, fmt.Sprintf("round %d: %s was not read: %q", round, taskFile(i), results[fmt.Sprint(k)])
			}
			var number int
			_, _ = fmt.Sscan(m[1], &number)
			calls = append(calls, a.tools.edit(taskFile(i), m[0], fmt.Sprintf("done: %d", number+1)))
		}
	case 2:
		calls = append(calls, a.tools.bash("grep -h done: "+taskFile(pair[0])+" "+taskFile(pair[1])))
	}
	for k := range calls {
		calls[k].ID = fmt.Sprintf("call_r%d_%d", next, k)
	}
	return calls, ""
}

func (a *agentScript) fail(w http.ResponseWriter, problem string) {
	a.mu.Lock()
	a.lost = append(a.lost, problem)
	a.mu.Unlock()
	refuse(w, 400, "The script is lost: "+problem, "invalid_request_error", "", "")
}

func (a *agentScript) told() (calls int, lost []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.calls, slices.Clone(a.lost)
}

func arguments(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// The tools of pi and of opencode.
var (
	piTools = agentTools{
		read: func(file string) call { return call{Name: "read", Arguments: arguments(map[string]any{"path": file})} },
		edit: func(file, before, after string) call {
			return call{Name: "edit", Arguments: arguments(map[string]any{"path": file, "edits": []any{map[string]any{"oldText": before, "newText": after}}})}
		},
		bash: func(command string) call {
			return call{Name: "bash", Arguments: arguments(map[string]any{"command": command})}
		},
	}
	// opencode names files by their whole path, so the folder comes first.
	opencodeTools = func(folder string) agentTools {
		return agentTools{
			read: func(file string) call {
				return call{Name: "read", Arguments: arguments(map[string]any{"filePath": filepath.Join(folder, file)})}
			},
			edit: func(file, before, after string) call {
				return call{Name: "edit", Arguments: arguments(map[string]any{"filePath": filepath.Join(folder, file), "oldString": before, "newString": after})}
			},
			bash: func(command string) call {
				return call{Name: "bash", Arguments: arguments(map[string]any{"command": command, "description": "Checks two files"})}
			},
		}
	}
)
