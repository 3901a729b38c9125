package history

import "github.com/foldgate/foldgate/ownership"

// ways are all ways in which the call can go from s.
func (s state) ways(c *call) []branch {
	switch c.op {
	case opRead:
		return []branch{{saysDone, s, func(next *state, a *answer) bool { return next.showsView(a.view, c.known, c.now) }}}
	case opClaim:
		return s.claim(c)
	case opRenew:
		return s.renew(c)
	case opCommit:
		return s.commit(c)
	case opSettle:
		return s.settle(c)
	case opRestore:
		return s.restore(c)
	case opFinish:
		return s.finish(c)
	case opRaise:
		return s.raise(c)
	case opClear:
		return s.clear(c)
	case opOperator:
		return s.restoreOperator(c)
	case opForget:
		gen := s.take()
		return []branch{{saysDone, state{counter: gen, elsewhere: s.elsewhere}, func(_ *state, a *answer) bool { return a.gen == gen }}}
	}
	return s.fault(c.op)
}

// fault is a step that nobody asked for.
func (s state) fault(what op) []branch {
	switch what {
	case opWipe:
		return only(saysDone, state{elsewhere: s.elsewhere})
	case opEvict:
		s.counter = 0
		return only(saysDone, s)
	case opKeep:
		copied := s
		copied.elsewhere = nil
		s.elsewhere = &copied
		return only(saysDone, s)
	case opFallBack:
		if s.elsewhere != nil {
			return only(saysDone, *s.elsewhere)
		}
	}
	return nil
}

// notWorking is the refusal of a fence that is not current or does not work,
// empty if it may go on.
func (s state) notWorking(f ownership.Fence) string {
	switch {
	case !s.current(f):
		return s.refusal(f)
	case s.owner.phase != ownership.Working:
		return saysEnded(s.owner.phase)
	}
	return ""
}

func (s state) renew(c *call) []branch {
	if no := s.notWorking(c.fence); no != "" {
		return only(no, s)
	}
	s.owner.leaseEnd = sooner(c.now.plus(c.renewal.Lease), s.owner.ceiling)
	if c.renewal.Progress {
		s.owner.progress = c.now
	}
	if s.flag.raised {
		return only(saysReason(s.flag.reason), s)
	}
	return only(saysDone, s)
}

func (s state) commit(c *call) []branch {
	if s.standingOf(c.fence) != nil {
		return only(saysAlready, s)
	}
	if no := s.notWorking(c.fence); no != "" {
		return only(no, s)
	}
	if s.flag.raised {
		return only(saysReason(s.flag.reason), s)
	}
	p := c.commit.Checkpoint
	if p.Target != s.owner.target {
		return only(saysInvalid, s)
	}
	s.before = &snapshot{fence: c.fence, kept: s.kept}
	points := []point{{
		fence: c.fence, target: p.Target, tokens: p.Tokens, created: c.now,
		route: p.Route, step: p.Step, handoff: string(p.Handoff),
	}}
	points = append(points, s.kept.points...)
	s.kept.points = points[:min(len(points), 4)]
	s.kept.cooldown, s.kept.class, s.kept.streak = span{}, "", 0
	if c.commit.Strike {
		s.strike(c.now)
	} else {
		s.kept.strikes, s.kept.blocked = 0, span{}
	}
	s.owner.deaths = 0
	s.end(ownership.Committed, c.now)
	return only(saysDone, s)
}

func (s state) settle(c *call) []branch {
	own := s.standingOf(c.fence)
	switch {
	case own != nil && own.settled:
		return only(saysAlready, s)
	case !s.current(c.fence):
		return only(s.refusal(c.fence), s)
	case s.owner.phase != ownership.Committed:
		return only(saysEnded(s.owner.phase), s)
	}
	points := append([]point(nil), s.kept.points...)
	for i := range points {
		if points[i].fence == c.fence {
			points[i].settled = true
		}
	}
	s.kept.points = points
	s.owner.phase = ownership.Settled
	s.before = nil
	return only(saysDone, s)
}

func (s state) restore(c *call) []branch {
	if !s.current(c.fence) {
		return only(s.refusal(c.fence), s)
	}
	switch s.owner.phase {
	case ownership.Restored:
		return only(saysAlready, s)
	case ownership.Working:
		return only(saysDone, s)
	case ownership.Committed:
	default:
		return only(saysEnded(s.owner.phase), s)
	}
	s.kept = s.before.kept
	s.before = nil
	if c.charge != nil {
		s.charge(*c.charge, c.now)
	}
	s.end(ownership.Restored, c.now)
	return only(saysDone, s)
}

func (s state) finish(c *call) []branch {
	if !s.current(c.fence) {
		return only(s.refusal(c.fence), s)
	}
	switch s.owner.phase {
	case c.ending.Phase:
		return only(saysDone, s)
	case ownership.Working:
	default:
		return only(saysEnded(s.owner.phase), s)
	}
	switch c.ending.Phase {
	case ownership.Failed:
		s.charge(c.ending.Failure, c.now)
		s.owner.deaths = 0
	case ownership.Ineffective:
		s.strike(c.now)
		s.owner.deaths = 0
	}
	s.end(c.ending.Phase, c.now)
	return only(saysDone, s)
}

func (s state) raise(c *call) []branch {
	if !s.current(c.fence) {
		switch p := s.standingOf(c.fence); {
		case p == nil:
			return only(saysNotCurrent, s)
		case p.settled:
			return only(saysEnded(ownership.Settled), s)
		}
		return only(saysEnded(ownership.Committed), s)
	}
	switch s.owner.phase {
	case ownership.Working:
	case ownership.Cancelled:
		return only(saysDone, s)
	default:
		return only(saysEnded(s.owner.phase), s)
	}
	if !s.flag.raised {
		s.flag = cancelFlag{raised: true, reason: c.reason, at: c.now}
	}
	return only(saysDone, s)
}

func (s state) clear(c *call) []branch {
	if !s.current(c.fence) {
		return only(saysNotCurrent, s)
	}
	if s.owner.phase == ownership.Working {
		p := ownership.Abandoned
		if s.flag.raised {
			p = ownership.Cancelled
		}
		s.end(p, c.now)
	}
	return only(saysPhase(s.owner.phase), s)
}

func (s state) restoreOperator(c *call) []branch {
	switch {
	case s.owner.fence.Attempt == c.by:
		return only(saysAlready, s)
	case s.owner.fence != c.fence:
		return only(saysNotCurrent, s)
	}
	if s.owner.phase == ownership.Committed {
		s.kept = s.before.kept
	} else if len(s.kept.points) > 0 {
		s.kept.points = s.kept.points[1:]
	}
	s.before = nil
	s.owner = owner{
		fence:   ownership.Fence{Generation: s.take(), Attempt: c.by},
		claimed: c.now, progress: c.now, ceiling: c.now, deaths: s.owner.deaths,
	}
	s.end(ownership.Abandoned, c.now)
	return only(saysDone, s)
}
