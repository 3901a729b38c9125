package redisstore_test

import (
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/foldgate/foldgate/ownership"
	"github.com/foldgate/foldgate/ownership/ownershiptest"
	"github.com/foldgate/foldgate/redisstore"
	"github.com/foldgate/foldgate/redisstore/redistest"
)

// The contract of every store, on a real server: time passes by itself only, so
// cases that need it to pass run on miniredis below.
func TestSuiteRedis(t *testing.T) {
	server := redistest.Start(t)
	ownershiptest.Run(t, func(t *testing.T) ownershiptest.Harness {
		server.FlushAll()
		return ownershiptest.Harness{
			// Patient, since here a time-out is only a busy machine.
			A:    open(t, redisstore.Config{URL: server.URL, Timeout: patience}),
			B:    open(t, redisstore.Config{URL: server.URL, Timeout: patience}),
			Wipe: func(*testing.T) { server.FlushAll() },
			EvictCounter: func(_ *testing.T, key ownership.Key) {
				server.Do("DEL", "foldgate:1:{"+string(key)+"}:gen")
			},
			Abilities: ownershiptest.Abilities{Notifies: true},
		}
	})
}

// The contract with a clock that the test moves. miniredis runs the same scripts
// in another Lua.
func TestSuiteMiniredis(t *testing.T) {
	ownershiptest.Run(t, func(t *testing.T) ownershiptest.Harness {
		server := miniredis.RunT(t)
		now := time.Date(2031, 5, 6, 7, 8, 9, 0, time.UTC)
		server.SetTime(now)
		server.ClockTTL(true)
		url := "redis://" + server.Addr()
		return ownershiptest.Harness{
			A: open(t, redisstore.Config{URL: url}),
			B: open(t, redisstore.Config{URL: url}),
			Advance: func(d time.Duration) {
				now = now.Add(d)
				server.SetTime(now)
			},
			Wipe: func(*testing.T) { server.FlushAll() },
			EvictCounter: func(_ *testing.T, key ownership.Key) {
				server.Del("foldgate:1:{" + string(key) + "}:gen")
			},
			Abilities: ownershiptest.Abilities{Notifies: true},
		}
	})
}
