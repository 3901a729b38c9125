package ownershiptest

import "github.com/foldgate/foldgate/ownership"

func operatorCases() []testCase {
	return []testCase{
		{"restore undoes a provisional commit", 0, operatorProvisional},
		{"restore removes the newest settled checkpoint", 0, operatorSettled},
		{"restore overrides whoever works", 0, operatorWorking},
		{"its repeat goes back once", 0, operatorRepeat},
		{"a new decision goes back once more", 0, operatorAgain},
		{"an owner that changed is refused", 0, operatorChanged},
		{"a conversation without an owner", 0, operatorNobody},
		{"forget deletes and the counter grows", 0, forgetAll},
		{"whoever works is lost by forget", 0, forgetWorking},
	}
}

func (x *fixture) goBack(saw ownership.Fence, by ownership.AttemptID, want ownership.Done) {
	x.Helper()
	got, err := x.B.RestoreOperator(x.Context(), x.key, saw, by)
	x.done(got, err, want, "operator's restore")
}

func operatorProvisional(x *fixture) {
	x.troubled()
	before := x.still().State
	f := x.committed(x.A, target(2))
	by := newID()
	x.goBack(f, by, ownership.DoneNow)
	v := x.still()
	if len(v.State.Checkpoints) != len(before.Checkpoints) || v.State.Streak != before.Streak ||
		!v.State.CooldownUntil.Equal(before.CooldownUntil) {
		x.Fatalf("restored %+v, want %+v", v.State, before)
	}
	if v.Owner.Fence.Attempt != by || v.Owner.Fence.Generation != f.Generation+1 || v.Owner.Phase != ownership.Abandoned {
		x.Fatalf("owner %+v", v.Owner)
	}
	_, err := x.A.Settle(x.Context(), x.key, f)
	x.is(err, ownership.ErrSuperseded, "settle of what the operator undid")
}

func operatorSettled(x *fixture) {
	a := x.committed(x.A, target(1))
	b := x.committed(x.A, target(2))
	x.settle(x.A, b, ownership.DoneNow)
	x.goBack(b, newID(), ownership.DoneNow)
	x.stand(a)
}

func operatorWorking(x *fixture) {
	a := x.committed(x.A, target(1))
	f := x.begin(x.A, claimOf(target(2)))
	x.goBack(f, newID(), ownership.DoneNow)
	x.stand()
	x.unchanged("the overridden attempt", func() {
		_, err := x.A.Commit(x.Context(), x.key, f, commitOf(target(2), "late"))
		x.is(err, ownership.ErrSuperseded, "commit")
		_, err = x.A.Restore(x.Context(), x.key, a, nil)
		x.is(err, ownership.ErrSuperseded, "restore")
	})
	x.begin(x.B, claimOf(target(2)))
}

func operatorRepeat(x *fixture) {
	a := x.committed(x.A, target(1))
	b := x.committed(x.A, target(2))
	by := newID()
	x.goBack(b, by, ownership.DoneNow)
	x.unchanged("the repeat", func() { x.goBack(b, by, ownership.DoneAlready) })
	x.stand(a)
}

func operatorAgain(x *fixture) {
	x.committed(x.A, target(1))
	b := x.committed(x.A, target(2))
	x.goBack(b, newID(), ownership.DoneNow)
	x.goBack(x.owner().Fence, newID(), ownership.DoneNow)
	x.stand()
}

func operatorChanged(x *fixture) {
	a := x.committed(x.A, target(1))
	b := x.committed(x.A, target(2))
	x.unchanged("a decision on what is no longer so", func() {
		for _, saw := range []ownership.Fence{a, {}} {
			_, err := x.B.RestoreOperator(x.Context(), x.key, saw, newID())
			x.is(err, ownership.ErrNotCurrent, "operator's restore")
		}
	})
	x.stand(b, a)
}

func operatorNobody(x *fixture) {
	f := ownership.Fence{Generation: 1, Attempt: newID()}
	_, err := x.B.RestoreOperator(x.Context(), x.key, f, newID())
	x.is(err, ownership.ErrNotCurrent, "an owner where there is none")
	x.goBack(ownership.Fence{}, newID(), ownership.DoneNow)
	if o := x.owner(); o.Phase != ownership.Abandoned || o.Live {
		x.Fatalf("owner %+v", o)
	}
	if g := x.begin(x.A, claimOf(target(1))); g.Generation != 2 {
		x.Fatalf("generation %d, want 2", g.Generation)
	}
}

func (x *fixture) forget() ownership.Generation {
	x.Helper()
	g, err := x.B.Forget(x.Context(), x.key)
	x.ok(err, "forget")
	return g
}

func forgetAll(x *fixture) {
	x.troubled()
	before := x.read(x.A).Generation
	if g := x.forget(); g != before+1 {
		x.Fatalf("counter %d after %d", g, before)
	}
	v := x.read(x.A)
	if v.Owner != nil || v.Cancel != nil || len(v.State.Checkpoints) != 0 || v.State.Streak != 0 ||
		v.State.Strikes != 0 || !v.State.CooldownUntil.IsZero() || v.State.LastError != "" || v.Generation != before+1 {
		x.Fatalf("after forget: %s", show(v))
	}
	if f := x.begin(x.A, claimOf(target(1))); f.Generation != before+2 {
		x.Fatalf("generation %d, want %d", f.Generation, before+2)
	}
}

func forgetWorking(x *fixture) {
	f := x.begin(x.A, claimOf(target(1)))
	x.forget()
	x.is(x.renew(x.A, f), ownership.ErrLost, "renew")
	_, err := x.A.Commit(x.Context(), x.key, f, commitOf(target(1), "late"))
	x.is(err, ownership.ErrLost, "commit")
	x.is(x.A.Finish(x.Context(), x.key, f, failed("timeout")), ownership.ErrLost, "finish")
	_, err = x.A.Clear(x.Context(), x.key, f)
	x.is(err, ownership.ErrNotCurrent, "clear")
	x.stand()
}
