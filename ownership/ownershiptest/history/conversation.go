package history

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/foldgate/foldgate/ownership"
)

// conversation is what the clients of a round know of one conversation, and what
// happened to it. It is safe for concurrent use.
type conversation struct {
	key ownership.Key
	// brief leases run out within the round; others do not.
	brief bool

	mu        sync.Mutex
	targets   int
	claims    []ownership.Claim
	fences    []ownership.Fence
	seen      map[ownership.Fence]bool
	operators []call
	calls     []porcupine.Operation
}

func newConversation(name string, brief bool) *conversation {
	sum := sha256.Sum256([]byte(name))
	return &conversation{key: ownership.Key(hex.EncodeToString(sum[:20])), brief: brief, seen: map[ownership.Fence]bool{}}
}

func (c *conversation) record(o porcupine.Operation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, o)
}

// learn remembers what an answer told about owners.
func (c *conversation) learn(a *answer) {
	var f ownership.Fence
	switch {
	case a.says == saysClaimed:
		f = a.claimed.Fence
	case a.says == saysBusy:
		f = a.claimed.Owner.Fence
	case a.view.Owner != nil:
		f = a.view.Owner.Fence
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if f != (ownership.Fence{}) && !c.seen[f] {
		c.seen[f] = true
		c.fences = append(c.fences, f)
	}
}

// claimed tells whether anybody was heard of who claimed it.
func (c *conversation) claimed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.fences) > 0
}

// fence is one that somebody may hold: the newest mostly, an older one whose call
// comes late, or one that never was, with one half right.
func (c *conversation) fence(r *rand.Rand) ownership.Fence {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(c.fences)
	if n == 0 {
		return ownership.Fence{Generation: ownership.Generation(1 + r.IntN(3)), Attempt: newAttempt(r)}
	}
	f := c.fences[n-1]
	switch p := r.IntN(100); {
	case p < 80:
	case p < 94:
		f = c.fences[max(0, n-1-r.IntN(4))]
	case p < 97:
		f.Attempt = newAttempt(r)
	default:
		f.Generation = ownership.Generation(max(1, int(f.Generation)+r.IntN(3)-1))
	}
	return f
}

// target is a new one mostly, or one that somebody has claimed already.
func (c *conversation) target(r *rand.Rand) ownership.Target {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.claims); n > 0 && r.IntN(100) < 25 {
		return c.claims[max(0, n-1-r.IntN(6))].Target
	}
	c.targets++
	return ownership.Target{Covered: c.targets, Digest: sha256.Sum256(fmt.Appendf(nil, "%s %d", c.key, c.targets))}
}

// targetOf is what the attempt of f claimed, if anybody knows.
func (c *conversation) targetOf(f ownership.Fence) (ownership.Target, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := len(c.claims) - 1; i >= 0; i-- {
		if c.claims[i].Attempt == f.Attempt {
			return c.claims[i].Target, true
		}
	}
	return ownership.Target{}, false
}

// lease is a length, and the longest one that renewals may reach.
func (c *conversation) lease(r *rand.Rand) (lease, ceiling time.Duration) {
	if !c.brief {
		return time.Hour, 24 * time.Hour
	}
	return time.Duration(1+r.IntN(12)) * time.Millisecond, time.Duration(5+r.IntN(30)) * time.Millisecond
}

// history is what happened, for the checker.
func (c *conversation) history() []porcupine.Operation {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls
}

// newAttempt is the canonical text of a UUIDv7 that repeats with the seed.
func newAttempt(r *rand.Rand) ownership.AttemptID {
	return ownership.AttemptID(fmt.Sprintf("01890a5d-ac96-7%03x-8%03x-%012x", r.IntN(1<<12), r.IntN(1<<12), r.Uint64()&(1<<48-1)))
}
