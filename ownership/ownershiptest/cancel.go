package ownershiptest

import "github.com/foldgate/foldgate/ownership"

func cancelCases() []testCase {
	return []testCase{
		{"another replica raises the flag", 0, raiseFlag},
		{"its repeat keeps the first reason", 0, raiseRepeat},
		{"only the named attempt is stopped", 0, raiseOther},
		{"after the commit it is too late", 0, raiseCommitted},
		{"an attempt that ended cancelled answers as raised", 0, raiseCancelled},
		{"an attempt that failed has ended", 0, raiseFailed},
		{"clear ends a working attempt as abandoned", 0, clearAbandons},
		{"clear ends a raised attempt as cancelled", 0, clearCancels},
		{"clear tells how an ended attempt stands", 0, clearEnded},
		{"clear by another fence is refused", 0, clearOther},
	}
}

func raiseFlag(x *fixture) {
	f := x.begin(x.A, claimOf(target(1)))
	if v := x.read(x.B); v.Cancel != nil {
		x.Fatalf("a flag that nobody raised: %+v", v.Cancel)
	}
	x.raise(x.B, f, "operator")
	v := x.read(x.A)
	if v.Cancel == nil || v.Cancel.Fence != f || v.Cancel.Reason != "operator" {
		x.Fatalf("flag %+v", v.Cancel)
	}
	if d := v.Now.Sub(v.Cancel.At); d < 0 || d > slack {
		x.Fatalf("raised %v before the read", d)
	}
	if v.Owner.Phase != ownership.Working {
		x.Fatalf("raise ended the attempt: %s", v.Owner.Phase)
	}
}

func raiseRepeat(x *fixture) {
	f := x.begin(x.A, claimOf(target(1)))
	x.raise(x.A, f, "first")
	x.unchanged("the repeat", func() { x.raise(x.B, f, "second") })
}

func raiseOther(x *fixture) {
	f := x.begin(x.A, claimOf(target(1)))
	g := x.begin(x.A, superseding(f, target(1)))
	x.unchanged("raise of another attempt", func() {
		x.is(x.B.Raise(x.Context(), x.key, f, "operator"), ownership.ErrNotCurrent, "raise")
		stranger := ownership.Fence{Generation: g.Generation, Attempt: newID()}
		x.is(x.B.Raise(x.Context(), x.key, stranger, "operator"), ownership.ErrNotCurrent, "raise")
	})
	x.ok(x.renew(x.A, g), "renew of the attempt that was not named")
	x.key = newKey()
	x.is(x.B.Raise(x.Context(), x.key, f, "operator"), ownership.ErrNotCurrent, "raise where nobody claimed")
}

func raiseCommitted(x *fixture) {
	f := x.committed(x.A, target(1))
	x.unchanged("raise after the commit", func() {
		x.ended(x.B.Raise(x.Context(), x.key, f, "late"), ownership.Committed, "raise")
	})
	x.settle(x.A, f, ownership.DoneNow)
	x.ended(x.B.Raise(x.Context(), x.key, f, "late"), ownership.Settled, "raise after settle")
	x.begin(x.A, claimOf(target(2)))
	x.ended(x.B.Raise(x.Context(), x.key, f, "late"), ownership.Settled, "raise after the next claim")
}

func raiseCancelled(x *fixture) {
	f := x.begin(x.A, claimOf(target(1)))
	x.raise(x.B, f, "operator")
	x.clear(x.A, f, ownership.Cancelled)
	x.unchanged("the repeat", func() { x.raise(x.B, f, "operator") })
}

func raiseFailed(x *fixture) {
	f := x.begin(x.A, claimOf(target(1)))
	x.finish(x.A, f, failed("timeout"))
	x.unchanged("raise after a failure", func() {
		x.ended(x.B.Raise(x.Context(), x.key, f, "late"), ownership.Failed, "raise")
	})
}

func clearAbandons(x *fixture) {
	f := x.begin(x.A, claimOf(target(1)))
	x.clear(x.A, f, ownership.Abandoned)
	x.unchanged("the repeat", func() { x.clear(x.B, f, ownership.Abandoned) })
	x.begin(x.B, claimOf(target(1)))
}

func clearCancels(x *fixture) {
	f := x.begin(x.A, claimOf(target(1)))
	x.raise(x.B, f, "operator")
	x.clear(x.A, f, ownership.Cancelled)
	v := x.read(x.B)
	if v.Cancel != nil || v.Owner.Live || v.State.Streak != 0 || !v.State.CooldownUntil.IsZero() {
		x.Fatalf("after clear: %s", show(v))
	}
}

func clearEnded(x *fixture) {
	f := x.committed(x.A, target(1))
	x.unchanged("clear after the commit", func() { x.clear(x.A, f, ownership.Committed) })
	x.settle(x.A, f, ownership.DoneNow)
	x.unchanged("clear after settle", func() { x.clear(x.A, f, ownership.Settled) })
}

func clearOther(x *fixture) {
	f := x.begin(x.A, claimOf(target(1)))
	g := x.begin(x.A, superseding(f, target(1)))
	x.raise(x.B, g, "operator")
	x.unchanged("clear by another fence", func() {
		_, err := x.A.Clear(x.Context(), x.key, f)
		x.is(err, ownership.ErrNotCurrent, "clear")
	})
	x.clear(x.A, g, ownership.Cancelled)
}
