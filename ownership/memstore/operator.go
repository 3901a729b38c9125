package memstore

import (
	"context"
	"time"

	"github.com/foldgate/foldgate/ownership"
)

// RestoreOperator implements ownership.Store.
func (s *Store) RestoreOperator(ctx context.Context, key ownership.Key, saw ownership.Fence, by ownership.AttemptID) (done ownership.Done, err error) {
	if err := check(key, checkOperator(saw, by)); err != nil {
		return 0, err
	}
	err = s.do(ctx, key, creating, func(rec *record, now time.Time) (err error) {
		done, err = rec.restoreOperator(saw, by, now)
		return err
	})
	return done, err
}

func checkOperator(saw ownership.Fence, by ownership.AttemptID) error {
	if !by.Valid() {
		return ownership.ErrInvalid
	}
	if saw == (ownership.Fence{}) {
		return nil
	}
	return saw.Check()
}

func (r *record) restoreOperator(saw ownership.Fence, by ownership.AttemptID, now time.Time) (ownership.Done, error) {
	var owner ownership.Owner
	if r.owner != nil {
		owner = *r.owner
	}
	switch {
	case owner.Fence.Attempt == by:
		return ownership.DoneAlready, nil
	case owner.Fence != saw:
		return 0, ownership.ErrNotCurrent
	case owner.Phase == ownership.Committed && r.snap != nil && r.snap.fence == owner.Fence:
		r.state = r.snap.state
	case len(r.state.Checkpoints) > 0:
		r.state.Checkpoints = r.state.Checkpoints[1:]
	}
	r.snap = nil
	r.owner = &ownership.Owner{
		Fence:    ownership.Fence{Generation: r.next(), Attempt: by},
		Claimed:  now,
		Progress: now,
		Ceiling:  now,
		Deaths:   owner.Deaths,
	}
	r.end(ownership.Abandoned, now)
	return ownership.DoneNow, nil
}

// Forget implements ownership.Store.
func (s *Store) Forget(ctx context.Context, key ownership.Key) (g ownership.Generation, err error) {
	if err := check(key); err != nil {
		return 0, err
	}
	err = s.do(ctx, key, creating, func(rec *record, _ time.Time) error {
		g = rec.next()
		*rec = record{generation: g, written: true, announce: true}
		return nil
	})
	return g, err
}
