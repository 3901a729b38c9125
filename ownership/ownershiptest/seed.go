package ownershiptest

import (
	"reflect"
	"testing"

	"github.com/foldgate/foldgate/ownership"
)

// RunSeed runs the behaviours from which the protocol grew, one case each, named
// after the test of the single-process original that it stands for. There an
// attempt owned one object in one process; here it owns a conversation in a
// store, two replicas (Harness.A and Harness.B) share it, and where the original
// ran whole attempts, a Coordinator does.
//
// open is used as in Run. Events drive every interleaving: a call is stopped at a
// gate, or a worker waits for the case to answer, so nothing depends on how fast
// anything is.
func RunSeed(t *testing.T, open func(t *testing.T) Harness) {
	for _, c := range []testCase{
		// One attempt against another, call by call.
		{"NewerEntryGenerationWithoutMarkerRemainsStale", 0, seedNewerClaim},
		{"StaleRestoreNoopsAndPreservesFallbackState", 0, seedStaleRestore},
		{"CurrentAttemptRestoreStillWorks", 0, seedCurrentRestore},
		{"LegacyCallersWithoutGenerationAreUnchanged", 0, seedWithoutFence},
		{"SlottedCompressorDisablesGuardGracefully", 0, seedUnfenced},
		{"StalePrimaryFinallyCannotClearFallbackCallback", 0, seedStaleClear},
		{"OwnerClearRoundtrip", 0, seedOwnerClear},
		{"GenerationZeroClearIsUnconditional", 0, seedUnfencedClear},
		// What belongs to one attempt only.
		{"PinIsConsumedOnce", 0, seedPinOnce},
		{"ConsumeIsContextLocal", 0, seedPinLocal},
		{"OuterAttemptCanUseNeverClaimedInnerCompressor", 0, seedInner},
		// Attempts that overlap.
		{"ClaimDuringRestoreBodyVoidsTheWrite", 0, seedClaimDuringRestore},
		{"DetachedPrimaryLateSuccessCannotWriteAfterFallback", 0, seedLateSuccess},
		{"DetachedPrimaryLateCancelCannotRevertFallback", 0, seedLateCancel},
		{"DurableWriteAndRestoreAreAtomicAgainstClaims", 0, seedRestoreAtomic},
		{"DurableWriteDoesNotStallOtherCompressors", 0, seedOthers},
	} {
		t.Run(c.name, func(t *testing.T) { c.in(t, open) })
	}
}

// A newer claim makes the older attempt stale by itself: that it never said a
// word since, or never worked at all, excuses nobody.
func seedNewerClaim(x *fixture) {
	for name, takeOver := range map[string]func(x *fixture, old ownership.Fence) ownership.Fence{
		"that fell silent at once": func(x *fixture, old ownership.Fence) ownership.Fence {
			return x.begin(x.B, superseding(old, target(1)))
		},
		"that was never in the working phase": func(x *fixture, old ownership.Fence) ownership.Fence {
			by := newID()
			x.goBack(old, by, ownership.DoneNow)
			return ownership.Fence{Generation: old.Generation + 1, Attempt: by}
		},
	} {
		x.Run(name, func(t *testing.T) {
			x := newFixture(t, x.Harness)
			old := x.begin(x.A, claimOf(target(1)))
			now := takeOver(x, old)
			x.unchanged("the older attempt", func() {
				for _, replica := range []ownership.Store{x.A, x.B} {
					x.refused(replica, old, ownership.ErrSuperseded)
				}
				_, err := x.A.Claim(x.Context(), x.key, superseding(old, target(1)))
				x.is(err, ownership.ErrSuperseded, "the older attempt's next route")
			})
			if got := x.owner().Fence; got != now {
				x.Fatalf("owner %v, want %v", got, now)
			}
		})
	}
}

// refused wants every call with f refused: as err, or as not current where the
// port says so.
func (x *fixture) refused(s ownership.Store, f ownership.Fence, err error) {
	x.Helper()
	for name, call := range fenced(x.key, f) {
		want := err
		if name == "raise" || name == "clear" {
			want = ownership.ErrNotCurrent
		}
		x.is(call(x.Context(), s), want, name)
	}
}

// The restore of an attempt that was overtaken is void, whether it had published
// something or not: what the newer ones left, summary and cooldown, stays to the
// byte.
func seedStaleRestore(x *fixture) {
	for name, prepare := range map[string]func(x *fixture) ownership.Fence{
		"of one that published nothing": func(x *fixture) ownership.Fence {
			return x.begin(x.A, claimOf(target(2)))
		},
		"of one whose commit was provisional": func(x *fixture) ownership.Fence {
			return x.committed(x.A, target(2))
		},
	} {
		x.Run(name, func(t *testing.T) {
			x := newFixture(t, x.Harness)
			x.settle(x.A, x.committed(x.A, target(1)), ownership.DoneNow)
			stale := prepare(x)

			next := bypassing(target(3))
			if x.owner().Phase == ownership.Working {
				next = superseding(stale, target(3))
			}
			fallback := x.begin(x.B, next)
			x.commit(x.B, fallback, commitOf(target(3), "the fallback's summary"), ownership.DoneNow)
			x.finish(x.B, x.begin(x.B, claimOf(target(4))), failed("timeout"))

			charge := climbing("structure")
			x.unchanged("the stale restore", func() {
				for _, charged := range []*ownership.Failure{nil, &charge} {
					for _, replica := range []ownership.Store{x.A, x.B} {
						_, err := replica.Restore(x.Context(), x.key, stale, charged)
						x.is(err, ownership.ErrSuperseded, "restore")
					}
				}
			})
			if got := x.texts()[0]; got != "the fallback's summary" || x.cooldown() == 0 {
				x.Fatalf("%q stands, cooldown %v", got, x.cooldown())
			}
		})
	}
}

// The rule above must not cost the current attempt its own restore, on whichever
// replica it is asked for.
func seedCurrentRestore(x *fixture) {
	x.troubled()
	before := x.still().State
	claimed := x.claim(x.A, bypassing(target(2)), ownership.VerdictClaimed)
	if !reflect.DeepEqual(claimed.State, bare(before)) {
		x.Fatalf("the claim's snapshot\n%+v, want\n%+v", claimed.State, bare(before))
	}
	x.unchanged("its restore before a commit", func() { x.restore(x.B, claimed.Fence, nil, ownership.DoneNow) })
	x.commit(x.A, claimed.Fence, commitOf(target(2), "scribbles"), ownership.DoneNow)
	if reflect.DeepEqual(x.still().State, before) {
		x.Fatal("the commit changed nothing")
	}
	x.restore(x.B, claimed.Fence, nil, ownership.DoneNow)
	if after := x.still(); !reflect.DeepEqual(after.State, before) || after.Owner.Phase != ownership.Restored {
		x.Fatalf("restored as %s\n%+v, want\n%+v", after.Owner.Phase, after.State, before)
	}
	x.unchanged("its repeat", func() { x.restore(x.A, claimed.Fence, nil, ownership.DoneAlready) })
}

// bare is a state without the handoffs' bytes, as a claim returns it.
func bare(s ownership.State) ownership.State {
	list := make([]ownership.Checkpoint, len(s.Checkpoints))
	for i, c := range s.Checkpoints {
		c.Handoff = nil
		list[i] = c
	}
	s.Checkpoints = list
	return s
}

// Who brings no fence at all, an operator, restores over whoever works. That path
// has a name of its own and takes a generation, so who was overridden learns it;
// and it decides about the owner that was seen, not about one that came since.
func seedWithoutFence(x *fixture) {
	first := x.committed(x.A, target(1))
	x.settle(x.A, first, ownership.DoneNow)
	x.committed(x.A, target(2))
	working := x.begin(x.A, claimOf(target(3)))

	x.unchanged("an operator who saw another owner", func() {
		_, err := x.B.RestoreOperator(x.Context(), x.key, first, newID())
		x.is(err, ownership.ErrNotCurrent, "operator's restore")
	})
	by := newID()
	x.goBack(working, by, ownership.DoneNow)
	x.stand(first)
	if o := x.owner(); o.Fence != (ownership.Fence{Generation: working.Generation + 1, Attempt: by}) || o.Live {
		x.Fatalf("owner %+v", o)
	}
	x.unchanged("whoever was overridden", func() { x.refused(x.A, working, ownership.ErrSuperseded) })

	// A provisional commit goes as its own restore would take it.
	before := x.still().State
	provisional := x.committed(x.A, target(2))
	x.goBack(provisional, newID(), ownership.DoneNow)
	if after := x.still().State; !reflect.DeepEqual(after, before) {
		x.Fatalf("restored\n%+v, want\n%+v", after, before)
	}
}

// Without a store the guard is off and nothing breaks: the attempt counts as
// current, serves who waits for it, and publishes nothing. A store never takes
// generation 0 for a right, not even where nobody ever claimed.
func seedUnfenced(x *fixture) {
	gone := x.unreachable(x.A)
	calls := x.summarizer()
	flight, _ := x.coordinator(gone).Do(x.job(target(1), calls.work, "primary"))
	call := calls.next()
	if !call.Fence.Unfenced() {
		x.Fatalf("fence %v without a store", call.Fence)
	}
	unfenced := call.Fence
	call.returns("for this response only")
	if res := x.await(flight, ownership.ResultUnfenced); string(res.Checkpoint.Handoff) != "for this response only" {
		x.Fatalf("result %+v", res)
	}
	if got := gone.operations(); !reflect.DeepEqual(got, []string{"claim"}) {
		x.Fatalf("it asked the store %q", got)
	}

	for _, conversation := range []string{"nobody claimed", "somebody owns"} {
		if conversation == "somebody owns" {
			x.begin(x.B, claimOf(target(1)))
		}
		x.unchanged("generation 0 where "+conversation, func() {
			for name, call := range fenced(x.key, unfenced) {
				x.is(call(x.Context(), x.A), ownership.ErrInvalid, name)
			}
		})
	}
}

// The clean-up of an attempt that was overtaken does not lower the flag that was
// raised for its successor; the successor's own does.
func seedStaleClear(x *fixture) {
	primary := x.begin(x.A, claimOf(target(1)))
	fallback := x.begin(x.B, superseding(primary, target(1)))
	x.raise(x.A, fallback, "meant for the fallback")
	x.unchanged("the stale clear", func() {
		for _, replica := range []ownership.Store{x.A, x.B} {
			_, err := replica.Clear(x.Context(), x.key, primary)
			x.is(err, ownership.ErrNotCurrent, "clear by the one before")
			_, err = replica.Clear(x.Context(), x.key, ownership.Fence{Generation: fallback.Generation, Attempt: primary.Attempt})
			x.is(err, ownership.ErrNotCurrent, "clear by the right number and another id")
		}
	})
	c := x.read(x.A).Cancel
	if c == nil || c.Fence != fallback || c.Reason != "meant for the fallback" {
		x.Fatalf("flag %+v", c)
	}
	x.clear(x.B, fallback, ownership.Cancelled)
	if c := x.read(x.A).Cancel; c != nil {
		x.Fatalf("flag %+v after the owner cleared it", c)
	}
}

// Raised on one replica, seen and cleared on the other; then it is gone whole, an
// absent flag may be cleared again, and the next owner begins without one.
func seedOwnerClear(x *fixture) {
	f := x.begin(x.A, claimOf(target(1)))
	x.raise(x.B, f, "operator")
	if c := x.read(x.A).Cancel; c == nil || c.Fence != f || c.Reason != "operator" {
		x.Fatalf("flag %+v", c)
	}
	x.is(x.renew(x.A, f), ownership.ErrCancelled, "renew of the owner")
	_, err := x.A.Commit(x.Context(), x.key, f, commitOf(target(1), "s"))
	x.is(err, ownership.ErrCancelled, "commit of the owner")
	x.clear(x.A, f, ownership.Cancelled)
	if v := x.read(x.B); v.Cancel != nil || v.Owner.Phase != ownership.Cancelled || v.Owner.Live {
		x.Fatalf("after the clear: %s", show(v))
	}
	x.unchanged("clearing what is clear", func() { x.clear(x.A, f, ownership.Cancelled) })
	next := x.begin(x.B, claimOf(target(1)))
	x.ok(x.renew(x.B, next), "renew of the next owner")
	x.clear(x.B, next, ownership.Abandoned)
}

// An unfenced attempt cleans up after itself without asking anyone, since only
// this process knows of it. What a real owner keeps in the store is none of its
// business: there, only the operator's forget goes over everybody.
func seedUnfencedClear(x *fixture) {
	owner := x.begin(x.B, claimOf(target(1)))
	x.raise(x.B, owner, "the owner's flag")
	gone := x.unreachable(x.A)
	x.unchanged("unfenced attempts", func() {
		calls := x.summarizer()
		c := x.coordinator(gone)
		failing, _ := c.Do(x.job(target(1), calls.work, "primary"))
		first := calls.next()
		first.fails(routeFailure("timeout"))
		x.await(failing, ownership.ResultStore)
		again, joined := c.Do(x.job(target(1), calls.work, "primary"))
		if joined {
			x.Fatal("the failed attempt is still in the way")
		}
		calls.next().returns("served")
		x.await(again, ownership.ResultUnfenced)
		if got := gone.operations(); !reflect.DeepEqual(got, []string{"claim", "claim"}) {
			x.Fatalf("they asked the store %q", got)
		}
		_, err := x.A.Clear(x.Context(), x.key, first.Fence)
		x.is(err, ownership.ErrInvalid, "clear with generation 0")
	})
	x.forget()
	if v := x.read(x.A); v.Owner != nil || v.Cancel != nil {
		x.Fatalf("after the operator's forget: %s", show(v))
	}
	x.refused(x.B, owner, ownership.ErrLost)
}
