package ownership_test

import (
	"testing"

	"github.com/foldgate/foldgate/ownership/memstore"
	"github.com/foldgate/foldgate/ownership/ownershiptest"
)

// The behaviours of the single-process original, in one process again. redisstore
// runs the same ones for two clients of a server.
func TestSeed(t *testing.T) {
	ownershiptest.RunSeed(t, func(*testing.T) ownershiptest.Harness {
		s := memstore.New(memstore.Options{})
		return ownershiptest.Harness{
			A: s, B: s,
			Wipe:      func(*testing.T) { s.Wipe() },
			Abilities: ownershiptest.Abilities{Notifies: true, Parallel: true},
		}
	})
}
