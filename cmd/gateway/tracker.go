package main

import (
	"net/http"
	"sync"
)

// tracker counts the requests that run, so that a stop can wait for the last of
// them. It is safe for concurrent use.
type tracker struct {
	mu       sync.Mutex
	running  int
	draining bool
	idle     chan struct{} // closed when draining and nothing runs
	closed   bool
}

func newTracker() *tracker { return &tracker{idle: make(chan struct{})} }

// track counts the requests that next works on.
func (t *tracker) track(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.add(1)
		defer t.add(-1)
		next.ServeHTTP(w, r)
	})
}

func (t *tracker) add(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.running += n
	t.settle()
}

// drain begins the draining. The channel is closed once no request runs; those
// that come later are refused, and nobody waits for them.
func (t *tracker) drain() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.draining = true
	t.settle()
	return t.idle
}

func (t *tracker) settle() {
	if t.draining && t.running == 0 && !t.closed {
		t.closed = true
		close(t.idle)
	}
}

func (t *tracker) isDraining() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.draining
}

func (t *tracker) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.running
}
