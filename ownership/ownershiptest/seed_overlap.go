package ownershiptest

import (
	"reflect"
	"testing"
	"time"

	"github.com/foldgate/foldgate/ownership"
)

// restored is what a restore came to.
type restored struct {
	done ownership.Done
	err  error
}

// restoring runs a restore of f beside the case.
func (x *fixture) restoring(s ownership.Store, f ownership.Fence) <-chan restored {
	out := make(chan restored, 1)
	go func() {
		done, err := s.Restore(x.Context(), x.key, f, nil)
		out <- restored{done, err}
	}()
	return out
}

// provisional is a commit over a conversation with a checkpoint, a cooldown and a
// streak, and the state that its restore would bring back.
func (x *fixture) provisional() (f ownership.Fence, before ownership.State) {
	x.Helper()
	x.troubled()
	before = x.still().State
	return x.committed(x.A, target(2)), before
}

// A claim that lands while a restore is under way leaves it no middle: either the
// restore came first and the claim found everything put back, or it came second
// and wrote nothing.
func seedClaimDuringRestore(x *fixture) {
	for name, run := range map[string]func(x *fixture){
		"before it is sent":             claimBeforeRestore,
		"after it ran, before its word": claimAfterRestore,
		"between it and its repeat":     claimBetweenRestores,
	} {
		x.Run(name, func(t *testing.T) { run(newFixture(t, x.Harness)) })
	}
}

func claimBeforeRestore(x *fixture) {
	f, _ := x.provisional()
	g := x.gate("restore")
	result := x.restoring(&hooked{Store: x.A, before: g.pass}, f)
	receive(x, g.reached, "the restore")
	next := x.begin(x.B, bypassing(target(3)))
	x.unchanged("the restore", func() {
		close(g.open)
		x.is(receive(x, result, "the restore's answer").err, ownership.ErrSuperseded, "restore")
	})
	x.ok(x.renew(x.B, next), "renew of the one that claimed")
}

func claimAfterRestore(x *fixture) {
	f, before := x.provisional()
	g := x.gate("restore")
	result := x.restoring(&hooked{Store: x.A, after: g.pass}, f)
	receive(x, g.reached, "the restore")
	got := x.claim(x.B, bypassing(target(3)), ownership.VerdictClaimed)
	if !reflect.DeepEqual(got.State, bare(before)) {
		x.Fatalf("the claim found\n%+v, want\n%+v", got.State, bare(before))
	}
	x.unchanged("the restore's answer", func() {
		close(g.open)
		if r := receive(x, result, "the restore's answer"); r.err != nil || r.done != ownership.DoneNow {
			x.Fatalf("restore: %d, %v", r.done, r.err)
		}
	})
}

func claimBetweenRestores(x *fixture) {
	f, before := x.provisional()
	lossy := &hooked{Store: x.A, after: func(string, ownership.Key) error { return ownership.ErrIndeterminate }}
	x.is((<-x.restoring(lossy, f)).err, ownership.ErrIndeterminate, "restore without its answer")
	got := x.claim(x.B, bypassing(target(3)), ownership.VerdictClaimed)
	if !reflect.DeepEqual(got.State, bare(before)) {
		x.Fatalf("the claim found\n%+v, want\n%+v", got.State, bare(before))
	}
	x.commit(x.B, got.Fence, commitOf(target(3), "the newer one's"), ownership.DoneNow)
	x.unchanged("the restore's repeat", func() {
		_, err := x.A.Restore(x.Context(), x.key, f, nil)
		x.is(err, ownership.ErrSuperseded, "restore")
	})
}

// An owner whose summary comes after somebody else's was committed writes
// nothing, charges nothing, and serves its callers what stands.
func seedLateSuccess(x *fixture) {
	x.Run("its own next route took over", func(t *testing.T) {
		x := newFixture(t, x.Harness)
		o := x.overtaken()
		x.unchanged("the late success", func() {
			o.late.returns("of another era")
			got := receive(x, o.seen.refusals, "the late commit's refusal")
			x.is(got.err, ownership.ErrSuperseded, got.operation)
			if got.operation != "commit" {
				x.Fatalf("the store refused its %s, want its commit", got.operation)
			}
			x.stop(o.replica)
		})
		x.overtakenLeftNothing(o)
	})
	x.Run("another replica took over", func(t *testing.T) {
		x := newFixture(t, x.Harness)
		o := x.abandoned()
		x.unchanged("the late success", func() {
			o.late.returns("of another era")
			x.servedByOther(o)
			x.stop(o.replica)
		})
		x.overtakenLeftNothing(o)
	})
}

// The same where the late call ends in a cancellation: its restore does not
// reach what the newer attempt published.
func seedLateCancel(x *fixture) {
	x.Run("its own next route took over", func(t *testing.T) {
		x := newFixture(t, x.Harness)
		o := x.overtaken()
		receive(x, o.late.ctx.Done(), "the detached worker's cancellation")
		x.unchanged("the late cancellation", func() {
			o.late.fails(ownership.ErrStalled)
			x.stop(o.replica)
			x.unwind(o)
		})
		x.overtakenLeftNothing(o)
	})
	x.Run("another replica took over", func(t *testing.T) {
		x := newFixture(t, x.Harness)
		o := x.abandoned()
		x.unchanged("the late cancellation", func() {
			o.late.fails(routeFailure("network"))
			x.servedByOther(o)
			x.stop(o.replica)
			x.unwind(o)
		})
		x.overtakenLeftNothing(o)
	})
}

// overtaking is an attempt that still works although a newer one has committed.
type overtaking struct {
	late     *summaryCall
	flight   *ownership.Flight // of the late attempt
	newer    ownership.Fence
	replica  *ownership.Coordinator
	seen     *ledger
	previous ownership.Fence // what stood before both
}

// overtaken is one whose coordinator detached it and ran the next route.
func (x *fixture) overtaken() overtaking {
	x.Helper()
	o := x.overtaking(x.A)
	calls := x.summarizer()
	o.flight, _ = o.replica.Do(impatient(x.job(target(2), calls.work, "primary", "fallback")))
	o.late = calls.next()
	fallback := calls.next()
	fallback.returns("the newer summary")
	o.newer = x.await(o.flight, ownership.ResultCommitted).Fence
	if o.newer != fallback.Fence || o.newer.Generation != o.late.Fence.Generation+1 {
		x.Fatalf("%v committed after %v", o.newer, o.late.Fence)
	}
	return o
}

// abandoned is one whose lease ran out, so that the other replica claimed.
func (x *fixture) abandoned() overtaking {
	x.Helper()
	o := x.overtaking(withoutRenewals(x.A), func(c *ownership.Config) { c.Lease = time.Millisecond })
	calls, others := x.summarizer(), x.summarizer()
	o.flight, _ = o.replica.Do(x.job(target(2), calls.work, "primary"))
	o.late = calls.next()
	if x.Advance != nil {
		x.Advance(time.Second)
	}
	newer, _ := x.coordinator(x.B).Do(x.job(target(2), others.work, "primary"))
	others.next().returns("the newer summary")
	o.newer = x.await(newer, ownership.ResultCommitted).Fence
	return o
}

func (x *fixture) overtaking(s ownership.Store, change ...func(*ownership.Config)) overtaking {
	x.Helper()
	o := overtaking{seen: newLedger(), previous: x.committed(x.A, target(1))}
	x.settle(x.A, o.previous, ownership.DoneNow)
	o.replica = x.coordinator(s, append(change, o.seen.configure)...)
	return o
}

// servedByOther wants the late attempt's callers to get what the other replica
// committed.
func (x *fixture) servedByOther(o overtaking) {
	x.Helper()
	res := x.await(o.flight, ownership.ResultCommitted)
	if res.Fence != o.newer || !res.Joined || string(res.Checkpoint.Handoff) != "the newer summary" {
		x.Fatalf("the late attempt's callers got %+v", res)
	}
}

// unwind is what the unwinding of the late attempt may ask for.
func (x *fixture) unwind(o overtaking) {
	x.Helper()
	charge := climbing("network")
	_, err := x.A.Restore(x.Context(), x.key, o.late.Fence, &charge)
	x.is(err, ownership.ErrSuperseded, "restore")
	_, err = x.A.Clear(x.Context(), x.key, o.late.Fence)
	x.is(err, ownership.ErrNotCurrent, "clear")
}

// overtakenLeftNothing wants what the newer attempt made, no charge, and the late
// attempt to have ended as superseded: no failure, no success.
func (x *fixture) overtakenLeftNothing(o overtaking) {
	x.Helper()
	x.stand(o.newer, o.previous)
	if got := x.texts()[0]; got != "the newer summary" {
		x.Fatalf("%q stands", got)
	}
	if s := x.read(x.B).State; s.Streak != 0 || s.LastError != "" || !s.CooldownUntil.IsZero() {
		x.Fatalf("charged: %+v", s)
	}
	if p := o.seen.end(o.late.Fence.Generation); p != ownership.Superseded {
		x.Fatalf("the late attempt ended as %q", p)
	}
}

// Checkpoints, counters and cooldown come back together or not at all, whichever
// of a restore and a claim the store takes first; and the claim gets the next
// number either way.
func seedRestoreAtomic(x *fixture) {
	for range 10 {
		x := newFixture(x.T, x.Harness)
		f, before := x.provisional()
		committed := x.still().State
		var claim ownership.Claimed
		var restore, failed error
		both(
			func() { _, restore = x.A.Restore(x.Context(), x.key, f, nil) },
			func() { claim, failed = x.B.Claim(x.Context(), x.key, bypassing(target(3))) },
		)
		x.ok(failed, "claim")
		if claim.Verdict != ownership.VerdictClaimed || claim.Fence.Generation != f.Generation+1 {
			x.Fatalf("claim: %+v after %v", claim, f)
		}
		want := before
		if restore != nil {
			x.is(restore, ownership.ErrSuperseded, "restore")
			want = committed
		}
		if !reflect.DeepEqual(claim.State, bare(want)) {
			x.Fatalf("restore: %v; the claim found\n%+v, want\n%+v", restore, claim.State, bare(want))
		}
		if got := x.still().State; !reflect.DeepEqual(got, want) {
			x.Fatalf("restore: %v; there stands\n%+v, want\n%+v", restore, got, want)
		}
	}
}

// A call of one conversation that takes long keeps no other one waiting: not in
// the store, not in the coordinator.
func seedOthers(x *fixture) {
	other := &fixture{T: x.T, Harness: x.Harness, key: newKey()}
	f, _ := x.provisional()
	g := x.gate("restore")
	slow := &hooked{Store: x.A, before: g.pass}
	result := x.restoring(slow, f)
	receive(x, g.reached, "the slow restore")
	if first := other.begin(slow, claimOf(target(1))); first.Generation != 1 {
		x.Fatalf("the other conversation begins at %v", first)
	}
	close(g.open)
	if r := receive(x, result, "the slow restore's answer"); r.err != nil {
		x.Fatalf("restore: %v", r.err)
	}

	x, other = newFixture(x.T, x.Harness), newFixture(x.T, x.Harness)
	for _, operation := range []string{"claim", "commit", "clear"} {
		x.key, other.key = newKey(), newKey()
		g := x.gate(operation)
		calls, others := x.summarizer(), x.summarizer()
		c := x.coordinator(&hooked{Store: x.A, before: g.pass})
		held, _ := c.Do(x.job(target(1), calls.work, "primary"))
		if operation != "claim" {
			calls.next().returns("slow")
		}
		receive(x, g.reached, "the slow "+operation)
		quick, _ := c.Do(other.job(target(1), others.work, "primary"))
		call := others.next()
		call.returns("quick")
		if res := x.await(quick, ownership.ResultCommitted); res.Fence.Generation != 1 {
			x.Fatalf("beside a slow %s: %+v", operation, res)
		}
		close(g.open)
		if operation == "claim" {
			calls.next().returns("slow")
		}
		receive(x, held.Done(), "the slow flight's end")
		// Who waits for a commit for long is served the draft meanwhile.
		if res := held.Result(); res.Kind != ownership.ResultCommitted && res.Kind != ownership.ResultUnfenced {
			x.Fatalf("the slow %s came to %d, %v", operation, res.Kind, res.Err)
		}
	}
}
