package ownership_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foldgate/foldgate/ownership"
)

// down fails every call.
func down(err error) func(context.Context, string) error {
	return func(context.Context, string) error { return err }
}

func TestStoreDownAtClaim(t *testing.T) {
	for _, tc := range []struct {
		name string
		work ownership.Worker
		want ownership.ResultKind
	}{
		{"a draft", writes("draft", time.Second), ownership.ResultUnfenced},
		{"nothing", fails(failure("timeout")), ownership.ResultStore},
		{"a stall, then a draft", byRoute(talks(), writes("draft", time.Second)), ownership.ResultUnfenced},
		{"ineffective", fails(ownership.ErrIneffective), ownership.ResultIneffective},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inner, seen := newStore(), &log{}
				s := &faulty{Store: inner}
				s.set(down(ownership.ErrUnavailable), nil)
				c := newCoordinator(t, s, observedBy(seen))
				var calls counter
				f, _ := c.Do(jobOf(3, counted(&calls, tc.work), idleRoutes(5*time.Second)...))
				synctest.Wait()
				if fence, ok := f.Current(); calls.get() > 0 && (!ok || !fence.Unfenced() || fence.Attempt == "") {
					t.Fatalf("current %v %t", fence, ok)
				}
				res := await(t, f, tc.want)
				if tc.want == ownership.ResultUnfenced {
					wantText(t, res, "draft")
					if res.Checkpoint.Target != targetOf(3) || !res.Fence.Unfenced() {
						t.Fatalf("result %+v", res)
					}
				}
				if view(t, inner).Generation != 0 {
					t.Fatal("an unfenced attempt wrote to the store")
				}
				seen.want(t, "store claim", 1)
				if got := c.Attempts(1)[0]; !got.Unfenced || got.Outcome == "" {
					t.Fatalf("attempt %+v", got)
				}
			})
		})
	}
}

// Equal jobs of one replica share the unfenced attempt.
func TestStoreDownOneCallForMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &faulty{Store: newStore()}
		s.set(down(ownership.ErrUnavailable), nil)
		c := newCoordinator(t, s)
		var calls counter
		var flights []*ownership.Flight
		for range 10 {
			f, _ := c.Do(jobOf(3, counted(&calls, writes("draft", time.Second))))
			flights = append(flights, f)
		}
		for _, f := range flights {
			wantText(t, await(t, f, ownership.ResultUnfenced), "draft")
		}
		if calls.get() != 1 {
			t.Fatalf("%d calls", calls.get())
		}
	})
}

// The claim ran but its answer was lost: the repeat owns what the first one took.
func TestClaimsLostAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner, seen := newStore(), &log{}
		s := &faulty{Store: inner}
		s.set(nil, failing("claim", 1, ownership.ErrIndeterminate))
		c := newCoordinator(t, s, observedBy(seen))
		res := do(t, c, jobOf(3, writes("s", time.Second)), ownership.ResultCommitted)
		if res.Fence.Generation != 1 {
			t.Fatalf("generation %d", res.Fence.Generation)
		}
		seen.want(t, "store claim", 1)
	})
}

func TestClaimNeverAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &faulty{Store: newStore()}
		s.set(nil, failing("claim", -1, ownership.ErrIndeterminate))
		c := newCoordinator(t, s)
		do(t, c, jobOf(3, writes("s", time.Second)), ownership.ResultUnfenced)
	})
}

// The superseding claim cannot be asked: the next route runs for its waiters only.
func TestStoreLostBetweenRoutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := newStore()
		s := &faulty{Store: inner}
		c := newCoordinator(t, s)
		work := byRoute(func(context.Context, ownership.Attempt, func()) (ownership.Draft, error) {
			s.set(failing("claim", -1, ownership.ErrUnavailable), nil)
			return ownership.Draft{}, failure("timeout")
		}, writes("draft", time.Second))
		res := do(t, c, jobOf(3, work, twoRoutes...), ownership.ResultUnfenced)
		wantText(t, res, "draft")
		synctest.Wait()
		wantTexts(t, inner)
		wantPhase(t, inner, ownership.Abandoned) // its last word went through
	})
}

// The commit's answer was lost: the repeat learns that it stands.
func TestCommitsLostAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner, seen := newStore(), &log{}
		s := &faulty{Store: inner}
		s.set(nil, failing("commit", 1, ownership.ErrIndeterminate))
		c := newCoordinator(t, s, observedBy(seen))
		start := time.Now()
		res := do(t, c, jobOf(3, writes("s", time.Second)), ownership.ResultCommitted)
		if time.Since(start) > 2*time.Second || res.Fence.Generation != 1 {
			t.Fatalf("after %v: %+v", time.Since(start), res)
		}
		wantTexts(t, inner, "s")
		seen.want(t, "end 1 committed unfenced=false", 1)
	})
}

// After one repeat without an answer the waiters are served, and the commit goes on
// being asked beside them until the store is back.
func TestCommitInDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner, seen := newStore(), &log{}
		s := &faulty{Store: inner}
		s.set(failing("commit", 20, ownership.ErrIndeterminate), nil)
		c := newCoordinator(t, s, observedBy(seen), func(c *ownership.Config) { c.MaxAttempts = 1 })
		start := time.Now()
		res := do(t, c, jobOf(3, writes("draft", time.Second)), ownership.ResultUnfenced)
		wantText(t, res, "draft")
		if got := time.Since(start); got != time.Second {
			t.Fatalf("served after %v", got)
		}
		if res.Fence.Generation != 1 {
			t.Fatalf("result %+v", res)
		}
		wantPhase(t, inner, ownership.Working)
		// Its slot is free.
		other := jobOf(3, writes("other", 0))
		other.Conversation = keyOf("other")
		f, _ := c.Do(other)
		<-f.Done()
		if f.Result().Kind == ownership.ResultFull {
			t.Fatal("a commit in doubt holds a slot")
		}
		time.Sleep(time.Minute)
		wantTexts(t, inner, "draft")
		seen.want(t, "end 1 committed unfenced=false", 2) // both conversations
	})
}

// A commit that hangs does not hold the waiters for more than a second.
func TestCommitHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := newStore()
		s := &faulty{Store: inner}
		hang := func(ctx context.Context, operation string) error {
			if operation != "commit" {
				return nil
			}
			<-ctx.Done()
			return errors.Join(ownership.ErrIndeterminate, ctx.Err())
		}
		s.set(hang, nil)
		c := newCoordinator(t, s)
		start := time.Now()
		res := do(t, c, jobOf(3, writes("draft", time.Second)), ownership.ResultUnfenced)
		wantText(t, res, "draft")
		if got := time.Since(start); got != 2*time.Second {
			t.Fatalf("served after %v", got)
		}
		s.set(nil, nil)
		time.Sleep(10 * time.Second)
		wantTexts(t, inner, "draft")
	})
}

// It stops at the attempt's deadline.
func TestCommitNeverAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner, seen := newStore(), &log{}
		s := &faulty{Store: inner}
		s.set(failing("commit", -1, ownership.ErrUnavailable), nil)
		c := newCoordinator(t, s, observedBy(seen), func(c *ownership.Config) { c.Ceiling = time.Minute })
		do(t, c, jobOf(3, writes("draft", time.Second)), ownership.ResultUnfenced)
		time.Sleep(58 * time.Second)
		seen.want(t, "end 1 committed unfenced=true", 0)
		time.Sleep(2 * time.Second)
		seen.want(t, "end 1 committed unfenced=true", 1)
		wantPhase(t, inner, ownership.Abandoned)
		wantTexts(t, inner)
		asked := seen.count("store commit")
		time.Sleep(time.Hour)
		if again := seen.count("store commit"); again != asked {
			t.Fatalf("asked on after the deadline: %d, then %d", asked, again)
		}
	})
}

// What the late answer of a commit in doubt says is final for the attempt.
func TestCommitInDoubtIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner, seen := newStore(), &log{}
		s := &faulty{Store: inner}
		s.set(failing("commit", 20, ownership.ErrUnavailable), nil)
		c := newCoordinator(t, s, observedBy(seen))
		do(t, c, jobOf(3, writes("draft", time.Second)), ownership.ResultUnfenced)
		inner.Wipe()
		time.Sleep(time.Minute)
		wantTexts(t, inner)
		seen.want(t, "end 1 lost unfenced=false", 1)
	})
}

func TestShutdownEndsACommitInDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := newStore()
		s := &faulty{Store: inner}
		s.set(failing("commit", -1, ownership.ErrUnavailable), nil)
		c := newCoordinator(t, s)
		do(t, c, jobOf(3, writes("draft", time.Second)), ownership.ResultUnfenced)
		start := time.Now()
		shutdown(t, c)
		if d := time.Since(start); d > time.Second {
			t.Fatalf("shutdown took %v", d)
		}
		wantPhase(t, inner, ownership.Abandoned)
	})
}

func TestStoreWipedMidAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, seen := newStore(), &log{}
		c := newCoordinator(t, s, observedBy(seen))
		f, _ := c.Do(jobOf(3, writes("before the wipe", 500*time.Millisecond)))
		synctest.Wait()
		s.Wipe()
		await(t, f, ownership.ResultLost)
		wantTexts(t, s)
		seen.want(t, "refused commit: "+ownership.ErrLost.Error(), 1)
		seen.want(t, "end 1 lost unfenced=false", 1)
		wantText(t, do(t, c, jobOf(3, writes("after the wipe", 0)), ownership.ResultCommitted), "after the wipe")
	})
}

// The store goes away while another replica's attempt is watched: what was heard of
// its lease decides when to stop waiting.
func TestStoreLostWhileWatching(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := newStore()
		claimAs(t, inner, "elsewhere", 15*time.Second)
		s := &faulty{Store: inner}
		c := newCoordinator(t, s)
		start := time.Now()
		f, _ := c.Do(jobOf(3, writes("draft", 0)))
		synctest.Wait()
		s.set(down(ownership.ErrUnavailable), nil)
		await(t, f, ownership.ResultUnfenced)
		if d := time.Since(start); d < 15*time.Second || d > 17*time.Second {
			t.Fatalf("gave up watching after %v", d)
		}
	})
}

// A finish that cannot be recorded still ends the flight.
func TestFinishCannotBeRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := newStore()
		s := &faulty{Store: inner}
		s.set(failing("finish", -1, ownership.ErrUnavailable), nil)
		c := newCoordinator(t, s)
		do(t, c, jobOf(3, fails(failure("timeout"))), ownership.ResultFailed)
		synctest.Wait()
		wantPhase(t, inner, ownership.Abandoned)
	})
}

// The finish ran but its answer was lost: charged once.
func TestFinishesLostAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := newStore()
		s := &faulty{Store: inner}
		s.set(nil, failing("finish", 1, ownership.ErrIndeterminate))
		c := newCoordinator(t, s)
		do(t, c, jobOf(3, fails(failure("timeout"))), ownership.ResultFailed)
		if st := view(t, inner).State; st.Streak != 1 {
			t.Fatalf("state %+v", st)
		}
	})
}

// No lock is held over a call to the store: another conversation goes on.
func TestAnotherConversationNeverWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &faulty{Store: newStore()}
		c := newCoordinator(t, s)
		release := make(chan struct{})
		held := false
		s.set(func(_ context.Context, operation string) error {
			if operation == "claim" && !held {
				held = true
				<-release
			}
			return nil
		}, nil)
		slow, _ := c.Do(jobOf(3, writes("slow", 0)))
		synctest.Wait()
		other := jobOf(3, writes("other", time.Second))
		other.Conversation = keyOf("other")
		start := time.Now()
		do(t, c, other, ownership.ResultCommitted)
		if time.Since(start) != time.Second {
			t.Fatalf("waited %v", time.Since(start))
		}
		close(release)
		await(t, slow, ownership.ResultCommitted)
	})
}

// By the time the waiters are told of a cancel, the store says so too.
func TestCancelIsRecordedBeforeItIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := newStore()
		s := &faulty{Store: inner}
		s.set(failing("clear", -1, ownership.ErrUnavailable), nil)
		c := newCoordinator(t, s)
		f, _ := c.Do(jobOf(3, writes("late", time.Minute)))
		synctest.Wait()
		fence, _ := f.Current()
		if err := inner.Raise(t.Context(), keyOf("conversation"), fence, "operator"); err != nil {
			t.Fatal(err)
		}
		await(t, f, ownership.ResultCancelled)
		wantPhase(t, inner, ownership.Cancelled)
	})
}

// Progress whose renewal did not arrive goes with the next one.
func TestProgressOutlivesAFailedRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := newStore()
		s := &faulty{Store: inner}
		s.set(failing("renew", 1, ownership.ErrUnavailable), nil)
		c := newCoordinator(t, s)
		f, _ := c.Do(jobOf(3, func(ctx context.Context, a ownership.Attempt, progress func()) (ownership.Draft, error) {
			progress()
			return writes("s", time.Minute)(ctx, a, progress)
		}))
		time.Sleep(5 * time.Second)
		if o := view(t, inner).Owner; o.Progress.Sub(o.Claimed) != 2*time.Second {
			t.Fatalf("progress stamped %v after the claim", o.Progress.Sub(o.Claimed))
		}
		await(t, f, ownership.ResultCommitted)
	})
}
