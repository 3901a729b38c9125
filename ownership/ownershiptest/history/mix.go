package history

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/foldgate/foldgate/ownership"
)

// mix is how often, in a thousand, a client makes which call.
var mix = []struct {
	weight int
	make   func(*conversation, *rand.Rand) *call
}{
	{210, makeClaim},
	{40, makeClaimAgain},
	{70, makeRenew},
	{200, makeCommit},
	{90, makeSettle},
	{80, makeRestore},
	{70, makeFinish},
	{60, makeRaise},
	{40, makeClear},
	{115, makeRead},
	{15, makeOperator},
	{4, makeForget},
}

// choose makes up the next call on c.
func choose(c *conversation, r *rand.Rand) *call {
	if !c.claimed() && chance(r, 80) {
		return makeClaim(c, r)
	}
	total := 0
	for _, m := range mix {
		total += m.weight
	}
	n := r.IntN(total)
	for _, m := range mix {
		if n -= m.weight; n < 0 {
			return m.make(c, r)
		}
	}
	panic("unreachable")
}

func chance(r *rand.Rand, percent int) bool { return r.IntN(100) < percent }

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

func makeClaim(c *conversation, r *rand.Rand) *call {
	q := ownership.Claim{
		Attempt: newAttempt(r), Target: c.target(r), Replica: pick(r, "a", "b"), Route: pick(r, "first", "second route"),
		Bypass: chance(r, 65), TraceParent: pick(r, "", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"),
	}
	q.Lease, q.Ceiling = c.lease(r)
	if chance(r, 25) {
		q.Supersede = c.fence(r)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.claims = append(c.claims, q)
	return &call{op: opClaim, claim: q}
}

// makeClaimAgain is a copy of a claim that comes late, or a repeat.
func makeClaimAgain(c *conversation, r *rand.Rand) *call {
	c.mu.Lock()
	n := len(c.claims)
	if n == 0 {
		c.mu.Unlock()
		return makeClaim(c, r)
	}
	defer c.mu.Unlock()
	return &call{op: opClaim, claim: c.claims[max(0, n-1-r.IntN(5))]}
}

func makeRenew(c *conversation, r *rand.Rand) *call {
	lease, _ := c.lease(r)
	return &call{op: opRenew, fence: c.fence(r), renewal: ownership.Renewal{Lease: lease, Progress: chance(r, 50)}}
}

func makeCommit(c *conversation, r *rand.Rand) *call {
	f := c.fence(r)
	what, known := c.targetOf(f)
	if !known || chance(r, 3) {
		what = c.target(r)
	}
	return &call{op: opCommit, fence: f, commit: ownership.Commit{
		Checkpoint: ownership.Checkpoint{
			Target: what, Tokens: r.IntN(5000), Route: pick(r, "first", "second route"), Step: pick(r, 1, 1.15, 2.5),
			Handoff: fmt.Appendf(nil, "%s %x", tail(f.Attempt), r.Uint32()),
		},
		Strike: chance(r, 40),
	}}
}

func makeSettle(c *conversation, r *rand.Rand) *call { return &call{op: opSettle, fence: c.fence(r)} }

func makeRestore(c *conversation, r *rand.Rand) *call {
	q := &call{op: opRestore, fence: c.fence(r)}
	if chance(r, 50) {
		f := makeFailure(c, r)
		q.charge = &f
	}
	return q
}

func makeFailure(c *conversation, r *rand.Rand) ownership.Failure {
	f := ownership.Failure{Class: pick(r, "timeout", "status_500", "refused"), Climb: chance(r, 70)}
	switch {
	case c.brief && chance(r, 60):
		f.Cooldown = time.Duration(1+r.IntN(10)) * time.Millisecond
	case chance(r, 20):
		f.Cooldown = pick(r, 10*time.Minute, 5*time.Hour)
	}
	return f
}

func makeFinish(c *conversation, r *rand.Rand) *call {
	e := ownership.Ending{Phase: pick(r, ownership.Failed, ownership.Failed, ownership.Ineffective, ownership.Ineffective, ownership.Cancelled, ownership.Abandoned)}
	if e.Phase == ownership.Failed {
		e.Failure = makeFailure(c, r)
	}
	return &call{op: opFinish, fence: c.fence(r), ending: e}
}

func makeRaise(c *conversation, r *rand.Rand) *call {
	return &call{op: opRaise, fence: c.fence(r), reason: pick(r, "", "operator", "client gone")}
}

func makeClear(c *conversation, r *rand.Rand) *call { return &call{op: opClear, fence: c.fence(r)} }

func makeRead(c *conversation, r *rand.Rand) *call {
	q := &call{op: opRead}
	for range r.IntN(3) {
		q.known = append(q.known, c.fence(r))
	}
	return q
}

// makeOperator is a new decision, or one that was made before.
func makeOperator(c *conversation, r *rand.Rand) *call {
	q := call{op: opOperator, fence: c.fence(r), by: newAttempt(r)}
	if chance(r, 10) {
		q.fence = ownership.Fence{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.operators); n > 0 && chance(r, 40) {
		again := c.operators[n-1]
		return &again
	}
	c.operators = append(c.operators, q)
	return &q
}

func makeForget(*conversation, *rand.Rand) *call { return &call{op: opForget} }
