package history

import (
	"slices"
	"sync"
)

// pacer lets goroutines wait for a number of calls instead of a time. It is safe
// for concurrent use.
type pacer struct {
	mu      sync.Mutex
	done    int // calls that ended
	active  int // clients
	clients []waiter
	faults  []waiter
}

type waiter struct {
	until int
	ready chan struct{}
}

func newPacer(clients int) *pacer { return &pacer{active: clients} }

// ended counts a call.
func (p *pacer) ended() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	p.clients = release(p.clients, p.done)
	p.faults = release(p.faults, p.done)
}

// pass holds a client back until n more calls have ended, or everybody waits.
func (p *pacer) pass(n int) {
	p.mu.Lock()
	w := waiter{p.done + n, make(chan struct{})}
	p.clients = append(p.clients, w)
	p.unblock()
	p.mu.Unlock()
	<-w.ready
}

// leave is a client's last call.
func (p *pacer) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.active--
	p.unblock()
	if p.active == 0 {
		for _, w := range p.faults {
			close(w.ready)
		}
		p.faults = nil
	}
}

// after is closed once n more calls have ended, or all clients have left.
func (p *pacer) after(n int) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := waiter{p.done + n, make(chan struct{})}
	if p.active == 0 {
		close(w.ready)
	} else {
		p.faults = append(p.faults, w)
	}
	return w.ready
}

// over tells whether all clients have left.
func (p *pacer) over() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.active == 0
}

// unblock lets the first one go where nobody is left to wait for.
func (p *pacer) unblock() {
	if len(p.clients) == 0 || len(p.clients) < p.active {
		return
	}
	next := slices.MinFunc(p.clients, func(a, b waiter) int { return a.until - b.until })
	p.clients = release(p.clients, next.until)
}

func release(waiting []waiter, done int) []waiter {
	return slices.DeleteFunc(waiting, func(w waiter) bool {
		if w.until > done {
			return false
		}
		close(w.ready)
		return true
	})
}
