package redisstore_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/foldgate/foldgate/ownership"
	"github.com/foldgate/foldgate/redisstore"
	"github.com/foldgate/foldgate/redisstore/redistest"
)

const (
	lease   = 15 * time.Second
	ceiling = 10 * time.Minute
	// patience bounds waits that end at once unless something is broken.
	patience = time.Minute
)

// open opens a store that ends with the test.
func open(t testing.TB, c redisstore.Config) *redisstore.Store {
	t.Helper()
	s, err := redisstore.Open(t.Context(), c)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// real opens a store over a server of its own, with patience: on a busy machine a
// sound server may be slow.
func real(t testing.TB) (*redisstore.Store, *redistest.Server) {
	t.Helper()
	server := redistest.Start(t)
	return open(t, redisstore.Config{URL: server.URL, Timeout: patience}), server
}

func keyOf(name string) ownership.Key {
	sum := sha256.Sum256([]byte(name))
	return ownership.Key(hex.EncodeToString(sum[:20]))
}

func target(n int, name string) ownership.Target {
	return ownership.Target{Covered: n, Digest: sha256.Sum256([]byte(name))}
}

func newID(t testing.TB) ownership.AttemptID {
	t.Helper()
	id, err := uuid.NewV7()
	if err != nil {
		t.Fatalf("make an id: %v", err)
	}
	return ownership.AttemptID(id.String())
}

func claimOf(t testing.TB, what ownership.Target) ownership.Claim {
	t.Helper()
	return ownership.Claim{
		Attempt: newID(t), Target: what, Replica: "a", Route: "primary route", Lease: lease, Ceiling: ceiling,
		TraceParent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
	}
}

func commitOf(what ownership.Target, handoff string) ownership.Commit {
	return ownership.Commit{Checkpoint: ownership.Checkpoint{
		Target: what, Tokens: 321, Route: "primary route", Step: 1.15, Handoff: []byte(handoff),
	}}
}

// mustClaim becomes the owner or fails the test.
func mustClaim(t testing.TB, s ownership.Store, key ownership.Key, c ownership.Claim) ownership.Claimed {
	t.Helper()
	got, err := s.Claim(t.Context(), key, c)
	if err != nil || got.Verdict != ownership.VerdictClaimed {
		t.Fatalf("claim: verdict %d, %v; want it claimed", got.Verdict, err)
	}
	return got
}

// mustCommit claims and commits.
func mustCommit(t testing.TB, s ownership.Store, key ownership.Key, what ownership.Target, handoff string) ownership.Fence {
	t.Helper()
	f := mustClaim(t, s, key, claimOf(t, what)).Fence
	if done, err := s.Commit(t.Context(), key, f, commitOf(what, handoff)); err != nil || done != ownership.DoneNow {
		t.Fatalf("commit: %d, %v; want it done now", done, err)
	}
	return f
}

func mustRead(t testing.TB, s ownership.Store, key ownership.Key, known ...ownership.Fence) ownership.View {
	t.Helper()
	v, err := s.Read(t.Context(), key, known)
	if err != nil {
		t.Fatalf("read: %v", err)
	}
	return v
}

func wantError(t testing.TB, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// receive takes a value from ch, or fails the test.
func receive[T any](t testing.TB, what string, ch <-chan T) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	select {
	case v := <-ch:
		return v
	case <-ctx.Done():
		t.Fatalf("%s: nothing came", what)
		panic("unreachable")
	}
}

func openWith(t testing.TB, url string, retention time.Duration) *redisstore.Store {
	t.Helper()
	return open(t, redisstore.Config{URL: url, Retention: retention})
}

func isAny(err error, targets ...error) bool {
	for _, target := range targets {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}
