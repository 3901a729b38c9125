package compression

import "sync"

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
// pure function of its key. Bounded, and safe for concurrent use; the zero value
// is ready.
type choices struct {
	mu       sync.Mutex
	index    map[memoKey]int
	slots    []choice
	hand     int
	passages int
}

type choice struct {
	key    memoKey
	chosen []passage
	used   bool
}

// get answers the passages chosen under a key, not to be changed.
func (c *choices) get(k memoKey) ([]passage, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i, ok := c.index[k]
	if !ok {
		return nil, false
	}
	c.slots[i].used = true
	return c.slots[i].chosen, true
}

// put remembers a choice, in the place of others that were not asked for since
// the hand of the clock went by.
func (c *choices) put(k memoKey, chosen []passage) {
	if len(chosen) > passagesMost/4 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.index == nil {
		c.index = make(map[memoKey]int)
	}
	if _, ok := c.index[k]; ok {
		return
	}
	for len(c.slots) == choicesMost || c.passages+len(chosen) > passagesMost {
		c.evict()
	}
	c.index[k] = len(c.slots)
	c.slots = append(c.slots, choice{key: k, chosen: chosen})
	c.passages += len(chosen)
}

// evict forgets the first choice from the hand on that was not used, and puts
// the last one in its place.
func (c *choices) evict() {
	for {
		if c.hand >= len(c.slots) {
			c.hand = 0
		}
		if !c.slots[c.hand].used {
			break
		}
		c.slots[c.hand].used = false
		c.hand++
	}
	last := len(c.slots) - 1
	c.passages -= len(c.slots[c.hand].chosen)
	delete(c.index, c.slots[c.hand].key)
	if c.hand != last {
		c.slots[c.hand] = c.slots[last]
		c.index[c.slots[c.hand].key] = c.hand
	}
	c.slots[last] = choice{}
	c.slots = c.slots[:last]
	c.hand++
}
