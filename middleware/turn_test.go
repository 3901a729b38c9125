package middleware_test

import (
	"context"
	"net/http"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/foldgate/foldgate/ownership"
	"github.com/foldgate/foldgate/ownership/memstore"
)

// heldStore keeps reads of the first conversations waiting until it is told to let
// them go.
type heldStore struct {
	ownership.Store
	reading chan struct{} // one for each that waits
	release chan struct{}

	mu   sync.Mutex
	hold int // how many more
}

func (s *heldStore) Read(ctx context.Context, k ownership.Key, known []ownership.Fence) (ownership.View, error) {
	s.mu.Lock()
	hold := s.hold > 0
	s.hold--
	s.mu.Unlock()
	if hold {
		s.reading <- struct{}{}
		<-s.release // whatever ctx says: else they would come one after another
	}
	return s.Store.Read(ctx, k, known)
}

// crowd is more than can ever compute at once.
func crowd() int { return 2*runtime.GOMAXPROCS(0) + 2 }

// come waits for what must come.
func come(t *testing.T, c <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(patience):
		t.Fatalf("%s did not come", what)
	}
}

// crowd sends n large requests at once, each of a conversation of its own.
func (g *gateway) crowd(t *testing.T, n int) (all func() []answer) {
	t.Helper()
	answers := make([]answer, n)
	var wait sync.WaitGroup
	for i := range n {
		wait.Go(func() { answers[i] = g.try(t.Context(), request(talk(string(rune('a'+i))+"-crowd", 40))) })
	}
	return func() []answer { wait.Wait(); return answers }
}

// Large requests that wait for the store hold up nobody who has something to
// compute.
func TestNoTurnIsHeldWhileTheStoreIsWaitedFor(t *testing.T) {
	n := crowd()
	s := &heldStore{Store: memstore.New(memstore.Options{}), reading: make(chan struct{}, n), release: make(chan struct{}), hold: n}
	g := newGateway(t, options{store: s})
	release := sync.OnceFunc(func() { close(s.release) })
	t.Cleanup(release)
	answers := g.crowd(t, n)
	for range n {
		come(t, s.reading, "a read of the store")
	}
	if a := g.post(t, request(talk("beside", 40))); a.fold() != "committed" {
		t.Errorf("beside %d that wait for the store: %s", n, a.header.Get("Foldgate-Fold"))
	}
	release()
	for i, a := range answers() {
		if a.err != nil || a.status != http.StatusOK {
			t.Errorf("request %d: %d, %v", i, a.status, a.err)
		}
	}
}

// And so do those that wait for a summary. One more than there may be attempts is
// folded without a model at once.
func TestNoTurnIsHeldWhileASummaryIsWaitedFor(t *testing.T) {
	n := max(crowd(), ownership.DefaultMaxAttempts)
	asked, released := make(chan struct{}, n), make(chan struct{})
	release := sync.OnceFunc(func() { close(released) })
	g := newGateway(t, options{sum: newStub(t, func(w http.ResponseWriter, r *http.Request, c stubCall) {
		asked <- struct{}{}
		<-released
		answerSummary(summaryText)(w, r, c)
	})})
	t.Cleanup(release)
	answers := g.crowd(t, n)
	for range ownership.DefaultMaxAttempts {
		come(t, asked, "a call of the summarizer")
	}
	if a := g.post(t, request(talk("beside", 40))); a.fold() != "fallback" || a.reason() != "full" {
		t.Errorf("beside %d that wait for a summary: %s", n, a.header.Get("Foldgate-Fold"))
	}
	release()
	for i, a := range answers() {
		if a.err != nil || a.status != http.StatusOK {
			t.Errorf("request %d: %d, %v", i, a.status, a.err)
		}
	}
}
