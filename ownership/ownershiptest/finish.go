package ownershiptest

import (
	"time"

	"github.com/foldgate/foldgate/ownership"
)

func finishCases() []testCase {
	return []testCase{
		{"failures in a row climb the ladder", 0, finishLadder},
		{"a longer cooldown that runs already stays", 0, finishMerges},
		{"a cooldown of its own goes before the rung", 0, finishRetryAfter},
		{"a cooldown is at most an hour", 0, finishLongRetryAfter},
		{"one that does not climb leaves the streak", 0, finishNoClimb},
		{"its repeat is charged once", 0, finishRepeat},
		{"another ending of the same attempt is refused", 0, finishOther},
		{"ineffective counts a strike and no failure", 0, finishIneffective},
		{"cancelled and abandoned record nothing", 0, finishQuiet},
		{"not after a commit", 0, finishCommitted},
		{"not by a superseded attempt", 0, finishSuperseded},
		{"it removes the flag and releases the lease", 0, finishReleases},
	}
}

func finishLadder(x *fixture) {
	for i, want := range []time.Duration{
		ownership.FirstRung, ownership.SecondRung, ownership.ThirdRung, ownership.ThirdRung,
	} {
		x.finish(x.A, x.begin(x.A, bypassing(target(1))), failed("timeout"))
		x.within(x.cooldown(), want, "cooldown")
		if s := x.read(x.B).State; s.Streak != i+1 || s.LastError != "timeout" {
			x.Fatalf("failure %d: %+v", i+1, s)
		}
	}
}

func finishMerges(x *fixture) {
	long := ownership.Ending{Phase: ownership.Failed, Failure: ownership.Failure{Class: "status_429", Cooldown: 30 * time.Minute}}
	x.finish(x.A, x.begin(x.A, claimOf(target(1))), long)
	x.finish(x.A, x.begin(x.A, bypassing(target(1))), failed("timeout"))
	x.within(x.cooldown(), 30*time.Minute, "cooldown")
	if s := x.read(x.B).State; s.LastError != "timeout" {
		x.Fatalf("last error %q, want the latest", s.LastError)
	}
}

func finishRetryAfter(x *fixture) {
	f := climbing("status_429")
	f.Cooldown = 7 * time.Minute
	x.finish(x.A, x.begin(x.A, claimOf(target(1))), ownership.Ending{Phase: ownership.Failed, Failure: f})
	x.within(x.cooldown(), 7*time.Minute, "cooldown")
	f.Cooldown = 20 * time.Second
	x.key = newKey()
	x.finish(x.A, x.begin(x.A, claimOf(target(1))), ownership.Ending{Phase: ownership.Failed, Failure: f})
	x.within(x.cooldown(), 20*time.Second, "a cooldown below the first rung")
}

func finishLongRetryAfter(x *fixture) {
	f := ownership.Failure{Class: "status_429", Cooldown: 24 * time.Hour}
	x.finish(x.A, x.begin(x.A, claimOf(target(1))), ownership.Ending{Phase: ownership.Failed, Failure: f})
	x.within(x.cooldown(), ownership.MaxCooldown, "cooldown")
	x.claim(x.B, claimOf(target(1)), ownership.VerdictCooling)
}

func finishNoClimb(x *fixture) {
	flat := ownership.Ending{Phase: ownership.Failed, Failure: ownership.Failure{Class: "overloaded"}}
	for range 3 {
		x.finish(x.A, x.begin(x.A, bypassing(target(1))), flat)
		x.within(x.cooldown(), ownership.FirstRung, "cooldown")
	}
	if s := x.read(x.B).State; s.Streak != 0 || s.LastError != "overloaded" {
		x.Fatalf("state %+v", s)
	}
	x.finish(x.A, x.begin(x.A, bypassing(target(1))), failed("timeout"))
	if s := x.read(x.B).State; s.Streak != 1 {
		x.Fatalf("streak %d, want 1", s.Streak)
	}
}

func finishRepeat(x *fixture) {
	f := x.begin(x.A, claimOf(target(1)))
	x.finish(x.A, f, failed("timeout"))
	x.unchanged("the repeat", func() { x.finish(x.B, f, failed("timeout")) })
	g := x.begin(x.A, bypassing(target(1)))
	x.finish(x.A, g, ownership.Ending{Phase: ownership.Ineffective})
	x.unchanged("the repeat", func() { x.finish(x.B, g, ownership.Ending{Phase: ownership.Ineffective}) })
}

func finishOther(x *fixture) {
	f := x.begin(x.A, claimOf(target(1)))
	x.finish(x.A, f, ownership.Ending{Phase: ownership.Cancelled})
	x.unchanged("another ending", func() {
		x.ended(x.A.Finish(x.Context(), x.key, f, failed("timeout")), ownership.Cancelled, "finish")
	})
}

func finishIneffective(x *fixture) {
	x.finish(x.A, x.begin(x.A, claimOf(target(1))), ownership.Ending{Phase: ownership.Ineffective})
	v := x.read(x.B)
	if v.State.Strikes != 1 || v.State.Streak != 0 || !v.State.CooldownUntil.IsZero() || v.Owner.Phase != ownership.Ineffective {
		x.Fatalf("after ineffective: %s", show(v))
	}
}

func finishQuiet(x *fixture) {
	for _, p := range []ownership.Phase{ownership.Cancelled, ownership.Abandoned} {
		before := x.still().State
		x.finish(x.A, x.begin(x.A, claimOf(target(1))), ownership.Ending{Phase: p})
		v := x.still()
		if v.State.Streak != before.Streak || !v.State.CooldownUntil.IsZero() || v.State.LastError != "" || v.Owner.Phase != p {
			x.Fatalf("after %s: %s", p, show(v))
		}
	}
	x.begin(x.B, claimOf(target(1)))
}

func finishCommitted(x *fixture) {
	f := x.committed(x.A, target(1))
	x.unchanged("finish after the commit", func() {
		x.ended(x.A.Finish(x.Context(), x.key, f, failed("timeout")), ownership.Committed, "finish")
	})
}

func finishSuperseded(x *fixture) {
	f := x.begin(x.A, claimOf(target(1)))
	x.begin(x.A, superseding(f, target(1)))
	x.unchanged("a superseded finish", func() {
		x.is(x.A.Finish(x.Context(), x.key, f, failed("timeout")), ownership.ErrSuperseded, "finish")
	})
}

func finishReleases(x *fixture) {
	f := x.begin(x.A, claimOf(target(1)))
	x.raise(x.B, f, "operator")
	x.finish(x.A, f, ownership.Ending{Phase: ownership.Cancelled})
	v := x.read(x.B)
	if v.Cancel != nil || v.Owner.Live || v.Owner.LeaseLeft != 0 {
		x.Fatalf("after finish: %s", show(v))
	}
	x.begin(x.B, claimOf(target(1)))
}
