package ownershiptest

import (
	"errors"
	"time"

	"github.com/foldgate/foldgate/ownership"
)

func commitCases() []testCase {
	return []testCase{
		{"it publishes a provisional checkpoint", 0, commitPublishes},
		{"its repeat says already", 0, commitAlready},
		{"a superseded attempt changes nothing", 0, commitSuperseded},
		{"an attempt that the store forgot changes nothing", wipe, commitLost},
		{"not with the flag raised", 0, commitCancelled},
		{"only what was claimed", 0, commitWrongTarget},
		{"not after clear", 0, commitAfterClear},
		{"not after restore", 0, commitAfterRestore},
		{"not after finish", 0, commitAfterFinish},
		{"it clears cooldown, streak and last error", 0, commitClears},
		{"a strike is counted, the second blocks", 0, commitStrikes},
		{"a commit without a strike starts the count over", 0, commitNoStrike},
		{"it releases the lease", 0, commitReleases},
	}
}

func commitPublishes(x *fixture) {
	f := x.begin(x.A, claimOf(target(4)))
	c := commitOf(target(4), "the summary")
	c.Checkpoint.Step, c.Checkpoint.Tokens, c.Checkpoint.Route = 1.15, 812, "second route"
	// The store's to set: what the caller says there is not believed.
	c.Checkpoint.Fence, c.Checkpoint.Settled = ownership.Fence{Generation: 99, Attempt: newID()}, true
	x.commit(x.A, f, c, ownership.DoneNow)
	v := x.read(x.B)
	if len(v.State.Checkpoints) != 1 {
		x.Fatalf("%d checkpoints", len(v.State.Checkpoints))
	}
	got := v.State.Checkpoints[0]
	if got.Fence != f || got.Settled || got.Target != target(4) || got.Tokens != 812 || got.Step != 1.15 ||
		got.Route != "second route" || string(got.Handoff) != "the summary" {
		x.Fatalf("checkpoint %+v", got)
	}
	if d := v.Now.Sub(got.Created); d < 0 || d > slack {
		x.Fatalf("created %v before the read", d)
	}
	if v.Owner.Phase != ownership.Committed || v.Owner.Live {
		x.Fatalf("owner %+v", v.Owner)
	}
}

func commitAlready(x *fixture) {
	f := x.committed(x.A, target(1))
	x.unchanged("the repeat", func() { x.commit(x.B, f, commitOf(target(1), "other"), ownership.DoneAlready) })
	x.settle(x.A, f, ownership.DoneNow)
	x.unchanged("the repeat after settle", func() { x.commit(x.B, f, commitOf(target(1), "other"), ownership.DoneAlready) })
}

func commitSuperseded(x *fixture) {
	f := x.begin(x.A, claimOf(target(1)))
	g := x.begin(x.A, superseding(f, target(1)))
	x.unchanged("a superseded commit", func() {
		_, err := x.A.Commit(x.Context(), x.key, f, commitOf(target(1), "stale"))
		x.is(err, ownership.ErrSuperseded, "commit")
	})
	x.commit(x.B, g, commitOf(target(1), "fresh"), ownership.DoneNow)
	x.unchanged("a superseded commit after another", func() {
		_, err := x.A.Commit(x.Context(), x.key, f, commitOf(target(1), "stale"))
		x.is(err, ownership.ErrSuperseded, "commit")
	})
}

func commitLost(x *fixture) {
	f := x.begin(x.A, claimOf(target(1)))
	x.Wipe(x.T)
	_, err := x.A.Commit(x.Context(), x.key, f, commitOf(target(1), "stale"))
	x.is(err, ownership.ErrLost, "commit")
	if v := x.read(x.B); v.Owner != nil || v.Generation != 0 || len(v.State.Checkpoints) != 0 {
		x.Fatalf("a lost commit left %s", show(v))
	}
}

func commitCancelled(x *fixture) {
	f := x.begin(x.A, claimOf(target(1)))
	x.raise(x.B, f, "too costly")
	x.unchanged("a cancelled commit", func() {
		_, err := x.A.Commit(x.Context(), x.key, f, commitOf(target(1), "s"))
		var c *ownership.CancelledError
		if !errors.As(err, &c) || c.Reason != "too costly" {
			x.Fatalf("commit: %v, want cancelled", err)
		}
	})
}

func commitWrongTarget(x *fixture) {
	f := x.begin(x.A, claimOf(target(2)))
	other := target(2)
	other.Covered = 3
	for _, t := range []ownership.Target{target(1), other} {
		x.unchanged("a commit of another target", func() {
			_, err := x.A.Commit(x.Context(), x.key, f, commitOf(t, "s"))
			x.is(err, ownership.ErrInvalid, "commit")
		})
	}
	x.commit(x.A, f, commitOf(target(2), "s"), ownership.DoneNow)
}

func commitAfterClear(x *fixture) {
	f := x.begin(x.A, claimOf(target(1)))
	x.clear(x.A, f, ownership.Abandoned)
	x.unchanged("a commit after clear", func() {
		_, err := x.A.Commit(x.Context(), x.key, f, commitOf(target(1), "late"))
		x.ended(err, ownership.Abandoned, "commit")
	})
}

func commitAfterRestore(x *fixture) {
	f := x.committed(x.A, target(1))
	x.restore(x.B, f, nil, ownership.DoneNow)
	x.unchanged("a commit after restore", func() {
		_, err := x.A.Commit(x.Context(), x.key, f, commitOf(target(1), "late"))
		x.ended(err, ownership.Restored, "commit")
	})
	x.stand()
}

func commitAfterFinish(x *fixture) {
	f := x.begin(x.A, claimOf(target(1)))
	x.finish(x.A, f, failed("timeout"))
	x.unchanged("a commit after finish", func() {
		_, err := x.A.Commit(x.Context(), x.key, f, commitOf(target(1), "late"))
		x.ended(err, ownership.Failed, "commit")
	})
}

func commitClears(x *fixture) {
	x.finish(x.A, x.begin(x.A, claimOf(target(1))), failed("timeout"))
	x.finish(x.A, x.begin(x.A, bypassing(target(1))), failed("timeout"))
	x.committed(x.A, target(1))
	if s := x.read(x.B).State; !s.CooldownUntil.IsZero() || s.Streak != 0 || s.LastError != "" {
		x.Fatalf("state after a commit: %+v", s)
	}
	x.begin(x.B, claimOf(target(2)))
}

func commitStrikes(x *fixture) {
	x.commit(x.A, x.begin(x.A, claimOf(target(1))), striking(target(1)), ownership.DoneNow)
	if s := x.read(x.B).State; s.Strikes != 1 || !s.BlockedUntil.IsZero() {
		x.Fatalf("after one strike: %+v", s)
	}
	f := x.begin(x.A, claimOf(target(2)))
	x.commit(x.A, f, striking(target(2)), ownership.DoneNow)
	x.commit(x.A, f, striking(target(2)), ownership.DoneAlready)
	if s := x.read(x.B).State; s.Strikes != 2 {
		x.Fatalf("after two strikes, one repeated: %+v", s)
	}
	got := x.claim(x.B, claimOf(target(3)), ownership.VerdictBlocked)
	x.within(got.Left, ownership.BlockFor, "left")
}

func commitNoStrike(x *fixture) {
	x.finish(x.A, x.begin(x.A, claimOf(target(1))), ownership.Ending{Phase: ownership.Ineffective})
	x.committed(x.A, target(1))
	if s := x.read(x.B).State; s.Strikes != 0 || !s.BlockedUntil.IsZero() {
		x.Fatalf("strikes after a good commit: %+v", s)
	}
	x.finish(x.A, x.begin(x.A, claimOf(target(2))), ownership.Ending{Phase: ownership.Ineffective})
	x.begin(x.B, claimOf(target(2)))
}

func commitReleases(x *fixture) {
	f := x.committed(x.A, target(1))
	if o := x.owner(); o.LeaseLeft != 0*time.Second || o.Fence != f {
		x.Fatalf("owner %+v", o)
	}
	x.begin(x.B, claimOf(target(2)))
}
