package redisstore_test

import (
	"bytes"
	"context"
	"net"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/foldgate/foldgate/ownership"
	"github.com/foldgate/foldgate/ownership/ownershiptest"
	"github.com/foldgate/foldgate/redisstore"
	"github.com/foldgate/foldgate/redisstore/redistest"
)

// The behaviours of the single-process original, between two clients of one
// server that stand for two replicas.
func TestSeed(t *testing.T) {
	server := redistest.Start(t)
	ownershiptest.RunSeed(t, func(t *testing.T) ownershiptest.Harness {
		return ownershiptest.Harness{
			A:         open(t, redisstore.Config{URL: server.URL}),
			B:         open(t, redisstore.Config{URL: server.URL}),
			Abilities: ownershiptest.Abilities{Notifies: true, Parallel: true},
		}
	})
}

// What RunSeed cannot see from outside: a cleared flag leaves no half behind.
func TestSeedOwnerClearLeavesNoField(t *testing.T) {
	s, server := real(t)
	key := keyOf(t.Name())
	f := mustClaim(t, s, key, claimOf(t, target(1, "a"))).Fence
	if err := s.Raise(t.Context(), key, f, "operator"); err != nil {
		t.Fatalf("raise: %v", err)
	}
	flag := func() []string {
		var found []string
		for _, name := range server.Client().HKeys(t.Context(), "foldgate:1:{"+string(key)+"}:conversation").Val() {
			if strings.HasPrefix(name, "cancel") {
				found = append(found, name)
			}
		}
		return found
	}
	if len(flag()) == 0 {
		t.Fatal("a raised flag has no field: this test looks in the wrong place")
	}
	if p, err := s.Clear(t.Context(), key, f); err != nil || p != ownership.Cancelled {
		t.Fatalf("clear: %s, %v", p, err)
	}
	if left := flag(); len(left) != 0 {
		t.Errorf("fields %q are left", left)
	}
}

// The claim in the middle of a restore, on the wire: the restore has run, its
// reply is still under way, and another replica claims.
func TestSeedClaimWhileTheRestoresReplyIsHeld(t *testing.T) {
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr)
	slow := open(t, redisstore.Config{URL: proxy.URL, Timeout: patience})
	other := open(t, redisstore.Config{URL: server.URL})
	// The script is on the server before replies are held.
	warm := keyOf("warm")
	if _, err := slow.Restore(t.Context(), warm, mustCommit(t, slow, warm, target(1, "a"), "s"), nil); err != nil {
		t.Fatalf("restore: %v", err)
	}
	key := keyOf(t.Name())
	f := mustCommit(t, slow, key, target(1, "a"), "refused by the upstream")

	proxy.Hold()
	type result struct {
		done ownership.Done
		err  error
	}
	answer := make(chan result, 1)
	go func() {
		done, err := slow.Restore(t.Context(), key, f, nil)
		answer <- result{done, err}
	}()
	eventually(t, "the restore ran", func() bool { return mustRead(t, other, key).Owner.Phase == ownership.Restored })
	claimed := mustClaim(t, other, key, claimOf(t, target(2, "b")))
	if len(claimed.State.Checkpoints) != 0 || claimed.Fence.Generation != f.Generation+1 {
		t.Errorf("the claim found %+v under %v", claimed.State, claimed.Fence)
	}
	before := mustRead(t, other, key)
	proxy.Release()
	if r := receive(t, "the restore's answer", answer); r.err != nil || r.done != ownership.DoneNow {
		t.Errorf("restore: %d, %v", r.done, r.err)
	}
	after := mustRead(t, other, key)
	if !reflect.DeepEqual(after.State, before.State) || after.Owner.Fence != claimed.Fence {
		t.Errorf("it stands at %+v, was %+v", after, before)
	}
}

// A conversation whose call hangs in its connection keeps no other conversation
// of the same store waiting.
func TestSeedAHungConnectionStallsNobodyElse(t *testing.T) {
	server := redistest.Start(t)
	hung, free := keyOf("hung"), keyOf("free")
	hang := &hanging{word: []byte(hung), open: make(chan struct{}), sent: make(chan struct{}, 1)}
	release := sync.OnceFunc(func() { close(hang.open) })
	client := redis.NewClient(&redis.Options{
		Addr: server.Addr, Protocol: 2, DisableIdentity: true, ContextTimeoutEnabled: true, MaxRetries: -1,
		ReadTimeout: patience, WriteTimeout: patience, Dialer: hang.dial,
	})
	s := redisstore.New(client, redisstore.Options{Timeout: patience})
	t.Cleanup(func() {
		release()
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		if err := client.Close(); err != nil {
			t.Errorf("close the client: %v", err)
		}
	})
	answer, claim := make(chan error, 1), claimOf(t, target(1, "a"))
	go func() {
		_, err := s.Claim(t.Context(), hung, claim)
		answer <- err
	}()
	receive(t, "the claim that hangs", hang.sent)
	if f := mustCommit(t, s, free, target(1, "a"), "s"); f.Generation != 1 {
		t.Errorf("the other conversation begins at %v", f)
	}
	select {
	case err := <-answer:
		t.Errorf("the claim did not hang: %v", err)
	default:
	}
	release()
	if err := receive(t, "the claim's answer", answer); err != nil {
		t.Errorf("claim: %v", err)
	}
}

// hanging makes connections on which nothing is read once a command with word in
// it was sent, until open is closed.
type hanging struct {
	word []byte
	open chan struct{}
	sent chan struct{} // told of the first such command
}

func (h *hanging) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, addr)
	return &hangingConn{Conn: conn, h: h}, err
}

type hangingConn struct {
	net.Conn
	h     *hanging
	mu    sync.Mutex
	hangs bool
}

func (c *hangingConn) Write(b []byte) (int, error) {
	if bytes.Contains(b, c.h.word) {
		c.mu.Lock()
		c.hangs = true
		c.mu.Unlock()
		select {
		case c.h.sent <- struct{}{}:
		default:
		}
	}
	return c.Conn.Write(b)
}

func (c *hangingConn) Read(b []byte) (int, error) {
	c.mu.Lock()
	hangs := c.hangs
	c.mu.Unlock()
	if hangs {
		<-c.h.open
	}
	return c.Conn.Read(b)
}
