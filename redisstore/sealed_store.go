package redisstore

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"

	"github.com/foldgate/foldgate/ownership"
)

// Unopened counts the handoffs that were read and could not be opened, by reason,
// since the store was made. A handoff counts each time that it is read.
type Unopened struct {
	Key    uint64 // its key is not among the store's
	Broken uint64 // it is damaged, or was moved there
	Plain  uint64 // it is not encrypted, and the keys do not say plain
}

// Unopened counts what could not be opened so far.
func (s *Store) Unopened() Unopened {
	return Unopened{Key: s.seals.noKey.count.Load(), Broken: s.seals.broken.count.Load(), Plain: s.seals.notPlain.count.Load()}
}

// SetKeys has what is written from now on encrypted by k, and what is read opened
// by it; see Config.Keys. Calls that run may go by the keys before.
func (s *Store) SetKeys(k *Keys) {
	s.seals.keys.Store(k)
	for _, r := range [...]*tally{&s.seals.noKey, &s.seals.broken, &s.seals.notPlain} {
		r.told.Store(false)
	}
}

// seals are the keys, and what came of them.
type seals struct {
	keys                    atomic.Pointer[Keys]
	noKey, broken, notPlain tally
}

// tally counts one reason; told is whether the log heard of it.
type tally struct {
	count atomic.Uint64
	told  atomic.Bool
}

// open opens what is stored in a slot. False: it is as if it were not there. The
// first one for a reason is logged; those after it, of which there may be one for
// each read, are only counted.
func (s *Store) open(ctx context.Context, stored []byte, at slot) ([]byte, bool) {
	handoff, id, err := s.seals.keys.Load().opened(stored, at)
	if err == nil {
		return handoff, true
	}
	t := &s.seals.broken
	switch {
	case errors.Is(err, errNoKey):
		t = &s.seals.noKey
	case errors.Is(err, errNotPlain):
		t = &s.seals.notPlain
	}
	t.count.Add(1)
	if t.told.CompareAndSwap(false, true) {
		s.log.LogAttrs(ctx, slog.LevelWarn, "handoff cannot be opened, further ones are only counted",
			slog.String("error", err.Error()), slog.String("store_key", id), slog.String("conversation", string(at.key)))
	}
	return nil, false
}

// openAll opens the handoffs of a view and leaves out the checkpoints whose handoff
// cannot be. Those whose bytes did not travel stay: the caller holds them.
func (s *Store) openAll(ctx context.Context, key ownership.Key, v *ownership.View) {
	standing := v.State.Checkpoints[:0]
	for _, c := range v.State.Checkpoints {
		if c.Handoff != nil {
			var ok bool
			if c.Handoff, ok = s.open(ctx, c.Handoff, slot{key, c.Fence, c.Target}); !ok {
				continue
			}
		}
		standing = append(standing, c)
	}
	v.State.Checkpoints = standing
}
