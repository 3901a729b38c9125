package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// reloadable is a replica that a test asks to read its configuration again.
type reloadable struct {
	*replica
	hangups chan os.Signal
	file    string
}

// startReloadable runs the program with a configuration file.
func startReloadable(t *testing.T, environ []string, content string, args ...string) *reloadable {
	t.Helper()
	r := &reloadable{hangups: make(chan os.Signal), file: filepath.Join(t.TempDir(), "foldgate.yaml")}
	r.write(t, content)
	args = append([]string{"--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--config", r.file}, args...)
	r.replica = serveReloadable(t, r.hangups, environ, args)
	return r
}

// serveReloadable is launch for a replica that is asked through a channel.
func serveReloadable(t *testing.T, hangups <-chan os.Signal, environ, args []string) *replica {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	r := &replica{t: t, log: newLogLines(), cancel: cancel, ended: make(chan struct{})}
	go func() {
		defer close(r.ended)
		p := program{environ: environ, stdin: strings.NewReader(""), stdout: io.Discard, stderr: r.log, hangups: hangups}
		r.code = p.serve(ctx, args)
	}()
	t.Cleanup(func() { r.stop() })
	line := r.log.wait(t, "listening", r.ended)
	if line == nil {
		t.Fatalf("it ended with %d:\n%s", r.code, r.log)
	}
	r.data, r.admin = "http://"+line["listen"].(string), "http://"+line["admin_listen"].(string)
	return r
}

// write replaces the file as operators should: whole.
func (r *reloadable) write(t *testing.T, content string) {
	t.Helper()
	replaceFile(t, r.file, content)
}

func replaceFile(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(name+".new", []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(name+".new", name); err != nil {
		t.Fatal(err)
	}
}

// answers are the lines that answered reloads.
func (l *logLines) answers() (lines []map[string]any, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.lines {
		switch line["msg"] {
		case "configuration reloaded", "configuration unchanged", "configuration not reloaded":
			lines = append(lines, line)
		}
	}
	return lines, l.changed
}

// hangup asks for a reload and returns the line that answers it.
func (r *reloadable) hangup(t *testing.T) map[string]any {
	t.Helper()
	limit := time.After(patience)
	before, _ := r.log.answers()
	select {
	case r.hangups <- syscall.SIGHUP:
	case <-limit:
		t.Fatalf("nobody takes the signal:\n%s", r.log)
	}
	for {
		now, changed := r.log.answers()
		if len(now) > len(before) {
			return now[len(before)]
		}
		select {
		case <-changed:
		case <-limit:
			t.Fatalf("no answer to the signal:\n%s", r.log)
		}
	}
}

// texts is a list in a log line.
func texts(line map[string]any, name string) []string {
	list, _ := line[name].([]any)
	var all []string
	for _, v := range list {
		all = append(all, fmt.Sprint(v))
	}
	return all
}

func windowOf(a answer) string {
	_, rest, _ := strings.Cut(a.header.Get("Foldgate-Tokens"), "window=")
	w, _, _ := strings.Cut(rest, ",")
	return w
}

const small = `{"model":"my-model","messages":[{"role":"user","content":"hi"}]}`

func TestReload(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, "ok")
	file := func(more string) string { return "upstream: " + up.URL + "\n" + more }
	g := startReloadable(t, nil, file("windows: {my-*: 4000}\n"))
	if got := windowOf(g.chat(small)); got != "4000" {
		t.Fatalf("window %s", got)
	}

	g.write(t, file("windows: {my-*: 64000}\ncompression: {trigger: 0.7}\n"))
	line := g.hangup(t)
	if line["msg"] != "configuration reloaded" || !slices.Equal(texts(line, "changed"), []string{"windows", "compression.trigger"}) {
		t.Errorf("got %v", line)
	}
	if files := texts(line, "files"); !slices.Equal(files, []string{g.file}) {
		t.Errorf("files %v", files)
	}
	if got := windowOf(g.chat(small)); got != "64000" {
		t.Errorf("afterwards window %s", got)
	}

	if line = g.hangup(t); line["msg"] != "configuration unchanged" {
		t.Errorf("nothing changed: %v", line)
	}

	g.write(t, file("windows: {my-*: 8000}\ntrigger: 0.5\nlease: soon\n"))
	line = g.hangup(t)
	problems := strings.Join(texts(line, "problems"), "\n")
	if line["msg"] != "configuration not reloaded" || line["level"] != "ERROR" || len(texts(line, "problems")) != 2 ||
		!strings.Contains(problems, g.file+":3") || !strings.Contains(problems, g.file+":4") {
		t.Errorf("a bad file: %v", line)
	}
	if got := windowOf(g.chat(small)); got != "64000" {
		t.Errorf("a bad file changed the window to %s", got)
	}

	if err := os.Remove(g.file); err != nil {
		t.Fatal(err)
	}
	if line = g.hangup(t); line["msg"] != "configuration not reloaded" || !strings.Contains(fmt.Sprint(line), "no such file") {
		t.Errorf("no file: %v", line)
	}
	g.write(t, file("mode: off\n"))
	if line = g.hangup(t); !slices.Equal(texts(line, "changed"), []string{"mode", "windows", "compression.trigger"}) {
		t.Errorf("what stands in the file no more is as if nobody had set it: %v", line)
	}
	if got := g.chat(small).header.Get("Foldgate-Fold"); !strings.Contains(got, `"mode"`) {
		t.Errorf("off: %s", got)
	}
	metrics := g.send("GET", g.admin+"/metrics", "").body
	for _, want := range []string{`reloads_total{outcome="changed"} 2`, `reloads_total{outcome="unchanged"} 1`, `reloads_total{outcome="refused"} 2`, "foldgate_config_loaded_at_seconds 1"} {
		if !strings.Contains(metrics, want) {
			t.Errorf("metrics lack %s:\n%s", want, ours(metrics))
		}
	}
}

// What needs a restart refuses all of it, each by name, and tells no value.
func TestReloadThatNeedsARestart(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, "ok")
	g := startReloadable(t, nil, "upstream: "+up.URL+"\nwindows: {my-*: 4000}\n")
	g.write(t, strings.Join([]string{
		"upstream: http://127.0.0.1:9", "windows: {my-*: 8000}", "redis_url: redis://:hunter2@127.0.0.1:6379/0",
		"lease: 20s", "retention: 1h", "log_format: json", "admin_token: hunter3", "tenant_secret: hunter4",
		"summarizer: {idle: 5s, ceiling: 60s, max_attempts: 3}", "keepalive: -1s",
	}, "\n"))
	line := g.hangup(t)
	problems := texts(line, "problems")
	if line["msg"] != "configuration not reloaded" || len(problems) != 9 {
		t.Fatalf("got %d problems: %v", len(problems), line)
	}
	all := strings.Join(problems, "\n")
	for _, name := range []string{"upstream (", "redis_url (", "lease (", "retention (", "log_format (", "summarizer.idle (", "summarizer.ceiling (", "summarizer.max_attempts ("} {
		i := slices.IndexFunc(problems, func(p string) bool { return strings.HasPrefix(p, name+g.file+":") })
		if i < 0 || !strings.Contains(problems[i], "restart") {
			t.Errorf("nothing is said of %s): %s", name, all)
		}
	}
	if !strings.Contains(all, "keepalive") {
		t.Errorf("the other problem is not told: %s", all)
	}
	if got := g.chat(small); windowOf(got) != "4000" || got.status != http.StatusOK {
		t.Errorf("something changed: %d %v", got.status, got.header)
	}
	if log := g.log.String(); strings.Contains(log, "hunter") {
		t.Errorf("the log tells a secret:\n%s", log)
	}
}

func TestReloadReadsKeysFromFiles(t *testing.T) {
	t.Parallel()
	up, sum := newUpstream(t, "ok"), newUpstream(t, summary)
	keys := make(chan string, 10)
	sum.onRequest(func(r *http.Request) { keys <- r.Header.Get("Authorization") })
	dir := t.TempDir()
	key, token := filepath.Join(dir, "key"), filepath.Join(dir, "token")
	replaceFile(t, key, "sk-first\n")
	replaceFile(t, token, "first-token\n")
	g := startReloadable(t, []string{"FOLDGATE_ADMIN_TOKEN_FILE=" + token}, fmt.Sprintf(
		"upstream: %s\nwindows: {my-*: 4000}\nsummarizer: {routes: [{name: one, url: %q, model: s, api_key_file: %q}]}\n", up.URL, sum.URL, key))

	if got := g.chat(longChat("one", 40)); !strings.HasPrefix(got.header.Get("Foldgate-Fold"), "committed") {
		t.Fatalf("got %v\n%s", got.header, g.log)
	}
	replaceFile(t, key, "sk-second")
	replaceFile(t, token, "second-token")
	line := g.hangup(t)
	if line["msg"] != "configuration reloaded" || !slices.Equal(texts(line, "changed"), []string{"admin_token", "summarizer.routes"}) {
		t.Errorf("got %v", line)
	}
	if files := texts(line, "files"); !slices.Equal(files, []string{g.file, token, key}) {
		t.Errorf("files %v", files)
	}
	if got := g.chat(longChat("two", 40)); !strings.HasPrefix(got.header.Get("Foldgate-Fold"), "committed") {
		t.Fatalf("got %v", got.header)
	}
	if first, second := <-keys, <-keys; first != "Bearer sk-first" || second != "Bearer sk-second" {
		t.Errorf("the summarizer got %q, then %q", first, second)
	}
	for token, want := range map[string]int{"first-token": http.StatusUnauthorized, "second-token": http.StatusOK} {
		if got := g.send("GET", g.admin+"/v1/attempts", "", "Authorization", "Bearer "+token); got.status != want {
			t.Errorf("%s: got %d, want %d", token, got.status, want)
		}
	}
	replaceFile(t, key, "\n")
	if line = g.hangup(t); line["msg"] != "configuration not reloaded" || !strings.Contains(fmt.Sprint(line), "summarizer.routes[0].api_key_file ("+g.file+":3)") {
		t.Errorf("an empty key file: %v", line)
	}
	for _, secret := range []string{"sk-first", "sk-second", "first-token", "second-token"} {
		if strings.Contains(g.log.String(), secret) {
			t.Errorf("the log tells %s", secret)
		}
	}
}

// Without a configuration file there are still files that hold secrets.
func TestReloadWithoutAFile(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, "ok")
	token := filepath.Join(t.TempDir(), "token")
	replaceFile(t, token, "first")
	g := &reloadable{hangups: make(chan os.Signal)}
	g.replica = serveReloadable(t, g.hangups, []string{"FOLDGATE_ADMIN_TOKEN_FILE=" + token},
		[]string{"--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--upstream", up.URL})
	if line := g.hangup(t); line["msg"] != "configuration unchanged" || !slices.Equal(texts(line, "files"), []string{token}) {
		t.Errorf("got %v", line)
	}
	replaceFile(t, token, "second")
	if line := g.hangup(t); line["msg"] != "configuration reloaded" || !slices.Equal(texts(line, "changed"), []string{"admin_token"}) {
		t.Errorf("got %v", line)
	}
}

// What runs ends by the configuration that it began with.
func TestReloadLeavesWhatRunsAlone(t *testing.T) {
	t.Parallel()
	up, sum := newUpstream(t, "ok"), newUpstream(t, summary)
	entered, release := make(chan struct{}), make(chan struct{})
	sum.onRequest(func(*http.Request) { close(entered); <-release })
	g := startReloadable(t, nil, fmt.Sprintf("upstream: %s\nwindows: {my-*: 4000}\nsummarizer: {routes: [{name: one, url: %q}]}\n", up.URL, sum.URL))
	running := make(chan answer, 1)
	go func() {
		a, err := try(t.Context(), "POST", g.data+"/v1/chat/completions", longChat("one", 40))
		if err != nil {
			t.Error(err)
		}
		running <- a
	}()
	<-entered
	g.write(t, "upstream: "+up.URL+"\nmode: off\nlog_level: warn\n")
	g.hangup(t)
	if got := g.chat(longChat("one", 40)); !strings.Contains(got.header.Get("Foldgate-Fold"), `"mode"`) {
		t.Errorf("the next request: %v", got.header)
	}
	close(release)
	if got := <-running; got.status != http.StatusOK || !strings.HasPrefix(got.header.Get("Foldgate-Fold"), "committed") || windowOf(got) != "4000" {
		t.Errorf("the request that ran: %d %v", got.status, got.header)
	}
	if log := g.log.String(); strings.Contains(log, `"msg":"chat"`) {
		t.Errorf("the log level did not change:\n%s", log)
	}

	// And what it came to is there for the next one.
	sum.onRequest(nil)
	g.write(t, fmt.Sprintf("upstream: %s\nwindows: {my-*: 4000}\nsummarizer: {routes: [{name: one, url: %q}]}\n", up.URL, sum.URL))
	g.hangup(t)
	if got := g.chat(longChat("one", 40)); !strings.HasPrefix(got.header.Get("Foldgate-Fold"), "reused") || len(sum.asked()) != 1 {
		t.Errorf("afterwards: %v, %d summaries", got.header, len(sum.asked()))
	}
}

// What was learned, touched and held before a reload is there after it.
func TestReloadForgetsNothing(t *testing.T) {
	t.Parallel()
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if raw, err := io.ReadAll(r.Body); err == nil && len(raw) > 30_000 {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"error":{"message":"This model's maximum context length is 5000 tokens. However, your messages resulted in 9000 tokens.","type":"invalid_request_error","code":"context_length_exceeded"}}`)
			return
		}
		fmt.Fprint(w, `{"choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}]}`)
	}))
	t.Cleanup(up.Close)
	file := "upstream: " + up.URL + "\nadvertised: false\ncompression: {wait: 0s, prepare: false}\n"
	g := startReloadable(t, nil, file)
	taught := g.chat(longChat("long", 120))
	if taught.status != http.StatusOK || !strings.Contains(taught.header.Get("Foldgate-Fold"), "retried") {
		t.Fatalf("got %d %v", taught.status, taught.header)
	}
	g.write(t, file+"hold: 2s\ndefault_window: 9000\n")
	if line := g.hangup(t); line["msg"] != "configuration reloaded" {
		t.Fatalf("got %v", line)
	}
	if got := g.chat(small).header.Get("Foldgate-Tokens"); !strings.HasSuffix(got, "window=5000, source=learned") {
		t.Errorf("the learned window is %q", got)
	}
	key := strings.Trim(taught.header.Get("Foldgate-Key"), `"`)
	if list := g.send("GET", g.admin+"/v1/conversations", "").body; key == "" || !strings.Contains(list, key) {
		t.Errorf("conversation %q is not listed any more: %s", key, list)
	}
}

// A hundred reloads under load lose no request, no conversation and no summary.
func TestReloadStorm(t *testing.T) {
	t.Parallel()
	const conversations, reloads = 4, 100
	up, sum := newUpstream(t, "ok"), newUpstream(t, summary)
	key := filepath.Join(t.TempDir(), "key")
	file := func(i int) string {
		return fmt.Sprintf("upstream: %s\nwindows: {my-*: %d}\nhold: %dms\nupstream_timeout: %ds\nsummarizer: {routes: [{name: one, url: %q, api_key_file: %q}]}\n",
			up.URL, 4000+i%2, 1000+i, 100+i, sum.URL, key)
	}
	replaceFile(t, key, "sk-0")
	g := startReloadable(t, nil, file(0))

	stop := make(chan struct{})
	var load sync.WaitGroup
	var requests [conversations]int
	for c := range conversations {
		load.Go(func() {
			for {
				a, err := try(t.Context(), "POST", g.data+"/v1/chat/completions", longChat(fmt.Sprintf("tag-%d", c), 40))
				kind, _, _ := strings.Cut(a.header.Get("Foldgate-Fold"), ";")
				if err != nil || a.status != http.StatusOK || requests[c] > 0 && kind != "reused" {
					t.Errorf("conversation %d, request %d: %d %v %v", c, requests[c], a.status, a.header, err)
					return
				}
				requests[c]++
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	for i := range reloads {
		g.write(t, file(i+1))
		replaceFile(t, key, fmt.Sprintf("sk-%d", i+1))
		if line := g.hangup(t); line["msg"] != "configuration reloaded" {
			t.Fatalf("reload %d: %v", i, line)
		}
	}
	close(stop)
	load.Wait()
	if n := len(sum.asked()); n != conversations {
		t.Errorf("%d summaries for %d conversations (requests: %v)", n, conversations, requests)
	}
	g.until("/readyz", func(v map[string]any) bool { return v["status"] == "ready" })
	metrics := g.send("GET", g.admin+"/metrics", "").body
	for _, want := range []string{fmt.Sprintf(`foldgate_config_reloads_total{outcome="changed"} %d`, reloads), "foldgate_bodies_in_flight_bytes 0"} {
		if !strings.Contains(metrics, want) {
			t.Errorf("metrics lack %s:\n%s", want, ours(metrics))
		}
	}
}

// The signal itself, sent to a process.
func TestHangupReloads(t *testing.T) {
	t.Parallel()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	log := newLogLines()
	cmd := exec.CommandContext(t.Context(), program, "serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--upstream", "http://127.0.0.1:1")
	cmd.Env = append(os.Environ(), asProgram+"=1")
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = cmd.Wait() }()
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-ended })
	log.wait(t, "listening", ended)
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if line := log.wait(t, "configuration unchanged", ended); line == nil {
		t.Errorf("it ended:\n%s", log)
	}
}

// A file without an end is a problem like any other.
func TestAFileWithoutAnEnd(t *testing.T) {
	t.Parallel()
	g := launch(t, nil, "check", "--upstream", "http://127.0.0.1:1", "--config", "/dev/zero")
	<-g.ended
	if g.code != exitUsage || !strings.Contains(g.log.String(), "longer than 4 MiB") {
		t.Errorf("got %d %s", g.code, g.log)
	}
}
