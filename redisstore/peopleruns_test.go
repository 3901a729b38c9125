package redisstore_test

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/foldgate/foldgate/ownership"
	"github.com/foldgate/foldgate/redisstore"
	"github.com/foldgate/foldgate/redisstore/redistest"
)

// A server that is still reading its file answers LOADING: calls say that it was
// not asked, and go on by themselves once it serves.
func TestLoadingServer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.WithArgs("--enable-debug-command", "yes", "--rdbcompression", "no", "--loading-process-events-interval-bytes", "1024"))
	s := open(t, redisstore.Config{URL: server.URL})
	key := keyOf(t.Name())
	f := mustCommit(t, s, key, target(3, "x"), "h")
	for i := range 60 {
		server.Do("SET", fmt.Sprint("filler", i), strings.Repeat("x", 2000))
	}
	server.Do("SAVE")
	server.Do("CONFIG", "SET", "key-load-delay", "25000") // microseconds for each key
	plain := redis.NewClient(&redis.Options{Addr: server.Addr, Protocol: 2, DisableIdentity: true, MaxRetries: -1, PoolSize: 1})
	t.Cleanup(func() { _ = plain.Close() })
	// It reads its own file again, serving nobody meanwhile.
	reloaded := make(chan error, 1)
	go func() { reloaded <- server.Client().Do(t.Context(), "DEBUG", "RELOAD", "NOSAVE").Err() }()
	eventually(t, "LOADING", func() bool {
		err := plain.Get(t.Context(), "nothing").Err()
		return err != nil && strings.HasPrefix(err.Error(), "LOADING")
	})
	_, err := s.Settle(t.Context(), key, f)
	wantError(t, "settle", err, ownership.ErrUnavailable)
	_, err = s.Settle(t.Context(), key, f)
	wantError(t, "settle", err, ownership.ErrUnavailable)
	if s.BreakerState() != "open" {
		t.Errorf("breaker %s, want it open", s.BreakerState())
	}
	if err := <-reloaded; err != nil {
		t.Fatal(err)
	}
	eventually(t, "a settle", func() bool {
		_, err := s.Settle(t.Context(), key, f)
		if err != nil && !isAny(err, ownership.ErrUnavailable) {
			t.Fatal(err)
		}
		return err == nil
	})
}

// A slot that moved, and one that is on its way, are found without an error for
// the caller: MOVED and ASK.
func TestClusterSlotMoves(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 2)
	s := open(t, redisstore.Config{URL: cluster.URL})
	key := keyOf(t.Name())
	tag := "{" + string(key) + "}"
	from, to := cluster.Nodes[0], cluster.Nodes[1]
	slot := from.Do("CLUSTER", "KEYSLOT", tag)
	if slot.(int64) >= 8192 {
		from, to = to, from
	}
	f := mustCommit(t, s, key, target(3, "x"), "h")
	fromID, toID := from.Do("CLUSTER", "MYID"), to.Do("CLUSTER", "MYID")
	host, port, _ := net.SplitHostPort(to.Addr)

	to.Do("CLUSTER", "SETSLOT", slot, "IMPORTING", fromID)
	from.Do("CLUSTER", "SETSLOT", slot, "MIGRATING", toID)
	if err := s.Renew(t.Context(), key, f, ownership.Renewal{Lease: lease}); !isAny(err, ownership.ErrEnded) {
		t.Errorf("renew before the keys go: %v", err)
	}
	args := []any{"MIGRATE", host, port, "", 0, 5000, "KEYS"}
	args = append(args, from.Do("CLUSTER", "GETKEYSINSLOT", slot, 100).([]any)...)
	from.Do(args...)
	if _, err := s.Settle(t.Context(), key, f); err != nil { // ASK
		t.Errorf("settle while the slot is on its way: %v", err)
	}
	to.Do("CLUSTER", "SETSLOT", slot, "NODE", toID)
	from.Do("CLUSTER", "SETSLOT", slot, "NODE", toID)
	v := mustRead(t, s, key) // MOVED
	if len(v.State.Checkpoints) != 1 || !v.State.Checkpoints[0].Settled {
		t.Errorf("after the move: %+v", v)
	}
	mustClaim(t, s, key, claimOf(t, target(4, "y")))
}
