//go:build unix

package main

import (
	"context"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/foldgate/foldgate/redisstore/redistest"
)

// fleet is three replicas, each a process of its own, on one Redis, with one
// upstream and one model that writes summaries. Replica a reaches Redis over a
// link that can be cut.
type fleet struct {
	t        *testing.T
	redis    *redistest.Server
	link     *link
	upstream *backend
	model    *model
	a, b, c  *process
}

func newFleet(t *testing.T, args ...string) *fleet {
	t.Helper()
	f := &fleet{t: t, redis: redistest.Start(t), upstream: newBackend(t), model: newModel(t)}
	f.link = newLink(t, f.redis.Addr)
	f.a = f.spawn("a", f.link.addr, args)
	f.b = f.spawn("b", f.redis.Addr, args)
	f.c = f.spawn("c", f.redis.Addr, args)
	for _, p := range f.all() {
		p.listens()
	}
	return f
}

func (f *fleet) all() []*process { return []*process{f.a, f.b, f.c} }

// process is a replica whose program runs in a process of its own.
type process struct {
	*replica
	name string
	pid  chan *os.Process // holds the process once it was started
	out  *logLines        // what it wrote to stdout
}

// spawn starts a replica and does not wait for it.
func (f *fleet) spawn(name, redis string, args []string) *process {
	f.t.Helper()
	return spawn(f.t, name, append([]string{
		"--upstream", f.upstream.URL, "--redis-url", "redis://" + redis,
		"--summarizer-url", f.model.URL + "/" + name, // so that the model knows who asks
	}, args...)...)
}

// spawn starts a replica with a window of 4000 tokens, on free ports unless args
// name others, and does not wait for it.
func spawn(t *testing.T, name string, args ...string) *process {
	t.Helper()
	return spawnIn(t, nil, name, append([]string{"--window", "4000"}, args...)...)
}

// spawnIn is spawn with more in the environment, and without a window.
func spawnIn(t *testing.T, environ []string, name string, args ...string) *process {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, append([]string{
		"serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0",
	}, args...)...)
	// Nothing of this process's environment may configure the program.
	cmd.Env = append([]string{asProgram + "=1", "FOLDGATE_TENANT_SECRET=s", "PATH=" + os.Getenv("PATH")}, environ...)
	cmd.SysProcAttr = dieWithParent()
	p := &process{replica: &replica{t: t, log: newLogLines(), ended: make(chan struct{})}, name: name, pid: make(chan *os.Process, 1), out: newLogLines()}
	p.cancel = func() { p.signal(syscall.SIGTERM) }
	cmd.Stdout, cmd.Stderr = p.out, p.log
	started := make(chan error, 1)
	go func() {
		defer close(p.ended)
		// The kernel's parent is the thread that started the process.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // the exit code says it
			p.code = cmd.ProcessState.ExitCode()
		}
	}()
	if err := <-started; err != nil {
		t.Fatalf("start replica %s: %v", name, err)
	}
	p.pid <- cmd.Process
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("replica %s:\n%s", name, p.log)
		}
	})
	return p
}

func (p *process) listens() {
	p.t.Helper()
	line := p.log.wait(p.t, "listening", p.ended)
	if line == nil {
		p.t.Fatalf("replica %s ended with %d:\n%s", p.name, p.code, p.log)
	}
	p.data, p.admin = "http://"+line["listen"].(string), "http://"+line["admin_listen"].(string)
}

func (p *process) signal(s os.Signal) {
	p.t.Helper()
	process := <-p.pid
	err := process.Signal(s)
	p.pid <- process
	if err != nil {
		p.t.Errorf("signal replica %s: %v", p.name, err)
	}
}

// kill ends the process at once, whatever it does, paused ones too.
func (p *process) kill() {
	process := <-p.pid
	_ = process.Kill() // it may have ended
	p.pid <- process
	<-p.ended
}

// exits waits until the process ended by itself and returns its exit code.
func (p *process) exits() int {
	p.t.Helper()
	take(p.t, p.ended, "the end of replica "+p.name)
	return p.code
}

// reply is what a caller got.
type reply struct {
	answer
	err error
}

// fold is the answer's Foldgate-Fold.
func (r reply) fold() string { return r.header.Get("Foldgate-Fold") }

// ask sends a chat request and does not wait for its answer.
func (p *process) ask(body string, header ...string) <-chan reply {
	out := make(chan reply, 1)
	go func() {
		a, err := try(context.WithoutCancel(p.t.Context()), http.MethodPost, p.data+"/v1/chat/completions", body, header...)
		out <- reply{a, err}
	}()
	return out
}

// got wants an answer of 200 and a Foldgate-Fold that begins like this.
func (p *process) got(from <-chan reply, fold string) reply {
	p.t.Helper()
	r := take(p.t, from, "the answer of replica "+p.name)
	if r.err != nil || r.status != http.StatusOK || !strings.HasPrefix(r.fold(), fold) {
		p.t.Fatalf("replica %s answered %d %q (%v), want %q", p.name, r.status, r.fold(), r.err, fold)
	}
	return r
}

// ends waits until the newest attempt of this replica has that outcome.
func (p *process) ends(outcome string) map[string]any {
	p.t.Helper()
	newest := func(v map[string]any) map[string]any {
		attempts := v["attempts"].([]any)
		if len(attempts) == 0 {
			return nil
		}
		return attempts[0].(map[string]any)
	}
	return newest(p.until("/v1/attempts?limit=1", func(v map[string]any) bool {
		attempt := newest(v)
		return attempt != nil && attempt["outcome"] == outcome
	}))
}

// polls asks again and again until it is so.
func (p *process) polls(what string, so func() bool) {
	p.t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !so() {
		select {
		case <-tick.C:
		case <-limit.C:
			p.t.Fatalf("replica %s: %s: not in time", p.name, what)
		}
	}
}

// settled waits until the conversation's newest checkpoint is settled, and
// returns the conversation.
func (f *fleet) settled() map[string]any {
	f.t.Helper()
	return f.checkpoint(true)
}

// checkpoint waits for a checkpoint that is settled or provisional.
func (f *fleet) checkpoint(settled bool) map[string]any {
	f.t.Helper()
	return f.c.until("/v1/conversations/"+f.key(), func(v map[string]any) bool {
		list := v["checkpoints"].([]any)
		return len(list) > 0 && list[0].(map[string]any)["settled"] == settled
	})
}

// watched waits until so many replicas watch the conversation's owner, which
// works and so listens for its own flag too.
func (f *fleet) watched(by int64) {
	f.t.Helper()
	channel := "foldgate:1:{" + f.key() + "}:events"
	f.c.polls("who watches", func() bool {
		return f.redis.Client().PubSubNumSub(f.t.Context(), channel).Val()[channel] == by+1
	})
}

// What is in the store.

// record is every key of conversations with every field. Times to live are left
// out, and so are learned windows, which nobody owns.
type record map[string]string

func (f *fleet) dump() record {
	f.t.Helper()
	client, out := f.redis.Client(), record{}
	keys, err := client.Keys(f.t.Context(), "foldgate:1:{*").Result()
	if err != nil {
		f.t.Fatalf("read the store: %v", err)
	}
	for _, key := range keys {
		if strings.HasSuffix(key, ":gen") {
			out[key] = client.Get(f.t.Context(), key).Val()
			continue
		}
		for field, value := range client.HGetAll(f.t.Context(), key).Val() {
			out[key+" "+field] = value
		}
	}
	return out
}

// key is the key of the only conversation.
func (f *fleet) key() string {
	f.t.Helper()
	for name := range f.dump() {
		if _, rest, ok := strings.Cut(name, "{"); ok {
			key, _, _ := strings.Cut(rest, "}")
			return key
		}
	}
	f.t.Fatal("the store is empty")
	return ""
}

// field is one field of the only conversation.
func (f *fleet) field(name string) string {
	f.t.Helper()
	return f.dump()["foldgate:1:{"+f.key()+"}:conversation "+name]
}

// owner is the fence of the owner record: generation/attempt.
func (f *fleet) owner() string { return f.field("owner") }

// generation is the counter.
func (f *fleet) generation() string {
	f.t.Helper()
	return f.dump()["foldgate:1:{"+f.key()+"}:gen"]
}

// state is a record without what says who works: what only a commit, a restore
// or a charge may change.
func (r record) state() record {
	owner := []string{
		"owner", "phase", "replica", "route", "trace", "claimed", "progress", "lease", "lease_end", "ceiling", "deaths", "digest", "covered",
	}
	out := maps.Clone(r)
	maps.DeleteFunc(out, func(name, _ string) bool {
		_, field, _ := strings.Cut(name, " ")
		return strings.HasSuffix(name, ":gen") || slices.Contains(owner, field)
	})
	return out
}

// mentions reports whether any name or value holds text.
func (r record) mentions(text string) bool {
	for name, value := range r {
		if strings.Contains(name, text) || strings.Contains(value, text) {
			return true
		}
	}
	return false
}

// unchanged wants the store as it was, byte for byte.
func (f *fleet) unchanged(before record, what string) {
	f.t.Helper()
	after := f.dump()
	if maps.Equal(before, after) {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if after[name] != before[name] {
			f.t.Errorf("%s changed %s from %q to %q", what, name, before[name], after[name])
		}
		delete(after, name)
	}
	for name, value := range after {
		f.t.Errorf("%s added %s: %q", what, name, value)
	}
}

// attemptOf is the attempt id of a fence as the store writes it.
func attemptOf(fence string) string {
	_, id, _ := strings.Cut(fence, "/")
	return id
}
