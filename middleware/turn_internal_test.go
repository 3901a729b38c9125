package middleware

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

const (
	largeBody = turnBytes
	hugeBody  = hugeBytes
)

// queue takes a turn in a goroutine of its own, and is there when it waits for it
// or has it. The channel gets what take came to.
func queue(t *testing.T, ctx context.Context, q *turns, bytes int, s stage) <-chan taken {
	t.Helper()
	out := make(chan taken, 1)
	go func() {
		giveBack, err := q.take(ctx, bytes, s)
		out <- taken{giveBack, err}
	}()
	synctest.Wait()
	return out
}

type taken struct {
	giveBack func()
	err      error
}

// has is the turn that must have come by now.
func has(t *testing.T, what string, c <-chan taken) func() {
	t.Helper()
	synctest.Wait()
	select {
	case got := <-c:
		if got.err != nil {
			t.Fatalf("%s: %v", what, got.err)
		}
		return got.giveBack
	default:
		t.Fatalf("%s has no turn", what)
		return nil
	}
}

func waits(t *testing.T, what string, c <-chan taken) {
	t.Helper()
	synctest.Wait()
	if len(c) > 0 {
		t.Fatalf("%s has a turn", what)
	}
}

func one() int { return 1 }

func TestTurnsGoByTheOrderOfComing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTurns(one)
		first := has(t, "the first", queue(t, t.Context(), q, largeBody, begins))
		var order []string
		done := make(chan string, 4)
		for _, who := range []struct {
			name  string
			stage stage
		}{{"new 1", begins}, {"back 1", goesOn}, {"new 2", begins}, {"back 2", goesOn}} {
			go func() {
				giveBack, err := q.take(t.Context(), largeBody, who.stage)
				if err != nil {
					t.Error(err)
					return
				}
				done <- who.name
				giveBack()
			}()
			synctest.Wait()
		}
		if len(done) > 0 {
			t.Fatalf("%s had a turn while another one was computing", <-done)
		}
		first()
		for range 4 {
			order = append(order, <-done)
		}
		if want := []string{"back 1", "back 2", "new 1", "new 2"}; !slices.Equal(order, want) {
			t.Errorf("turns went %v, want %v", order, want)
		}
	})
}

// What is huge computes for seconds. It is in nobody's way but that of its like, and
// what is small needs no turn.
func TestAHugeBodyIsInNobodysWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTurns(one)
		huge := has(t, "a huge one", queue(t, t.Context(), q, hugeBody, begins))
		another := queue(t, t.Context(), q, hugeBody, begins)
		large := has(t, "a large one beside it", queue(t, t.Context(), q, hugeBody-1, begins))
		small := has(t, "a small one beside both", queue(t, t.Context(), q, largeBody-1, begins))
		waits(t, "another huge one", another)
		small()
		large()
		waits(t, "another huge one", another)
		huge()
		has(t, "another huge one", another)()
	})
}

// Who leaves while waiting is told why at once, and takes no turn with it.
func TestWhoLeavesTakesNoTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTurns(one)
		first := has(t, "the first", queue(t, t.Context(), q, largeBody, begins))
		gone := errors.New("gone")
		ctx, leave := context.WithCancelCause(t.Context())
		left := queue(t, ctx, q, largeBody, begins)
		next := queue(t, t.Context(), q, largeBody, begins)
		waits(t, "one that waits", left)
		leave(gone)
		synctest.Wait()
		if got := <-left; !errors.Is(got.err, gone) || got.giveBack != nil {
			t.Errorf("who left got %v and a turn: %t", got.err, got.giveBack != nil)
		}
		first()
		has(t, "who stayed", next)()
		has(t, "who comes later", queue(t, t.Context(), q, largeBody, begins))()
	})
}

// An attempt has its turn whenever it comes: one that is late is refused by the
// store. While it waits with text at hand it is not silent, before that it is.
func TestAnAttemptWaitsForItsTurn(t *testing.T) {
	for _, answered := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := &summary{m: &Middleware{memory: &memory{turns: newTurns(one)}}, bytes: largeBody}
			busy := has(t, "another one", queue(t, t.Context(), s.m.turns, largeBody, begins))
			var told atomic.Int32
			var progress func()
			if answered {
				progress = func() { told.Add(1) }
			}
			computed := make(chan error, 1)
			go func() { computed <- s.inTurn(progress, func() error { return nil }) }()
			time.Sleep(time.Second) // the bubble's
			if len(computed) > 0 {
				t.Fatalf("it did not wait: %v", <-computed)
			}
			if n := told.Load(); (n > 0) != answered {
				t.Errorf("progress was told of %d times, with an answer at hand: %v", n, answered)
			}
			busy()
			if err := <-computed; err != nil {
				t.Errorf("the attempt: %v", err)
			}
			synctest.Wait()
		})
	}
}

// A process that is given fewer processors, or more, keeps to them from then on.
func TestTurnsFollowTheProcessors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		most := 1
		q := newTurns(func() int { return most })
		first := has(t, "the first", queue(t, t.Context(), q, largeBody, begins))
		second := queue(t, t.Context(), q, largeBody, begins)
		waits(t, "the second of one", second)
		most = 3
		third := has(t, "the third of three", queue(t, t.Context(), q, largeBody, begins))
		back := has(t, "the second of three", second)
		most = 1
		fourth := queue(t, t.Context(), q, largeBody, begins)
		first()
		third()
		waits(t, "the fourth, where one is still at it", fourth)
		back()
		has(t, "the fourth", fourth)()
	})
}
