package middleware

import (
	"sync"
	"time"
)

// drain is the end of this replica's service, as its requests see it. It is safe
// for concurrent use.
type drain struct {
	once  sync.Once
	begun chan struct{} // closed when it begins
	waits time.Time     // until when a summary may be awaited; stands once begun is closed
}

func newDrain() *drain { return &drain{begun: make(chan struct{})} }

func (d *drain) begin(wait time.Duration) {
	d.once.Do(func() {
		d.waits = time.Now().Add(wait)
		close(d.begun)
	})
}

func (d *drain) on() bool {
	select {
	case <-d.begun:
		return true
	default:
		return false
	}
}

// Drain makes every further request a 503 with Retry-After. Requests that are
// running go on; those that wait for a summary do so for at most wait from now
// and are then folded without a model, so that they are answered before they are
// cut: leave the upstream time for that. The first call counts.
func (m *Middleware) Drain(wait time.Duration) { m.drain.begin(wait) }

// hurry bounds this request's wait to what the drain leaves of it.
func (x *exchange) hurry() {
	if waits := x.m.drain.waits; waits.Before(x.deadline) {
		x.deadline = waits
	}
}
