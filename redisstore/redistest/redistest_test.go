package redistest_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/foldgate/foldgate/redisstore/redistest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestServer(t *testing.T) {
	s := redistest.Start(t)
	s.Do("SET", "a", "1")
	if got := s.Do("GET", "a"); got != "1" {
		t.Errorf("get: %v", got)
	}
	s.FlushAll()
	if got := s.Do("GET", "a"); got != nil {
		t.Errorf("get after flush: %v", got)
	}
	addr := s.Addr
	s.Do("SET", "a", "1")
	s.Restart()
	if got := s.Do("GET", "a"); got != nil || s.Addr != addr {
		t.Errorf("get after restart: %v at %s, was at %s", got, s.Addr, addr)
	}
}

func TestPause(t *testing.T) {
	s := redistest.Start(t)
	s.Pause()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	c := redis.NewClient(&redis.Options{Addr: s.Addr, ContextTimeoutEnabled: true, MaxRetries: -1})
	defer func() { _ = c.Close() }()
	if err := c.Ping(ctx).Err(); err == nil {
		t.Error("a frozen server answered")
	}
	s.Resume()
	s.Do("PING")
}

func TestProxy(t *testing.T) {
	s := redistest.Start(t)
	p := redistest.NewProxy(t, s.Addr)
	c := redis.NewClient(&redis.Options{Addr: p.Addr, MaxRetries: -1})
	defer func() { _ = c.Close() }()
	if err := c.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	p.LoseReplies(1)
	if err := c.Incr(t.Context(), "n").Err(); err == nil {
		t.Error("the reply was not lost")
	}
	<-p.Lost()
	if got := s.Do("GET", "n"); got != "1" {
		t.Errorf("n is %v: the command did not run once", got)
	}
	p.Hold()
	done := make(chan error, 1)
	go func() { done <- c.Incr(t.Context(), "n").Err() }()
	select {
	case err := <-done:
		t.Errorf("a held reply came: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	p.Release()
	if err := <-done; err != nil {
		t.Errorf("after the release: %v", err)
	}
	p.Cut()
	if err := c.Ping(t.Context()).Err(); err != nil {
		// The pool may not have noticed yet; the next one makes a connection.
		if err := c.Ping(t.Context()).Err(); err != nil {
			t.Errorf("after the cut: %v", err)
		}
	}
}
