package history

import (
	"context"
	"sync"
)

// budget bounds the unknown outcomes of a round. Whoever sends something takes a
// token first, and gives it back with the answer; one without an answer is gone.
// So there is never a try too many, however a fault hits. It is safe for
// concurrent use.
type budget struct {
	mu   sync.Mutex
	left int
	lost int
}

func newBudget() *budget { return &budget{left: MaxUnknown} }

func (b *budget) take() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.left == 0 {
		return false
	}
	b.left--
	return true
}

func (b *budget) give() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left++
}

// lose counts a token that does not come back.
func (b *budget) lose() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lost++
}

// unspent is how many outcomes may still become unknown, whatever is under way.
func (b *budget) unspent() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return MaxUnknown - b.lost
}

// tally follows the tries of one call. It belongs to the goroutine that calls.
type tally struct {
	budget *budget
	held   bool // a token, for the try under way or the next one
	reads  bool // it leaves no trace, so that its token never is lost
	lost   int  // tries without an answer
}

type tallyKey struct{}

// Try is for a store, or a hook in its client, that may send a call more than
// once: it announces one try of the call behind ctx. If ok is false the try must
// not be made, as if no connection were free; else answered is called after it,
// and says whether the server is known to have answered, or never to have been
// asked. Tries of one call follow one another. A context that does not come from
// here allows every try.
func Try(ctx context.Context) (answered func(bool), ok bool) {
	t, found := ctx.Value(tallyKey{}).(*tally)
	if !found {
		return func(bool) {}, true
	}
	if !t.held && !t.budget.take() {
		return nil, false
	}
	t.held = true
	return func(known bool) {
		if !known {
			t.lose()
		}
	}, true
}

func (t *tally) lose() {
	t.lost++
	if !t.reads {
		t.held = false
		t.budget.lose()
	}
}

// end gives back what the call did not need.
func (t *tally) end() {
	if t.held {
		t.budget.give()
	}
}
