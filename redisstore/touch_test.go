package redisstore_test

import (
	"testing"
	"time"

	"github.com/foldgate/foldgate/ownership"
	"github.com/foldgate/foldgate/redisstore"
	"github.com/foldgate/foldgate/redisstore/redistest"
)

// A checkpoint that a newer claim left provisional stands, and is used: settling it
// again sets the time to live anew, although it is refused.
func TestUseOfAStandingCheckpointCounts(t *testing.T) {
	server := redistest.Start(t)
	s := open(t, redisstore.Config{URL: server.URL, Retention: time.Hour})
	key := keyOf(t.Name())
	f := mustCommit(t, s, key, target(3, "x"), "h")
	next := mustClaim(t, s, key, claimOf(t, target(4, "y"))).Fence
	if err := s.Finish(t.Context(), key, next, ownership.Ending{Phase: ownership.Abandoned}); err != nil {
		t.Fatal(err)
	}
	for _, name := range redisstore.NamesOf(key)[:2] {
		server.Do("PEXPIRE", name, 60000)
	}
	// Of what does not stand there is no use.
	_, err := s.Settle(t.Context(), key, ownership.Fence{Generation: f.Generation, Attempt: newID(t)})
	wantError(t, "settle of nothing", err, ownership.ErrSuperseded)
	if left := server.Do("PTTL", redisstore.NamesOf(key)[1]).(int64); left > 60000 {
		t.Errorf("it lives for %d ms more, want a minute", left)
	}
	_, err = s.Settle(t.Context(), key, f)
	wantError(t, "settle", err, ownership.ErrSuperseded)
	for _, name := range redisstore.NamesOf(key)[:2] {
		if left := server.Do("PTTL", name).(int64); left <= 60000 {
			t.Errorf("%s lives for %d ms more, want an hour", name, left)
		}
	}
}
