package compression

import (
	"sync"

	"github.com/foldgate/foldgate/compression/internal/clock"
)

// kindRecall names a choice of passages; its number is apart from those of facts.
const kindRecall byte = 0x40

// Bounds of what is remembered of choices: their number, and the passages of all
// of them together, at 12 bytes each.
const (
	choicesMost  = 1 << 10
	passagesMost = 1 << 17
)

// choices remembers which passages were recalled, so that a tool round, or a
// retry, does not look them up again. It holds places, never text. A choice is a
// pure function of its key. Bounded, and safe for concurrent use.
type choices struct {
	mu     sync.Mutex
	chosen *clock.Map[memoKey, []passage] // each weighs its passages
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
