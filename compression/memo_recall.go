package compression

import (
	"hash/maphash"
	"sync"

	"github.com/foldgate/foldgate/compression/internal/clock"
)

// Names of what recall remembers; their numbers are apart from those of facts.
const (
	kindRecall  byte = 0x40 + iota // a choice of passages
	kindRun                        // + place: the messages of a run
	kindHandoff                    // the text of a handoff, in the name of a choice
)

// Bounds of what is remembered of choices: their number, and the passages of all
// of them together, at 12 bytes each.
const (
	choicesMost  = 1 << 10
	passagesMost = 1 << 17
)

// Bounds of what is remembered of the messages themselves: runs, and the bytes of
// all of them together. They take about as much as the text that they were made of.
const (
	runsMost     = 1 << 13
	runBytesMost = 48 << 20
)

// Bounds of what is remembered of handoffs: their number, and the bytes of all of
// them together, at most three for two of a handoff.
const (
	handoffsMost     = 1 << 10
	handoffBytesMost = 8 << 20
)

// choices remembers which passages were recalled, so that a tool round, or a
// retry, does not look them up again; and what a new question is looked up in. It
// holds places and keyed hashes, never text. A choice is a pure function of its
// key. Bounded, and safe for concurrent use.
type choices struct {
	mu     sync.Mutex
	chosen *clock.Map[memoKey, []passage] // each weighs its passages
	runs   *runs
}

func newChoices() choices {
	return choices{chosen: clock.New[memoKey, []passage](choicesMost, passagesMost), runs: newRuns()}
}

// get answers the passages chosen under a key, not to be changed.
func (c *choices) get(k memoKey) ([]passage, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.chosen.Get(k); known != nil {
		return *known, true
	}
	return nil, false
}

// put remembers a choice, unless it is so large that it would push out many.
func (c *choices) put(k memoKey, chosen []passage) {
	if len(chosen) > passagesMost/4 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.chosen.Put(k, chosen, len(chosen))
}

// runs remembers the messages that questions were looked up in. Its name is their
// bytes, all of them, so nobody finds a run who does not know what it was made of.
type runs struct {
	seed maphash.Seed // of the hashes in all of them
	mu   sync.Mutex
	// known weighs bytes.
	known *clock.Map[memoKey, *run]
	// handoffs weighs bytes, too.
	handoffs *clock.Map[memoKey, *grams]
	gramKey  uint64
	idle     sync.Pool // of *indexer
}

func newRuns() *runs {
	return &runs{
		seed:     maphash.MakeSeed(),
		known:    clock.New[memoKey, *run](runsMost, runBytesMost),
		handoffs: clock.New[memoKey, *grams](handoffsMost, handoffBytesMost),
		gramKey:  maphash.Bytes(maphash.MakeSeed(), nil),
	}
}

// get is the run under a key, nil where there is none.
func (r *runs) get(k memoKey) *run {
	r.mu.Lock()
	defer r.mu.Unlock()
	if known := r.known.Get(k); known != nil {
		return *known
	}
	return nil
}

// put remembers a run, unless it is so large that it would push out many.
func (r *runs) put(k memoKey, made *run) {
	if made.weight() > runBytesMost/4 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known.Put(k, made, made.weight())
}

// handoff is the grams of a handoff under its key, nil where there are none.
func (r *runs) handoff(k memoKey) *grams {
	r.mu.Lock()
	defer r.mu.Unlock()
	if known := r.handoffs.Get(k); known != nil {
		return *known
	}
	return nil
}

// putHandoff remembers them, unless they are so many that they would push out many.
func (r *runs) putHandoff(k memoKey, made *grams) {
	weight := 100 + 4*len(made.newest) + 4*len(made.before)
	if weight > handoffBytesMost/4 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.handoffs.Put(k, made, weight)
}

// indexer is one that nobody else has, until free.
func (r *runs) indexer() *indexer {
	if x, ok := r.idle.Get().(*indexer); ok {
		return x
	}
	return newIndexer(r.seed)
}

// idleMost is the terms of the largest indexer that is kept.
const idleMost = 1 << 16

func (r *runs) free(x *indexer) {
	if len(x.slots) <= 2*idleMost && cap(x.found) <= 8*idleMost {
		clear(x.folds[:cap(x.folds)]) // the last term
		r.idle.Put(x)
	}
}
