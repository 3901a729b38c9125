package middleware_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/foldgate/foldgate/middleware"
	"github.com/foldgate/foldgate/redisstore"
)

var _ middleware.Learned = (*redisstore.Learned)(nil)

// sharing makes a replica over a Redis server.
func sharing(t *testing.T, up *stub, server *miniredis.Miniredis) *gateway {
	t.Helper()
	store, err := redisstore.Open(t.Context(), redisstore.Config{URL: "redis://" + server.Addr(), Retention: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return newGateway(t, options{up: up, window: unruled, config: func(c *middleware.Config) { c.Learned = store.Learned() }})
}

// knows asks the replica, with a request that is small enough for any window, what
// it knows about the model, until that is what is wanted.
func (g *gateway) knows(t *testing.T, model, want string, header ...string) {
	t.Helper()
	for limit := time.After(patience); ; {
		a := g.post(t, request(talk("small", 8), "model", model), header...)
		tokens := a.header.Get("Foldgate-Tokens")
		if strings.HasSuffix(tokens, want) {
			return
		}
		select {
		case <-limit:
			t.Fatalf("Foldgate-Tokens stays %s, want %s", tokens, want)
		default:
		}
	}
}

const (
	knowsLearned = "window=4000, source=learned"
	knowsNothing = "source=unknown"
)

func TestReplicasShareWhatTheyLearn(t *testing.T) {
	var prompt atomic.Int64 // what the upstream reports; 0: nothing
	up := newStub(t, overflowing(14000, answerStatus(400, openaiOverflow)))
	answering := up.answer
	up.setAnswer(func(w http.ResponseWriter, r *http.Request, c stubCall) {
		if n := prompt.Load(); n > 0 {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"choices":[{"index":0,"message":{"content":"ok"}}],"usage":{"prompt_tokens":%d,"completion_tokens":1}}`, n)
			return
		}
		answering(w, r, c)
	})
	server := miniredis.RunT(t)
	a, b := sharing(t, up, server), sharing(t, up, server)
	b.knows(t, "shared", knowsNothing) // it has seen the scope before there is a lesson

	long := request(talk("taught", 30), "model", "shared")
	if got := a.post(t, long); !strings.Contains(got.header.Get("Foldgate-Fold"), "retried") {
		t.Fatalf("replica a: %s", got.header.Get("Foldgate-Fold"))
	}
	b.knows(t, "shared", knowsLearned)
	before := up.count()
	got := b.post(t, long)
	if got.fold() == "none" || strings.Contains(got.header.Get("Foldgate-Fold"), "retried") || up.count() != before+1 {
		t.Errorf("replica b: %s after %d calls", got.header.Get("Foldgate-Fold"), up.count()-before)
	}
	b.knows(t, "another", knowsNothing)
	b.knows(t, "shared", knowsNothing, "Authorization", "Bearer sk-another")

	// A third one, which comes later, loads what there is.
	c := sharing(t, up, server)
	c.knows(t, "shared", knowsLearned)

	// The upstream takes more: everybody forgets.
	prompt.Store(9000)
	a.post(t, request(talk("small", 8), "model", "shared"))
	prompt.Store(0)
	for _, g := range []*gateway{a, b, c} {
		g.knows(t, "shared", knowsNothing)
	}
	for _, key := range server.Keys() {
		if strings.Contains(key, "sk-tenant") || strings.Contains(key, "127.0.0.1") {
			t.Errorf("a key tells: %q", key)
		}
	}
}

// brokenLearned is a store that is down, or never answers.
type brokenLearned struct {
	hang  bool
	calls atomic.Int64
}

func (b *brokenLearned) fail(ctx context.Context) error {
	b.calls.Add(1)
	if b.hang {
		<-ctx.Done()
	}
	return errors.New("stub: down")
}

func (b *brokenLearned) Save(ctx context.Context, _, _ string, _ []byte) error { return b.fail(ctx) }

func (b *brokenLearned) Load(ctx context.Context, _ string) (map[string][]byte, error) {
	return nil, b.fail(ctx)
}

func (b *brokenLearned) Announcements(context.Context) <-chan string {
	closed := make(chan string)
	close(closed)
	return closed
}

func (b *brokenLearned) Hash(scope string) string { return scope }

func TestWithoutTheStoreEachLearnsForItself(t *testing.T) {
	for name, broken := range map[string]*brokenLearned{"down": {}, "hangs": {hang: true}} {
		t.Run(name, func(t *testing.T) {
			up := newStub(t, overflowing(14000, answerStatus(400, openaiOverflow)))
			g := newGateway(t, options{up: up, window: unruled, config: func(c *middleware.Config) { c.Learned = broken }})
			g.post(t, request(talk("alone", 30), "model", "shared"))
			for i := range 20 {
				g.post(t, request(talk("alone", 8), "model", fmt.Sprint("model-", i)), "Authorization", fmt.Sprint("Bearer ", i))
			}
			g.knows(t, "shared", knowsLearned)
			g.Wait()
			if n := broken.calls.Load(); n > 5 {
				t.Errorf("the store was asked %d times", n)
			}
		})
	}
}

// deafLearned is a store of lessons that announces nothing by itself: it is the
// test that says when somebody begins to listen, and what is heard.
type deafLearned struct {
	heard chan string
	told  chan struct{} // holds at most one: something was loaded or saved

	shared *sharedValues
}

type sharedValues struct {
	mu     sync.Mutex
	values map[string]map[string][]byte
}

func newDeafLearned(shared *sharedValues) *deafLearned {
	return &deafLearned{heard: make(chan string), told: make(chan struct{}, 1), shared: shared}
}

func (d *deafLearned) tell() {
	select {
	case d.told <- struct{}{}:
	default:
	}
}

func (d *deafLearned) Save(_ context.Context, scope, model string, value []byte) error {
	d.shared.mu.Lock()
	defer d.shared.mu.Unlock()
	if d.shared.values[scope] == nil {
		d.shared.values[scope] = map[string][]byte{}
	}
	d.shared.values[scope][model] = value
	d.tell()
	return nil
}

func (d *deafLearned) Load(_ context.Context, scope string) (map[string][]byte, error) {
	d.shared.mu.Lock()
	defer d.shared.mu.Unlock()
	d.tell()
	return maps.Clone(d.shared.values[scope]), nil
}

func (d *deafLearned) Announcements(context.Context) <-chan string { return d.heard }

func (d *deafLearned) Hash(scope string) string { return scope }

// scope is the one scope that there is.
func (d *deafLearned) scope(t *testing.T) string {
	t.Helper()
	d.shared.mu.Lock()
	defer d.shared.mu.Unlock()
	if len(d.shared.values) != 1 {
		t.Fatalf("%d scopes", len(d.shared.values))
	}
	return slices.Collect(maps.Keys(d.shared.values))[0]
}

// saved waits until a model's lesson is in the store.
func (d *deafLearned) saved(t *testing.T, model string) {
	t.Helper()
	for limit := time.After(patience); ; {
		d.shared.mu.Lock()
		for _, models := range d.shared.values {
			if models[model] != nil {
				d.shared.mu.Unlock()
				return
			}
		}
		d.shared.mu.Unlock()
		select {
		case <-d.told:
		case <-limit:
			t.Fatalf("%s is not saved", model)
		}
	}
}

// A replica loads what there is and begins to listen at about the same time. What
// another one saves between the two is announced to nobody, and what the replica
// itself saves then is never heard of as its own: with the beginning, both are
// made good, where the next look at the store is half a minute away.
func TestWhatWasSavedBeforeListeningBeganIsLoaded(t *testing.T) {
	up := newStub(t, overflowing(14000, answerStatus(400, openaiOverflow)))
	values := &sharedValues{values: map[string]map[string][]byte{}}
	stores := [2]*deafLearned{newDeafLearned(values), newDeafLearned(values)}
	replica := func(i int) *gateway {
		return newGateway(t, options{up: up, window: unruled, config: func(c *middleware.Config) { c.Learned = stores[i] }})
	}
	a, b := replica(0), replica(1)
	b.post(t, request(talk("own", 30), "model", "own"))
	stores[1].saved(t, "own")
	b.knows(t, "missed", knowsNothing)
	a.post(t, request(talk("taught", 30), "model", "missed"))
	stores[0].saved(t, "missed")

	stores[1].heard <- ""
	b.knows(t, "missed", knowsLearned)

	a.post(t, request(talk("taught", 30), "model", "heard"))
	stores[0].saved(t, "heard")
	stores[1].heard <- stores[1].scope(t)
	b.knows(t, "heard", knowsLearned)
}
