package ownershiptest

import (
	"testing"
	"time"

	"github.com/foldgate/foldgate/ownership"
)

// Harness is one store under test.
type Harness struct {
	// A and B are two replicas on the same data. They may be one value only where
	// the store lives in one process.
	A, B ownership.Store
	// Advance moves the store's clock forward; nil: its time is real, and the cases
	// that need to move it are skipped.
	Advance func(time.Duration)
	// Wipe empties the data, counters included; nil: those cases are skipped.
	Wipe func(t *testing.T)
	// EvictCounter removes the counter of one conversation and nothing else; nil:
	// the store keeps it with the rest, and the case is skipped.
	EvictCounter func(t *testing.T, key ownership.Key)
	Abilities    Abilities
}

// Abilities are what not every store can do.
type Abilities struct {
	// Notifies: Watch delivers hints, from one replica to the other.
	Notifies bool
	// Parallel: several harnesses may be used at once. Cases that move the clock or
	// wipe still run alone.
	Parallel bool
}

// Run runs the suite. open is called once for every case and registers its own
// clean-up; the harnesses may share one server, since every case has a
// conversation of its own.
func Run(t *testing.T, open func(t *testing.T) Harness) {
	groups := []struct {
		name  string
		cases []testCase
	}{
		{"claim", claimCases()},
		{"death", deathCases()},
		{"renew", renewCases()},
		{"commit", commitCases()},
		{"settle", settleCases()},
		{"restore", restoreCases()},
		{"finish", finishCases()},
		{"cancel", cancelCases()},
		{"operator", operatorCases()},
		{"read", readCases()},
		{"data", dataCases()},
		{"invalid", invalidCases()},
		{"watch", watchCases()},
		{"interleaving", interleavingCases()},
	}
	for _, g := range groups {
		t.Run(g.name, func(t *testing.T) {
			for _, c := range g.cases {
				t.Run(c.name, func(t *testing.T) { c.in(t, open) })
			}
		})
	}
}

// need is what a case asks of its harness.
type need int

const (
	clock need = 1 << iota
	wipe
	evict
	notify
)

type testCase struct {
	name  string
	needs need
	run   func(x *fixture)
}

func (c testCase) in(t *testing.T, open func(t *testing.T) Harness) {
	h := open(t)
	for _, lack := range []struct {
		missing bool
		of      need
		reason  string
	}{
		{h.Advance == nil, clock, "the store's clock cannot be moved"},
		{h.Wipe == nil, wipe, "the store cannot be wiped"},
		{h.EvictCounter == nil, evict, "the counter cannot go alone"},
		{!h.Abilities.Notifies, notify, "the store does not notify"},
	} {
		if lack.missing && c.needs&lack.of != 0 {
			t.Skip("skipped: " + lack.reason)
		}
	}
	if h.Abilities.Parallel && c.needs&(clock|wipe) == 0 {
		t.Parallel()
	}
	c.run(newFixture(t, h))
}
