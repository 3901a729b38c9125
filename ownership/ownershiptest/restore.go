package ownershiptest

import (
	"reflect"

	"github.com/foldgate/foldgate/ownership"
)

func restoreCases() []testCase {
	return []testCase{
		{"it puts back what stood before the commit", 0, restoreSnapshot},
		{"a first commit leaves nothing behind", 0, restoreFirst},
		{"the checkpoint that was pushed out comes back", 0, restorePushedOut},
		{"it charges after putting back", 0, restoreCharges},
		{"its repeat charges nothing", 0, restoreRepeat},
		{"nothing is written before the commit", 0, restoreWorking},
		{"a settled checkpoint stays", 0, restoreSettled},
		{"not once a newer claim closed it", 0, restoreClosed},
		{"not after a failure", 0, restoreFailed},
		{"not after a wipe", wipe, restoreLost},
		{"the claim after it gets the next number", 0, restoreThenClaim},
	}
}

// troubled is a conversation with a settled checkpoint, a cooldown, a streak and a
// strike.
func (x *fixture) troubled() ownership.Fence {
	x.Helper()
	f := x.committed(x.A, target(1))
	x.settle(x.A, f, ownership.DoneNow)
	x.finish(x.A, x.begin(x.A, claimOf(target(2))), ownership.Ending{Phase: ownership.Ineffective})
	x.finish(x.A, x.begin(x.A, bypassing(target(2))), failed("timeout"))
	x.finish(x.A, x.begin(x.A, bypassing(target(2))), failed("status_500"))
	return f
}

func restoreSnapshot(x *fixture) {
	x.troubled()
	before := x.still().State
	f := x.committed(x.A, target(2))
	x.restore(x.B, f, nil, ownership.DoneNow)
	v := x.still()
	if !reflect.DeepEqual(v.State, before) {
		x.Fatalf("restored\n%+v, want\n%+v", v.State, before)
	}
	if v.Owner.Phase != ownership.Restored {
		x.Fatalf("phase %s", v.Owner.Phase)
	}
}

func restoreFirst(x *fixture) {
	f := x.committed(x.A, target(1))
	x.restore(x.B, f, nil, ownership.DoneNow)
	x.stand()
}

func restorePushedOut(x *fixture) {
	var want []ownership.Fence
	for n := 1; n <= ownership.MaxCheckpoints; n++ {
		want = append([]ownership.Fence{x.committed(x.A, target(n))}, want...)
	}
	texts := x.texts()
	f := x.committed(x.A, target(9))
	x.restore(x.A, f, nil, ownership.DoneNow)
	x.stand(want...)
	if got := x.texts(); !reflect.DeepEqual(got, texts) {
		x.Fatalf("handoffs %q, want %q", got, texts)
	}
}

func restoreCharges(x *fixture) {
	x.finish(x.A, x.begin(x.A, claimOf(target(1))), failed("timeout"))
	f := x.committed(x.A, target(1))
	charge := climbing("structure")
	x.restore(x.B, f, &charge, ownership.DoneNow)
	if s := x.read(x.A).State; s.Streak != 2 || s.LastError != "structure" {
		x.Fatalf("charged as %+v", s)
	}
	x.within(x.cooldown(), ownership.SecondRung, "cooldown")
	x.claim(x.A, claimOf(target(1)), ownership.VerdictCooling)
}

func restoreRepeat(x *fixture) {
	f := x.committed(x.A, target(1))
	charge := climbing("structure")
	x.restore(x.A, f, &charge, ownership.DoneNow)
	x.unchanged("the repeat", func() { x.restore(x.B, f, &charge, ownership.DoneAlready) })
}

func restoreWorking(x *fixture) {
	f := x.begin(x.A, claimOf(target(1)))
	charge := climbing("structure")
	x.unchanged("restore before a commit", func() { x.restore(x.B, f, &charge, ownership.DoneNow) })
	x.commit(x.A, f, commitOf(target(1), "s"), ownership.DoneNow)
}

func restoreSettled(x *fixture) {
	f := x.committed(x.A, target(1))
	x.settle(x.A, f, ownership.DoneNow)
	x.unchanged("restore of a settled one", func() {
		_, err := x.B.Restore(x.Context(), x.key, f, nil)
		x.ended(err, ownership.Settled, "restore")
	})
}

func restoreClosed(x *fixture) {
	f := x.committed(x.A, target(1))
	g := x.begin(x.B, claimOf(target(2)))
	charge := climbing("structure")
	x.unchanged("restore of what is closed", func() {
		_, err := x.A.Restore(x.Context(), x.key, f, &charge)
		x.is(err, ownership.ErrSuperseded, "restore")
	})
	x.commit(x.B, g, commitOf(target(2), "s"), ownership.DoneNow)
	x.stand(g, f)
	// Undoing the newer one leaves the older one as it was.
	x.restore(x.B, g, nil, ownership.DoneNow)
	x.stand(f)
}

func restoreFailed(x *fixture) {
	f := x.begin(x.A, claimOf(target(1)))
	x.finish(x.A, f, failed("timeout"))
	x.unchanged("restore after a failure", func() {
		_, err := x.B.Restore(x.Context(), x.key, f, nil)
		x.ended(err, ownership.Failed, "restore")
	})
}

func restoreLost(x *fixture) {
	f := x.committed(x.A, target(1))
	x.Wipe(x.T)
	_, err := x.A.Restore(x.Context(), x.key, f, nil)
	x.is(err, ownership.ErrLost, "restore")
}

func restoreThenClaim(x *fixture) {
	f := x.committed(x.A, target(1))
	x.restore(x.A, f, nil, ownership.DoneNow)
	if g := x.begin(x.B, claimOf(target(1))); g.Generation != f.Generation+1 {
		x.Fatalf("generation %d after %d", g.Generation, f.Generation)
	}
}
