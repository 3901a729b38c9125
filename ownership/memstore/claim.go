package memstore

import (
	"bytes"
	"context"
	"time"

	"github.com/foldgate/foldgate/ownership"
)

// Claim implements ownership.Store.
func (s *Store) Claim(ctx context.Context, key ownership.Key, c ownership.Claim) (out ownership.Claimed, err error) {
	if err := check(key, c.Check()); err != nil {
		return out, err
	}
	err = s.do(ctx, key, creating, func(rec *record, now time.Time) (err error) {
		out, err = rec.claim(c, now)
		return err
	})
	return out, err
}

func (r *record) claim(c ownership.Claim, now time.Time) (ownership.Claimed, error) {
	if r.owner != nil && r.owner.Fence.Attempt == c.Attempt {
		return r.claimed(), nil
	}
	for _, p := range r.state.Checkpoints {
		if p.Digest == c.Target.Digest {
			p.Handoff = bytes.Clone(p.Handoff)
			return ownership.Claimed{Verdict: ownership.VerdictCommitted, Checkpoint: p}, nil
		}
	}
	superseding := c.Supersede != ownership.Fence{}
	if superseding {
		if err := r.working(c.Supersede); err != nil {
			return ownership.Claimed{}, err
		}
		if r.raised() {
			return ownership.Claimed{Verdict: ownership.VerdictCancelled}, nil
		}
	} else if o := r.ownerView(now); o != nil && o.Live {
		return ownership.Claimed{Verdict: ownership.VerdictBusy, Owner: *o}, nil
	}
	if !c.Bypass {
		if refused := r.resting(now); refused.Verdict != 0 {
			return refused, nil
		}
	}
	if !superseding && r.owner != nil && r.owner.Phase == ownership.Working {
		if refused := r.died(now); refused.Verdict != 0 {
			return refused, nil
		}
	}
	r.announce = r.owner != nil && r.owner.Phase == ownership.Working
	r.own(c, now)
	return r.claimed(), nil
}

// resting answers a cooldown or a block that still runs, else the zero Claimed.
func (r *record) resting(now time.Time) ownership.Claimed {
	if left := ahead(r.state.CooldownUntil, now, ownership.MaxCooldown); left > 0 {
		return ownership.Claimed{Verdict: ownership.VerdictCooling, Until: r.state.CooldownUntil, Left: left}
	}
	if left := ahead(r.state.BlockedUntil, now, ownership.BlockFor); left > 0 {
		return ownership.Claimed{Verdict: ownership.VerdictBlocked, Until: r.state.BlockedUntil, Left: left}
	}
	return ownership.Claimed{}
}

// died counts an owner whose lease ran out. The last one in a row ends here, in
// its own name; before that the claim goes on, and the answer is the zero Claimed.
func (r *record) died(now time.Time) ownership.Claimed {
	r.owner.Deaths++
	if r.owner.Deaths < ownership.MaxDeaths {
		return ownership.Claimed{}
	}
	r.owner.Deaths = 0
	r.charge(ownership.Failure{Class: ownership.DeathClass, Climb: true}, now)
	if r.raised() {
		r.end(ownership.Cancelled, now)
		return ownership.Claimed{Verdict: ownership.VerdictCancelled}
	}
	r.end(ownership.Abandoned, now)
	return ownership.Claimed{
		Verdict: ownership.VerdictCooling,
		Until:   r.state.CooldownUntil,
		Left:    r.state.CooldownUntil.Sub(now),
	}
}

// own makes the caller the owner.
func (r *record) own(c ownership.Claim, now time.Time) {
	deaths := 0
	if r.owner != nil {
		deaths = r.owner.Deaths
	}
	r.owner = &ownership.Owner{
		Fence:       ownership.Fence{Generation: r.next(), Attempt: c.Attempt},
		Phase:       ownership.Working,
		Replica:     c.Replica,
		Route:       c.Route,
		Claimed:     now,
		Progress:    now,
		LeaseEnd:    now.Add(min(c.Lease, c.Ceiling)),
		Ceiling:     now.Add(c.Ceiling),
		Deaths:      deaths,
		Target:      c.Target,
		TraceParent: c.TraceParent,
	}
	r.cancel, r.snap = nil, nil
	r.written = true
}

func (r *record) claimed() ownership.Claimed {
	return ownership.Claimed{
		Verdict: ownership.VerdictClaimed,
		Fence:   r.owner.Fence,
		State:   hand(r.state, func(ownership.Fence) bool { return false }),
	}
}
