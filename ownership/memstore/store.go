package memstore

import (
	"container/list"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foldgate/foldgate/ownership"
)

// Defaults of Options.
const (
	DefaultRetention        = 168 * time.Hour
	DefaultMaxConversations = 100_000
)

// sweep bounds how many conversations one insertion looks at to make room.
const sweep = 16

// Options configures a Store. The zero Options are ready to use.
type Options struct {
	// Now is the store's clock; nil: time.Now.
	Now func() time.Time
	// Retention is how long a conversation is kept after the last write to it, and
	// never shorter than its attempt may take; 0 or less: DefaultRetention.
	Retention time.Duration
	// MaxConversations bounds how many are kept; 0 or less:
	// DefaultMaxConversations. Conversations with a live owner may go over it.
	MaxConversations int
}

// Store is an ownership.Store in memory. It is safe for concurrent use.
type Store struct {
	opts Options
	hub  hub

	mu    sync.Mutex // index only; never held while a conversation's lock is wanted
	convs map[ownership.Key]*conversation
	order *list.List // of *conversation, most recently used first
}

var _ ownership.Store = (*Store)(nil)

// New makes an empty store.
func New(o Options) *Store {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Retention <= 0 {
		o.Retention = DefaultRetention
	}
	if o.MaxConversations <= 0 {
		o.MaxConversations = DefaultMaxConversations
	}
	return &Store{opts: o, convs: make(map[ownership.Key]*conversation), order: list.New()}
}

// Len is the number of conversations kept.
func (s *Store) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.convs)
}

// Wipe forgets everything, counters included, as a restarted empty server would.
// Calls under way finish on what is gone already.
func (s *Store) Wipe() {
	s.mu.Lock()
	s.convs = make(map[ownership.Key]*conversation)
	s.order.Init()
	s.mu.Unlock()
	s.hub.all()
}

// conversation is one entry of the index.
type conversation struct {
	key  ownership.Key
	elem *list.Element // under Store.mu
	pins int           // under Store.mu: calls that use it; pinned ones are not evicted

	// What eviction looks at without the lock, in nanoseconds: when the record
	// expires, and until when an attempt works (0: none).
	expires, liveUntil atomic.Int64

	mu  sync.Mutex
	rec record
}

// A call works on one record, with the time at which it runs.
type call func(rec *record, now time.Time) error

// presence says what a call does about a conversation that is not there.
type presence int

const (
	existing presence = iota // it runs on an empty record that is dropped
	creating                 // the conversation is entered
)

// do runs fn as one atomic step on the conversation.
func (s *Store) do(ctx context.Context, key ownership.Key, p presence, fn call) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: %w", ownership.ErrUnavailable, err)
	}
	c := s.pin(key, p)
	if c == nil {
		return fn(&record{}, s.opts.Now())
	}
	announce, err := s.step(c, fn)
	s.unpin(c)
	if announce {
		s.hub.notify(key)
	}
	return err
}

func (s *Store) step(c *conversation, fn call) (announce bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := s.opts.Now()
	if c.rec.expired(now) {
		c.rec = record{}
	}
	err = fn(&c.rec, now)
	if c.rec.written {
		c.rec.expires = now.Add(max(s.opts.Retention, c.rec.span()))
		c.expires.Store(c.rec.expires.UnixNano())
	}
	c.liveUntil.Store(c.rec.liveUntil(now))
	announce = c.rec.announce
	c.rec.written, c.rec.announce = false, false
	return announce, err
}

// pin finds the conversation, or enters it, and keeps it from eviction.
func (s *Store) pin(key ownership.Key, p presence) *conversation {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.convs[key]
	switch {
	case c != nil:
		s.order.MoveToFront(c.elem)
	case p == existing:
		return nil
	default:
		c = &conversation{key: key}
		s.makeRoom()
		c.elem = s.order.PushFront(c)
		s.convs[key] = c
	}
	c.pins++
	return c
}

// unpin lets go of c. What nobody ever wrote to, or a wipe took away, is dropped.
func (s *Store) unpin(c *conversation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.pins--; c.pins == 0 && c.expires.Load() == 0 {
		s.drop(c)
	}
}

// makeRoom drops what expired and, while there are too many, what is idle, from
// the least recently used end.
func (s *Store) makeRoom() {
	now := s.opts.Now().UnixNano()
	e := s.order.Back()
	for range sweep {
		if e == nil {
			return
		}
		c := e.Value.(*conversation)
		e = e.Prev()
		if c.pins > 0 {
			continue
		}
		full := len(s.convs) >= s.opts.MaxConversations
		if c.expires.Load() <= now || (full && c.liveUntil.Load() <= now) {
			s.drop(c)
		}
	}
}

func (s *Store) drop(c *conversation) {
	if s.convs[c.key] != c {
		return // wiped meanwhile, perhaps entered anew
	}
	s.order.Remove(c.elem)
	delete(s.convs, c.key)
}
