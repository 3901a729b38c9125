package redisstore_test

import (
	"strings"
	"testing"

	"github.com/foldgate/foldgate/ownership"
)

// One attempt as the store sees it, on a real server over loopback. Bounds the
// cost that the protocol adds to an attempt: two round trips.
func BenchmarkClaimCommit(b *testing.B) {
	s, _ := real(b)
	key, handoff := keyOf(b.Name()), strings.Repeat("x", 4096)
	var previous ownership.Fence
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		n++
		what := ownership.Target{Covered: n, Digest: ownership.Digest{byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24)}}
		f := mustClaim(b, s, key, claimOf(b, what)).Fence
		if _, err := s.Commit(b.Context(), key, f, commitOf(what, handoff)); err != nil {
			b.Fatal(err)
		}
		if previous == f {
			b.Fatal("a fence was given out twice")
		}
		previous = f
	}
}

// The one call on the way of a request over its trigger whose handoffs this
// replica holds.
func BenchmarkRead(b *testing.B) {
	s, _ := real(b)
	key := keyOf(b.Name())
	var known []ownership.Fence
	for i := range ownership.MaxCheckpoints {
		known = append(known, mustCommit(b, s, key, ownership.Target{Covered: i + 1, Digest: ownership.Digest{byte(i + 1)}}, strings.Repeat("x", 4096)))
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Read(b.Context(), key, known); err != nil {
			b.Fatal(err)
		}
	}
}

// A call while the breaker is open: what every request pays while Redis is away.
func BenchmarkBreakerOpen(b *testing.B) {
	s, server := real(b)
	server.Kill()
	key := keyOf(b.Name())
	for range 2 {
		_, _ = s.Read(b.Context(), key, nil)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Read(b.Context(), key, nil); err == nil {
			b.Fatal("an answer from nowhere")
		}
	}
}
