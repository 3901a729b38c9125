package memstore

import (
	"bytes"
	"slices"
	"time"

	"github.com/foldgate/foldgate/ownership"
)

// record is what is known of one conversation. The zero record is one that nobody
// ever claimed. Handoff bytes inside are never written to again and so are shared
// between state and snapshot.
type record struct {
	generation ownership.Generation
	owner      *ownership.Owner // Live and LeaseLeft are filled on the way out
	cancel     *ownership.Cancel
	state      ownership.State
	snap       *snapshot
	expires    time.Time

	written  bool // this step changed something
	announce bool // this step is worth a hint to those who watch
}

// snapshot is the state as it was just before the commit of fence.
type snapshot struct {
	fence ownership.Fence
	state ownership.State
}

func (r *record) expired(now time.Time) bool {
	return !r.expires.IsZero() && !now.Before(r.expires)
}

// span is how long the attempt may still write, counted from any moment of it.
func (r *record) span() time.Duration {
	if r.owner == nil {
		return 0
	}
	return 2 * r.owner.Ceiling.Sub(r.owner.Claimed)
}

func (r *record) liveUntil(now time.Time) int64 {
	if r.owner == nil || leaseLeft(r.owner, now) == 0 {
		return 0
	}
	return r.owner.LeaseEnd.UnixNano()
}

// leaseLeft is zero unless the owner works and its lease runs. An end that is
// further ahead than any lease could reach counts as past.
func leaseLeft(o *ownership.Owner, now time.Time) time.Duration {
	if o.Phase != ownership.Working {
		return 0
	}
	return ahead(o.LeaseEnd, now, o.Ceiling.Sub(o.Claimed))
}

// ahead is how far t lies in the future, zero if it is past or more than limit
// ahead.
func ahead(t, now time.Time, limit time.Duration) time.Duration {
	if left := t.Sub(now); !t.IsZero() && left > 0 && left <= limit {
		return left
	}
	return 0
}

func (r *record) ownerView(now time.Time) *ownership.Owner {
	if r.owner == nil {
		return nil
	}
	o := *r.owner
	o.LeaseLeft = leaseLeft(&o, now)
	o.Live = o.LeaseLeft > 0
	return &o
}

// current is nil where f owns the conversation, in whatever phase.
func (r *record) current(f ownership.Fence) error {
	switch {
	case r.owner != nil && r.owner.Fence == f:
		return nil
	case r.owner != nil && r.owner.Fence.Generation > f.Generation:
		return ownership.ErrSuperseded
	}
	return ownership.ErrLost
}

// working is nil where f owns the conversation and works.
func (r *record) working(f ownership.Fence) error {
	if err := r.current(f); err != nil {
		return err
	}
	if r.owner.Phase != ownership.Working {
		return &ownership.EndedError{Phase: r.owner.Phase}
	}
	return nil
}

// raised reports the flag of the current attempt.
func (r *record) raised() bool { return r.cancel != nil }

// end moves the owner to p: lease and flag go, everybody who waits is told.
func (r *record) end(p ownership.Phase, now time.Time) {
	r.owner.Phase = p
	r.owner.LeaseEnd = now
	r.cancel = nil
	r.written, r.announce = true, true
}

// next takes a generation, above the owner's whatever became of the counter.
func (r *record) next() ownership.Generation {
	if r.owner != nil {
		r.generation = max(r.generation, r.owner.Fence.Generation)
	}
	r.generation++
	return r.generation
}

// charge enters a failure into the state.
func (r *record) charge(f ownership.Failure, now time.Time) {
	streak, cooldown := f.Charge(r.state.Streak)
	r.state.Streak, r.state.LastError = streak, f.Class
	until := now.Add(cooldown)
	if ahead(r.state.CooldownUntil, now, ownership.MaxCooldown) < cooldown {
		r.state.CooldownUntil = until
	}
}

// strike counts a fold that did not help.
func (r *record) strike(now time.Time) {
	r.state.Strikes++
	if r.state.Strikes >= ownership.MaxStrikes {
		r.state.BlockedUntil = now.Add(ownership.BlockFor)
	}
}

// checkpoint finds the one that f wrote, nil if it does not stand.
func (r *record) checkpoint(f ownership.Fence) *ownership.Checkpoint {
	i := slices.IndexFunc(r.state.Checkpoints, func(c ownership.Checkpoint) bool { return c.Fence == f })
	if i < 0 {
		return nil
	}
	return &r.state.Checkpoints[i]
}

// keep copies a state for the record's own use; handoffs are shared.
func keep(s ownership.State) ownership.State {
	s.Checkpoints = slices.Clone(s.Checkpoints)
	return s
}

// hand copies a state for a caller, with the handoffs that wanted picks.
func hand(s ownership.State, wanted func(ownership.Fence) bool) ownership.State {
	s = keep(s)
	for i := range s.Checkpoints {
		c := &s.Checkpoints[i]
		if wanted(c.Fence) {
			c.Handoff = bytes.Clone(c.Handoff)
		} else {
			c.Handoff = nil
		}
	}
	return s
}
