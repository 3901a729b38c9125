package clients

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// outcome is what a client's script says of one case.
type outcome struct {
	Case string `json:"case"`
	OK   bool   `json:"ok"`
	// Said is the outcome in a few words, for the matrix.
	Said string `json:"said"`
	// Seen is all that the script saw; it has to be the same both times.
	Seen any `json:"seen"`
	// Header are the response's fields where the client shows them.
	Header map[string]string `json:"header"`
	Wrong  string            `json:"wrong"`
}

// client is one of the clients under test.
type client struct {
	name, version string
	// drive runs all cases against a base URL.
	drive func(t *testing.T, baseURL string) []outcome
	// leaves is how many requests it breaks off.
	leaves int
}

// mayDiffer are the cases in which the gateway is meant to make a difference,
// with how the outcome through it begins.
var mayDiffer = map[string]string{
	"fold":         "answer",
	"fold-stream":  "answer",
	"fold-unknown": "answer",
	"unfit":        "", // the same error, worded by whoever found it
	"unfit-far":    "",
	"error-reset":  "", // a connection that breaks is 502 upstream_unreachable; see unreachable
}

// test drives a client twice and compares.
func (c client) test(t *testing.T) {
	t.Parallel()
	direct := newModel(t)
	one := c.drive(t, direct.url+"/v1")
	direct.awaitHangups(t, c.leaves)

	behind := newModel(t)
	g := startGateway(t, behind)
	two := c.drive(t, g.data+"/v1")
	behind.awaitHangups(t, c.leaves)
	g.holdsNothing(t)

	if len(one) == 0 || len(one) != len(two) {
		t.Fatalf("%d cases direct, %d through the gateway", len(one), len(two))
	}
	for i, o := range one {
		t.Run(o.Case, func(t *testing.T) {
			matrix.add(row{client: c.name, version: c.version, name: o.Case, direct: o.verdict(), gateway: two[i].verdict()})
			compareOutcomes(t, o, two[i])
		})
	}
	t.Run("requests", func(t *testing.T) { compareRequests(t, direct.requests(), behind.requests()) })
}

func (o outcome) verdict() string {
	if !o.OK {
		return "FAILED"
	}
	return o.Said
}

func compareOutcomes(t *testing.T, direct, through outcome) {
	if !direct.OK {
		t.Errorf("direct: %s", direct.Wrong)
	}
	if !through.OK {
		t.Errorf("through the gateway: %s", through.Wrong)
	}
	if direct.Case != through.Case {
		t.Fatalf("direct it is %s, through the gateway %s", direct.Case, through.Case)
	}
	begins, differs := mayDiffer[direct.Case]
	switch {
	case !differs:
		if diff := cmp.Diff(direct.Said, through.Said); diff != "" {
			t.Errorf("outcome (-direct +gateway):\n%s", diff)
		}
		if diff := cmp.Diff(direct.Seen, through.Seen); diff != "" {
			t.Errorf("seen (-direct +gateway):\n%s", diff)
		}
		if diff := cmp.Diff(upstreamsOwn(direct.Header), upstreamsOwn(through.Header)); diff != "" {
			t.Errorf("header of the answer (-direct +gateway):\n%s", diff)
		}
		if through.Header != nil && through.Header["foldgate-fold"] == "" {
			t.Errorf("the answer through the gateway has no Foldgate-Fold: %v", through.Header)
		}
	case strings.HasPrefix(direct.Case, "unfit"):
		if diff := cmp.Diff(direct.Said, through.Said); diff != "" {
			t.Errorf("outcome (-direct +gateway):\n%s", diff)
		}
	case direct.Case == "error-reset" && (unreachable(direct.Said) || !unreachable(through.Said)):
		t.Errorf("direct %q, through the gateway %q", direct.Said, through.Said)
	case begins != "" && (strings.HasPrefix(direct.Said, begins) || !strings.HasPrefix(through.Said, begins)):
		t.Errorf("direct %q, through the gateway %q", direct.Said, through.Said)
	}
}

// unreachable tells a client's word for the gateway's 502: some tell the status,
// some the code.
func unreachable(said string) bool {
	return strings.Contains(said, "502") || strings.Contains(said, "upstream_unreachable")
}

// upstreamsOwn is a header without what the contract adds, connections' fields
// and the time.
func upstreamsOwn(header map[string]string) map[string]string {
	own := map[string]string{}
	for name, value := range header {
		if !strings.HasPrefix(name, "foldgate-") && !slices.Contains(hopByHop, name) && name != "date" {
			own[name] = value
		}
	}
	return own
}

// compareRequests holds what the model server got through the gateway against
// what it got direct, for all requests that fit.
func compareRequests(t *testing.T, direct, through []request) {
	fits := func(all []request) []request {
		return slices.DeleteFunc(slices.Clone(all), func(r request) bool {
			_, differs := mayDiffer[r.scenario]
			// The gateway's own calls: a summary, and what the model accepts, which it
			// asks for in no encoding, as none of these clients does.
			own := r.scenario == "summary" || r.method == "GET" && bytes.Contains(r.raw, []byte("\r\nAccept-Encoding: identity\r\n"))
			return differs || own
		})
	}
	one, two := fits(direct), fits(through)
	if len(one) == 0 {
		t.Fatal("no request came")
	}
	for i := range max(len(one), len(two)) {
		if i >= len(one) || i >= len(two) {
			t.Fatalf("%d requests direct, %d through the gateway: %s against %s", len(one), len(two), names(one), names(two))
		}
		a, err := one[i].comparable()
		if err != nil {
			t.Fatal(err)
		}
		b, err := two[i].comparable()
		if err != nil {
			t.Fatal(err)
		}
		// The servers differ by their port, which the Host field names.
		a, b = withoutHost(a), withoutHost(b)
		if a != b {
			t.Errorf("request %d, %s, is not the same (-direct +gateway):\n%s", i, one[i].scenario, short(cmp.Diff(a, b)))
		}
	}
	matrix.compared(len(one))
}

func names(all []request) string {
	var n []string
	for _, r := range all {
		n = append(n, r.method+" "+r.path+" "+r.scenario)
	}
	return strings.Join(n, ", ")
}

// short is so much of a difference as can be read.
func short(diff string) string { return diff[:min(len(diff), 4000)] }

func withoutHost(s string) string {
	before, rest, _ := strings.Cut(s, "\nhost: ")
	_, after, _ := strings.Cut(rest, "\n")
	return before + "\nhost: the model server\n" + after
}

// nodeProgram is the pinned Node.js that was installed with the clients, or
// elsewhere the one in the path, which has to be version 22 or newer.
func nodeProgram(t *testing.T) string {
	t.Helper()
	name := filepath.Join(installed, "node_modules", "node-"+runtime.GOOS+"-"+machine(), "bin", "node")
	if _, err := os.Stat(name); err == nil {
		return name
	}
	name, err := exec.LookPath("node")
	if err != nil {
		t.Fatalf("no Node.js for %s-%s is pinned, and none is in the path: %v", runtime.GOOS, machine(), err)
	}
	return name
}

// machine is the processor as Node.js calls it.
func machine() string {
	if runtime.GOARCH == "amd64" {
		return "x64"
	}
	return runtime.GOARCH
}

// versionOf reads the version of an installed package.
func versionOf(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(installed, "node_modules", filepath.FromSlash(name), "package.json"))
	if err != nil {
		t.Fatal(err)
	}
	var p struct{ Version string }
	if err := json.Unmarshal(raw, &p); err != nil {
		t.Fatal(err)
	}
	return p.Version
}

// scripts makes a folder in which the scripts find the installed clients.
func scripts(t *testing.T) string {
	t.Helper()
	needInstalled(t)
	folder := t.TempDir()
	if err := os.CopyFS(folder, os.DirFS("scripts")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(installed, "node_modules"), filepath.Join(folder, "node_modules")); err != nil {
		t.Fatal(err)
	}
	return folder
}

// nodeScript drives a script and reads its outcomes.
func nodeScript(name string, args ...string) func(*testing.T, string) []outcome {
	return func(t *testing.T, baseURL string) []outcome {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
		defer cancel()
		c := exec.CommandContext(ctx, nodeProgram(t), append([]string{name}, args...)...)
		c.Dir = scripts(t)
		c.Env = []string{
			"HOME=" + c.Dir, "PATH=" + os.Getenv("PATH"), "NO_PROXY=*",
			"BASE_URL=" + baseURL, "API_KEY=" + apiKey,
			"AI_SDK_LOG_WARNINGS=false", "OPENAI_AGENTS_DISABLE_TRACING=1",
		}
		var stderr bytes.Buffer
		c.Stderr = &stderr
		out, err := c.Output()
		if err != nil {
			t.Fatalf("%s: %v\n%s%s", name, err, out, stderr.String())
		}
		outcomes, err := readOutcomes(bytes.NewReader(out))
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, stderr.String())
		}
		return outcomes
	}
}

func readOutcomes(r io.Reader) ([]outcome, error) {
	var all []outcome
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		var o outcome
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			return nil, fmt.Errorf("reading %q: %w", lines.Text(), err)
		}
		all = append(all, o)
	}
	return all, lines.Err()
}
