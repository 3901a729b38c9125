package ownershiptest

import (
	"errors"
	"time"

	"github.com/foldgate/foldgate/ownership"
)

func renewCases() []testCase {
	return []testCase{
		{"it extends the lease", clock, renewExtends},
		{"never past the ceiling", clock, renewCeiling},
		{"an owner past its lease goes on if nobody claimed", clock, renewLate},
		{"not after the end", 0, renewEnded},
		{"it brings the cancel and its reason", 0, renewCancel},
		{"it stamps progress only where there was some", clock, renewProgress},
		{"another fence is refused", 0, renewOther},
	}
}

func renewExtends(x *fixture) {
	f := x.begin(x.A, claimOf(target(1)))
	for range 4 {
		x.Advance(lease - slack)
		x.ok(x.renew(x.A, f), "renew")
		x.within(x.owner().LeaseLeft, lease, "lease left")
	}
	x.claim(x.B, claimOf(target(1)), ownership.VerdictBusy)
}

func renewCeiling(x *fixture) {
	c := claimOf(target(1))
	c.Ceiling = 2 * lease
	f := x.begin(x.A, c)
	x.Advance(lease - slack)
	x.ok(x.renew(x.A, f), "renew")
	x.Advance(lease - slack)
	x.ok(x.renew(x.A, f), "renew")
	if o := x.owner(); o.LeaseEnd.After(o.Ceiling) {
		x.Fatalf("lease ends at %v, after the ceiling %v", o.LeaseEnd, o.Ceiling)
	}
	x.Advance(2*slack + time.Second)
	x.ok(x.renew(x.A, f), "renew past the ceiling")
	if o := x.owner(); o.Live {
		x.Fatalf("alive past its ceiling: %+v", o)
	}
	x.begin(x.B, claimOf(target(1)))
}

func renewLate(x *fixture) {
	f := x.begin(x.A, claimOf(target(1)))
	x.Advance(2 * lease)
	x.ok(x.renew(x.A, f), "renew")
	x.claim(x.B, claimOf(target(1)), ownership.VerdictBusy)
}

func renewEnded(x *fixture) {
	for name, end := range map[ownership.Phase]func(f ownership.Fence){
		ownership.Committed: func(f ownership.Fence) { x.commit(x.A, f, commitOf(target(1), "s"), ownership.DoneNow) },
		ownership.Failed:    func(f ownership.Fence) { x.finish(x.A, f, failed("timeout")) },
		ownership.Abandoned: func(f ownership.Fence) { x.clear(x.A, f, ownership.Abandoned) },
	} {
		x.key = newKey()
		f := x.begin(x.A, claimOf(target(1)))
		end(f)
		x.unchanged("renew after the end", func() { x.ended(x.renew(x.B, f), name, "renew") })
	}
}

func renewCancel(x *fixture) {
	f := x.begin(x.A, claimOf(target(1)))
	x.raise(x.B, f, "operator")
	for range 2 {
		err := x.renew(x.A, f)
		var c *ownership.CancelledError
		if !errors.As(err, &c) || c.Reason != "operator" || !errors.Is(err, ownership.ErrCancelled) {
			x.Fatalf("renew: %v, want cancelled by operator", err)
		}
	}
	if o := x.owner(); !o.Live {
		x.Fatalf("a cancel ended the lease: %+v", o)
	}
}

func renewProgress(x *fixture) {
	f := x.begin(x.A, claimOf(target(1)))
	start := x.owner().Progress
	x.Advance(time.Second)
	x.ok(x.renew(x.A, f), "renew")
	if got := x.owner().Progress; !got.Equal(start) {
		x.Fatalf("progress moved by %v without any", got.Sub(start))
	}
	x.Advance(time.Second)
	x.ok(x.A.Renew(x.Context(), x.key, f, ownership.Renewal{Lease: lease, Progress: true}), "renew")
	if got := x.owner().Progress; !got.After(start) {
		x.Fatalf("progress stands at %v, want after %v", got, start)
	}
}

func renewOther(x *fixture) {
	f := x.begin(x.A, claimOf(target(1)))
	g := x.begin(x.A, superseding(f, target(1)))
	x.unchanged("a refused renew", func() {
		x.is(x.renew(x.B, f), ownership.ErrSuperseded, "the fence before")
		x.is(x.renew(x.B, ownership.Fence{Generation: g.Generation + 1, Attempt: f.Attempt}), ownership.ErrLost, "a fence ahead")
	})
	x.key = newKey()
	x.is(x.renew(x.B, f), ownership.ErrLost, "a conversation nobody claimed")
}
