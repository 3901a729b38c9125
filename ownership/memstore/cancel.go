package memstore

import (
	"context"
	"time"

	"github.com/foldgate/foldgate/ownership"
)

// Raise implements ownership.Store.
func (s *Store) Raise(ctx context.Context, key ownership.Key, f ownership.Fence, reason string) error {
	if err := check(key, f.Check(), ownership.CheckReason(reason)); err != nil {
		return err
	}
	return s.do(ctx, key, existing, func(rec *record, now time.Time) error { return rec.raise(f, reason, now) })
}

func (r *record) raise(f ownership.Fence, reason string, now time.Time) error {
	if r.current(f) != nil {
		switch p := r.checkpoint(f); {
		case p == nil:
			return ownership.ErrNotCurrent
		case p.Settled:
			return &ownership.EndedError{Phase: ownership.Settled}
		}
		return &ownership.EndedError{Phase: ownership.Committed}
	}
	switch r.owner.Phase {
	case ownership.Working:
	case ownership.Cancelled:
		return nil
	default:
		return &ownership.EndedError{Phase: r.owner.Phase}
	}
	if r.cancel == nil {
		r.cancel = &ownership.Cancel{Fence: f, Reason: reason, At: now}
		r.written, r.announce = true, true
	}
	return nil
}

// Clear implements ownership.Store.
func (s *Store) Clear(ctx context.Context, key ownership.Key, f ownership.Fence) (p ownership.Phase, err error) {
	if err := check(key, f.Check()); err != nil {
		return "", err
	}
	err = s.do(ctx, key, existing, func(rec *record, now time.Time) (err error) {
		p, err = rec.clear(f, now)
		return err
	})
	return p, err
}

func (r *record) clear(f ownership.Fence, now time.Time) (ownership.Phase, error) {
	if r.current(f) != nil {
		return "", ownership.ErrNotCurrent
	}
	if r.owner.Phase == ownership.Working {
		p := ownership.Abandoned
		if r.raised() {
			p = ownership.Cancelled
		}
		r.end(p, now)
	}
	return r.owner.Phase, nil
}
