package ownershiptest

import (
	"github.com/foldgate/foldgate/ownership"
)

// The route that a retry was given is for its one summary call. The next attempt
// begins at the first route again, and no attempt calls twice.
func seedPinOnce(x *fixture) {
	calls := x.summarizer()
	c := x.coordinator(x.A)
	flight, _ := c.Do(x.job(target(1), calls.work, "primary", "fallback"))
	primary := calls.next()
	x.onRoute(primary, "primary", 0)
	primary.fails(routeFailure("timeout"))

	fallback := calls.next()
	x.onRoute(fallback, "fallback", 1)
	if fallback.Fence.Generation != primary.Fence.Generation+1 || fallback.Fence.Attempt == primary.Fence.Attempt {
		x.Fatalf("the next route runs as %v after %v", fallback.Fence, primary.Fence)
	}
	fallback.returns("by the fallback")
	res := x.await(flight, ownership.ResultCommitted)
	if got := x.read(x.B).State.Checkpoints[0].Route; got != "fallback" || res.Fence != fallback.Fence {
		x.Fatalf("route %q of %v stands", got, res.Fence)
	}

	flight, _ = c.Do(x.job(target(2), calls.work, "primary", "fallback"))
	next := calls.next()
	x.onRoute(next, "primary", 0)
	next.returns("by the primary")
	x.await(flight, ownership.ResultCommitted)
	if n := calls.count.Load(); n != 3 {
		x.Fatalf("%d calls for 3 attempts", n)
	}
}

// onRoute wants a running call, and the owner record that the other replica
// reads, to name this route.
func (x *fixture) onRoute(c *summaryCall, name string, index int) {
	x.Helper()
	if c.Route.Name != name || c.RouteIndex != index {
		x.Fatalf("called on route %q (%d), want %q (%d)", c.Route.Name, c.RouteIndex, name, index)
	}
	if o := x.owner(); o.Fence != c.Fence || o.Route != name {
		x.Fatalf("owner %v on route %q, want %v on %q", o.Fence, o.Route, c.Fence, name)
	}
}

// While one attempt runs on the route it was given, neither the worker that it
// was taken from, nor another conversation of this replica, nor who waits on the
// other one, sees anything of it.
func seedPinLocal(x *fixture) {
	calls := x.summarizer()
	seen := newLedger()
	a, b := x.coordinator(x.A, seen.configure), x.coordinator(x.B)
	flight, _ := a.Do(impatient(x.job(target(1), calls.work, "primary", "fallback")))
	detached := calls.next()
	pinned := calls.next()
	x.onRoute(pinned, "fallback", 1)

	other := &fixture{T: x.T, Harness: x.Harness, key: newKey()}
	beside, joined := a.Do(other.job(target(1), calls.work, "primary", "fallback"))
	if joined {
		x.Fatal("another conversation joined")
	}
	unpinned := calls.next()
	other.onRoute(unpinned, "primary", 0)
	waiting, _ := b.Do(x.job(target(1), calls.work, "primary", "fallback"))
	if detached.Route.Name != "primary" || detached.Fence == pinned.Fence {
		x.Fatalf("the detached worker has %v on %q", detached.Fence, detached.Route.Name)
	}

	unpinned.returns("the other conversation's")
	x.await(beside, ownership.ResultCommitted)
	pinned.returns("by the fallback")
	x.await(flight, ownership.ResultCommitted)
	if res := x.await(waiting, ownership.ResultCommitted); res.Fence != pinned.Fence || !res.Joined {
		x.Fatalf("the waiter got %+v", res)
	}
	detached.returns("late")
	receive(x, seen.refusals, "the late commit's refusal")

	x.stand(pinned.Fence)
	other.stand(unpinned.Fence)
	if got := other.read(x.B).State.Checkpoints[0].Route; got != "primary" {
		x.Fatalf("the other conversation's route is %q", got)
	}
	if n := calls.count.Load(); n != 3 {
		x.Fatalf("%d calls, want 3: who waits calls nobody", n)
	}
}

// A fence is judged against its own conversation only. Work inside an attempt of
// one conversation uses another one that nobody claimed, under that one's own
// numbers, and goes on when the outer attempt is overtaken; and a number of the
// outer one is no right there.
func seedInner(x *fixture) {
	for range 3 {
		x.clear(x.A, x.begin(x.A, claimOf(target(1))), ownership.Abandoned)
	}
	outer := x.begin(x.A, claimOf(target(1)))
	inner := &fixture{T: x.T, Harness: x.Harness, key: newKey()}
	inner.refused(x.A, outer, ownership.ErrLost)
	if v := inner.read(x.B); v.Generation != 0 || v.Owner != nil {
		x.Fatalf("it left %s", show(v))
	}

	calls := x.summarizer()
	flight, _ := x.coordinator(x.A).Do(inner.job(target(1), calls.work, "primary"))
	call := calls.next()
	if call.Fence.Generation != 1 {
		x.Fatalf("the inner conversation begins at %v", call.Fence)
	}
	newer := x.begin(x.B, superseding(outer, target(1)))
	call.returns("delegated summary")
	if res := x.await(flight, ownership.ResultCommitted); res.Fence != call.Fence {
		x.Fatalf("result %+v", res)
	}
	if got := inner.texts(); len(got) != 1 || got[0] != "delegated summary" {
		x.Fatalf("handoffs %q", got)
	}
	x.clear(x.B, newer, ownership.Abandoned)
}
