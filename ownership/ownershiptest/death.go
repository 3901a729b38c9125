package ownershiptest

import (
	"time"

	"github.com/foldgate/foldgate/ownership"
)

func deathCases() []testCase {
	return []testCase{
		{"a dead owner is counted and taken over", clock, deathCounted},
		{"the third in a row starts the cooldown", clock, deathThird},
		{"the third with its flag raised is cancelled", clock, deathThirdCancelled},
		{"a bypass does not get past the third", clock, deathBypass},
		{"a commit starts the count over", clock, deathCommit},
		{"a failure starts the count over", clock, deathFailure},
		{"an attempt that was handed over is no death", 0, deathHandedOver},
		{"the flag of a dead owner does not stop the next", clock, deathFlag},
	}
}

// die is an owner that is never heard of again.
func (x *fixture) die() ownership.Fence {
	x.Helper()
	f := x.begin(x.A, claimOf(target(1)))
	x.Advance(lease + time.Second)
	return f
}

func deathCounted(x *fixture) {
	c := x.committed(x.A, target(9))
	x.die()
	if o := x.owner(); o.Deaths != 0 {
		x.Fatalf("%d deaths before anybody noticed", o.Deaths)
	}
	x.die()
	if o := x.owner(); o.Deaths != 1 {
		x.Fatalf("%d deaths, want 1", o.Deaths)
	}
	x.stand(c)
}

func deathThird(x *fixture) {
	x.die()
	x.die()
	last := x.die()
	got := x.claim(x.B, claimOf(target(1)), ownership.VerdictCooling)
	x.within(got.Left, ownership.FirstRung, "left")
	v := x.read(x.A)
	if v.Owner.Fence != last || v.Owner.Phase != ownership.Abandoned || v.Owner.Deaths != 0 || v.Generation != last.Generation {
		x.Fatalf("owner %+v, counter %d", v.Owner, v.Generation)
	}
	if v.State.Streak != 1 || v.State.LastError != ownership.DeathClass {
		x.Fatalf("charged as %+v", v.State)
	}
	x.ended(x.renew(x.A, last), ownership.Abandoned, "renew of the dead")
	x.Advance(ownership.FirstRung + time.Second)
	x.begin(x.B, claimOf(target(1)))
}

func deathThirdCancelled(x *fixture) {
	x.die()
	x.die()
	last := x.begin(x.A, claimOf(target(1)))
	x.raise(x.B, last, "operator")
	x.Advance(lease + time.Second)
	x.claim(x.B, claimOf(target(1)), ownership.VerdictCancelled)
	v := x.read(x.A)
	if v.Owner.Phase != ownership.Cancelled || v.Cancel != nil {
		x.Fatalf("owner %+v, cancel %+v", v.Owner, v.Cancel)
	}
	x.within(x.cooldown(), ownership.FirstRung, "cooldown")
}

func deathBypass(x *fixture) {
	x.die()
	x.die()
	x.die()
	x.claim(x.B, bypassing(target(1)), ownership.VerdictCooling)
	x.begin(x.B, bypassing(target(1)))
}

func deathCommit(x *fixture) {
	x.die()
	x.die()
	x.committed(x.A, target(5))
	x.die()
	if o := x.owner(); o.Deaths != 0 {
		x.Fatalf("%d deaths after a commit", o.Deaths)
	}
	x.begin(x.B, claimOf(target(1)))
}

func deathFailure(x *fixture) {
	x.die()
	x.die()
	x.finish(x.A, x.begin(x.A, claimOf(target(1))), failed("timeout"))
	x.Advance(ownership.FirstRung + time.Second)
	x.die()
	x.begin(x.B, claimOf(target(1)))
}

func deathHandedOver(x *fixture) {
	for range ownership.MaxDeaths + 1 {
		x.clear(x.A, x.begin(x.A, claimOf(target(1))), ownership.Abandoned)
	}
	if o := x.owner(); o.Deaths != 0 {
		x.Fatalf("%d deaths", o.Deaths)
	}
}

func deathFlag(x *fixture) {
	f := x.begin(x.A, claimOf(target(1)))
	x.raise(x.B, f, "operator")
	x.Advance(lease + time.Second)
	g := x.begin(x.B, claimOf(target(1)))
	x.ok(x.renew(x.B, g), "renew under the next owner")
	if v := x.read(x.A); v.Cancel != nil {
		x.Fatalf("the flag outlived its attempt: %+v", v.Cancel)
	}
}
