package browser_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/foldgate/foldgate/redisstore/redistest"
)

// patience bounds every wait of these tests. Nothing waits so long but a test that
// is about to fail.
const patience = time.Minute

const adminToken = "a token of the tests"

// programs are the binaries under test, built once.
type programs struct{ gateway, standin string }

var built = flag.String("bin", "", "folder with the programs gateway and standin, built already")

// binaries is the folder that holds them; empty until they are built.
var binaries string

var build = sync.OnceValues(func() (programs, error) {
	if *built != "" {
		return programs{filepath.Join(*built, "gateway"), filepath.Join(*built, "standin")}, nil
	}
	folder, err := os.MkdirTemp("", "foldgate-browser")
	if err != nil {
		return programs{}, err
	}
	binaries = folder
	cmd := exec.Command("go", "build", "-o", folder+string(filepath.Separator), "./cmd/gateway", "./examples/standin")
	cmd.Dir = filepath.Join("..", "..")
	if out, err := cmd.CombinedOutput(); err != nil {
		return programs{}, fmt.Errorf("build: %w\n%s", err, out)
	}
	return programs{filepath.Join(folder, "gateway"), filepath.Join(folder, "standin")}, nil
})

// world is what stands behind a page: a Redis, a model, and replicas.
type world struct {
	t     *testing.T
	bin   programs
	redis *redistest.Server
	model string // its base URL
}

// newWorld starts a Redis and a stand-in for a model with a window of 4000 tokens.
func newWorld(t *testing.T) *world {
	t.Helper()
	requireBrowser(t)
	bin, err := build()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, bin: bin, redis: redistest.Start(t)}
	p := w.run(nil, bin.standin, "-listen", "127.0.0.1:0")
	w.model = p.wait(regexp.MustCompile(`on (http://\S+)`))
	return w
}

// process is a running program. Its output is read as it comes.
type process struct {
	t       *testing.T
	cmd     *exec.Cmd
	ended   chan struct{}
	mu      sync.Mutex
	out     bytes.Buffer
	changed chan struct{}
}

// run starts a program, which is ended with the test.
func (w *world) run(environ []string, name string, args ...string) *process {
	w.t.Helper()
	p := &process{t: w.t, cmd: exec.Command(name, args...), ended: make(chan struct{}), changed: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), environ...)
	from, to, err := os.Pipe()
	if err != nil {
		w.t.Fatal(err)
	}
	p.cmd.Stdout, p.cmd.Stderr = to, to
	if err := p.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	_ = to.Close() // the program has its own
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer from.Close()
		for lines := bufio.NewScanner(from); lines.Scan(); {
			p.note(lines.Text())
		}
	}()
	go func() { _ = p.cmd.Wait(); <-read; close(p.ended) }()
	w.t.Cleanup(p.kill)
	return p
}

func (p *process) note(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.out.WriteString(line + "\n")
	close(p.changed)
	p.changed = make(chan struct{})
}

func (p *process) said() (string, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.String(), p.changed
}

// wait waits until the output matches and returns the first group.
func (p *process) wait(pattern *regexp.Regexp) string {
	p.t.Helper()
	limit := time.After(patience)
	for {
		out, changed := p.said()
		if m := pattern.FindStringSubmatch(out); m != nil {
			return m[len(m)-1]
		}
		select {
		case <-changed:
		case <-p.ended:
			p.t.Fatalf("it ended:\n%s", out)
		case <-limit:
			p.t.Fatalf("nothing like %s:\n%s", pattern, out)
		}
	}
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.ended
}

// replica is a running gateway.
type replica struct {
	*process
	data, admin string // base URLs
}

// route is a route for summaries; its model says how the stand-in behaves.
type route struct{ name, model, more string }

var (
	quick  = []route{{"quick", "summary", ""}}
	slow   = []route{{"slow", "slow", ""}}
	broken = []route{{"broken", "broken", ""}}
	// stalls: the first route falls silent, the second takes over.
	stalls = []route{{"first", "silent", ", idle: 1s"}, {"second", "summary", ""}}
)

// start runs a gateway with these routes, and with further lines of configuration.
func (w *world) start(routes []route, lines ...string) *replica {
	w.t.Helper()
	var c strings.Builder
	fmt.Fprintf(&c, "upstream: %s\nredis_url: %s\nlisten: 127.0.0.1:0\nadmin_listen: 127.0.0.1:0\n", w.model, w.redis.URL)
	fmt.Fprintf(&c, "log_format: json\nlease: 3s\nwindows: {\"*\": 4000}\nsummarizer:\n  routes:\n")
	for _, r := range routes {
		name, _ := json.Marshal(r.name) // a string always can be; JSON is YAML
		fmt.Fprintf(&c, "    - {name: %s, model: %s%s}\n", name, r.model, r.more)
	}
	c.WriteString(strings.Join(lines, "\n"))
	file := filepath.Join(w.t.TempDir(), "gateway.yaml")
	if err := os.WriteFile(file, []byte(c.String()), 0o600); err != nil {
		w.t.Fatal(err)
	}
	environ := []string{"FOLDGATE_TENANT_SECRET=practice"}
	if !strings.Contains(c.String(), "admin_token:") {
		environ = append(environ, "FOLDGATE_ADMIN_TOKEN="+adminToken)
	}
	r := &replica{process: w.run(environ, w.bin.gateway, "serve", "--config", file)}
	r.admin = "http://" + r.wait(regexp.MustCompile(`"admin_listen":"([^"]+)"`))
	r.data = "http://" + r.wait(regexp.MustCompile(`"listen":"([^"]+)"`))
	return r
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type chatRequest struct {
	Model    string    `json:"model"`
	Messages []message `json:"messages"`
}

// talk is a conversation about a topic of so many turns, about 45 tokens each.
func talk(topic string, turns int) chatRequest {
	c := chatRequest{Model: "stand-in", Messages: []message{{"system", "You help to plan a " + topic + "."}}}
	for i := range turns {
		c.Messages = append(c.Messages,
			message{"user", fmt.Sprintf("Step %d of the %s: who does it, and what is needed from shed %d?", i, topic, i%7)},
			message{"assistant", fmt.Sprintf("Step %d: group %d does it on day %d, with %d boards and the tools of shed %d.", i, i%5, i+3, 10+i*3, i%7)})
	}
	c.Messages = append(c.Messages, message{"user", "What did we decide about step 4, group 4 and its 22 boards?"})
	return c
}

// say sends a conversation and returns its key.
func (r *replica) say(ctx context.Context, c chatRequest) (key string, err error) {
	body, err := json.Marshal(c)
	if err != nil {
		return "", err
	}
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, r.data+"/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	res, err := http.DefaultClient.Do(q)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	if _, err = io.Copy(io.Discard, res.Body); err != nil {
		return "", err
	}
	if res.StatusCode != http.StatusOK {
		return "", fmt.Errorf("the answer was %s", res.Status)
	}
	return strings.Trim(res.Header.Get("Foldgate-Key"), `"`), nil
}

// said is say, where it must work.
func (r *replica) talk(c chatRequest) (key string) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	key, err := r.say(ctx, c)
	if err != nil {
		r.t.Fatal(err)
	}
	return key
}

// overtake pauses a replica in the middle of an attempt until another one took over
// and has committed; then the first one wakes, and finds itself superseded.
func (w *world) overtake(first, second *replica, topic string) (key string) {
	w.t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); _, _ = first.say(context.WithoutCancel(w.t.Context()), talk(topic, 60)) }()
	key = first.attempted()
	if err := first.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		w.t.Fatal(err)
	}
	second.until(key, "overtaken", func(c map[string]any) bool {
		second.talk(talk(topic, 60))
		generation, _ := c["generation"].(float64)
		return generation > 1
	})
	if err := first.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		w.t.Fatal(err)
	}
	<-done
	return key
}

// attempted waits until the replica begins its first attempt, and returns whose.
func (r *replica) attempted() (key string) {
	r.t.Helper()
	limit, again := time.After(patience), time.NewTicker(20*time.Millisecond)
	defer again.Stop()
	for {
		_, answer := r.api("/v1/attempts?limit=1")
		if list, _ := answer["attempts"].([]any); len(list) > 0 {
			return list[0].(map[string]any)["conversation"].(string)
		}
		select {
		case <-again.C:
		case <-limit:
			r.t.Fatal("no attempt begins")
		}
	}
}

// api asks the admin plane without a browser: it is how a test looks at the store.
func (r *replica) api(path string) (status int, answer map[string]any) {
	r.t.Helper()
	q, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, r.admin+path, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	q.Header.Set("Authorization", "Bearer "+adminToken)
	res, err := http.DefaultClient.Do(q)
	if err != nil {
		r.t.Fatal(err)
	}
	defer res.Body.Close()
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		r.t.Fatal(err)
	}
	return res.StatusCode, answer
}

// until asks for a conversation again and again until it is as it should be.
func (r *replica) until(key, what string, ok func(c map[string]any) bool) map[string]any {
	r.t.Helper()
	limit, again := time.After(patience), time.NewTicker(50*time.Millisecond)
	defer again.Stop()
	for {
		_, c := r.api("/v1/conversations/" + key)
		if ok(c) {
			return c
		}
		select {
		case <-again.C:
		case <-limit:
			r.t.Fatalf("never %s: %v", what, c)
		}
	}
}

func phase(c map[string]any) string {
	owner, _ := c["owner"].(map[string]any)
	p, _ := owner["phase"].(string)
	return p
}

func checkpoints(c map[string]any) int {
	list, _ := c["checkpoints"].([]any)
	return len(list)
}
