package ownership_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/foldgate/foldgate/ownership"
	"github.com/foldgate/foldgate/ownership/memstore"
)

// The tests of the coordinator run in a synctest bubble: time is the bubble's, and
// a goroutine that outlives its coordinator fails the test.

var errUpstream = errors.New("upstream said no")

func keyOf(name string) ownership.Key {
	sum := sha256.Sum256([]byte(name))
	return ownership.Key(hex.EncodeToString(sum[:20]))
}

func targetOf(n int) ownership.Target {
	return ownership.Target{Covered: n, Digest: sha256.Sum256(fmt.Append(nil, "prefix ", n))}
}

// prefixesUpTo matches every target of a conversation with n messages.
func prefixesUpTo(n int) func(ownership.Target) bool {
	return func(t ownership.Target) bool { return t.Covered <= n && t == targetOf(t.Covered) }
}

// jobOf wants the summary of n messages.
func jobOf(n int, work ownership.Worker, routes ...ownership.Route) ownership.Job {
	return ownership.Job{Conversation: keyOf("conversation"), Target: targetOf(n), Matches: prefixesUpTo(n), Routes: routes, Work: work}
}

var twoRoutes = []ownership.Route{{Name: "primary"}, {Name: "fallback"}}

// writes is a worker that returns text after d, or its context's cause.
func writes(text string, d time.Duration) ownership.Worker {
	return func(ctx context.Context, _ ownership.Attempt, _ func()) (ownership.Draft, error) {
		select {
		case <-time.After(d):
			return draftOf(text), nil
		case <-ctx.Done():
			return ownership.Draft{}, context.Cause(ctx)
		}
	}
}

func draftOf(text string) ownership.Draft {
	return ownership.Draft{Handoff: []byte(text), Tokens: len(text), Step: 1}
}

func fails(err error) ownership.Worker {
	return func(context.Context, ownership.Attempt, func()) (ownership.Draft, error) {
		return ownership.Draft{}, err
	}
}

func failure(class string) *ownership.RouteError {
	return &ownership.RouteError{Failure: ownership.Failure{Class: class, Climb: true}, Err: errUpstream}
}

// byRoute picks the worker by the attempt's route.
func byRoute(workers ...ownership.Worker) ownership.Worker {
	return func(ctx context.Context, a ownership.Attempt, progress func()) (ownership.Draft, error) {
		return workers[a.RouteIndex](ctx, a, progress)
	}
}

// counted counts the calls of a worker.
func counted(n *counter, work ownership.Worker) ownership.Worker {
	return func(ctx context.Context, a ownership.Attempt, progress func()) (ownership.Draft, error) {
		n.add()
		return work(ctx, a, progress)
	}
}

type counter struct {
	mu sync.Mutex
	n  int
}

func (c *counter) add() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	return c.n
}

func (c *counter) get() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

// newStore is a store on the bubble's time.
func newStore() *memstore.Store { return memstore.New(memstore.Options{}) }

// newCoordinator is shut down, and waited for, before the test ends.
func newCoordinator(t *testing.T, s ownership.Store, change ...func(*ownership.Config)) *ownership.Coordinator {
	t.Helper()
	conf := ownership.Config{Store: s}
	for _, fn := range change {
		fn(&conf)
	}
	c, err := ownership.NewCoordinator(conf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shutdown(t, c) })
	return c
}

func shutdown(t *testing.T, c *ownership.Coordinator) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	if err := c.Shutdown(ctx); err != nil {
		t.Errorf("shutdown: %v", err)
	}
}

func observedBy(o ownership.Observer) func(*ownership.Config) {
	return func(c *ownership.Config) { c.Observer = o }
}

// await wants the flight to end as kind.
func await(t *testing.T, f *ownership.Flight, kind ownership.ResultKind) ownership.Result {
	t.Helper()
	<-f.Done()
	res := f.Result()
	if res.Kind != kind {
		t.Fatalf("result %d (%v), want %d", res.Kind, res.Err, kind)
	}
	return res
}

func do(t *testing.T, c *ownership.Coordinator, job ownership.Job, kind ownership.ResultKind) ownership.Result {
	t.Helper()
	f, _ := c.Do(job)
	return await(t, f, kind)
}

func view(t *testing.T, s ownership.Store) ownership.View {
	t.Helper()
	v, err := s.Read(context.Background(), keyOf("conversation"), nil)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// wantTexts wants these handoffs to stand, newest first.
func wantTexts(t *testing.T, s ownership.Store, want ...string) {
	t.Helper()
	var got []string
	for _, c := range view(t, s).State.Checkpoints {
		got = append(got, string(c.Handoff))
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("handoffs %q stand, want %q", got, want)
	}
}

func wantText(t *testing.T, res ownership.Result, want string) {
	t.Helper()
	if got := string(res.Checkpoint.Handoff); got != want {
		t.Fatalf("handoff %q, want %q", got, want)
	}
}

// wantPhase wants the owner record in phase p.
func wantPhase(t *testing.T, s ownership.Store, p ownership.Phase) {
	t.Helper()
	if o := view(t, s).Owner; o == nil || o.Phase != p {
		t.Fatalf("owner %+v, want phase %s", o, p)
	}
}

// log is an Observer that keeps what it was told, one line each.
type log struct {
	mu    sync.Mutex
	lines []string
}

func (l *log) add(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, fmt.Sprintf(format, args...))
}

func (l *log) AttemptStarted(a ownership.Attempt) {
	l.add("start %d %s", a.Fence.Generation, a.Route.Name)
}

func (l *log) AttemptEnded(a ownership.Attempt, p ownership.Phase, unfenced bool, _ time.Duration, _ error) {
	l.add("end %d %s unfenced=%t", a.Fence.Generation, p, unfenced)
}

func (l *log) Refused(operation string, err error) { l.add("refused %s: %v", operation, err) }

func (l *log) StoreError(operation string, _ error) { l.add("store %s", operation) }

func (l *log) count(line string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, got := range l.lines {
		if got == line {
			n++
		}
	}
	return n
}

func (l *log) want(t *testing.T, line string, times int) {
	t.Helper()
	if n := l.count(line); n != times {
		l.mu.Lock()
		defer l.mu.Unlock()
		t.Fatalf("observed %q %d times, want %d, of %q", line, n, times, l.lines)
	}
}

// faulty is a store between which and its caller things go wrong. before may fail a
// call that then never runs; after may take away the answer of one that ran.
type faulty struct {
	ownership.Store
	mu            sync.Mutex
	before, after func(ctx context.Context, operation string) error
}

func (f *faulty) set(before, after func(ctx context.Context, operation string) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.before, f.after = before, after
}

func (f *faulty) call(ctx context.Context, operation string, fn func() error) error {
	f.mu.Lock()
	before, after := f.before, f.after
	f.mu.Unlock()
	if before != nil {
		if err := before(ctx, operation); err != nil {
			return err
		}
	}
	err := fn()
	if after != nil {
		if lost := after(ctx, operation); lost != nil {
			return lost
		}
	}
	return err
}

// failing fails the first n calls of one operation with err; n < 0: all of them.
func failing(operation string, n int, err error) func(context.Context, string) error {
	var calls counter
	return func(_ context.Context, op string) error {
		if op == operation && (n < 0 || calls.add() <= n) {
			return err
		}
		return nil
	}
}

func (f *faulty) Read(ctx context.Context, key ownership.Key, known []ownership.Fence) (v ownership.View, err error) {
	err = f.call(ctx, "read", func() (err error) { v, err = f.Store.Read(ctx, key, known); return err })
	return v, err
}

func (f *faulty) Claim(ctx context.Context, key ownership.Key, c ownership.Claim) (out ownership.Claimed, err error) {
	err = f.call(ctx, "claim", func() (err error) { out, err = f.Store.Claim(ctx, key, c); return err })
	return out, err
}

func (f *faulty) Renew(ctx context.Context, key ownership.Key, fence ownership.Fence, r ownership.Renewal) error {
	return f.call(ctx, "renew", func() error { return f.Store.Renew(ctx, key, fence, r) })
}

func (f *faulty) Commit(ctx context.Context, key ownership.Key, fence ownership.Fence, c ownership.Commit) (d ownership.Done, err error) {
	err = f.call(ctx, "commit", func() (err error) { d, err = f.Store.Commit(ctx, key, fence, c); return err })
	return d, err
}

func (f *faulty) Finish(ctx context.Context, key ownership.Key, fence ownership.Fence, e ownership.Ending) error {
	return f.call(ctx, "finish", func() error { return f.Store.Finish(ctx, key, fence, e) })
}

func (f *faulty) Clear(ctx context.Context, key ownership.Key, fence ownership.Fence) (p ownership.Phase, err error) {
	err = f.call(ctx, "clear", func() (err error) { p, err = f.Store.Clear(ctx, key, fence); return err })
	return p, err
}
