package redisstore_test

import (
	"context"
	"strconv"
	"testing"

	"github.com/foldgate/foldgate/ownership"
	"github.com/foldgate/foldgate/ownership/ownershiptest"
	"github.com/foldgate/foldgate/redisstore"
	"github.com/foldgate/foldgate/redisstore/redistest"
)

// Three masters: every operation finds its slot, conversations spread, hints
// cross nodes, and learned values are announced to all.
func TestCluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 3)
	t.Run("suite", func(t *testing.T) {
		ownershiptest.Run(t, func(t *testing.T) ownershiptest.Harness {
			return ownershiptest.Harness{
				A:         open(t, redisstore.Config{URL: cluster.URL}),
				B:         open(t, redisstore.Config{URL: "redis+cluster://" + cluster.Nodes[0].Addr}),
				Abilities: ownershiptest.Abilities{Notifies: true},
			}
		})
	})
	t.Run("spread", func(t *testing.T) {
		s := open(t, redisstore.Config{URL: cluster.URL})
		for i := range 40 {
			mustCommit(t, s, keyOf(t.Name()+strconv.Itoa(i)), target(3, "x"), "h")
		}
		for _, node := range cluster.Nodes {
			if node.Do("DBSIZE") == int64(0) {
				t.Errorf("node %s has nothing", node.Addr)
			}
		}
	})
	t.Run("learned", func(t *testing.T) {
		a := open(t, redisstore.Config{URL: cluster.URL}).Learned()
		b := open(t, redisstore.Config{URL: cluster.URL}).Learned()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		announced := b.Announcements(ctx)
		eventually(t, "an announcement", func() bool {
			if err := a.Save(ctx, "scope", "model", []byte("value")); err != nil {
				t.Fatal(err)
			}
			select {
			case got := <-announced:
				return got == redisstore.ScopeHash("scope")
			default:
				return false
			}
		})
	})
	t.Run("a node is gone", func(t *testing.T) {
		s := open(t, redisstore.Config{URL: cluster.URL})
		cluster.Nodes[0].Kill()
		for i := range 20 {
			_, err := s.Read(t.Context(), keyOf(t.Name()+strconv.Itoa(i)), nil)
			if err != nil {
				// Not asked, or asked in vain: nothing else may come of it.
				if !isAny(err, ownership.ErrUnavailable, ownership.ErrIndeterminate) {
					t.Errorf("read: %v", err)
				}
			}
		}
	})
}
