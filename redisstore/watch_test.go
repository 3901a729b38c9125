package redisstore_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	"github.com/foldgate/foldgate/ownership"
	"github.com/foldgate/foldgate/redisstore"
	"github.com/foldgate/foldgate/redisstore/redistest"
)

// hints ends attempts until a hint came: a subscription takes effect some time
// after Watch returned.
func hinted(t *testing.T, by *redisstore.Store, key ownership.Key, ch <-chan struct{}) {
	t.Helper()
	eventually(t, "a hint", func() bool {
		// Forget works whatever stands; a server that is away tries again.
		_, _ = by.Forget(t.Context(), key)
		select {
		case _, ok := <-ch:
			if !ok {
				t.Fatal("closed")
			}
			return true
		default:
			return false
		}
	})
}

// Many watches of one store use one connection, which goes with the last.
func TestWatchesShareAConnection(t *testing.T) {
	s, server := real(t)
	ctx, cancel := context.WithCancel(t.Context())
	const n = 20
	var watches []<-chan struct{}
	for i := range n {
		watches = append(watches, s.Watch(ctx, keyOf(strconv.Itoa(i))))
	}
	twice := s.Watch(ctx, keyOf("0"))
	for i, ch := range watches {
		hinted(t, s, keyOf(strconv.Itoa(i)), ch)
	}
	receive(t, "the second watcher of one conversation", twice)
	if got := fmt.Sprint(server.Do("PUBSUB", "NUMSUB", "foldgate:1:{"+string(keyOf("0"))+"}:events")); got != "[foldgate:1:{"+string(keyOf("0"))+"}:events 1]" {
		t.Errorf("subscribers: %v, want 1", got)
	}
	if got, ok := server.Do("PUBSUB", "CHANNELS").([]any); !ok || len(got) != n {
		t.Errorf("%d channels, want %d", len(got), n)
	}
	cancel()
	for _, ch := range append(watches, twice) {
		for range ch {
		}
	}
	eventually(t, "nothing is subscribed to", func() bool {
		got, ok := server.Do("PUBSUB", "CHANNELS").([]any)
		return ok && len(got) == 0
	})
}

func TestWatchReconnects(t *testing.T) {
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr)
	watching := open(t, redisstore.Config{URL: proxy.URL})
	other := open(t, redisstore.Config{URL: server.URL})
	key := keyOf(t.Name())
	hints := watching.Watch(t.Context(), key)
	hinted(t, other, key, hints)
	for len(hints) > 0 {
		<-hints
	}
	proxy.Cut()
	// Nothing changes, yet something may have while the connection was away.
	receive(t, "a hint after the reconnect", hints)
	hinted(t, other, key, hints)
}

func TestWatchOfAServerThatIsAway(t *testing.T) {
	server := redistest.Start(t)
	server.Kill()
	s := open(t, redisstore.Config{URL: server.URL})
	key := keyOf(t.Name())
	ctx, cancel := context.WithCancel(t.Context())
	hints := s.Watch(ctx, key)
	server.Restart()
	hinted(t, s, key, hints)
	cancel()
	for range hints {
	}
}
