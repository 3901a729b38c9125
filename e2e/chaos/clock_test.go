package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os/exec"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/foldgate/foldgate/ownership"
	"github.com/foldgate/foldgate/redisstore"
)

// TestReplicaClockIsADayOff runs one replica's store in a bubble, whose clock is set
// a day ahead or behind, beside one with the right clock, on one real Redis. Neither
// leases nor cooldowns nor commits of either depend on the other's clock.
func TestReplicaClockIsADayOff(t *testing.T) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		if required("CI", "FOLDGATE_REQUIRE_REDIS") {
			t.Fatal(errNoRedis)
		}
		t.Skip(errNoRedis)
	}
	s, err := newStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	url := "redis://" + s.addr
	right := newSide(t, url)
	t.Cleanup(right.close)
	for _, c := range []struct {
		name string
		off  time.Duration
	}{{"ahead", 24 * time.Hour}, {"behind", -24 * time.Hour}} {
		t.Run(c.name, func(t *testing.T) {
			now := time.Now()
			synctest.Test(t, func(t *testing.T) {
				// A bubble begins in the year 2000; asleep, it gets where it should be.
				time.Sleep(time.Until(now.Add(c.off)))
				if got := time.Since(now); (got - c.off).Abs() > time.Minute {
					t.Fatalf("the clock is off by %v, want %v", got, c.off)
				}
				wrong := newSide(t, url)
				defer wrong.close()
				clockCases(t, wrong, right, c.name+", first the wrong clock")
				clockCases(t, right, wrong, c.name+", first the right clock")
			})
		})
	}
}

// side is a store that is used from one goroutine, which goes by the clock of where
// it was made.
type side struct {
	work, done chan func(*redisstore.Store)
	ended      chan struct{}
}

func newSide(t *testing.T, url string) *side {
	t.Helper()
	s := &side{work: make(chan func(*redisstore.Store)), done: make(chan func(*redisstore.Store)), ended: make(chan struct{})}
	go func() {
		defer close(s.ended)
		// The bound of a call does not run in a bubble while a server is asked.
		store, err := redisstore.Open(context.Background(), redisstore.Config{URL: url, Retention: time.Hour, Timeout: patience, DialTimeout: patience / 2})
		if err != nil {
			t.Error(err)
		}
		for f := range s.work {
			f(store)
			s.done <- f
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}()
	return s
}

func (s *side) do(f func(*redisstore.Store)) {
	s.work <- f
	<-s.done
}

func (s *side) close() {
	close(s.work)
	<-s.ended
}

const clockLease = 15 * time.Second

// clockCases are a lease, a commit and a cooldown of one side, as the other sees them.
func clockCases(t *testing.T, one, other *side, name string) {
	t.Helper()
	key, target := fresh(name + " lease")
	if got := one.claim(t, key, target); got.Verdict != ownership.VerdictClaimed {
		t.Errorf("%s: a free conversation: %v", name, got.Verdict)
	}
	got := other.claim(t, key, target)
	if left := got.Owner.LeaseLeft; got.Verdict != ownership.VerdictBusy || !got.Owner.Live || left > clockLease || left < clockLease/2 {
		t.Errorf("%s: under the lease of the other: %v, %v left", name, got.Verdict, left)
	}

	key, target = fresh(name + " commit")
	fence := one.claim(t, key, target).Fence
	one.do(func(s *redisstore.Store) {
		_, err := s.Commit(context.Background(), key, fence, ownership.Commit{Checkpoint: ownership.Checkpoint{Target: target, Handoff: []byte("told"), Tokens: 1, Step: 1}})
		if err != nil {
			t.Errorf("%s: commit: %v", name, err)
		}
	})
	other.do(func(s *redisstore.Store) {
		view, err := s.Read(context.Background(), key, nil)
		if err != nil || len(view.State.Checkpoints) != 1 || string(view.State.Checkpoints[0].Handoff) != "told" {
			t.Errorf("%s: read of the commit: %v, %v", name, view.State.Checkpoints, err)
		}
		if _, err := s.Settle(context.Background(), key, fence); err != nil {
			t.Errorf("%s: settle: %v", name, err)
		}
	})
	if got := other.claim(t, key, target); got.Verdict != ownership.VerdictCommitted {
		t.Errorf("%s: what is committed: %v", name, got.Verdict)
	}

	key, target = fresh(name + " cooldown")
	fence = one.claim(t, key, target).Fence
	one.do(func(s *redisstore.Store) {
		failure := ownership.Ending{Phase: ownership.Failed, Failure: ownership.Failure{Class: "network", Climb: true}}
		if err := s.Finish(context.Background(), key, fence, failure); err != nil {
			t.Errorf("%s: finish: %v", name, err)
		}
	})
	got = other.claim(t, key, target)
	if got.Verdict != ownership.VerdictCooling || got.Left > ownership.FirstRung || got.Left < ownership.FirstRung/2 {
		t.Errorf("%s: after a failure: %v, %v left", name, got.Verdict, got.Left)
	}
}

func (s *side) claim(t *testing.T, key ownership.Key, target ownership.Target) (got ownership.Claimed) {
	t.Helper()
	s.do(func(store *redisstore.Store) {
		var err error
		got, err = store.Claim(context.Background(), key, ownership.Claim{
			Attempt: ownership.AttemptID(uuid.NewString()), Target: target, Replica: "r", Route: "r", Lease: clockLease, Ceiling: time.Minute,
		})
		if err != nil {
			t.Error(err)
		}
	})
	return got
}

// fresh is a conversation of that name, with one target.
func fresh(name string) (ownership.Key, ownership.Target) {
	digest := sha256.Sum256([]byte(name))
	return ownership.Key(hex.EncodeToString(digest[:20])), ownership.Target{Covered: 4, Digest: digest}
}
