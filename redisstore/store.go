package redisstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/foldgate/foldgate/ownership"
)

var _ ownership.Store = (*Store)(nil)

// Store is an ownership.Store over Redis. It is safe for concurrent use. Make
// one with Open or New and end it with Close.
type Store struct {
	client    redis.UniversalClient
	owned     bool // Close closes the client
	witnessed bool // every try of the client is seen by a witness
	retention time.Duration
	timeout   time.Duration
	publish   string // the command that scripts publish with
	scripts   *library
	breaker   *breaker
	hub       *hub
	seals     seals
	log       *slog.Logger
	closing   sync.Once
	closed    error
}

// Open makes a store for the deployment that c names. An error means that c is
// wrong, with every problem named; a server that is not there is none, since a
// gateway serves without it: then calls answer ErrUnavailable until it is. ctx
// bounds one look at the server, for the log.
func Open(ctx context.Context, c Config) (*Store, error) {
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("redisstore: open: %w", err)
	}
	where, err := ParseURL(c.URL)
	if err != nil {
		return nil, fmt.Errorf("redisstore: open: %w", err)
	}
	c.DialTimeout = cmp.Or(c.DialTimeout, DefaultDialTimeout)
	c.Timeout = cmp.Or(c.Timeout, DefaultTimeout)
	s := New(connect(where, c), Options{Retention: c.Retention, Timeout: c.Timeout, Keys: c.Keys, Logger: c.Logger})
	s.owned, s.witnessed = true, true
	if err := s.Health(ctx); err != nil {
		s.log.LogAttrs(ctx, slog.LevelWarn, "redis is not there, serving without it", slog.String("error", err.Error()))
	}
	return s, nil
}

// New makes a store over a client that stays the caller's: Close leaves it open.
// The client should have ContextTimeoutEnabled set and its own retries off
// (MaxRetries -1), as Open's has: with retries of its own it hides whether an
// earlier try was executed, so any broken connection is then ErrIndeterminate. A
// single-server client without retries is given a hook that watches its calls.
func New(client redis.UniversalClient, o Options) *Store {
	o = o.withDefaults()
	s := &Store{
		client:    client,
		retention: o.Retention,
		timeout:   o.Timeout,
		publish:   "PUBLISH",
		scripts:   newLibrary(),
		hub:       newHub(client),
		log:       o.Logger,
	}
	s.SetKeys(o.Keys)
	switch c := client.(type) {
	case *redis.Client:
		// With its repeats off, one call is one try, and a witness would see no more
		// than the call.
		if c.Options().MaxRetries <= 0 {
			c.AddHook(witness{})
			s.witnessed = true
		}
	case *redis.ClusterClient:
		// Sharded: a plain PUBLISH would go to every node.
		s.publish = "SPUBLISH"
	}
	s.breaker = newBreaker(func(from, to string) {
		s.log.LogAttrs(context.Background(), slog.LevelWarn, "redis breaker changed",
			slog.String("from", from), slog.String("to", to))
	})
	return s
}

// Close ends every watch and, for a store made by Open, the connections. Calls
// that run may answer ErrUnavailable or ErrIndeterminate. It may be repeated.
func (s *Store) Close() error {
	s.closing.Do(func() {
		s.hub.close()
		if !s.owned {
			return
		}
		if err := s.client.Close(); err != nil {
			s.closed = errors.New("redisstore: close: " + err.Error())
		}
	})
	return s.closed
}

// Health asks the server for a sign of life, past the breaker. The error is
// ErrUnavailable.
func (s *Store) Health(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	if err := s.client.Ping(bounded).Err(); err != nil {
		f := &failure{cause: err}
		return f.public(ctx, "health")
	}
	return nil
}

// BreakerState is "closed" while calls go through, "open" while they fail at
// once, "half-open" while one call probes.
func (s *Store) BreakerState() string { return s.breaker.State().String() }
