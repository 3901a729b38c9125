package ownership_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foldgate/foldgate/ownership"
)

func TestConfigReportsAllProblems(t *testing.T) {
	_, err := ownership.NewCoordinator(ownership.Config{Lease: -1, Idle: time.Nanosecond, Ceiling: -time.Second, MaxAttempts: -1})
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{"store", "lease", "idle", "ceiling", "max attempts"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v: does not name %s", err, want)
		}
	}
	if _, err := ownership.NewCoordinator(ownership.Config{Store: newStore()}); err != nil {
		t.Fatalf("the zero values: %v", err)
	}
}

func TestInvalidJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCoordinator(t, newStore())
		for name, spoil := range map[string]func(j *ownership.Job){
			"no worker": func(j *ownership.Job) { j.Work = nil },
			"no key":    func(j *ownership.Job) { j.Conversation = "" },
			"no target": func(j *ownership.Job) { j.Target = ownership.Target{} },
		} {
			job := jobOf(3, writes("s", 0))
			spoil(&job)
			if res := do(t, c, job, ownership.ResultFailed); !errors.Is(res.Err, ownership.ErrInvalid) {
				t.Errorf("%s: %v", name, res.Err)
			}
		}
	})
}

func TestCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, seen := newStore(), &log{}
		c := newCoordinator(t, s, observedBy(seen))
		f, joined := c.Do(jobOf(3, writes("the summary", 2*time.Second), ownership.Route{Name: "primary"}))
		if joined {
			t.Fatal("joined what nobody began")
		}
		synctest.Wait()
		if fence, ok := f.Current(); !ok || fence != view(t, s).Owner.Fence {
			t.Fatalf("current %v %t", fence, ok)
		}
		running := c.Attempts(10)
		if len(running) != 1 || running[0].Phase != ownership.Working || running[0].Outcome != "" || !running[0].Ended.IsZero() {
			t.Fatalf("running attempts %+v", running)
		}
		res := await(t, f, ownership.ResultCommitted)
		wantText(t, res, "the summary")
		wantTexts(t, s, "the summary")
		if res.Joined || res.Fence.Generation != 1 || res.Checkpoint.Target != targetOf(3) || res.Checkpoint.Route != "primary" {
			t.Fatalf("result %+v", res)
		}
		got := c.Attempts(10)[0]
		if got.Outcome != ownership.Committed || got.Phase != ownership.Committed || got.Covered != 3 ||
			got.Ended.Sub(got.Started) != 2*time.Second || got.Route != "primary" || got.Conversation != keyOf("conversation") {
			t.Fatalf("attempt %+v", got)
		}
		seen.want(t, "start 1 primary", 1)
		seen.want(t, "end 1 committed unfenced=false", 1)
	})
}

func TestEqualJobAfterCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		a, b := newCoordinator(t, s), newCoordinator(t, s)
		do(t, a, jobOf(3, writes("first", time.Second)), ownership.ResultCommitted)
		var calls counter
		res := do(t, b, jobOf(3, counted(&calls, writes("second", 0))), ownership.ResultCommitted)
		wantText(t, res, "first")
		if calls.get() != 0 || !res.Joined {
			t.Fatalf("%d calls, joined %t", calls.get(), res.Joined)
		}
	})
}

// One summary call for many equal jobs on two replicas, and waiting takes no
// generation.
func TestHerd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		replicas := []*ownership.Coordinator{newCoordinator(t, s), newCoordinator(t, s)}
		var calls counter
		var flights []*ownership.Flight
		for i := range 20 {
			f, _ := replicas[i%2].Do(jobOf(3, counted(&calls, writes("once", 3*time.Second))))
			flights = append(flights, f)
		}
		for _, f := range flights {
			res := await(t, f, ownership.ResultCommitted)
			wantText(t, res, "once")
			if res.Fence.Generation != 1 {
				t.Fatalf("generation %d", res.Fence.Generation)
			}
		}
		if calls.get() != 1 {
			t.Fatalf("%d summary calls", calls.get())
		}
		if v := view(t, s); v.Generation != 1 {
			t.Fatalf("counter %d", v.Generation)
		}
	})
}

func TestJoin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCoordinator(t, newStore())
		f, _ := c.Do(jobOf(3, writes("s", time.Minute)))
		synctest.Wait()
		grown, joined := c.Do(jobOf(5, writes("never called", 0)))
		if !joined || grown != f {
			t.Fatal("a grown request did not join")
		}
		branch := jobOf(4, writes("never called", 0))
		branch.Matches = nil
		other, joined := c.Do(branch)
		if joined {
			t.Fatal("another target joined")
		}
		await(t, other, ownership.ResultBusy)
		await(t, f, ownership.ResultCommitted)
	})
}

func TestBusyOnAnotherReplica(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		a, b := newCoordinator(t, s), newCoordinator(t, s)
		f, _ := a.Do(jobOf(3, writes("s", time.Minute)))
		synctest.Wait()
		branch := jobOf(4, writes("never called", 0))
		branch.Matches = func(ownership.Target) bool { return false }
		start := time.Now()
		do(t, b, branch, ownership.ResultBusy)
		if d := time.Since(start); d != 0 {
			t.Fatalf("waited %v to learn that it is busy", d)
		}
		await(t, f, ownership.ResultCommitted)
	})
}

func TestWatcherSeesEachEnding(t *testing.T) {
	for _, tc := range []struct {
		name string
		work ownership.Worker
		want ownership.ResultKind
	}{
		{"committed", writes("s", 5*time.Second), ownership.ResultCommitted},
		{"failed", after(5*time.Second, fails(failure("timeout"))), ownership.ResultCooling},
		{"ineffective", after(5*time.Second, fails(ownership.ErrIneffective)), ownership.ResultIneffective},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStore()
				a, b := newCoordinator(t, s), newCoordinator(t, s)
				a.Do(jobOf(3, tc.work))
				synctest.Wait()
				f, _ := b.Do(jobOf(3, writes("never called", 0)))
				synctest.Wait()
				if !f.Foreign() {
					t.Error("the attempt that runs elsewhere counts as this replica's")
				}
				res := await(t, f, tc.want)
				if fence, _ := f.Current(); !res.Joined || res.Fence.Generation != 1 || fence != res.Fence {
					t.Fatalf("result %+v, current %v", res, fence)
				}
				if v := view(t, s); v.Generation != 1 {
					t.Fatalf("waiting took a generation: %d", v.Generation)
				}
			})
		})
	}
}

// after waits before it works.
func after(d time.Duration, work ownership.Worker) ownership.Worker {
	return func(ctx context.Context, a ownership.Attempt, progress func()) (ownership.Draft, error) {
		time.Sleep(d) // the bubble's time
		return work(ctx, a, progress)
	}
}

func TestFullReplica(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		one := func(c *ownership.Config) { c.MaxAttempts = 1 }
		a, b := newCoordinator(t, s, one), newCoordinator(t, s)

		elsewhere := jobOf(3, writes("elsewhere", 10*time.Second))
		elsewhere.Conversation = keyOf("elsewhere")
		b.Do(elsewhere)
		long, _ := a.Do(jobOf(3, writes("s", time.Minute)))
		synctest.Wait()

		other := jobOf(3, writes("never called", 0))
		other.Conversation = keyOf("other")
		start := time.Now()
		do(t, a, other, ownership.ResultFull)
		if time.Since(start) != 0 {
			t.Fatal("queued")
		}

		// A live attempt on another replica is worth waiting for, slot or not.
		elsewhere.Work = writes("never called", 0)
		wantText(t, do(t, a, elsewhere, ownership.ResultCommitted), "elsewhere")
		// And what stands already is found.
		wantText(t, do(t, a, elsewhere, ownership.ResultCommitted), "elsewhere")

		await(t, long, ownership.ResultCommitted)
		other.Work = writes("s", 0)
		do(t, a, other, ownership.ResultCommitted)
	})
}

// A flight that only watches leaves its slot to others.
func TestWatchingTakesNoSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		a := newCoordinator(t, s)
		b := newCoordinator(t, s, func(c *ownership.Config) { c.MaxAttempts = 1 })
		a.Do(jobOf(3, writes("s", time.Minute)))
		synctest.Wait()
		watching, _ := b.Do(jobOf(3, writes("never called", 0)))
		synctest.Wait()
		other := jobOf(3, writes("mine", time.Second))
		other.Conversation = keyOf("other")
		wantText(t, do(t, b, other, ownership.ResultCommitted), "mine")
		await(t, watching, ownership.ResultCommitted)
	})
}

func TestCooldownLadder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		c := newCoordinator(t, s)
		for i, rung := range []time.Duration{ownership.FirstRung, ownership.SecondRung, ownership.ThirdRung, ownership.ThirdRung} {
			res := do(t, c, jobOf(3, fails(failure("status_500"))), ownership.ResultFailed)
			if !errors.Is(res.Err, errUpstream) || res.Fence.Generation != ownership.Generation(i+1) {
				t.Fatalf("result %+v", res)
			}
			if got := do(t, c, jobOf(3, writes("never called", 0)), ownership.ResultCooling).Left; got != rung {
				t.Fatalf("cooldown %v, want %v", got, rung)
			}
			time.Sleep(rung)
		}
		do(t, c, jobOf(3, writes("s", 0)), ownership.ResultCommitted)
		if st := view(t, s).State; st.Streak != 0 || !st.CooldownUntil.IsZero() {
			t.Fatalf("state after a commit: %+v", st)
		}
	})
}

func TestRetryAfterIsTheCooldown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCoordinator(t, newStore())
		limited := &ownership.RouteError{Failure: ownership.Failure{Class: "status_429", Cooldown: 7 * time.Minute}, Err: errUpstream}
		do(t, c, jobOf(3, fails(limited)), ownership.ResultFailed)
		if got := do(t, c, jobOf(3, fails(nil)), ownership.ResultCooling).Left; got != 7*time.Minute {
			t.Fatalf("cooldown %v", got)
		}
	})
}

func TestIneffectiveBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		c := newCoordinator(t, s)
		for range ownership.MaxStrikes {
			do(t, c, jobOf(3, fails(ownership.ErrIneffective), twoRoutes...), ownership.ResultIneffective)
		}
		if got := do(t, c, jobOf(3, fails(nil)), ownership.ResultBlocked).Left; got != ownership.BlockFor {
			t.Fatalf("blocked for %v", got)
		}
		if st := view(t, s).State; st.Streak != 0 || st.Strikes != 2 {
			t.Fatalf("state %+v", st)
		}
	})
}

func TestStrikeIsCommitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		c := newCoordinator(t, s)
		do(t, c, jobOf(3, func(context.Context, ownership.Attempt, func()) (ownership.Draft, error) {
			d := draftOf("still long")
			d.Strike = true
			return d, nil
		}), ownership.ResultCommitted)
		if st := view(t, s).State; st.Strikes != 1 {
			t.Fatalf("state %+v", st)
		}
	})
}

func TestRoutes(t *testing.T) {
	stop := failure("status_401")
	stop.Stop = true
	for _, tc := range []struct {
		name       string
		first      ownership.Worker
		want       ownership.ResultKind
		generation ownership.Generation
		class      string
	}{
		{"a failure goes on", fails(failure("status_500")), ownership.ResultCommitted, 2, ""},
		{"an unclassified error goes on", fails(errUpstream), ownership.ResultCommitted, 2, ""},
		{"an empty draft goes on", writes("", 0), ownership.ResultCommitted, 2, ""},
		{"a panic goes on", panics, ownership.ResultCommitted, 2, ""},
		{"a goroutine that ends goes on", exits, ownership.ResultCommitted, 2, ""},
		{"stop ends the attempt", fails(stop), ownership.ResultFailed, 1, "status_401"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, seen := newStore(), &log{}
				c := newCoordinator(t, s, observedBy(seen))
				res := do(t, c, jobOf(3, byRoute(tc.first, writes("fallback", time.Second)), twoRoutes...), tc.want)
				if res.Fence.Generation != tc.generation {
					t.Fatalf("generation %d, want %d", res.Fence.Generation, tc.generation)
				}
				if tc.want != ownership.ResultCommitted {
					if got := view(t, s).State.LastError; got != tc.class {
						t.Fatalf("charged as %q, want %q", got, tc.class)
					}
					return
				}
				wantTexts(t, s, "fallback")
				if st := view(t, s).State; st.Streak != 0 || view(t, s).Owner.Route != "fallback" {
					t.Fatalf("state %+v", st)
				}
				seen.want(t, "end 1 superseded unfenced=false", 1)
				seen.want(t, "end 2 committed unfenced=false", 1)
			})
		})
	}
}

func panics(context.Context, ownership.Attempt, func()) (ownership.Draft, error) {
	panic("at the worker")
}

func exits(context.Context, ownership.Attempt, func()) (ownership.Draft, error) {
	runtime.Goexit()
	return ownership.Draft{}, nil
}

func TestPanicIsAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		c := newCoordinator(t, s)
		res := do(t, c, jobOf(3, panics), ownership.ResultFailed)
		var p *ownership.PanicError
		if !errors.As(res.Err, &p) || p.Value != "at the worker" || len(p.Stack) == 0 {
			t.Fatalf("error %v", res.Err)
		}
		if st := view(t, s).State; st.LastError != "panic" || st.Streak != 1 {
			t.Fatalf("state %+v", st)
		}
		if got := c.Attempts(1)[0]; got.Outcome != ownership.Failed || got.Reason != "panic" {
			t.Fatalf("attempt %+v", got)
		}
	})
}

func TestAttemptsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCoordinator(t, newStore())
		for n := 1; n <= 300; n++ {
			do(t, c, jobOf(n, writes("s", 0)), ownership.ResultCommitted)
		}
		all := c.Attempts(1000)
		if len(all) != 256 || all[0].Covered != 300 || all[255].Covered != 45 {
			t.Fatalf("%d attempts, newest %d", len(all), all[0].Covered)
		}
		for limit, want := range map[int]int{-1: 0, 0: 0, 1: 1, 7: 7} {
			if got := c.Attempts(limit); len(got) != want {
				t.Errorf("limit %d: %d attempts", limit, len(got))
			}
		}
	})
}

func TestShutdownHandsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		a, b := newCoordinator(t, s), newCoordinator(t, s)
		var cause error
		f, _ := a.Do(jobOf(3, func(ctx context.Context, _ ownership.Attempt, _ func()) (ownership.Draft, error) {
			<-ctx.Done()
			cause = context.Cause(ctx)
			return ownership.Draft{}, cause
		}))
		synctest.Wait()
		watching, _ := b.Do(jobOf(3, writes("successor", time.Second)))
		synctest.Wait()
		start := time.Now()
		shutdown(t, a)
		await(t, f, ownership.ResultAbandoned)
		if !errors.Is(cause, ownership.ErrAbandoned) {
			t.Fatalf("worker's cause %v", cause)
		}
		res := await(t, watching, ownership.ResultCommitted)
		if res.Fence.Generation != 2 || time.Since(start) != time.Second {
			t.Fatalf("generation %d after %v: not at once", res.Fence.Generation, time.Since(start))
		}
		if st := view(t, s).State; st.Streak != 0 || view(t, s).Owner.Deaths != 0 {
			t.Fatalf("a hand-over was charged: %+v", st)
		}
		await2, _ := a.Do(jobOf(9, writes("never called", 0)))
		await(t, await2, ownership.ResultAbandoned)
		if got := a.Attempts(1)[0]; got.Outcome != ownership.Abandoned {
			t.Fatalf("attempt %+v", got)
		}
	})
}

func TestShutdownEndsWatchers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		a, b := newCoordinator(t, s), newCoordinator(t, s)
		a.Do(jobOf(3, writes("s", time.Minute)))
		synctest.Wait()
		f, _ := b.Do(jobOf(3, writes("never called", 0)))
		synctest.Wait()
		start := time.Now()
		shutdown(t, b)
		await(t, f, ownership.ResultAbandoned)
		if time.Since(start) != 0 {
			t.Fatalf("shutdown took %v", time.Since(start))
		}
		wantPhase(t, s, ownership.Working)
	})
}

func TestShutdownGivesUpOnAWorkerThatDoesNotReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		c := newCoordinator(t, s)
		release := make(chan struct{})
		c.Do(jobOf(3, func(context.Context, ownership.Attempt, func()) (ownership.Draft, error) {
			<-release
			return draftOf("late"), nil
		}))
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := c.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("shutdown: %v", err)
		}
		wantPhase(t, s, ownership.Abandoned)
		close(release)
		shutdown(t, c)
		wantTexts(t, s)
	})
}

// A worker that fails because the process goes down is no failure.
func TestShutdownIsNoFailure(t *testing.T) {
	for range 50 {
		synctest.Test(t, func(t *testing.T) {
			s := newStore()
			c := newCoordinator(t, s)
			f, _ := c.Do(jobOf(3, func(context.Context, ownership.Attempt, func()) (ownership.Draft, error) {
				gone, cancel := context.WithCancel(context.Background())
				cancel()
				_ = c.Shutdown(gone)
				return ownership.Draft{}, failure("timeout")
			}))
			await(t, f, ownership.ResultAbandoned)
			if st := view(t, s).State; st.Streak != 0 || !st.CooldownUntil.IsZero() {
				t.Fatalf("charged: %+v", st)
			}
		})
	}
}
