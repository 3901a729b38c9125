package history

import "github.com/foldgate/foldgate/ownership"

// branch is one way in which a step can go: what it answers and what it leaves.
// Where shows is set the answer must also show what next holds, and the instants
// that it names are fixed there.
type branch struct {
	says  string
	next  state
	shows func(next *state, a *answer) bool
}

// only is a step that can go one way.
func only(says string, next state) []branch { return []branch{{says: says, next: next}} }

func (s state) claim(c *call) []branch {
	if s.owner.fence.Attempt == c.claim.Attempt {
		return []branch{s.claimed()}
	}
	sameDigest := func(p point) bool { return p.target.Digest == c.claim.Target.Digest }
	if s.standing(sameDigest) != nil {
		return []branch{{saysCommitted, s, func(next *state, a *answer) bool {
			p := *next.standing(sameDigest)
			return p.shows(a.claimed.Checkpoint, true)
		}}}
	}
	if f := c.claim.Supersede; f != (ownership.Fence{}) {
		switch {
		case !s.current(f):
			return only(s.refusal(f), s)
		case s.owner.phase != ownership.Working:
			return only(saysEnded(s.owner.phase), s)
		case s.flag.raised:
			return only(saysCancelled, s)
		}
		return s.rested(c, func(s state) []branch { return []branch{s.own(c)} })
	}
	if s.owner.phase != ownership.Working {
		return s.rested(c, func(s state) []branch { return []branch{s.own(c)} })
	}
	return s.claimFromOwner(c)
}

// claimFromOwner claims a conversation whose owner works or has died.
func (s state) claimFromOwner(c *call) []branch {
	var ways []branch
	if s.owner.leaseEnd.ahead(c.now) {
		busy := s
		busy.owner.leaseEnd = s.owner.leaseEnd.asAhead(c.now)
		ways = append(ways, branch{saysBusy, busy, func(next *state, a *answer) bool {
			return a.claimed.Owner.Live && next.showsOwner(&a.claimed.Owner, c.now)
		}})
	}
	if s.owner.leaseEnd.past(c.now) {
		s.owner.leaseEnd = s.owner.leaseEnd.asPast(c.now)
		ways = append(ways, s.rested(c, func(s state) []branch { return s.bury(c) })...)
	}
	return ways
}

// rested goes on with then unless a cooldown or a block still runs.
func (s state) rested(c *call, then func(state) []branch) []branch {
	if c.claim.Bypass {
		return then(s)
	}
	var ways []branch
	if s.kept.cooldown.ahead(c.now) {
		cooling := s
		cooling.kept.cooldown = s.kept.cooldown.asAhead(c.now)
		ways = append(ways, branch{saysCooling, cooling, func(next *state, a *answer) bool {
			return showsWait(&next.kept.cooldown, a.claimed, c.now)
		}})
	}
	if !s.kept.cooldown.past(c.now) {
		return ways
	}
	s.kept.cooldown = s.kept.cooldown.asPast(c.now)
	if s.kept.blocked.ahead(c.now) {
		blocked := s
		blocked.kept.blocked = s.kept.blocked.asAhead(c.now)
		ways = append(ways, branch{saysBlocked, blocked, func(next *state, a *answer) bool {
			return showsWait(&next.kept.blocked, a.claimed, c.now)
		}})
	}
	if !s.kept.blocked.past(c.now) {
		return ways
	}
	s.kept.blocked = s.kept.blocked.asPast(c.now)
	return append(ways, then(s)...)
}

// bury counts the dead owner; the third in a row is ended, and the claim refused.
func (s state) bury(c *call) []branch {
	s.owner.deaths++
	if s.owner.deaths < 3 {
		return []branch{s.own(c)}
	}
	s.owner.deaths = 0
	s.charge(ownership.Failure{Class: "died", Climb: true}, c.now)
	if s.flag.raised {
		s.end(ownership.Cancelled, c.now)
		return only(saysCancelled, s)
	}
	s.end(ownership.Abandoned, c.now)
	return []branch{{saysCooling, s, func(next *state, a *answer) bool {
		return showsWait(&next.kept.cooldown, a.claimed, c.now)
	}}}
}

// own makes the caller the owner.
func (s state) own(c *call) branch {
	ceiling := c.now.plus(c.claim.Ceiling)
	s.owner = owner{
		fence:   ownership.Fence{Generation: s.take(), Attempt: c.claim.Attempt},
		phase:   ownership.Working,
		replica: c.claim.Replica, route: c.claim.Route, trace: c.claim.TraceParent,
		claimed: c.now, progress: c.now, ceiling: ceiling,
		leaseEnd: sooner(c.now.plus(c.claim.Lease), ceiling),
		deaths:   s.owner.deaths,
		target:   c.claim.Target,
	}
	s.flag, s.before = cancelFlag{}, nil
	return s.claimed()
}

// claimed answers the owner itself.
func (s state) claimed() branch {
	return branch{saysClaimed, s, func(next *state, a *answer) bool {
		return a.claimed.Fence == next.owner.fence && next.showsKept(a.claimed.State, noBytes)
	}}
}
