package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/foldgate/foldgate/internal/contracttest"
)

// patience bounds every wait of these tests. Nothing waits so long but a test
// that is about to fail.
const patience = 30 * time.Second

// logLines collects the program's log and lets a test wait for a line.
type logLines struct {
	mu      sync.Mutex
	partial []byte
	lines   []map[string]any
	raw     bytes.Buffer
	changed chan struct{} // closed and replaced with every write
}

func newLogLines() *logLines { return &logLines{changed: make(chan struct{})} }

func (l *logLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.raw.Write(p)
	l.partial = append(l.partial, p...)
	for {
		i := bytes.IndexByte(l.partial, '\n')
		if i < 0 {
			break
		}
		var line map[string]any
		if json.Unmarshal(l.partial[:i], &line) == nil {
			l.lines = append(l.lines, line)
		}
		l.partial = l.partial[i+1:]
	}
	close(l.changed)
	l.changed = make(chan struct{})
	return len(p), nil
}

func (l *logLines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.raw.String()
}

func (l *logLines) find(msg string) (line map[string]any, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.lines {
		if line["msg"] == msg {
			return line, nil
		}
	}
	return nil, l.changed
}

// wait returns the first line with that message, or nil if done is closed first.
func (l *logLines) wait(t *testing.T, msg string, done <-chan struct{}) map[string]any {
	t.Helper()
	limit := time.After(patience)
	for {
		line, changed := l.find(msg)
		if line != nil {
			return line
		}
		select {
		case <-changed:
		case <-done:
			line, _ := l.find(msg)
			return line
		case <-limit:
			t.Fatalf("no line %q in time:\n%s", msg, l)
		}
	}
}

// replica is one running gateway.
type replica struct {
	t           *testing.T
	data, admin string // base URLs
	log         *logLines
	cancel      context.CancelFunc
	ended       chan struct{}
	code        int // valid once ended is closed
}

// start runs the program with free ports. It is stopped when the test ends.
func start(t *testing.T, environ []string, args ...string) *replica {
	t.Helper()
	r := launch(t, environ, append([]string{"serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"}, args...)...)
	line := r.log.wait(t, "listening", r.ended)
	if line == nil {
		t.Fatalf("it ended with %d:\n%s", r.code, r.log)
	}
	r.data, r.admin = "http://"+line["listen"].(string), "http://"+line["admin_listen"].(string)
	return r
}

// launch runs the program with exactly these arguments.
func launch(t *testing.T, environ []string, args ...string) *replica {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	r := &replica{t: t, log: newLogLines(), cancel: cancel, ended: make(chan struct{})}
	go func() {
		defer close(r.ended)
		r.code = run(ctx, args, environ, strings.NewReader(""), io.Discard, r.log)
	}()
	t.Cleanup(func() { r.stop() })
	return r
}

// stop asks for a graceful stop and returns the exit code.
func (r *replica) stop() int {
	r.t.Helper()
	r.cancel()
	select {
	case <-r.ended:
	case <-time.After(patience):
		r.t.Fatalf("it does not stop:\n%s", r.log)
	}
	return r.code
}

// take receives, or fails the test.
func take[T any](t *testing.T, from <-chan T, what string) T {
	t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case v := <-from:
		return v
	case <-limit.C:
		t.Fatalf("%s: nothing came", what)
		panic("unreachable")
	}
}

// answer is a whole response.
type answer struct {
	status int
	header http.Header
	body   string
}

func (a answer) json(t *testing.T) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(a.body), &v); err != nil {
		t.Fatalf("%d %s: %v", a.status, a.body, err)
	}
	return v
}

// described is openapi.yaml: whatever a gateway of these tests answers is held
// against it.
var described = contracttest.MustLoad()

// client keeps no connection, so that none is left when a test ends.
func client() *http.Client {
	return &http.Client{Timeout: patience, Transport: described.Transport(&http.Transport{DisableKeepAlives: true})}
}

// try sends one request.
func try(ctx context.Context, method, url, body string, header ...string) (answer, error) {
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer sk-tenant")
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	res, err := client().Do(r)
	if err != nil {
		return answer{}, err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	return answer{status: res.StatusCode, header: res.Header, body: string(raw)}, err
}

func (r *replica) send(method, url, body string, header ...string) answer {
	r.t.Helper()
	a, err := try(r.t.Context(), method, url, body, header...)
	if err != nil {
		r.t.Fatalf("%s %s: %v\n%s", method, url, err, r.log)
	}
	return a
}

func (r *replica) chat(body string, header ...string) answer {
	r.t.Helper()
	return r.send(http.MethodPost, r.data+"/v1/chat/completions", body, header...)
}

// until asks the admin plane again and again until it says what is wanted.
func (r *replica) until(path string, right func(map[string]any) bool) map[string]any {
	r.t.Helper()
	limit := time.After(patience)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		a := r.send(http.MethodGet, r.admin+path, "")
		if a.status == http.StatusOK && right(a.json(r.t)) {
			return a.json(r.t)
		}
		select {
		case <-tick.C:
		case <-limit:
			r.t.Fatalf("%s stays %d %s", path, a.status, a.body)
		}
	}
}

// upstream is an OpenAI-compatible stub that keeps what it was asked.
type upstream struct {
	*httptest.Server
	mu     sync.Mutex
	bodies []string
	// hold, if set, is called before a request is answered.
	hold func(r *http.Request)
}

func newUpstream(t *testing.T, text string) *upstream {
	t.Helper()
	u := &upstream{}
	u.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		if err != nil {
			return // the caller is gone
		}
		u.mu.Lock()
		u.bodies = append(u.bodies, string(raw))
		hold := u.hold
		u.mu.Unlock()
		if hold != nil {
			hold(r)
		}
		if strings.Contains(string(raw), `"stream":true`) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%q}}]}\n\n", text)
			fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"choices":[{"index":0,"message":{"role":"assistant","content":%q},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":2,"total_tokens":12}}`, text)
	}))
	t.Cleanup(u.Close)
	return u
}

func (u *upstream) asked() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return append([]string(nil), u.bodies...)
}

// onRequest sets what happens before a request is answered.
func (u *upstream) onRequest(hold func(*http.Request)) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.hold = hold
}

// longChat is a conversation of so many turns, some 60 tokens each.
func longChat(tag string, turns int) string {
	var b strings.Builder
	b.WriteString(`{"model":"my-model","messages":[{"role":"system","content":"Be careful."}`)
	for i := range turns {
		fmt.Fprintf(&b, `,{"role":"user","content":"%s question %d: %s"}`, tag, i, strings.Repeat("alpha bravo charlie delta ", 8))
		fmt.Fprintf(&b, `,{"role":"assistant","content":"%s answer %d: %s"}`, tag, i, strings.Repeat("echo foxtrot golf hotel ", 8))
	}
	fmt.Fprintf(&b, `,{"role":"user","content":"%s: and now?"}]}`, tag)
	return b.String()
}
