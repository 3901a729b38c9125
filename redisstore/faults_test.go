package redisstore_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/foldgate/foldgate/ownership"
	"github.com/foldgate/foldgate/redisstore"
	"github.com/foldgate/foldgate/redisstore/redistest"
)

// through opens a store behind a proxy, with every script known to the server
// and one connection in the pool.
func through(t *testing.T, c redisstore.Config) (*redisstore.Store, *redistest.Server, *redistest.Proxy) {
	t.Helper()
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr)
	c.URL = proxy.URL
	s := open(t, c)
	warm(t, s)
	return s, server, proxy
}

// warm runs each script once, on a conversation that nobody else uses.
func warm(t *testing.T, s *redisstore.Store) {
	t.Helper()
	ctx, key := t.Context(), keyOf("warm")
	f := mustCommit(t, s, key, target(1, "warm"), "h")
	_, err := s.Settle(ctx, key, f)
	_, err2 := s.RestoreOperator(ctx, key, f, newID(t))
	g := mustClaim(t, s, key, claimOf(t, target(2, "warmer"))).Fence
	err3 := errors.Join(
		s.Renew(ctx, key, g, ownership.Renewal{Lease: lease}),
		s.Raise(ctx, key, g, "r"),
		s.Finish(ctx, key, g, ownership.Ending{Phase: ownership.Cancelled}))
	_, err4 := s.Clear(ctx, key, g)
	h := mustCommit(t, s, key, target(3, "warmest"), "h")
	_, err5 := s.Restore(ctx, key, h, nil)
	_, err6 := s.Forget(ctx, key)
	mustRead(t, s, key)
	if err := errors.Join(err, err2, err3, err4, err5, err6); err != nil {
		t.Fatalf("warm up: %v", err)
	}
}

// The reply of each operation is lost after the script ran. The store asks again
// by itself and hears what stands, and it stands once.
func TestReplyLost(t *testing.T) {
	s, server, proxy := through(t, redisstore.Config{})
	ctx, key, what := t.Context(), keyOf(t.Name()), target(3, "x")
	lose := func(name string, do func() error) {
		t.Helper()
		proxy.LoseReplies(1)
		if err := do(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		receive(t, name, proxy.Lost())
	}
	already := func(done ownership.Done, err error) error {
		if err == nil && done != ownership.DoneAlready {
			return errors.New("done twice")
		}
		return err
	}
	var f ownership.Fence
	lose("claim", func() error { f = mustClaim(t, s, key, claimOf(t, what)).Fence; return nil })
	if f.Generation != 1 || server.Do("GET", "foldgate:1:{"+string(key)+"}:gen") != "1" {
		t.Errorf("generation %v, want 1", f.Generation)
	}
	lose("renew", func() error { return s.Renew(ctx, key, f, ownership.Renewal{Lease: lease}) })
	lose("commit", func() error { return already(s.Commit(ctx, key, f, commitOf(what, "h"))) })
	lose("settle", func() error { return already(s.Settle(ctx, key, f)) })
	if n := len(mustRead(t, s, key).State.Checkpoints); n != 1 {
		t.Errorf("%d checkpoints, want 1", n)
	}
	lose("operator", func() error { return already(s.RestoreOperator(ctx, key, f, newID(t))) })
	f = mustCommit(t, s, key, target(4, "y"), "h")
	lose("restore", func() error {
		return already(s.Restore(ctx, key, f, &ownership.Failure{Class: "refused", Climb: true}))
	})
	if st := mustRead(t, s, key).State; st.Streak != 1 || len(st.Checkpoints) != 0 {
		t.Errorf("state %+v, want one failure charged and nothing standing", st)
	}
	c := claimOf(t, what)
	c.Bypass = true
	f = mustClaim(t, s, key, c).Fence
	lose("raise", func() error { return s.Raise(ctx, key, f, "reason") })
	lose("clear", func() error { _, err := s.Clear(ctx, key, f); return err })
	c = claimOf(t, what)
	c.Bypass = true
	f = mustClaim(t, s, key, c).Fence
	lose("finish", func() error {
		return s.Finish(ctx, key, f, ownership.Ending{Phase: ownership.Failed, Failure: ownership.Failure{Class: "timeout", Climb: true}})
	})
	if st := mustRead(t, s, key).State; st.Streak != 2 {
		t.Errorf("streak %d, want 2", st.Streak)
	}
}

// No answer in time: the caller learns that it does not know, and asks again.
func TestNoAnswerIsIndeterminate(t *testing.T) {
	s, server, proxy := through(t, redisstore.Config{Timeout: 250 * time.Millisecond})
	key, c := keyOf(t.Name()), claimOf(t, target(3, "x"))
	proxy.Hold()
	_, err := s.Claim(t.Context(), key, c)
	wantError(t, "claim", err, ownership.ErrIndeterminate)
	proxy.Release()
	again := open(t, redisstore.Config{URL: server.URL, Timeout: patience})
	if got := mustClaim(t, again, key, c).Fence; got.Generation != 1 || got.Attempt != c.Attempt {
		t.Errorf("fence %v, want generation 1 of the same attempt", got)
	}
}

// Every connection breaks, again and again, faster than a call can be asked
// again: what was sent is indeterminate, never "not asked".
func TestLostAgainAndAgain(t *testing.T) {
	s, _, proxy := through(t, redisstore.Config{})
	proxy.LoseReplies(10)
	_, err := s.Settle(t.Context(), keyOf(t.Name()), ownership.Fence{Generation: 1, Attempt: newID(t)})
	wantError(t, "settle", err, ownership.ErrIndeterminate)
}

func TestConnectionsCut(t *testing.T) {
	s, _, proxy := through(t, redisstore.Config{})
	for range 5 {
		proxy.Cut()
		mustRead(t, s, keyOf(t.Name()))
	}
}

func TestCallerGoesWhileWaiting(t *testing.T) {
	s, _, proxy := through(t, redisstore.Config{Timeout: patience})
	proxy.Hold()
	for range 4 {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		_, err := s.Claim(ctx, keyOf(t.Name()), claimOf(t, target(3, "x")))
		cancel()
		wantError(t, "claim", err, context.DeadlineExceeded)
		if !errors.Is(err, ownership.ErrIndeterminate) && !errors.Is(err, ownership.ErrUnavailable) {
			t.Errorf("claim: %v", err)
		}
	}
	if s.BreakerState() != "closed" {
		t.Errorf("breaker %s: hurried callers say nothing about the server", s.BreakerState())
	}
	proxy.Release()
}

// A frozen server costs two bounded waits; then nobody waits.
func TestFrozenServer(t *testing.T) {
	const timeout = time.Second
	server := redistest.Start(t)
	s := open(t, redisstore.Config{URL: server.URL, Timeout: timeout})
	warm(t, s)
	key := keyOf(t.Name())
	server.Pause()
	for range 2 {
		if s.BreakerState() != "closed" {
			t.Fatalf("breaker %s too early", s.BreakerState())
		}
		_, err := s.Read(t.Context(), key, nil)
		if !errors.Is(err, ownership.ErrIndeterminate) && !errors.Is(err, ownership.ErrUnavailable) {
			t.Fatalf("read: %v", err)
		}
	}
	if s.BreakerState() != "open" {
		t.Fatalf("breaker %s, want it open", s.BreakerState())
	}
	// A call that went to the server would outlast this context.
	ctx, cancel := context.WithTimeout(t.Context(), timeout/2)
	defer cancel()
	for range 100 {
		_, err := s.Read(ctx, key, nil)
		wantError(t, "read", err, ownership.ErrUnavailable)
		if errors.Is(err, context.DeadlineExceeded) {
			t.Fatal("a call waited although the breaker is open")
		}
	}
	wantError(t, "health", s.Health(t.Context()), ownership.ErrUnavailable)
	server.Resume()
	if err := s.Health(t.Context()); err != nil {
		t.Errorf("health of a server that woke up: %v", err)
	}
	eventually(t, "the breaker closes", func() bool {
		_, err := s.Read(t.Context(), key, nil)
		return err == nil && s.BreakerState() == "closed"
	})
}

// eventually repeats a question until the answer is yes.
func eventually(t *testing.T, what string, ask func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !ask() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("never: %s", what)
		}
	}
}

func TestServerIsNotThere(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.Kill()
	s := open(t, redisstore.Config{URL: server.URL})
	key, c := keyOf(t.Name()), claimOf(t, target(3, "x"))
	for range 3 {
		_, err := s.Claim(t.Context(), key, c)
		wantError(t, "claim", err, ownership.ErrUnavailable)
	}
	if s.BreakerState() != "open" {
		t.Errorf("breaker %s, want it open", s.BreakerState())
	}
	server.Restart()
	eventually(t, "a claim works", func() bool { _, err := s.Claim(t.Context(), key, c); return err == nil })
}

// The breaker's times, on a server that refuses every connection, in a bubble.
func TestBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var dials int
		client := redis.NewClient(&redis.Options{
			Addr: "127.0.0.1:1", MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true,
			Dialer: func(context.Context, string, string) (net.Conn, error) {
				dials++
				return nil, &net.OpError{Op: "dial", Err: errors.New("refused")}
			},
		})
		defer func() { _ = client.Close() }()
		s := redisstore.New(client, redisstore.Options{})
		ask := func(want int, state string) {
			t.Helper()
			_, err := s.Read(t.Context(), keyOf("x"), nil)
			wantError(t, "read", err, ownership.ErrUnavailable)
			if dials != want || s.BreakerState() != state {
				t.Errorf("%d dials, breaker %s; want %d, %s", dials, s.BreakerState(), want, state)
			}
		}
		ask(1, "closed")
		ask(2, "open")
		ask(2, "open")
		<-time.After(2*time.Second + time.Millisecond)
		if s.BreakerState() != "half-open" {
			t.Errorf("breaker %s, want half-open", s.BreakerState())
		}
		ask(3, "open")
		ask(3, "open")
	})
}

// A server that swallows packets: the dial ends before the call does, so it is
// known that nothing was asked.
func TestDialThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := redis.NewClient(&redis.Options{
			Addr: "127.0.0.1:1", MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true, DialTimeout: 900 * time.Millisecond,
			Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			},
		})
		defer func() { _ = client.Close() }()
		s := redisstore.New(client, redisstore.Options{})
		began := time.Now()
		for range 2 {
			_, err := s.Read(t.Context(), keyOf("x"), nil)
			wantError(t, "read", err, ownership.ErrUnavailable)
		}
		if took := time.Since(began); took > 2*time.Second || s.BreakerState() != "open" {
			t.Errorf("two calls took %v, breaker %s", took, s.BreakerState())
		}
	})
}

// A client that repeats by itself hides what became of its earlier tries.
func TestForeignClientWithRetries(t *testing.T) {
	server := redistest.Start(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr, MaxRetries: 2, ContextTimeoutEnabled: true})
	defer func() { _ = client.Close() }()
	s := redisstore.New(client, redisstore.Options{})
	mustClaim(t, s, keyOf(t.Name()), claimOf(t, target(3, "x")))
	server.Kill()
	_, err := s.Forget(t.Context(), keyOf(t.Name()))
	wantError(t, "forget", err, ownership.ErrIndeterminate)
	if err := s.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if err := client.Ping(t.Context()).Err(); errors.Is(err, redis.ErrClosed) {
		t.Error("the caller's client was closed")
	}
}

// The sentinels are asked who the master is, and asked again after a failover.
func TestSentinelFailover(t *testing.T) {
	t.Parallel()
	master, replica := redistest.Start(t), redistest.Start(t)
	replica.Follow(master)
	sentinel := redistest.StartSentinel(t, master)
	s := open(t, redisstore.Config{URL: sentinel.URL})
	key, what := keyOf(t.Name()), target(3, "x")
	f := mustClaim(t, s, key, claimOf(t, what)).Fence
	sentinel.Failover(master, replica)
	eventually(t, "the commit reaches the new master", func() bool {
		_, err := s.Commit(t.Context(), key, f, commitOf(what, "h"))
		if err != nil && !isAny(err, ownership.ErrUnavailable, ownership.ErrIndeterminate) {
			t.Fatalf("commit: %v", err)
		}
		return err == nil
	})
	if v := mustRead(t, open(t, redisstore.Config{URL: replica.URL}), key); v.Owner.Fence != f || len(v.State.Checkpoints) != 1 {
		t.Errorf("on the new master: %+v", v)
	}
}

func TestScriptFlush(t *testing.T) {
	s, server := real(t)
	key, what := keyOf(t.Name()), target(3, "x")
	f := mustClaim(t, s, key, claimOf(t, what)).Fence
	server.Do("SCRIPT", "FLUSH")
	if _, err := s.Commit(t.Context(), key, f, commitOf(what, "h")); err != nil {
		t.Errorf("commit: %v", err)
	}
	server.Do("SCRIPT", "FLUSH")
	if v := mustRead(t, s, key); len(v.State.Checkpoints) != 1 {
		t.Errorf("%d checkpoints, want 1", len(v.State.Checkpoints))
	}
}

// Writes are refused, reads go on, and the breaker stays closed for them.
func TestReadOnlyReplica(t *testing.T) {
	master, replica := redistest.Start(t), redistest.Start(t)
	at := open(t, redisstore.Config{URL: master.URL})
	key := keyOf(t.Name())
	f := mustCommit(t, at, key, target(3, "x"), "h")
	replica.Follow(master)
	s := open(t, redisstore.Config{URL: replica.URL})
	for range 4 {
		_, err := s.Settle(t.Context(), key, f)
		wantError(t, "settle", err, ownership.ErrUnavailable)
	}
	if v := mustRead(t, s, key); len(v.State.Checkpoints) != 1 || v.Owner.Phase != ownership.Committed {
		t.Errorf("read: %+v", v)
	}
	if s.BreakerState() != "closed" {
		t.Errorf("breaker %s, want it closed", s.BreakerState())
	}
}

// A master that was demoted and emptied must not say "lost", which is final: the
// new master knows better.
func TestDemotedMasterGivesNoAnswer(t *testing.T) {
	s, server := real(t)
	ctx, key := t.Context(), keyOf(t.Name())
	f := ownership.Fence{Generation: 1, Attempt: newID(t)}
	server.Do("REPLICAOF", "127.0.0.1", "1")
	calls := map[string]func() error{
		"claim": func() error {
			c := claimOf(t, target(3, "x"))
			c.Supersede = f
			_, err := s.Claim(ctx, key, c)
			return err
		},
		"renew":    func() error { return s.Renew(ctx, key, f, ownership.Renewal{Lease: lease}) },
		"commit":   func() error { _, err := s.Commit(ctx, key, f, commitOf(target(3, "x"), "h")); return err },
		"settle":   func() error { _, err := s.Settle(ctx, key, f); return err },
		"restore":  func() error { _, err := s.Restore(ctx, key, f, nil); return err },
		"finish":   func() error { return s.Finish(ctx, key, f, ownership.Ending{Phase: ownership.Abandoned}) },
		"raise":    func() error { return s.Raise(ctx, key, f, "r") },
		"clear":    func() error { _, err := s.Clear(ctx, key, f); return err },
		"operator": func() error { _, err := s.RestoreOperator(ctx, key, f, newID(t)); return err },
		"forget":   func() error { _, err := s.Forget(ctx, key); return err },
	}
	for name, call := range calls {
		wantError(t, name, call(), ownership.ErrUnavailable)
	}
}

func TestOutOfMemory(t *testing.T) {
	s, server := real(t)
	key := keyOf(t.Name())
	f := mustCommit(t, s, key, target(3, "x"), "h")
	server.Do("CONFIG", "SET", "maxmemory", "1")
	for range 4 {
		_, err := s.Settle(t.Context(), key, f)
		wantError(t, "settle", err, ownership.ErrUnavailable)
	}
	v := mustRead(t, s, key)
	if v.Owner.Phase != ownership.Committed || v.State.Checkpoints[0].Settled {
		t.Errorf("half a write: %+v", v)
	}
	if s.BreakerState() != "closed" {
		t.Errorf("breaker %s, want it closed", s.BreakerState())
	}
	server.Do("CONFIG", "SET", "maxmemory", "0")
	if done, err := s.Settle(t.Context(), key, f); err != nil || done != ownership.DoneNow {
		t.Errorf("settle: %d, %v", done, err)
	}
}

func TestWiped(t *testing.T) {
	s, server := real(t)
	key, what := keyOf(t.Name()), target(3, "x")
	f := mustClaim(t, s, key, claimOf(t, what)).Fence
	server.Restart()
	_, err := s.Commit(t.Context(), key, f, commitOf(what, "h"))
	wantError(t, "commit", err, ownership.ErrLost)
	if next := mustClaim(t, s, key, claimOf(t, what)).Fence; next.Generation != f.Generation {
		t.Fatalf("generation %v, want the number to repeat", next.Generation)
	}
	_, err = s.Commit(t.Context(), key, f, commitOf(what, "h"))
	wantError(t, "commit with the same number", err, ownership.ErrLost)
}

func TestPasswordAndTLS(t *testing.T) {
	server := redistest.Start(t, redistest.WithPassword("pass:word@x"))
	if err := open(t, redisstore.Config{URL: "redis://:pass%3Aword%40x@" + server.Addr}).Health(t.Context()); err != nil {
		t.Errorf("health with the password: %v", err)
	}
	s := open(t, redisstore.Config{URL: "redis://" + server.Addr})
	_, err := s.Read(t.Context(), keyOf(t.Name()), nil)
	wantError(t, "read without the password", err, ownership.ErrUnavailable)

	certificate := redistest.NewCertificate(t)
	secure := redistest.Start(t, redistest.WithTLS(certificate))
	_, err = open(t, redisstore.Config{URL: secure.URL}).Read(t.Context(), keyOf(t.Name()), nil)
	wantError(t, "read from a server that nobody vouches for", err, ownership.ErrUnavailable)
	trusted := redisstore.New(secure.Client(), redisstore.Options{})
	t.Cleanup(func() { _ = trusted.Close() })
	mustClaim(t, trusted, keyOf(t.Name()), claimOf(t, target(3, "x")))
}

func TestClosed(t *testing.T) {
	server := redistest.Start(t)
	s, err := redisstore.Open(t.Context(), redisstore.Config{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	hints := s.Watch(t.Context(), keyOf(t.Name()))
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Errorf("close: %v", err)
	}
	for range hints {
	}
	_, open := <-s.Watch(t.Context(), keyOf(t.Name()))
	if open {
		t.Error("a watch on a closed store is open")
	}
	_, err = s.Read(t.Context(), keyOf(t.Name()), nil)
	wantError(t, "read", err, ownership.ErrUnavailable)
}
