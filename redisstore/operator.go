package redisstore

import (
	"context"
	"fmt"

	"github.com/foldgate/foldgate/ownership"
)

// Raise implements ownership.Store.
func (s *Store) Raise(ctx context.Context, key ownership.Key, f ownership.Fence, reason string) error {
	if err := ownership.CheckReason(reason); err != nil {
		return named(s.scripts.raise.name, err)
	}
	_, err := s.fenced(ctx, s.scripts.raise, key, f, reason)
	return err
}

// Clear implements ownership.Store.
func (s *Store) Clear(ctx context.Context, key ownership.Key, f ownership.Fence) (ownership.Phase, error) {
	op := s.scripts.clear
	r, err := s.underFence(ctx, op, key, f)
	if err != nil {
		return "", err
	}
	var phase ownership.Phase
	if r.code == replyPhase {
		phase = ownership.Phase(r.text())
	} else {
		err = r.refusalOrUnexpected()
	}
	return phase, refused(op, &r, err)
}

// RestoreOperator implements ownership.Store.
func (s *Store) RestoreOperator(ctx context.Context, key ownership.Key, saw ownership.Fence, by ownership.AttemptID) (ownership.Done, error) {
	op := s.scripts.restoreOperator
	if !by.Valid() {
		return 0, named(op.name, fmt.Errorf("%w: attempt id of the operator", ownership.ErrInvalid))
	}
	if saw != (ownership.Fence{}) {
		if err := saw.Check(); err != nil {
			return 0, named(op.name, err)
		}
	}
	r, err := s.operate(ctx, op, key, fenceText(saw), string(by))
	if err != nil {
		return 0, err
	}
	done, err := r.done()
	return done, refused(op, &r, err)
}

// Forget implements ownership.Store.
func (s *Store) Forget(ctx context.Context, key ownership.Key) (ownership.Generation, error) {
	op := s.scripts.forget
	r, err := s.operate(ctx, op, key)
	if err != nil {
		return 0, err
	}
	var generation ownership.Generation
	if r.code == replyGeneration {
		generation = r.generation()
	} else {
		err = r.refusalOrUnexpected()
	}
	return generation, refused(op, &r, err)
}
