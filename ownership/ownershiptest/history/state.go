package history

import (
	"bytes"
	"slices"
	"time"

	"github.com/foldgate/foldgate/ownership"
)

// state is one conversation as the model knows it. It is a value: a step works
// on a copy, and what is behind slices and pointers is never changed. The zero
// state is a conversation that nobody ever claimed.
type state struct {
	counter   ownership.Generation
	owner     owner
	flag      cancelFlag
	kept      kept
	before    *snapshot
	elsewhere *state // what a fault falls back to
}

type owner struct {
	fence                                ownership.Fence // zero: nobody
	phase                                ownership.Phase
	replica, route, trace                string
	claimed, progress, leaseEnd, ceiling span
	deaths                               int
	target                               ownership.Target
}

type cancelFlag struct {
	raised bool
	reason string
	at     span
}

// kept is what a restore puts back.
type kept struct {
	points            []point // newest first
	cooldown, blocked span
	streak, strikes   int
	class             string
}

type point struct {
	fence   ownership.Fence
	target  ownership.Target
	settled bool
	tokens  int
	created span
	route   string
	step    float64
	handoff string
}

// snapshot is what was kept just before the commit of fence.
type snapshot struct {
	fence ownership.Fence
	kept  kept
}

func (s *state) equal(o *state) bool {
	if s.counter != o.counter || s.owner != o.owner || s.flag != o.flag || !s.kept.equal(&o.kept) {
		return false
	}
	return s.before.equal(o.before) && (s.elsewhere == o.elsewhere ||
		s.elsewhere != nil && o.elsewhere != nil && s.elsewhere.equal(o.elsewhere))
}

func (s *snapshot) equal(o *snapshot) bool {
	return s == o || s != nil && o != nil && s.fence == o.fence && s.kept.equal(&o.kept)
}

func (k *kept) equal(o *kept) bool {
	return k.cooldown == o.cooldown && k.blocked == o.blocked && k.streak == o.streak && k.strikes == o.strikes &&
		k.class == o.class && slices.Equal(k.points, o.points)
}

// hash is equal for equal states.
func (s *state) hash() uint64 {
	const prime = 1099511628211
	h := uint64(14695981039346656037)
	mix := func(n uint64) { h = (h ^ n) * prime }
	mix(uint64(s.counter))
	mix(uint64(s.owner.fence.Generation))
	for i := range len(s.owner.phase) {
		mix(uint64(s.owner.phase[i]))
	}
	mix(uint64(s.owner.deaths)<<32 | uint64(s.kept.streak)<<16 | uint64(s.kept.strikes))
	mix(uint64(s.owner.leaseEnd.lo))
	mix(uint64(s.kept.cooldown.lo))
	for _, p := range s.kept.points {
		mix(uint64(p.fence.Generation))
		if p.settled {
			mix(1)
		}
	}
	if s.flag.raised {
		mix(2)
	}
	return h
}

// What follows compares answers with the state, and fixes in it the instants
// that an answer names.

// showsKept compares; bytes tells of which checkpoints the handoff was wanted.
func (s *state) showsKept(got ownership.State, bytes func(ownership.Fence) bool) bool {
	k := &s.kept
	if len(got.Checkpoints) != len(k.points) || got.Streak != k.streak || got.Strikes != k.strikes || got.LastError != k.class {
		return false
	}
	points := slices.Clone(k.points)
	for i := range points {
		if !points[i].shows(got.Checkpoints[i], bytes(points[i].fence)) {
			return false
		}
	}
	k.points = points
	return k.cooldown.fix(got.CooldownUntil) && k.blocked.fix(got.BlockedUntil)
}

func (p *point) shows(got ownership.Checkpoint, withBytes bool) bool {
	want := ""
	if withBytes {
		want = p.handoff
	}
	return got.Fence == p.fence && got.Target == p.target && got.Settled == p.settled && got.Tokens == p.tokens &&
		got.Route == p.route && got.Step == p.step && bytes.Equal(got.Handoff, []byte(want)) && p.created.fix(got.Created)
}

// showsOwner compares the owner and what was left of its lease at now.
func (s *state) showsOwner(got *ownership.Owner, now span) bool {
	o := &s.owner
	if o.fence == (ownership.Fence{}) || got == nil {
		return o.fence == (ownership.Fence{}) && got == nil
	}
	if got.Fence != o.fence || got.Phase != o.phase || got.Replica != o.replica || got.Route != o.route ||
		got.TraceParent != o.trace || got.Deaths != o.deaths || got.Target != o.target {
		return false
	}
	if !o.claimed.fix(got.Claimed) || !o.progress.fix(got.Progress) || !o.leaseEnd.fix(got.LeaseEnd) || !o.ceiling.fix(got.Ceiling) {
		return false
	}
	if got.Live != (got.LeaseLeft > 0) {
		return false
	}
	if got.Live {
		return o.phase == ownership.Working && now.holds(got.LeaseEnd.Add(-got.LeaseLeft))
	}
	return o.phase != ownership.Working || o.leaseEnd.past(now)
}

func (s *state) showsCancel(got *ownership.Cancel) bool {
	if !s.flag.raised || got == nil {
		return !s.flag.raised && got == nil
	}
	return got.Fence == s.owner.fence && got.Reason == s.flag.reason && s.flag.at.fix(got.At)
}

// showsView compares everything that a read answers.
func (s *state) showsView(v ownership.View, known []ownership.Fence, now span) bool {
	if !now.holds(v.Now) {
		return false
	}
	at := span{v.Now.UnixNano(), v.Now.UnixNano()}
	wanted := func(f ownership.Fence) bool { return !slices.Contains(known, f) }
	return v.Generation == s.counter && s.showsOwner(v.Owner, at) && s.showsCancel(v.Cancel) && s.showsKept(v.State, wanted)
}

// showsWait compares how long a cooldown or a block still takes.
func showsWait(until *span, got ownership.Claimed, now span) bool {
	return until.fix(got.Until) && got.Left > 0 && now.holds(got.Until.Add(-got.Left))
}

func noBytes(ownership.Fence) bool { return false }

// What follows are the parts of which steps are made.

func (s *state) current(f ownership.Fence) bool {
	return f != (ownership.Fence{}) && s.owner.fence == f
}

// refusal is what an attempt that is not current learns.
func (s *state) refusal(f ownership.Fence) string {
	if s.owner.fence.Generation > f.Generation {
		return saysSuperseded
	}
	return saysLost
}

// standing finds the newest checkpoint of which is holds.
func (s *state) standing(is func(point) bool) *point {
	if i := slices.IndexFunc(s.kept.points, is); i >= 0 {
		return &s.kept.points[i]
	}
	return nil
}

func (s *state) standingOf(f ownership.Fence) *point {
	return s.standing(func(p point) bool { return p.fence == f })
}

// end moves the owner to p: its lease is over and its flag is gone.
func (s *state) end(p ownership.Phase, now span) {
	s.owner.phase, s.owner.leaseEnd = p, now
	s.flag = cancelFlag{}
}

// take draws a generation.
func (s *state) take() ownership.Generation {
	s.counter = max(s.counter, s.owner.fence.Generation) + 1
	return s.counter
}

// ladder is the rung for each length of a streak.
var ladder = [...]time.Duration{0, time.Minute, 5 * time.Minute, 15 * time.Minute}

// charge enters a failure: the class is the latest, the cooldown the later one.
func (s *state) charge(f ownership.Failure, now span) {
	k := &s.kept
	wait := ladder[1]
	if f.Climb {
		k.streak++
		wait = ladder[min(k.streak, len(ladder)-1)]
	}
	if f.Cooldown > 0 {
		wait = min(f.Cooldown, time.Hour)
	}
	k.class = f.Class
	k.cooldown = later(k.cooldown, now.plus(wait))
}

// strike counts a fold that did not help; the second in a row blocks.
func (s *state) strike(now span) {
	s.kept.strikes++
	if s.kept.strikes >= 2 {
		s.kept.blocked = now.plus(5 * time.Minute)
	}
}
