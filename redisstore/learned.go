package redisstore

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/foldgate/foldgate/ownership"
)

// MaxLearnedModels is how many models one scope keeps; the one saved longest ago
// is dropped.
const MaxLearnedModels = 64

// maxLearnedValue bounds one value, in bytes: it is a few numbers.
const maxLearnedValue = 4096

// Learned shares what replicas learn about models: windows and corrections. It
// takes no part in the protocol and carries no fence: the last writer wins, and
// what is lost is learned again. Errors are those of the store. It is safe for
// concurrent use and ends with its store.
type Learned struct{ store *Store }

// Learned shares learned values over the same connections.
func (s *Store) Learned() *Learned { return &Learned{store: s} }

// Save keeps value, at most 4 KiB that only the caller understands, as what was
// learned about model in scope, for Config.Retention after the scope's last
// write, and announces the scope. scope is any text that names a tenant and an
// upstream; Redis sees its hash only.
func (l *Learned) Save(ctx context.Context, scope, model string, value []byte) error {
	s, op := l.store, l.store.scripts.saveLearned
	if model == "" || len(model) > maxLearnedValue || len(value) > maxLearnedValue {
		return named(op.name, fmt.Errorf("%w: model and value have 1 to %d bytes", ownership.ErrInvalid, maxLearnedValue))
	}
	r, err := s.call(ctx, op, []string{learnedKey(scope)},
		[]any{span(s.retention), learnedChannel, ScopeHash(scope), strconv.Itoa(MaxLearnedModels), model, value})
	if err != nil {
		return err
	}
	_, err = r.done()
	return refused(op, &r, err)
}

// Load returns what is kept for scope, by model. An unknown scope is empty.
func (l *Learned) Load(ctx context.Context, scope string) (map[string][]byte, error) {
	const op = "learned_load"
	s := l.store
	var stored map[string]string
	err := s.guarded(ctx, op, func(ctx context.Context) (err error) {
		stored, err = s.client.HGetAll(ctx, learnedKey(scope)).Result()
		return err
	})
	if err != nil {
		return nil, err
	}
	values := make(map[string][]byte, len(stored))
	for model, kept := range stored {
		if _, value, ok := strings.Cut(kept, " "); ok {
			values[model] = []byte(value)
		}
	}
	return values, nil
}

// Hash is ScopeHash, the form in which Announcements names a scope.
func (l *Learned) Hash(scope string) string { return ScopeHash(scope) }

// Announcements yields the ScopeHash of every scope that is saved, by any
// replica, until ctx ends; then the channel is closed. Listening begins in the
// background, and again after a connection was lost: each time an empty string
// says that it has begun, and that what was saved before may have been missed.
// They are hints: some may be missing, so load every now and then too. A receiver
// that is too slow for 64 of them misses the rest, but no beginning.
func (l *Learned) Announcements(ctx context.Context) <-chan string {
	out := make(chan string, 64)
	if !l.store.hub.start(func() { l.announce(ctx, out) }) {
		close(out)
	}
	return out
}

func (l *Learned) announce(ctx context.Context, out chan<- string) {
	defer close(out)
	pubsub := l.store.client.Subscribe(ctx)
	defer func() { _ = pubsub.Close() }()
	// An error needs nothing here: go-redis keeps the name and subscribes when it
	// connects again.
	_ = pubsub.Subscribe(ctx, learnedChannel)
	messages := pubsub.ChannelWithSubscriptions()
	var begun chan<- string // out while a beginning is to be told
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.store.hub.ended:
			return
		case begun <- "":
			begun = nil
		case m, ok := <-messages:
			if !ok {
				return
			}
			switch m := m.(type) {
			case *redis.Subscription:
				begun = out
			case *redis.Message:
				select {
				case out <- m.Payload:
				default:
				}
			}
		}
	}
}
