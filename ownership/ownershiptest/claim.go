package ownershiptest

import (
	"sync"
	"time"

	"github.com/foldgate/foldgate/ownership"
)

func claimCases() []testCase {
	return []testCase{
		{"a conversation nobody claimed", 0, claimFirst},
		{"generations grow by each claim", 0, claimGrows},
		{"one of a hundred callers owns", 0, claimOneOfHundred},
		{"a hundred owners have distinct generations", 0, claimDistinct},
		{"its repeat gives the same answer", 0, claimRepeat},
		{"a live owner refuses and takes no generation", 0, claimBusy},
		{"a checkpoint with the digest refuses", 0, claimCommitted},
		{"superseding takes over from that very fence", 0, claimSupersedes},
		{"superseding another fence is refused", 0, claimSupersedesOther},
		{"superseding an ended attempt is refused", 0, claimSupersedesEnded},
		{"superseding a cancelled attempt is refused", 0, claimSupersedesCancelled},
		{"a cooldown refuses", 0, claimCooling},
		{"a cooldown ends", clock, claimCoolingEnds},
		{"two strikes refuse, then one probe", clock, claimBlocked},
		{"a bypass ignores cooldown and block", 0, claimBypass},
		{"it changes nothing in the state", 0, claimKeepsState},
		{"a lease that is over frees the conversation", clock, claimAfterLease},
		{"a lease is no longer than the ceiling", 0, claimLeaseCeiling},
		{"another conversation is free", 0, claimOther},
	}
}

func claimFirst(x *fixture) {
	c := claimOf(target(3))
	c.TraceParent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	got := x.claim(x.A, c, ownership.VerdictClaimed)
	if got.Fence.Generation != 1 || len(got.State.Checkpoints) != 0 || !got.State.CooldownUntil.IsZero() {
		x.Fatalf("first claim: %+v", got)
	}
	o := x.owner()
	if o.Fence != got.Fence || o.Phase != ownership.Working || o.Replica != c.Replica || o.Route != c.Route ||
		o.Target != c.Target || o.TraceParent != c.TraceParent || o.Deaths != 0 || !o.Live {
		x.Fatalf("owner: %+v", o)
	}
	x.within(o.LeaseLeft, lease, "lease left")
	if got := o.LeaseEnd.Sub(o.Claimed); got != lease {
		x.Fatalf("lease of %v, want %v", got, lease)
	}
	if got := o.Ceiling.Sub(o.Claimed); got != ceiling {
		x.Fatalf("ceiling after %v, want %v", got, ceiling)
	}
}

func claimGrows(x *fixture) {
	for want := ownership.Generation(1); want <= 5; want++ {
		f := x.begin(x.A, claimOf(target(1)))
		if f.Generation != want {
			x.Fatalf("generation %d, want %d", f.Generation, want)
		}
		x.clear(x.B, f, ownership.Abandoned)
	}
	if v := x.read(x.B); v.Generation != 5 {
		x.Fatalf("counter %d, want 5", v.Generation)
	}
}

func claimOneOfHundred(x *fixture) {
	verdicts := make([]ownership.Claimed, 100)
	var wg sync.WaitGroup
	for i := range verdicts {
		wg.Go(func() {
			s := x.A
			if i%2 == 1 {
				s = x.B
			}
			got, err := s.Claim(x.Context(), x.key, claimOf(target(1)))
			if err != nil {
				x.Errorf("claim: %v", err)
			}
			verdicts[i] = got
		})
	}
	wg.Wait()
	owner, owners := x.owner().Fence, 0
	for _, v := range verdicts {
		switch {
		case v.Verdict == ownership.VerdictClaimed && v.Fence == owner:
			owners++
		case v.Verdict != ownership.VerdictBusy || v.Owner.Fence != owner:
			x.Fatalf("neither owner nor busy: %+v", v)
		}
	}
	if owners != 1 || owner.Generation != 1 {
		x.Fatalf("%d owners, generation %d", owners, owner.Generation)
	}
}

func claimDistinct(x *fixture) {
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		seen = map[ownership.Generation]bool{}
		gate = make(chan struct{}, 4) // how many want the conversation at once
	)
	for i := range 100 {
		wg.Go(func() {
			gate <- struct{}{}
			defer func() { <-gate }()
			s := x.A
			if i%2 == 1 {
				s = x.B
			}
			for {
				got, err := s.Claim(x.Context(), x.key, claimOf(target(1)))
				if err != nil {
					x.Errorf("claim: %v", err)
					return
				}
				if got.Verdict != ownership.VerdictClaimed {
					continue
				}
				mu.Lock()
				seen[got.Fence.Generation] = true
				mu.Unlock()
				if _, err := s.Clear(x.Context(), x.key, got.Fence); err != nil {
					x.Errorf("clear: %v", err)
				}
				return
			}
		})
	}
	wg.Wait()
	if v := x.read(x.A); len(seen) != 100 || v.Generation != 100 {
		x.Fatalf("%d generations, counter %d, want 100", len(seen), v.Generation)
	}
}

func claimRepeat(x *fixture) {
	c := claimOf(target(1))
	f := x.begin(x.A, c)
	x.unchanged("the repeat", func() {
		if again := x.begin(x.B, c); again != f {
			x.Fatalf("repeat: %v, want %v", again, f)
		}
	})
	x.clear(x.A, f, ownership.Abandoned)
	x.unchanged("a late copy", func() {
		if again := x.begin(x.B, c); again != f {
			x.Fatalf("late copy: %v, want %v", again, f)
		}
	})
}

func claimBusy(x *fixture) {
	f := x.begin(x.A, claimOf(target(1)))
	for _, c := range []ownership.Claim{claimOf(target(1)), claimOf(target(2)), bypassing(target(1))} {
		got := x.claim(x.B, c, ownership.VerdictBusy)
		if got.Owner.Fence != f || got.Owner.Target != target(1) || !got.Owner.Live {
			x.Fatalf("busy: %+v", got.Owner)
		}
		x.within(got.Owner.LeaseLeft, lease, "lease left")
	}
	if v := x.read(x.A); v.Generation != f.Generation {
		x.Fatalf("waiting took a generation: %d", v.Generation)
	}
}

func claimCommitted(x *fixture) {
	f := x.committed(x.A, target(1))
	g := x.committed(x.A, target(2))
	h := x.begin(x.A, claimOf(target(3)))
	for _, want := range []struct {
		f ownership.Fence
		t ownership.Target
	}{{f, target(1)}, {g, target(2)}} {
		got := x.claim(x.B, bypassing(want.t), ownership.VerdictCommitted).Checkpoint
		if got.Fence != want.f || got.Target != want.t || string(got.Handoff) != "summary of "+want.t.Digest.String() {
			x.Fatalf("committed: %+v", got)
		}
	}
	if o := x.owner(); o.Fence != h {
		x.Fatalf("owner %v, want %v", o.Fence, h)
	}
}

func claimSupersedes(x *fixture) {
	f := x.begin(x.A, claimOf(target(1)))
	g := x.begin(x.A, superseding(f, target(1)))
	if g.Generation <= f.Generation {
		x.Fatalf("generation %d after %d", g.Generation, f.Generation)
	}
	x.is(x.renew(x.A, f), ownership.ErrSuperseded, "renew of the old fence")
	x.ok(x.renew(x.B, g), "renew of the new fence")
}

func claimSupersedesOther(x *fixture) {
	f := x.begin(x.A, claimOf(target(1)))
	g := x.begin(x.A, superseding(f, target(1)))
	stranger := ownership.Fence{Generation: g.Generation, Attempt: newID()}
	x.unchanged("the refused claim", func() {
		_, err := x.B.Claim(x.Context(), x.key, superseding(f, target(1)))
		x.is(err, ownership.ErrSuperseded, "superseding what is superseded")
		_, err = x.B.Claim(x.Context(), x.key, superseding(stranger, target(1)))
		x.is(err, ownership.ErrLost, "superseding a fence of an equal number")
	})
}

func claimSupersedesEnded(x *fixture) {
	f := x.begin(x.A, claimOf(target(1)))
	x.finish(x.A, f, ownership.Ending{Phase: ownership.Abandoned})
	_, err := x.B.Claim(x.Context(), x.key, superseding(f, target(1)))
	x.ended(err, ownership.Abandoned, "superseding an ended attempt")
}

func claimSupersedesCancelled(x *fixture) {
	f := x.begin(x.A, claimOf(target(1)))
	x.raise(x.B, f, "operator")
	x.unchanged("the refused claim", func() {
		x.claim(x.A, superseding(f, target(1)), ownership.VerdictCancelled)
	})
	x.clear(x.A, f, ownership.Cancelled)
}

func claimCooling(x *fixture) {
	x.finish(x.A, x.begin(x.A, claimOf(target(1))), failed("timeout"))
	x.unchanged("the refused claim", func() {
		got := x.claim(x.B, claimOf(target(1)), ownership.VerdictCooling)
		x.within(got.Left, ownership.FirstRung, "left")
		if until := x.read(x.A).State.CooldownUntil; !got.Until.Equal(until) {
			x.Fatalf("until %v, want %v", got.Until, until)
		}
	})
}

func claimCoolingEnds(x *fixture) {
	x.finish(x.A, x.begin(x.A, claimOf(target(1))), failed("timeout"))
	x.Advance(ownership.FirstRung - slack)
	x.claim(x.B, claimOf(target(1)), ownership.VerdictCooling)
	x.Advance(2 * slack)
	x.begin(x.B, claimOf(target(1)))
}

func claimBlocked(x *fixture) {
	for range ownership.MaxStrikes {
		x.finish(x.A, x.begin(x.A, claimOf(target(1))), ownership.Ending{Phase: ownership.Ineffective})
	}
	got := x.claim(x.B, claimOf(target(1)), ownership.VerdictBlocked)
	x.within(got.Left, ownership.BlockFor, "left")
	x.Advance(ownership.BlockFor + time.Second)
	probe := x.begin(x.B, claimOf(target(1)))
	x.claim(x.A, claimOf(target(1)), ownership.VerdictBusy)
	x.finish(x.B, probe, ownership.Ending{Phase: ownership.Ineffective})
	x.claim(x.A, claimOf(target(1)), ownership.VerdictBlocked)
}

func claimBypass(x *fixture) {
	x.finish(x.A, x.begin(x.A, claimOf(target(1))), failed("timeout"))
	for range ownership.MaxStrikes {
		x.finish(x.A, x.begin(x.A, bypassing(target(1))), ownership.Ending{Phase: ownership.Ineffective})
	}
	got := x.claim(x.A, bypassing(target(1)), ownership.VerdictClaimed)
	if got.State.CooldownUntil.IsZero() || got.State.BlockedUntil.IsZero() {
		x.Fatalf("a bypass cleared what it only ignores: %+v", got.State)
	}
}

func claimKeepsState(x *fixture) {
	f := x.committed(x.A, target(1))
	x.finish(x.A, x.begin(x.A, claimOf(target(2))), failed("status_500"))
	before := x.still().State
	got := x.claim(x.B, bypassing(target(3)), ownership.VerdictClaimed).State
	if len(got.Checkpoints) != 1 || got.Checkpoints[0].Fence != f || got.Checkpoints[0].Handoff != nil ||
		got.Streak != before.Streak || got.LastError != "status_500" || !got.CooldownUntil.Equal(before.CooldownUntil) {
		x.Fatalf("claim returned %+v of %+v", got, before)
	}
	x.stand(f)
}

func claimAfterLease(x *fixture) {
	f := x.begin(x.A, claimOf(target(1)))
	x.Advance(lease - slack)
	x.claim(x.B, claimOf(target(1)), ownership.VerdictBusy)
	x.Advance(slack + time.Second)
	if o := x.owner(); o.Live || o.LeaseLeft != 0 || o.Phase != ownership.Working {
		x.Fatalf("owner after its lease: %+v", o)
	}
	g := x.begin(x.B, claimOf(target(1)))
	if g.Generation != f.Generation+1 {
		x.Fatalf("generation %d after %d", g.Generation, f.Generation)
	}
}

func claimLeaseCeiling(x *fixture) {
	c := claimOf(target(1))
	c.Lease, c.Ceiling = time.Hour, time.Minute
	x.begin(x.A, c)
	if o := x.owner(); o.LeaseEnd.After(o.Ceiling) {
		x.Fatalf("lease ends at %v, after the ceiling %v", o.LeaseEnd, o.Ceiling)
	}
}

func claimOther(x *fixture) {
	x.begin(x.A, claimOf(target(1)))
	x.key = newKey()
	if f := x.begin(x.B, claimOf(target(1))); f.Generation != 1 {
		x.Fatalf("another conversation begins at %d", f.Generation)
	}
}
