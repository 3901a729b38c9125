package ownership

import (
	"sync"
	"time"
)

// Info is one attempt of this replica, for people.
type Info struct {
	Fence        Fence
	Conversation Key
	// Phase is the state of the attempt as this replica knows it: Working while it
	// runs, then the same as Outcome. What others do with a checkpoint later (settle,
	// restore) is in the store.
	Phase Phase
	// Outcome is empty while the attempt works.
	Outcome Phase
	// Unfenced: nothing of the attempt was shared.
	Unfenced bool
	Route    string
	Covered  int
	Started  time.Time
	// Ended is zero while the attempt works.
	Ended time.Time
	// Reason says why it ended where the outcome alone does not: an error class or
	// the reason of a cancel, never text of an upstream.
	Reason string
}

// OutcomeOf is the one word for how an attempt ended, of what an Info or an Observer
// tells: its phase, or unfenced where its draft could not be shared; empty while it
// goes on.
func OutcomeOf(p Phase, unfenced bool) string {
	if unfenced && p == Committed {
		return "unfenced"
	}
	return string(p)
}

// ringSize is how many attempts a coordinator remembers.
const ringSize = 256

// ring remembers the last attempts. The zero ring is ready.
type ring struct {
	mu      sync.Mutex
	entries [ringSize]*Info
	next    int // number of attempts ever added
}

// add enters i and returns it for end.
func (r *ring) add(i Info) *Info {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := &i
	r.entries[r.next%ringSize] = p
	r.next++
	return p
}

// end writes the outcome, also into an entry that was pushed out meanwhile.
func (r *ring) end(p *Info, outcome Phase, unfenced bool, at time.Time, reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p.Phase, p.Outcome, p.Unfenced, p.Ended, p.Reason = outcome, outcome, unfenced, at, reason
}

func (r *ring) newest(limit int) []Info {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := min(limit, r.next, ringSize)
	if n <= 0 {
		return nil
	}
	out := make([]Info, n)
	for i := range out {
		out[i] = *r.entries[(r.next-1-i)%ringSize]
	}
	return out
}
