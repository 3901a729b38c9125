//go:build unix

package main

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foldgate/foldgate/redisstore/redistest"
)

const (
	// beat is the pace of the programs around a rolling fleet.
	beat = 10 * time.Millisecond
	// long is how many beats a long stream takes: several are under way whenever a
	// replica is told to leave.
	long = 60
	// grownTurns is more than fits, and little enough for one summary of fitTurns.
	grownTurns = 30
)

// Three replicas are restarted one after the other while clients of every kind
// keep asking. None of them notices.
func TestReplicasRollingRestart(t *testing.T) {
	t.Parallel()
	f := newRolling(t)
	stop := f.load()
	grown := f.growing()
	for _, s := range f.balancer.slots {
		f.restart(s)
	}
	stop()
	f.end()
	grown()
	f.answeredAll()
	f.summarizedOnce()
	f.leftNothing()
}

// rolling is a fleet behind a balancer.
type rolling struct {
	*fleet
	balancer *balancer
	choir    *choir

	mu       sync.Mutex
	keys     map[string]string // by conversation: its Foldgate-Key
	answered map[string]int    // by kind of request
	folds    map[string]int    // by Foldgate-Fold
	leaving  map[string]bool   // replicas that were told to leave
}

func newRolling(t *testing.T) *rolling {
	t.Helper()
	f := &rolling{
		fleet: &fleet{t: t, redis: redistest.Start(t)}, choir: newChoir(t),
		keys: map[string]string{}, answered: map[string]int{}, folds: map[string]int{}, leaving: map[string]bool{},
	}
	f.a, f.b, f.c = f.begin("a"), f.begin("b"), f.begin("c")
	for _, p := range f.all() {
		p.listens()
	}
	f.balancer = newBalancer(t, f.all())
	return f
}

// begin starts a replica. Nobody lives to see a lease end: what moves from one
// replica to another was handed over.
func (f *rolling) begin(name string, args ...string) *process {
	f.t.Helper()
	return spawn(f.t, name, append([]string{
		"--upstream", f.choir.URL, "--redis-url", f.redis.URL, "--summarizer-url", f.choir.URL + "/" + name,
		"--summarizer-model", "scribe", "--window", "scribe=100000", // a summary is one call
		"--lease", "10m", "--drain-delay", "1s", "--keepalive", "50ms",
	}, args...)...)
}

// end stops all replicas together.
func (f *rolling) end() {
	f.t.Helper()
	for _, s := range f.balancer.slots {
		p := s.process.Load()
		f.leaving[p.name] = true
		p.cancel()
	}
	for _, s := range f.balancer.slots {
		if p := s.process.Load(); p.exits() != exitOK {
			f.t.Errorf("replica %s: exit code %d", p.name, p.code)
		}
	}
}

// restart is what a rollout does to one replica.
func (f *rolling) restart(s *slot) {
	f.t.Helper()
	old := s.process.Load()
	f.balancer.until("a long stream through replica "+old.name, func() bool { return s.streams > 0 })
	f.mu.Lock()
	f.leaving[old.name] = true
	f.mu.Unlock()
	f.choir.until("a summary for replica "+old.name, func() bool { return f.choir.writing[old.name] > 0 })
	old.cancel()
	if code := old.exits(); code != exitOK {
		f.t.Errorf("replica %s: exit code %d", old.name, code)
	}
	line, _ := old.log.find("stopped")
	if line == nil || line["cut"] != 0.0 {
		f.t.Errorf("replica %s ended with %v", old.name, line)
	}
	next := f.again(old)
	next.listens()
	s.process.Store(next)
	f.balancer.until("an answer of replica "+next.name, func() bool { return s.served[next.name] > 0 })
}

// again starts a replica in the place of one that left, on the same addresses
// unless something took them meanwhile.
func (f *rolling) again(old *process) *process {
	f.t.Helper()
	name := old.name + "+"
	p := f.begin(name, "--listen", strings.TrimPrefix(old.data, "http://"), "--admin-listen", strings.TrimPrefix(old.admin, "http://"))
	if p.log.wait(f.t, "listening", p.ended) == nil && strings.Contains(p.log.String(), "address already in use") {
		p = f.begin(name)
	}
	return p
}

// load has clients of every kind ask until stop is called, which waits for the
// last answers.
func (f *rolling) load() (stop func()) {
	var clients sync.WaitGroup
	over := make(chan struct{})
	client := func(kind string, request func(n int) question) {
		clients.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-over:
					return
				default:
				}
				if !f.ask(kind, request(n)) {
					return
				}
			}
		})
	}
	small := func(n int) string {
		return fmt.Sprintf(`{"model":"my-model","messages":[{"role":"user","content":"say %d"}]}`, n)
	}
	client("no chat", func(int) question { return question{method: http.MethodGet, path: "/v1/models"} })
	client("small", func(n int) question { return question{body: small(n)} })
	client("small stream", func(n int) question { return question{body: streamed(small(n)), pieces: 5} })
	for range 4 {
		client("long stream", func(n int) question { return question{body: streamed(small(n)), pieces: long} })
	}
	// A conversation is asked about several times, by several clients at once.
	var plain, stream, grown atomic.Int64
	for range 2 {
		client("waiting", func(int) question {
			conversation := fmt.Sprintf("conv-waiting-%04d", plain.Add(1)/8)
			return question{conversation: conversation, body: longChat(conversation, overTurns), over: true}
		})
		client("waiting stream", func(int) question {
			conversation := fmt.Sprintf("conv-stream-%04d", stream.Add(1)/8)
			return question{conversation: conversation, body: streamed(longChat(conversation, overTurns)), pieces: 5, over: true}
		})
	}
	// Its summary is being prepared by one replica when another one comes to wait
	// for it.
	for range 3 {
		var conversation string
		client("grown", func(n int) question {
			if n%3 == 0 {
				conversation = fmt.Sprintf("conv-slow-%04d", grown.Add(1))
				return question{conversation: conversation, body: longChat(conversation, fitTurns)}
			}
			return question{conversation: conversation, body: longChat(conversation, grownTurns), over: true}
		})
	}
	return func() {
		close(over)
		clients.Wait()
	}
}

func streamed(body string) string { return `{"stream":true,` + strings.TrimPrefix(body, "{") }

// question is a request with what is known of its answer.
type question struct {
	method, path string // POST and the chat path unless set
	conversation string
	body         string
	pieces       int  // of the stream; 0: none
	over         bool // it cannot go on as it is
}

// ask sends a request through the balancer and wants the right answer, whole. It
// reports whether there was one at all.
func (f *rolling) ask(kind string, q question) bool {
	name := f.choir.name()
	r, err := f.balancer.send(q, name)
	if err != nil {
		f.t.Errorf("%s %s: %v", kind, q.conversation, err)
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answered[kind]++
	if want := f.choir.answer(name, q.pieces); r.status != http.StatusOK || withoutComments(r.body) != want {
		f.t.Errorf("%s %s: %d %.200q, want %.200q", kind, q.conversation, r.status, r.body, want)
	}
	fold := r.fold()
	if late := r.trailer.Get("Foldgate-Fold"); late != "" {
		if fold != "pending" {
			f.t.Errorf("%s %s: head %q, trailer %q", kind, q.conversation, fold, late)
		}
		fold = late
		f.folds["pending"]++
	}
	f.folds[fold]++
	if q.over && fold != "committed" && fold != "reused" {
		f.t.Errorf("%s %s: Foldgate-Fold: %s", kind, q.conversation, fold)
	}
	if q.conversation == "" {
		return true
	}
	key := strings.Trim(cmp.Or(r.header.Get("Foldgate-Key"), r.trailer.Get("Foldgate-Key")), `"`)
	if known := f.keys[q.conversation]; known != "" && key != known {
		f.t.Errorf("%s has two keys, %q and %q", q.conversation, known, key)
	}
	f.keys[q.conversation] = key
	return true
}

// withoutComments is a stream as a client reads it.
func withoutComments(body string) string {
	var events []string
	for event := range strings.SplitAfterSeq(body, "\n\n") {
		if !strings.HasPrefix(event, ":") {
			events = append(events, event)
		}
	}
	return strings.Join(events, "")
}

// growing watches the generations until it is called again: none ever falls.
func (f *rolling) growing() (end func()) {
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(5 * beat)
		defer tick.Stop()
		last := map[string]int{}
		for {
			for name, value := range f.dump() {
				if !strings.HasSuffix(name, ":gen") {
					continue
				}
				now, err := strconv.Atoi(value)
				if err != nil || now < last[name] {
					f.t.Errorf("generation %q after %d", value, last[name])
				}
				last[name] = now
			}
			select {
			case <-over:
				return
			case <-tick.C:
			}
		}
	}()
	return func() {
		close(over)
		<-ended
	}
}

// answeredAll wants every kind of request to have been asked, and every way of a
// fold to have been seen.
func (f *rolling) answeredAll() {
	f.t.Helper()
	f.t.Logf("answered: %v; folds: %v; asked again elsewhere: %d", f.answered, f.folds, f.balancer.again)
	for _, kind := range []string{"no chat", "small", "small stream", "long stream", "waiting", "waiting stream", "grown"} {
		if f.answered[kind] == 0 {
			f.t.Errorf("no request of the kind %q was answered", kind)
		}
	}
	for _, fold := range []string{"committed", "reused", "pending", `none; reason="fits"`} {
		if f.folds[fold] == 0 {
			f.t.Errorf("no request was answered as %s", fold)
		}
	}
}

// summarizedOnce wants one summary call for each conversation. One more is
// allowed for each that was handed over by a replica that left.
func (f *rolling) summarizedOnce() {
	f.t.Helper()
	store, over := f.dump(), 0
	for conversation, calls := range f.choir.calls() {
		for _, by := range calls[:len(calls)-1] {
			over++
			if !f.leaving[by] {
				f.t.Errorf("%s was summarized by %v, and %s did not leave", conversation, calls, by)
			}
		}
		key := f.keys[conversation]
		generation, err := strconv.Atoi(store["foldgate:1:{"+key+"}:gen"])
		if err != nil || generation < len(calls) || generation > len(calls)+len(f.leaving) {
			f.t.Errorf("%s: generation %d (%v) after %d summary calls", conversation, generation, err, len(calls))
		}
	}
	f.t.Logf("%d summary calls were given up and made again elsewhere", over)
}

// leftNothing looks for what a replica that left may leave behind.
func (f *rolling) leftNothing() {
	f.t.Helper()
	store := f.dump()
	for name, value := range store {
		_, field, _ := strings.Cut(name, " ")
		switch field {
		case "phase":
			if !slices.Contains([]string{"committed", "settled", "abandoned"}, value) {
				f.t.Errorf("%s: an owner was left %s", name, value)
			}
		case "deaths", "cancel", "cooldown", "error", "streak", "strikes", "blocked":
			if value != "" && value != "0" {
				f.t.Errorf("%s is %q", name, value)
			}
		}
	}
	for conversation, key := range f.keys {
		of := "foldgate:1:{" + key + "}:conversation "
		checkpoints := store[of+"checkpoints"]
		if phase := store[of+"phase"]; phase == "abandoned" && strings.Contains(conversation, "slow") && checkpoints == "" {
			continue // nobody came to go on with it
		}
		if checkpoints == "" || strings.Contains(checkpoints, "\n") {
			f.t.Errorf("%s has the checkpoints %q, want one", conversation, checkpoints)
		}
	}
	if len(f.keys) == 0 || len(store) == 0 {
		f.t.Error("nothing is in the store")
	}
}
