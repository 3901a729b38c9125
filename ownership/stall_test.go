package ownership_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foldgate/foldgate/ownership"
)

// silent ignores its context: it says nothing until released, and then succeeds.
func silent(release <-chan struct{}, text string) ownership.Worker {
	return func(context.Context, ownership.Attempt, func()) (ownership.Draft, error) {
		<-release
		return draftOf(text), nil
	}
}

// idleRoutes gives the first route that patience, the second one the default's.
func idleRoutes(idle time.Duration) []ownership.Route {
	return []ownership.Route{{Name: "primary", Idle: idle}, {Name: "fallback"}}
}

// The reason for all of this: a stalled worker is left, the next route commits
// under a newer generation, and the late success changes nothing.
func TestStalledRouteIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, seen := newStore(), &log{}
		c := newCoordinator(t, s, observedBy(seen))
		release := make(chan struct{})
		start := time.Now()
		res := do(t, c, jobOf(3, byRoute(silent(release, "stale"), writes("fallback", 2*time.Second)), idleRoutes(time.Second)...), ownership.ResultCommitted)
		wantText(t, res, "fallback")
		if res.Fence.Generation != 2 || time.Since(start) != 3*time.Second || res.Joined {
			t.Fatalf("generation %d after %v", res.Fence.Generation, time.Since(start))
		}
		before := view(t, s)
		close(release)
		synctest.Wait()
		wantTexts(t, s, "fallback")
		if after := view(t, s); after.Owner.Fence != before.Owner.Fence || after.Owner.Phase != ownership.Committed || after.Generation != 2 {
			t.Fatalf("owner %+v, was %+v", after.Owner, before.Owner)
		}
		seen.want(t, "refused commit: "+ownership.ErrSuperseded.Error(), 1)
		seen.want(t, "end 1 superseded unfenced=false", 1)
		seen.want(t, "end 2 committed unfenced=false", 1)
		got := c.Attempts(2)
		if got[0].Outcome != ownership.Committed || got[1].Outcome != ownership.Superseded || got[1].Reason != "stalled" {
			t.Fatalf("attempts %+v", got)
		}
	})
}

func TestStalledWorkersCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCoordinator(t, newStore())
		var cause error
		waits := func(ctx context.Context, _ ownership.Attempt, _ func()) (ownership.Draft, error) {
			<-ctx.Done()
			cause = context.Cause(ctx)
			return ownership.Draft{}, cause
		}
		do(t, c, jobOf(3, byRoute(waits, writes("s", time.Second)), idleRoutes(time.Second)...), ownership.ResultCommitted)
		if !errors.Is(cause, ownership.ErrStalled) {
			t.Fatalf("cause %v", cause)
		}
	})
}

// Late successes after the last route: the attempt failed, and stays so.
func TestLateSuccessAfterFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, seen := newStore(), &log{}
		c := newCoordinator(t, s, observedBy(seen))
		release := make(chan struct{})
		res := do(t, c, jobOf(3, silent(release, "stale"), ownership.Route{Idle: time.Second}), ownership.ResultFailed)
		if !errors.Is(res.Err, ownership.ErrStalled) {
			t.Fatalf("error %v", res.Err)
		}
		close(release)
		synctest.Wait()
		wantTexts(t, s)
		st := view(t, s).State
		if st.LastError != "stalled" || st.Streak != 1 || st.CooldownUntil.IsZero() {
			t.Fatalf("state %+v", st)
		}
		seen.want(t, "refused commit: "+(&ownership.EndedError{Phase: ownership.Failed}).Error(), 1)
	})
}

// talks reports progress at the given moments, then never again.
func talks(at ...time.Duration) ownership.Worker {
	return func(ctx context.Context, _ ownership.Attempt, progress func()) (ownership.Draft, error) {
		start := time.Now()
		for _, d := range at {
			select {
			case <-time.After(time.Until(start.Add(d))):
				progress()
			case <-ctx.Done():
				return ownership.Draft{}, context.Cause(ctx)
			}
		}
		<-ctx.Done()
		return ownership.Draft{}, context.Cause(ctx)
	}
}

func TestIdleBudget(t *testing.T) {
	const s = time.Second
	for _, tc := range []struct {
		name  string
		idle  time.Duration // of the coordinator
		route time.Duration
		talks []time.Duration
		want  time.Duration // when it is given up
	}{
		{"before the first text", 120 * s, 0, nil, ownership.FirstText},
		{"a longer idle holds before it too", 400 * s, 0, nil, 400 * s},
		{"a route's own idle holds before it", 120 * s, 5 * s, nil, 5 * s},
		{"a route's longer idle as well", 120 * s, 450 * s, nil, 450 * s},
		{"from the first text on", 10 * s, 0, []time.Duration{1 * s}, 11 * s},
		{"from the last text", 10 * s, 0, []time.Duration{1 * s, 8 * s, 17 * s, 26 * s}, 36 * s},
		{"not twice the budget", 10 * s, 0, []time.Duration{1 * s, 1 * s, 2 * s}, 12 * s},
		{"a late first text", 10 * s, 0, []time.Duration{299 * s}, 309 * s},
		{"a route's idle after text", 120 * s, 5 * s, []time.Duration{4 * s, 8 * s}, 13 * s},
		{"text up to the ceiling", 120 * s, 0, []time.Duration{100 * s, 200 * s, 300 * s, 400 * s, 500 * s, 590 * s}, 600 * s},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCoordinator(t, newStore(), func(c *ownership.Config) { c.Idle = tc.idle })
				start := time.Now()
				res := do(t, c, jobOf(3, talks(tc.talks...), ownership.Route{Idle: tc.route}), ownership.ResultFailed)
				if got := time.Since(start); got != tc.want || !errors.Is(res.Err, ownership.ErrStalled) {
					t.Fatalf("given up after %v (%v), want %v", got, res.Err, tc.want)
				}
			})
		})
	}
}

func TestCeilingGoesOnToTheNextRoute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		c := newCoordinator(t, s, func(c *ownership.Config) { c.Ceiling = 20 * time.Second })
		start := time.Now()
		res := do(t, c, jobOf(3, byRoute(talks(5*time.Second, 10*time.Second, 15*time.Second), writes("fallback", time.Second)), twoRoutes...), ownership.ResultCommitted)
		if res.Fence.Generation != 2 || time.Since(start) != 21*time.Second {
			t.Fatalf("generation %d after %v", res.Fence.Generation, time.Since(start))
		}
	})
}

// The lease is kept as long as the attempt works, and progress is stamped.
func TestLeaseIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		a, b := newCoordinator(t, s), newCoordinator(t, s)
		release := make(chan struct{})
		f, _ := a.Do(jobOf(3, func(ctx context.Context, at ownership.Attempt, progress func()) (ownership.Draft, error) {
			time.Sleep(60 * time.Second)
			progress()
			return silent(release, "s")(ctx, at, progress)
		}))
		time.Sleep(90*time.Second + time.Millisecond)
		v := view(t, s)
		if !v.Owner.Live || v.Owner.LeaseLeft < 13*time.Second {
			t.Fatalf("owner %+v", v.Owner)
		}
		if got := v.Owner.Progress.Sub(v.Owner.Claimed); got < 60*time.Second || got > 61*time.Second {
			t.Fatalf("progress stamped after %v", got)
		}
		watching, _ := b.Do(jobOf(3, writes("never called", 0)))
		close(release)
		await(t, f, ownership.ResultCommitted)
		await(t, watching, ownership.ResultCommitted)
	})
}

func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, seen := newStore(), &log{}
		a, b := newCoordinator(t, s, observedBy(seen)), newCoordinator(t, s)
		var cause error
		var calls counter
		f, _ := a.Do(jobOf(3, func(ctx context.Context, _ ownership.Attempt, _ func()) (ownership.Draft, error) {
			calls.add()
			<-ctx.Done()
			cause = context.Cause(ctx)
			return ownership.Draft{}, cause
		}, twoRoutes...))
		synctest.Wait()
		watching, _ := b.Do(jobOf(3, counted(&calls, writes("never called", 0))))
		synctest.Wait()
		fence, _ := f.Current()
		if err := s.Raise(t.Context(), keyOf("conversation"), fence, "operator"); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		res := await(t, f, ownership.ResultCancelled)
		if time.Since(start) > time.Second || res.Fence != fence {
			t.Fatalf("cancelled after %v, %v", time.Since(start), res.Fence)
		}
		// Waiters of a cancelled attempt do not claim.
		await(t, watching, ownership.ResultCancelled)
		synctest.Wait()
		if !errors.Is(cause, ownership.ErrCancelled) || calls.get() != 1 {
			t.Fatalf("cause %v, %d calls", cause, calls.get())
		}
		v := view(t, s)
		if v.Owner.Phase != ownership.Cancelled || v.Cancel != nil || !v.State.CooldownUntil.IsZero() || v.State.Streak != 0 || v.Generation != 1 {
			t.Fatalf("after the cancel: %+v %+v", v.Owner, v.State)
		}
		seen.want(t, "end 1 cancelled unfenced=false", 1)
		if got := a.Attempts(1)[0]; got.Reason != "operator" {
			t.Fatalf("attempt %+v", got)
		}
	})
}

// A store that notifies tells the owner of a raised flag at once: it need not wait
// for its next renewal.
func TestCancelIsNotified(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		c := newCoordinator(t, s)
		f, _ := c.Do(jobOf(3, func(ctx context.Context, _ ownership.Attempt, _ func()) (ownership.Draft, error) {
			<-ctx.Done()
			return ownership.Draft{}, context.Cause(ctx)
		}))
		synctest.Wait()
		fence, _ := f.Current()
		start := time.Now()
		if err := s.Raise(t.Context(), keyOf("conversation"), fence, "operator"); err != nil {
			t.Fatal(err)
		}
		await(t, f, ownership.ResultCancelled)
		if took := time.Since(start); took != 0 {
			t.Fatalf("cancelled after %v, want at once", took)
		}
	})
}

// A flag that no renewal has brought yet is seen by the next step, whatever it is.
func TestCancelIsConsulted(t *testing.T) {
	raiseBefore := func(s ownership.Store, work ownership.Worker) ownership.Worker {
		return func(ctx context.Context, a ownership.Attempt, progress func()) (ownership.Draft, error) {
			if err := s.Raise(ctx, a.Conversation, a.Fence, "operator"); err != nil {
				panic(err)
			}
			return work(ctx, a, progress)
		}
	}
	for _, tc := range []struct {
		name   string
		work   ownership.Worker
		routes []ownership.Route
	}{
		{"inside commit", writes("s", 0), nil},
		{"by the next route's claim", fails(failure("timeout")), twoRoutes},
		{"before a failure is charged", fails(failure("timeout")), nil},
		{"before a strike is charged", fails(ownership.ErrIneffective), nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStore()
				var calls counter
				c := newCoordinator(t, s)
				do(t, c, jobOf(3, counted(&calls, raiseBefore(s, tc.work)), tc.routes...), ownership.ResultCancelled)
				v := view(t, s)
				if calls.get() != 1 || v.Owner.Phase != ownership.Cancelled || v.State.Streak != 0 || v.State.Strikes != 0 ||
					!v.State.CooldownUntil.IsZero() || len(v.State.Checkpoints) != 0 || v.Cancel != nil {
					t.Fatalf("%d calls, owner %+v, state %+v", calls.get(), v.Owner, v.State)
				}
			})
		})
	}
}

// A commit that ran just as the stall was noticed: the superseding claim says so.
func TestCommitFirstThenStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		c := newCoordinator(t, s)
		var calls counter
		work := func(ctx context.Context, a ownership.Attempt, _ func()) (ownership.Draft, error) {
			calls.add()
			cm := ownership.Commit{Checkpoint: ownership.Checkpoint{Target: targetOf(3), Handoff: []byte("by a late copy")}}
			if _, err := s.Commit(ctx, a.Conversation, a.Fence, cm); err != nil {
				panic(err)
			}
			<-ctx.Done()
			return ownership.Draft{}, context.Cause(ctx)
		}
		// The renewal notices first that the attempt ended.
		res := do(t, c, jobOf(3, work, idleRoutes(500*time.Millisecond)...), ownership.ResultCommitted)
		wantText(t, res, "by a late copy")
		if calls.get() != 1 || res.Joined || res.Fence.Generation != 1 {
			t.Fatalf("%d calls, %+v", calls.get(), res)
		}
	})
}

func TestDeadOwnerIsTakenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		dead := claimAs(t, s, "dead", 15*time.Second)
		c := newCoordinator(t, s)
		start := time.Now()
		f, _ := c.Do(jobOf(3, writes("successor", 0)))
		synctest.Wait()
		if fence, _ := f.Current(); fence != dead {
			t.Fatalf("awaits %v, want %v", fence, dead)
		}
		res := await(t, f, ownership.ResultCommitted)
		// Not in the lease's last instant: jitter keeps the replicas apart.
		if d := time.Since(start); res.Fence.Generation != 2 || d <= 15*time.Second || d > 16*time.Second {
			t.Fatalf("generation %d after %v", res.Fence.Generation, d)
		}
	})
}

// claimAs is an owner of the job's target that nobody works for.
func claimAs(t *testing.T, s ownership.Store, id string, lease time.Duration) ownership.Fence {
	t.Helper()
	attempt := ownership.AttemptID("00000000-0000-7000-8000-" + string(keyOf(id))[:12])
	got, err := s.Claim(t.Context(), keyOf("conversation"), ownership.Claim{
		Attempt: attempt, Target: targetOf(3), Replica: id, Lease: lease, Ceiling: 600 * time.Second,
	})
	if err != nil || got.Verdict != ownership.VerdictClaimed {
		t.Fatalf("claim: %+v %v", got, err)
	}
	return got.Fence
}

func TestDeadOwnersStartTheCooldown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		for _, id := range []string{"one", "two", "three"} {
			claimAs(t, s, id, time.Second)
			time.Sleep(2 * time.Second)
		}
		c := newCoordinator(t, s)
		if got := do(t, c, jobOf(3, writes("never called", 0)), ownership.ResultCooling).Left; got != ownership.FirstRung {
			t.Fatalf("cooldown %v", got)
		}
	})
}

// An owner that was paused past its lease while another replica took over learns
// it by whatever it does next, charges nothing, and serves what the other made.
func TestPausedOwner(t *testing.T) {
	for _, tc := range []struct {
		name string
		work ownership.Worker
	}{
		{"with an answer", writes("late", 0)},
		{"with a failure", fails(failure("status_500"))},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, seen := newStore(), &log{}
				paused := &faulty{Store: s}
				a, b := newCoordinator(t, paused, observedBy(seen)), newCoordinator(t, s)
				// Its renewals stop, as in a process that does not run.
				paused.set(failing("renew", -1, ownership.ErrUnavailable), nil)
				release := make(chan struct{})
				f, _ := a.Do(jobOf(3, func(ctx context.Context, at ownership.Attempt, progress func()) (ownership.Draft, error) {
					<-release
					return tc.work(ctx, at, progress)
				}))
				time.Sleep(20 * time.Second)
				taken := do(t, b, jobOf(3, writes("second", time.Second)), ownership.ResultCommitted)
				if taken.Fence.Generation != 2 {
					t.Fatalf("generation %d", taken.Fence.Generation)
				}
				before := view(t, s)
				paused.set(nil, nil)
				close(release)
				res := await(t, f, ownership.ResultCommitted)
				wantText(t, res, "second")
				if !res.Joined || res.Fence != taken.Fence {
					t.Fatalf("result %+v", res)
				}
				synctest.Wait()
				after := view(t, s)
				if after.State.Streak != 0 || !after.State.CooldownUntil.IsZero() || after.Owner.Fence != before.Owner.Fence || after.Owner.Phase != before.Owner.Phase {
					t.Fatalf("changed to %+v %+v", after.Owner, after.State)
				}
				wantTexts(t, s, "second")
				seen.want(t, "end 1 superseded unfenced=false", 1)
			})
		})
	}
}

// Nobody claimed meanwhile: the paused owner goes on.
func TestPausedOwnerThatNobodyReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		paused := &faulty{Store: s}
		paused.set(failing("renew", 30, ownership.ErrUnavailable), nil)
		c := newCoordinator(t, paused)
		res := do(t, c, jobOf(3, writes("s", 40*time.Second)), ownership.ResultCommitted)
		if res.Fence.Generation != 1 {
			t.Fatalf("generation %d", res.Fence.Generation)
		}
	})
}

// A successor that is still working is watched, not superseded.
func TestSupersededOwnerWatchesItsSuccessor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		paused := &faulty{Store: s}
		paused.set(failing("renew", -1, ownership.ErrUnavailable), nil)
		a, b := newCoordinator(t, paused), newCoordinator(t, s)
		f, _ := a.Do(jobOf(3, writes("late", 25*time.Second)))
		time.Sleep(20 * time.Second)
		b.Do(jobOf(3, writes("second", 30*time.Second)))
		wantText(t, await(t, f, ownership.ResultCommitted), "second")
		wantTexts(t, s, "second")
	})
}

func TestForgottenWhileWorking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, seen := newStore(), &log{}
		c := newCoordinator(t, s, observedBy(seen))
		f, _ := c.Do(jobOf(3, writes("late", time.Minute), twoRoutes...))
		synctest.Wait()
		if _, err := s.Forget(t.Context(), keyOf("conversation")); err != nil {
			t.Fatal(err)
		}
		res := await(t, f, ownership.ResultLost)
		if !errors.Is(res.Err, ownership.ErrLost) || view(t, s).Generation != 2 {
			t.Fatalf("result %+v: it claimed again", res)
		}
		wantTexts(t, s)
		seen.want(t, "end 1 lost unfenced=false", 1)
	})
}

func TestOperatorOverridesWhoeverWorks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		c := newCoordinator(t, s)
		f, _ := c.Do(jobOf(3, writes("late", time.Minute)))
		synctest.Wait()
		fence, _ := f.Current()
		if _, err := s.RestoreOperator(t.Context(), keyOf("conversation"), fence, ownership.AttemptID("00000000-0000-7000-8000-000000000001")); err != nil {
			t.Fatal(err)
		}
		await(t, f, ownership.ResultSuperseded)
		wantTexts(t, s)
	})
}

func TestWatcherFollowsTheNextRoute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		a, b := newCoordinator(t, s), newCoordinator(t, s)
		a.Do(jobOf(3, byRoute(talks(), writes("fallback", 5*time.Second)), idleRoutes(3*time.Second)...))
		synctest.Wait()
		f, _ := b.Do(jobOf(3, writes("never called", 0)))
		res := await(t, f, ownership.ResultCommitted)
		wantText(t, res, "fallback")
		if res.Fence.Generation != 2 || !res.Joined {
			t.Fatalf("result %+v", res)
		}
	})
}

// The conversation goes to somebody who works on another branch of it.
func TestWatcherDoesNotFollowAnotherTarget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		first := claimAs(t, s, "first", 15*time.Second)
		c := newCoordinator(t, s)
		f, _ := c.Do(jobOf(3, writes("never called", 0)))
		synctest.Wait()
		if _, err := s.Claim(t.Context(), keyOf("conversation"), ownership.Claim{
			Attempt: "00000000-0000-7000-8000-0000000000ff", Target: targetOf(99), Lease: time.Minute, Ceiling: time.Hour, Supersede: first,
		}); err != nil {
			t.Fatal(err)
		}
		await(t, f, ownership.ResultBusy)
	})
}
