package middleware

import (
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/foldgate/foldgate/compression"
	"github.com/foldgate/foldgate/compression/chat"
	"github.com/foldgate/foldgate/ownership"
)

// heldCheckpoints are the checkpoints that this replica knows, with their
// handoffs: so that a conversation forwarded folded stays folded without a
// store call, and so that a read does not bring the same bytes again. Bounded in
// conversations and in bytes, least recently used first; safe for concurrent
// use.
//
// They are what the store said once, never a source of their own: a checkpoint
// is used only where its digest is the request's own chain, and the store's
// list replaces them at every read.
type heldCheckpoints struct {
	mu       sync.Mutex
	byKey    *simplelru.LRU[ownership.Key, heldConversation]
	bytes    int
	maxBytes int
}

// heldConversation is a value: readers never see it change.
type heldConversation struct {
	// forwarded is set once a request of this conversation left folded here.
	forwarded   bool
	checkpoints []ownership.Checkpoint // newest first, all with handoff bytes
	// settled is when this replica last told the store that one of them is in use.
	settled time.Time
	// read is when the store was last asked which checkpoints there are.
	read time.Time
}

func newHeldCheckpoints(entries, maxBytes int) (*heldCheckpoints, error) {
	h := &heldCheckpoints{maxBytes: maxBytes}
	var err error
	h.byKey, err = simplelru.NewLRU(entries, func(_ ownership.Key, c heldConversation) { h.bytes -= c.size() })
	return h, err
}

// size is the number of bytes of the handoffs.
func (c heldConversation) size() int {
	n := 0
	for _, cp := range c.checkpoints {
		n += len(cp.Handoff)
	}
	return n
}

// known names the fences whose handoffs need not come again.
func (c heldConversation) known() []ownership.Fence {
	fences := make([]ownership.Fence, 0, len(c.checkpoints))
	for _, cp := range c.checkpoints {
		fences = append(fences, cp.Fence)
	}
	return fences
}

func (h *heldCheckpoints) get(key ownership.Key) (heldConversation, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.byKey.Get(key)
}

func (h *heldCheckpoints) drop(key ownership.Key) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.byKey.Remove(key)
}

// put needs the lock. A conversation whose handoffs alone are over the bound is
// not kept.
func (h *heldCheckpoints) put(key ownership.Key, c heldConversation) {
	h.byKey.Remove(key)
	h.byKey.Add(key, c)
	for h.bytes += c.size(); h.bytes > h.maxBytes; {
		h.byKey.RemoveOldest()
	}
}

// replace takes what a read found, completing the handoffs that were known. A
// checkpoint whose bytes are nowhere is left out.
func (h *heldCheckpoints) replace(key ownership.Key, found []ownership.Checkpoint) heldConversation {
	h.mu.Lock()
	defer h.mu.Unlock()
	old, _ := h.byKey.Get(key)
	next := heldConversation{forwarded: old.forwarded, settled: old.settled, read: time.Now()}
	for _, cp := range found {
		if cp.Handoff == nil {
			i := slices.IndexFunc(old.checkpoints, func(o ownership.Checkpoint) bool { return o.Fence == cp.Fence })
			if i < 0 {
				continue
			}
			cp.Handoff = old.checkpoints[i].Handoff
		}
		next.checkpoints = append(next.checkpoints, cp)
	}
	if len(next.checkpoints) == 0 {
		h.byKey.Remove(key)
		return heldConversation{}
	}
	h.put(key, next)
	return next
}

// add puts a fresh commit in front.
func (h *heldCheckpoints) add(key ownership.Key, cp ownership.Checkpoint) {
	h.mu.Lock()
	defer h.mu.Unlock()
	old, _ := h.byKey.Get(key)
	next := heldConversation{
		forwarded: old.forwarded, settled: old.settled, read: time.Now(), checkpoints: []ownership.Checkpoint{cp},
	}
	for _, o := range old.checkpoints {
		if o.Fence != cp.Fence && len(next.checkpoints) < ownership.MaxCheckpoints {
			next.checkpoints = append(next.checkpoints, o)
		}
	}
	h.put(key, next)
}

// update changes one conversation's entry, if there is one.
func (h *heldCheckpoints) update(key ownership.Key, change func(*heldConversation)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	old, ok := h.byKey.Get(key)
	if !ok {
		return
	}
	next := old
	next.checkpoints = slices.Clone(old.checkpoints)
	change(&next)
	h.put(key, next)
}

func (h *heldCheckpoints) markForwarded(key ownership.Key) {
	h.update(key, func(c *heldConversation) { c.forwarded = true })
}

func (h *heldCheckpoints) markSettled(key ownership.Key, f ownership.Fence) {
	h.update(key, func(c *heldConversation) {
		c.settled = time.Now()
		for i := range c.checkpoints {
			if c.checkpoints[i].Fence == f {
				c.checkpoints[i].Settled = true
			}
		}
	})
}

// settleAgain is how often a checkpoint that is in use is settled again, so that
// the store does not forget it: it counts retention from the last use.
const settleAgain = time.Hour

// due reports whether the store is to hear that the conversation is in use. A
// true answer is the caller's alone.
func (h *heldCheckpoints) due(key ownership.Key) (due bool) {
	h.update(key, func(c *heldConversation) {
		if due = time.Since(c.settled) >= settleAgain; due {
			c.settled = time.Now()
		}
	})
	return due
}

// readAgain is how long what is held is used without asking the store: another
// replica's operator may have restored or forgotten the conversation.
const readAgain = 30 * time.Second

// old reports whether the store is to be asked again for what is held. A true
// answer is the caller's alone.
func (h *heldCheckpoints) old(key ownership.Key) (old bool) {
	h.update(key, func(c *heldConversation) {
		if old = time.Since(c.read) >= readAgain; old {
			c.read = time.Now()
		}
	})
	return old
}

// match is the newest checkpoint whose digest is the request's own prefix.
func (m *Middleware) match(c heldConversation, v *compression.View) (ownership.Checkpoint, bool) {
	for _, cp := range c.checkpoints {
		if m.refused.Contains(cp.Fence) || !prefixOf(v, cp.Target) {
			continue
		}
		return cp, true
	}
	return ownership.Checkpoint{}, false
}

// prefixOf reports whether the target covers exactly the first messages of v,
// leaving a rest that may stand alone.
func prefixOf(v *compression.View, t ownership.Target) bool {
	return t.Covered > 0 && t.Covered < v.Len() && v.Chain(t.Covered) == chat.Digest(t.Digest) && v.Legal(t.Covered)
}

// handoffOf is a checkpoint in the words of package compression.
func handoffOf(cp ownership.Checkpoint) compression.Handoff {
	return compression.Handoff{
		Covered: cp.Covered, Digest: chat.Digest(cp.Digest), Text: string(cp.Handoff), Step: cp.Step, Model: true,
	}
}
