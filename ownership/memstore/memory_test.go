package memstore_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/foldgate/foldgate/ownership"
	"github.com/foldgate/foldgate/ownership/memstore"
)

func keyOf(n int) ownership.Key {
	sum := sha256.Sum256(fmt.Append(nil, "conversation ", n))
	return ownership.Key(hex.EncodeToString(sum[:20]))
}

func targetOf(n int) ownership.Target {
	return ownership.Target{Covered: n, Digest: sha256.Sum256(fmt.Append(nil, "prefix ", n))}
}

func newID() ownership.AttemptID { return ownership.AttemptID(uuid.Must(uuid.NewV7()).String()) }

func claimOf(n int) ownership.Claim {
	return ownership.Claim{Attempt: newID(), Target: targetOf(n), Lease: 15 * time.Second, Ceiling: 600 * time.Second}
}

func commitOf(n int, text string) ownership.Commit {
	return ownership.Commit{Checkpoint: ownership.Checkpoint{Target: targetOf(n), Handoff: []byte(text)}}
}

func begin(t testing.TB, s *memstore.Store, key ownership.Key, c ownership.Claim) ownership.Fence {
	t.Helper()
	got, err := s.Claim(t.Context(), key, c)
	if err != nil || got.Verdict != ownership.VerdictClaimed {
		t.Fatalf("claim: %+v %v", got, err)
	}
	return got.Fence
}

func committed(t testing.TB, s *memstore.Store, key ownership.Key, n int) ownership.Fence {
	t.Helper()
	f := begin(t, s, key, claimOf(n))
	if _, err := s.Commit(t.Context(), key, f, commitOf(n, "summary")); err != nil {
		t.Fatal(err)
	}
	return f
}

func read(t testing.TB, s *memstore.Store, key ownership.Key) ownership.View {
	t.Helper()
	v, err := s.Read(t.Context(), key, nil)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestRetention(t *testing.T) {
	clock := newClock()
	s := memstore.New(memstore.Options{Now: clock.Now, Retention: time.Hour})
	f := committed(t, s, keyOf(1), 1)
	clock.Advance(59 * time.Minute)
	if v := read(t, s, keyOf(1)); len(v.State.Checkpoints) != 1 {
		t.Fatal("gone before its time")
	}
	if _, err := s.Settle(t.Context(), keyOf(1), f); err != nil {
		t.Fatal(err)
	}
	clock.Advance(59 * time.Minute)
	if v := read(t, s, keyOf(1)); len(v.State.Checkpoints) != 1 {
		t.Fatal("a write does not extend it")
	}
	if done, err := s.Settle(t.Context(), keyOf(1), f); err != nil || done != ownership.DoneAlready {
		t.Fatal(done, err)
	}
	clock.Advance(59 * time.Minute)
	if v := read(t, s, keyOf(1)); len(v.State.Checkpoints) != 1 {
		t.Fatal("its use does not extend it")
	}
	clock.Advance(2 * time.Minute)
	if v := read(t, s, keyOf(1)); v.Generation != 0 || v.Owner != nil || len(v.State.Checkpoints) != 0 {
		t.Fatalf("not gone whole: %+v", v)
	}
	if g := begin(t, s, keyOf(1), claimOf(2)); g.Generation != 1 {
		t.Fatalf("generation %d of a conversation that is gone", g.Generation)
	}
}

// The retention is never shorter than an attempt may take.
func TestRetentionOutlastsTheAttempt(t *testing.T) {
	clock := newClock()
	s := memstore.New(memstore.Options{Now: clock.Now, Retention: time.Second})
	f := begin(t, s, keyOf(1), claimOf(1))
	clock.Advance(599 * time.Second)
	begin(t, s, keyOf(2), claimOf(1))
	if err := s.Renew(t.Context(), keyOf(1), f, ownership.Renewal{Lease: time.Second}); err != nil {
		t.Fatalf("renew: %v", err)
	}
}

func TestExpiredConversationsFreeMemory(t *testing.T) {
	clock := newClock()
	s := memstore.New(memstore.Options{Now: clock.Now, Retention: time.Hour})
	for n := range 100 {
		committed(t, s, keyOf(n), 1)
	}
	clock.Advance(2 * time.Hour)
	for n := range 10 {
		committed(t, s, keyOf(1000+n), 1)
	}
	if got := s.Len(); got != 10 {
		t.Fatalf("%d conversations kept, want 10", got)
	}
}

func TestLeastRecentlyUsedGoes(t *testing.T) {
	s := memstore.New(memstore.Options{MaxConversations: 3})
	for n := range 3 {
		committed(t, s, keyOf(n), 1)
	}
	read(t, s, keyOf(0)) // a read is a use
	committed(t, s, keyOf(3), 1)
	for n, want := range map[int]int{0: 1, 1: 0, 2: 1, 3: 1} {
		if got := len(read(t, s, keyOf(n)).State.Checkpoints); got != want {
			t.Errorf("conversation %d has %d checkpoints, want %d", n, got, want)
		}
	}
	if s.Len() != 3 {
		t.Fatalf("%d conversations", s.Len())
	}
}

func TestLiveOwnersStay(t *testing.T) {
	clock := newClock()
	s := memstore.New(memstore.Options{Now: clock.Now, MaxConversations: 2})
	var fences []ownership.Fence
	for n := range 5 {
		fences = append(fences, begin(t, s, keyOf(n), claimOf(1)))
	}
	for n, f := range fences {
		if err := s.Renew(t.Context(), keyOf(n), f, ownership.Renewal{Lease: time.Second}); err != nil {
			t.Fatalf("a live owner was evicted: %v", err)
		}
	}
	clock.Advance(2 * time.Second)
	committed(t, s, keyOf(9), 1)
	if s.Len() > 2 {
		t.Fatalf("%d conversations with dead owners are kept", s.Len())
	}
}

// Nothing that only looks, is invalid or is refused enters a conversation.
func TestNothingIsEnteredInVain(t *testing.T) {
	s := memstore.New(memstore.Options{})
	f := ownership.Fence{Generation: 1, Attempt: newID()}
	read(t, s, keyOf(1))
	_, _ = s.Commit(t.Context(), keyOf(2), f, commitOf(1, "s"))
	_, _ = s.Clear(t.Context(), keyOf(3), f)
	_, _ = s.RestoreOperator(t.Context(), keyOf(4), f, newID())
	superseding := claimOf(1)
	superseding.Supersede = f
	_, _ = s.Claim(t.Context(), keyOf(5), superseding)
	if got := s.Len(); got != 0 {
		t.Fatalf("%d conversations", got)
	}
}

// A clock that went back must not make a lease or a cooldown last.
func TestTimesTooFarAheadArePast(t *testing.T) {
	clock := newClock()
	s := memstore.New(memstore.Options{Now: clock.Now})
	f := begin(t, s, keyOf(1), claimOf(1))
	if err := s.Finish(t.Context(), keyOf(1), f, ownership.Ending{
		Phase: ownership.Failed, Failure: ownership.Failure{Class: "timeout", Climb: true},
	}); err != nil {
		t.Fatal(err)
	}
	clock.Advance(-3 * time.Hour)
	begin(t, s, keyOf(1), claimOf(1))
	clock.Advance(-3 * time.Hour)
	begin(t, s, keyOf(1), claimOf(1))
}

// While one conversation is worked on, another one is not kept waiting, not even
// by the index.
func TestNoConversationWaitsForAnother(t *testing.T) {
	var stuck atomic.Bool
	inside, release := make(chan struct{}), make(chan struct{})
	s := memstore.New(memstore.Options{Now: func() time.Time {
		if stuck.CompareAndSwap(true, false) {
			close(inside)
			<-release
		}
		return time.Unix(1_700_000_000, 0)
	}})
	begin(t, s, keyOf(1), claimOf(1))
	stuck.Store(true)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = s.Read(t.Context(), keyOf(1), nil)
	}()
	<-inside
	begin(t, s, keyOf(2), claimOf(1))
	committed(t, s, keyOf(3), 1)
	s.Len()
	close(release)
	<-done
}

// A conversation that a call is using is not evicted under it.
func TestUsedConversationsStay(t *testing.T) {
	var stuck atomic.Bool
	inside, release := make(chan struct{}), make(chan struct{})
	s := memstore.New(memstore.Options{MaxConversations: 1, Now: func() time.Time {
		if stuck.CompareAndSwap(true, false) {
			close(inside)
			<-release
		}
		return time.Unix(1_700_000_000, 0)
	}})
	committed(t, s, keyOf(1), 1)
	stuck.Store(true)
	done := make(chan ownership.Claimed, 1)
	go func() {
		got, _ := s.Claim(t.Context(), keyOf(1), claimOf(2))
		done <- got
	}()
	<-inside
	committed(t, s, keyOf(2), 1)
	close(release)
	got := <-done
	if o := read(t, s, keyOf(1)).Owner; o == nil || o.Fence != got.Fence {
		t.Fatalf("owner %+v, claimed as %v", o, got.Fence)
	}
}

// BenchmarkFold bounds what a whole attempt costs: claim, commit, settle.
func BenchmarkFold(b *testing.B) {
	s := memstore.New(memstore.Options{})
	handoff := string(make([]byte, 16<<10))
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		n++
		key := keyOf(n % 64)
		f := begin(b, s, key, claimOf(n))
		if _, err := s.Commit(b.Context(), key, f, commitOf(n, handoff)); err != nil {
			b.Fatal(err)
		}
		if _, err := s.Settle(b.Context(), key, f); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkReadKnown bounds the read of a request whose replica holds the handoffs.
func BenchmarkReadKnown(b *testing.B) {
	s := memstore.New(memstore.Options{})
	var known []ownership.Fence
	for n := range ownership.MaxCheckpoints {
		known = append(known, committed(b, s, keyOf(1), n+1))
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Read(b.Context(), keyOf(1), known); err != nil {
			b.Fatal(err)
		}
	}
}
