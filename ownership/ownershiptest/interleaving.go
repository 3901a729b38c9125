package ownershiptest

import (
	"errors"
	"sync"
	"time"

	"github.com/foldgate/foldgate/ownership"
)

// interleavingCases are the orders of events in which the rules of the protocol
// were found to be needed: for each rule, one that goes wrong without it. The
// numbers are stable. Missing ones say nothing about a store: 16 is the caller's
// (a raise names its fence), 21 and 23 need a failover, 27, 29 and 30 are the
// coordinator's.
func interleavingCases() []testCase {
	return []testCase{
		{"F1 a late renew brings no takeover that undoes a commit", clock, f01},
		{"F1 a dead owner's takeover keeps every checkpoint", clock, f01Dead},
		{"F2 settle drops nobody else's snapshot", 0, f02},
		{"F3 a repeated commit does not undo a restore", 0, f03},
		{"F4 a raise is not followed by a hanging commit", 0, f04},
		{"F4 raise or commit, one wins", 0, f04Race},
		{"F5 a cancel is not swallowed by the next route", 0, f05},
		{"F5 raise or superseding claim, one wins", 0, f05Race},
		{"F6 a failure is not charged to what was committed", 0, f06},
		{"F7 a late restore erases no cooldown", 0, f07},
		{"F8 an equal request just after the commit is committed", 0, f08},
		{"F8 a stall seen just as the commit ran", 0, f08Stall},
		{"F9 a claim whose reply was lost does not wait for itself", 0, f09},
		{"F10 owners that die in a row start the cooldown", clock, deathThird},
		{"F11 a stuck owner that renews ends at the ceiling", clock, renewCeiling},
		{"F12 an operator's restore is not undone by who it overrode", 0, f12},
		{"F12 a late copy of an operator's restore does nothing", 0, f12Late},
		{"F13 a commit's repeat after the next claim says already", 0, f13},
		{"F13 and superseded once it no longer stands", 0, f13Gone},
		{"F14 every call on an ended attempt has an answer", 0, f14},
		{"F15 superseded by a higher number, lost by any other", wipe, f15},
		{"F17 a digest that was not claimed is an argument error", 0, commitWrongTarget},
		{"F18 a paused owner commits if nobody claimed", clock, f18},
		{"F18 and is superseded if somebody did", clock, f18Taken},
		{"F19 the counter gone alone never repeats a number", evict, f19},
		{"F20 an equal number with another id is lost", wipe, f20},
		{"F22 a late copy of a claim costs a lease and no state", wipe | clock, f22},
		{"F24 a newer claim closes a provisional commit", 0, restoreClosed},
		{"F25 strikes are counted by commits that nobody settled", 0, commitStrikes},
		{"F26 a charged restore puts off the same fold", 0, f26},
		{"F28 whoever waits is told of every ending", notify, f28},
		{"F31 a snapshot brings back the bytes too", 0, restorePushedOut},
	}
}

func f01(x *fixture) {
	a := x.committed(x.A, target(1))
	x.ended(x.renew(x.A, a), ownership.Committed, "the late renew")
	x.Advance(lease + time.Second)
	b := x.begin(x.B, claimOf(target(2)))
	if o := x.owner(); o.Deaths != 0 {
		x.Fatalf("a committed owner counted as dead: %+v", o)
	}
	x.stand(a)
	x.commit(x.B, b, commitOf(target(2), "s"), ownership.DoneNow)
	x.stand(b, a)
}

func f01Dead(x *fixture) {
	a := x.committed(x.A, target(1))
	x.settle(x.A, a, ownership.DoneNow)
	x.begin(x.A, claimOf(target(2)))
	x.Advance(lease + time.Second)
	before := x.still().State
	x.begin(x.B, claimOf(target(2)))
	after := x.still().State
	if len(after.Checkpoints) != 1 || !after.Checkpoints[0].Settled || after.Streak != before.Streak {
		x.Fatalf("state after the takeover: %+v", after)
	}
}

func f02(x *fixture) {
	a := x.committed(x.A, target(1))
	b := x.committed(x.B, target(2))
	_, err := x.A.Settle(x.Context(), x.key, a)
	x.is(err, ownership.ErrSuperseded, "settle by a fence that is not current")
	x.restore(x.B, b, nil, ownership.DoneNow)
	x.stand(a)
}

func f03(x *fixture) {
	a := x.committed(x.A, target(1))
	x.restore(x.B, a, nil, ownership.DoneNow)
	_, err := x.A.Commit(x.Context(), x.key, a, commitOf(target(1), "again"))
	x.ended(err, ownership.Restored, "the repeat")
	x.stand()
}

func f04(x *fixture) {
	a := x.begin(x.A, claimOf(target(1)))
	x.raise(x.B, a, "operator")
	x.clear(x.A, a, ownership.Cancelled)
	_, err := x.A.Commit(x.Context(), x.key, a, commitOf(target(1), "hanging"))
	x.ended(err, ownership.Cancelled, "the commit that hung")
	x.stand()
}

func f04Race(x *fixture) {
	for range 20 {
		x.key = newKey()
		f := x.begin(x.A, claimOf(target(1)))
		var commit, raise error
		both(
			func() { _, commit = x.A.Commit(x.Context(), x.key, f, commitOf(target(1), "s")) },
			func() { raise = x.B.Raise(x.Context(), x.key, f, "operator") },
		)
		switch {
		case commit == nil && errors.Is(raise, ownership.ErrEnded):
			x.stand(f)
		case raise == nil && errors.Is(commit, ownership.ErrCancelled):
			x.stand()
		default:
			x.Fatalf("commit %v, raise %v", commit, raise)
		}
	}
}

func f05(x *fixture) {
	a := x.begin(x.A, claimOf(target(1)))
	x.raise(x.B, a, "operator")
	x.claim(x.A, superseding(a, target(1)), ownership.VerdictCancelled)
	if o := x.owner(); o.Fence != a {
		x.Fatalf("owner %v, want %v", o.Fence, a)
	}
}

func f05Race(x *fixture) {
	for range 20 {
		x.key = newKey()
		f := x.begin(x.A, claimOf(target(1)))
		var claimed ownership.Claimed
		var claim, raise error
		both(
			func() { claimed, claim = x.A.Claim(x.Context(), x.key, superseding(f, target(1))) },
			func() { raise = x.B.Raise(x.Context(), x.key, f, "operator") },
		)
		x.ok(claim, "superseding claim")
		switch {
		case claimed.Verdict == ownership.VerdictCancelled && raise == nil:
		case claimed.Verdict == ownership.VerdictClaimed && errors.Is(raise, ownership.ErrNotCurrent):
		default:
			x.Fatalf("claim %d, raise %v", claimed.Verdict, raise)
		}
	}
}

func both(a, b func()) {
	var wg sync.WaitGroup
	wg.Go(a)
	wg.Go(b)
	wg.Wait()
}

func f06(x *fixture) {
	a := x.committed(x.A, target(1))
	x.ended(x.A.Finish(x.Context(), x.key, a, failed("deadline")), ownership.Committed, "finish")
	if s := x.read(x.B).State; s.Streak != 0 || !s.CooldownUntil.IsZero() {
		x.Fatalf("charged: %+v", s)
	}
}

func f07(x *fixture) {
	a := x.begin(x.A, claimOf(target(1)))
	x.finish(x.A, a, failed("timeout"))
	_, err := x.B.Restore(x.Context(), x.key, a, nil)
	x.ended(err, ownership.Failed, "the late restore")
	x.claim(x.B, claimOf(target(1)), ownership.VerdictCooling)

	x.key = newKey()
	b := x.committed(x.A, target(1))
	charge := climbing("structure")
	x.restore(x.A, b, &charge, ownership.DoneNow)
	x.restore(x.B, b, nil, ownership.DoneAlready)
	x.claim(x.B, claimOf(target(1)), ownership.VerdictCooling)
}

func f08(x *fixture) {
	if v := x.read(x.B); len(v.State.Checkpoints) != 0 {
		x.Fatal("not a new conversation")
	}
	a := x.committed(x.A, target(1))
	if got := x.claim(x.B, claimOf(target(1)), ownership.VerdictCommitted); got.Checkpoint.Fence != a {
		x.Fatalf("checkpoint of %v, want %v", got.Checkpoint.Fence, a)
	}
}

func f08Stall(x *fixture) {
	a := x.committed(x.A, target(1))
	got := x.claim(x.A, superseding(a, target(1)), ownership.VerdictCommitted)
	if got.Checkpoint.Fence != a || x.owner().Fence != a {
		x.Fatalf("checkpoint of %v", got.Checkpoint.Fence)
	}
}

func f09(x *fixture) {
	c := claimOf(target(1))
	f := x.begin(x.A, c)
	if again := x.begin(x.A, c); again != f {
		x.Fatalf("the repeat owns %v, want %v", again, f)
	}
}

func f12(x *fixture) {
	a := x.committed(x.A, target(1))
	b := x.begin(x.A, claimOf(target(2)))
	by := newID()
	x.goBack(b, by, ownership.DoneNow)
	x.unchanged("whoever was overridden", func() {
		for name, call := range fenced(x.key, b) {
			if err := call(x.Context(), x.A); err == nil {
				x.Fatalf("%s went through", name)
			}
		}
		_, err := x.A.Settle(x.Context(), x.key, a)
		x.is(err, ownership.ErrSuperseded, "settle of what is gone")
	})
	x.stand()
}

func f12Late(x *fixture) {
	x.committed(x.A, target(1))
	b := x.committed(x.A, target(2))
	by := newID()
	x.goBack(b, by, ownership.DoneNow)
	x.committed(x.A, target(3))
	x.unchanged("the late copy", func() {
		_, err := x.B.RestoreOperator(x.Context(), x.key, b, by)
		x.is(err, ownership.ErrNotCurrent, "operator's restore")
	})
}

func f13(x *fixture) {
	a := x.committed(x.A, target(1))
	x.begin(x.B, claimOf(target(2)))
	x.unchanged("the repeat", func() { x.commit(x.A, a, commitOf(target(1), "s"), ownership.DoneAlready) })
}

func f13Gone(x *fixture) {
	a := x.committed(x.A, target(1))
	for n := range ownership.MaxCheckpoints {
		x.committed(x.B, target(10+n))
	}
	_, err := x.A.Commit(x.Context(), x.key, a, commitOf(target(1), "s"))
	x.is(err, ownership.ErrSuperseded, "commit of what was pushed out")
}

func f14(x *fixture) {
	for _, p := range []ownership.Phase{ownership.Failed, ownership.Ineffective, ownership.Cancelled, ownership.Abandoned} {
		x.key = newKey()
		f := x.begin(x.A, claimOf(target(1)))
		e := ownership.Ending{Phase: p}
		if p == ownership.Failed {
			e.Failure = climbing("timeout")
		}
		x.finish(x.A, f, e)
		x.unchanged("calls on an attempt that ended as "+string(p), func() {
			calls := fenced(x.key, f)
			for _, name := range []string{"renew", "commit", "settle", "restore"} {
				x.ended(calls[name](x.Context(), x.B), p, name)
			}
			x.clear(x.B, f, p)
		})
	}
}

func f15(x *fixture) {
	f := x.begin(x.A, claimOf(target(1)))
	x.begin(x.A, superseding(f, target(1)))
	x.is(x.renew(x.A, f), ownership.ErrSuperseded, "under a higher number")
	x.Wipe(x.T)
	x.is(x.renew(x.A, f), ownership.ErrLost, "without a record")
	g := x.begin(x.B, claimOf(target(1)))
	x.is(x.renew(x.A, ownership.Fence{Generation: g.Generation, Attempt: f.Attempt}), ownership.ErrLost, "under an equal number")
	x.is(x.renew(x.A, ownership.Fence{Generation: g.Generation + 1, Attempt: f.Attempt}), ownership.ErrLost, "under a lower number")
}

func f18(x *fixture) {
	a := x.begin(x.A, claimOf(target(1)))
	x.Advance(3 * lease)
	x.commit(x.A, a, commitOf(target(1), "late but current"), ownership.DoneNow)
	x.stand(a)
}

func f18Taken(x *fixture) {
	a := x.begin(x.A, claimOf(target(1)))
	x.Advance(3 * lease)
	b := x.committed(x.B, target(1))
	x.unchanged("the owner that woke up", func() {
		x.is(x.renew(x.A, a), ownership.ErrSuperseded, "renew")
		_, err := x.A.Commit(x.Context(), x.key, a, commitOf(target(1), "late"))
		x.is(err, ownership.ErrSuperseded, "commit")
		x.is(x.A.Finish(x.Context(), x.key, a, failed("status_500")), ownership.ErrSuperseded, "finish")
		_, err = x.A.Clear(x.Context(), x.key, a)
		x.is(err, ownership.ErrNotCurrent, "clear")
	})
	x.stand(b)
}

func f19(x *fixture) {
	for range 5 {
		x.clear(x.A, x.begin(x.A, claimOf(target(1))), ownership.Abandoned)
	}
	f := x.begin(x.A, claimOf(target(1)))
	x.EvictCounter(x.T, x.key)
	g := x.begin(x.A, superseding(f, target(1)))
	if g.Generation <= f.Generation {
		x.Fatalf("generation %d after %d", g.Generation, f.Generation)
	}
	x.EvictCounter(x.T, x.key)
	if n := x.forget(); n <= g.Generation {
		x.Fatalf("forget took %d after %d", n, g.Generation)
	}
}

func f20(x *fixture) {
	old := x.begin(x.A, claimOf(target(1)))
	x.Wipe(x.T)
	now := x.begin(x.B, claimOf(target(1)))
	if now.Generation != old.Generation {
		x.Fatalf("generation %d after a wipe, want %d again", now.Generation, old.Generation)
	}
	x.unchanged("a fence from before the wipe", func() {
		for name, call := range fenced(x.key, old) {
			want := ownership.ErrLost
			if name == "raise" || name == "clear" {
				want = ownership.ErrNotCurrent
			}
			x.is(call(x.Context(), x.A), want, name)
		}
		_, err := x.A.Claim(x.Context(), x.key, superseding(old, target(1)))
		x.is(err, ownership.ErrLost, "superseding claim")
	})
	x.commit(x.B, now, commitOf(target(1), "s"), ownership.DoneNow)
}

func f22(x *fixture) {
	c := claimOf(target(1))
	x.clear(x.A, x.begin(x.A, c), ownership.Abandoned)
	x.Wipe(x.T)
	x.begin(x.A, c) // the copy: an owner that nobody works for
	x.claim(x.B, claimOf(target(1)), ownership.VerdictBusy)
	x.Advance(lease + time.Second)
	x.begin(x.B, claimOf(target(1)))
	x.stand()
}

func f26(x *fixture) {
	a := x.committed(x.A, target(1))
	charge := climbing("structure")
	x.restore(x.B, a, &charge, ownership.DoneNow)
	got := x.claim(x.A, claimOf(target(1)), ownership.VerdictCooling)
	x.within(got.Left, ownership.FirstRung, "left")
}

func f28(x *fixture) {
	for _, e := range endings() {
		x.key = newKey()
		x.hinted(e)
	}
}
