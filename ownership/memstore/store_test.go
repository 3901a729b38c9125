package memstore_test

import (
	"sync"
	"testing"
	"time"

	"github.com/foldgate/foldgate/ownership/memstore"
	"github.com/foldgate/foldgate/ownership/ownershiptest"
)

// fakeClock is a clock that only moves when told to.
type fakeClock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *fakeClock { return &fakeClock{now: time.Unix(1_700_000_000, 0)} }

func (c *fakeClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *fakeClock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func TestConformance(t *testing.T) {
	ownershiptest.Run(t, func(*testing.T) ownershiptest.Harness {
		clock := newClock()
		s := memstore.New(memstore.Options{Now: clock.Now})
		return ownershiptest.Harness{
			A: s, B: s,
			Advance:   clock.Advance,
			Wipe:      func(*testing.T) { s.Wipe() },
			Abilities: ownershiptest.Abilities{Notifies: true, Parallel: true},
		}
	})
}
