package memstore

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/foldgate/foldgate/ownership"
)

// check is the first step of every operation: the key, then the other arguments.
func check(key ownership.Key, others ...error) error {
	return errors.Join(append([]error{key.Check()}, others...)...)
}

// Read implements ownership.Store.
func (s *Store) Read(ctx context.Context, key ownership.Key, known []ownership.Fence) (v ownership.View, err error) {
	if err := check(key); err != nil {
		return v, err
	}
	err = s.do(ctx, key, existing, func(rec *record, now time.Time) error {
		v = ownership.View{
			Generation: rec.generation,
			Owner:      rec.ownerView(now),
			State:      hand(rec.state, func(f ownership.Fence) bool { return !slices.Contains(known, f) }),
			Now:        now,
		}
		if rec.cancel != nil {
			c := *rec.cancel
			v.Cancel = &c
		}
		return nil
	})
	return v, err
}

// Renew implements ownership.Store.
func (s *Store) Renew(ctx context.Context, key ownership.Key, f ownership.Fence, r ownership.Renewal) error {
	if err := check(key, f.Check(), r.Check()); err != nil {
		return err
	}
	return s.do(ctx, key, existing, func(rec *record, now time.Time) error {
		if err := rec.working(f); err != nil {
			return err
		}
		rec.owner.LeaseEnd = now.Add(r.Lease)
		if rec.owner.LeaseEnd.After(rec.owner.Ceiling) {
			rec.owner.LeaseEnd = rec.owner.Ceiling
		}
		if r.Progress {
			rec.owner.Progress = now
		}
		rec.written = true
		if rec.raised() {
			return &ownership.CancelledError{Reason: rec.cancel.Reason}
		}
		return nil
	})
}

// Commit implements ownership.Store.
func (s *Store) Commit(ctx context.Context, key ownership.Key, f ownership.Fence, c ownership.Commit) (done ownership.Done, err error) {
	if err := check(key, f.Check(), c.Check()); err != nil {
		return 0, err
	}
	c.Checkpoint.Handoff = bytes.Clone(c.Checkpoint.Handoff)
	err = s.do(ctx, key, existing, func(rec *record, now time.Time) (err error) {
		done, err = rec.commit(f, c, now)
		return err
	})
	return done, err
}

func (r *record) commit(f ownership.Fence, c ownership.Commit, now time.Time) (ownership.Done, error) {
	if r.checkpoint(f) != nil {
		return ownership.DoneAlready, nil
	}
	if err := r.working(f); err != nil {
		return 0, err
	}
	if r.raised() {
		return 0, &ownership.CancelledError{Reason: r.cancel.Reason}
	}
	if c.Checkpoint.Target != r.owner.Target {
		return 0, ownership.ErrInvalid
	}
	r.snap = &snapshot{fence: f, state: keep(r.state)}
	p := c.Checkpoint
	p.Fence, p.Settled, p.Created = f, false, now
	list := append([]ownership.Checkpoint{p}, r.state.Checkpoints...)
	r.state.Checkpoints = list[:min(len(list), ownership.MaxCheckpoints):min(len(list), ownership.MaxCheckpoints)]
	r.state.CooldownUntil, r.state.LastError, r.state.Streak = time.Time{}, "", 0
	if c.Strike {
		r.strike(now)
	} else {
		r.state.Strikes, r.state.BlockedUntil = 0, time.Time{}
	}
	r.owner.Deaths = 0
	r.end(ownership.Committed, now)
	return ownership.DoneNow, nil
}

// Settle implements ownership.Store.
func (s *Store) Settle(ctx context.Context, key ownership.Key, f ownership.Fence) (done ownership.Done, err error) {
	if err := check(key, f.Check()); err != nil {
		return 0, err
	}
	err = s.do(ctx, key, existing, func(rec *record, _ time.Time) (err error) {
		done, err = rec.settle(f)
		return err
	})
	return done, err
}

func (r *record) settle(f ownership.Fence) (ownership.Done, error) {
	p := r.checkpoint(f)
	if p != nil {
		r.written = true // it is in use, and retention counts from the last use
	}
	if p != nil && p.Settled {
		return ownership.DoneAlready, nil
	}
	if err := r.current(f); err != nil {
		return 0, err
	}
	if r.owner.Phase != ownership.Committed || p == nil {
		return 0, &ownership.EndedError{Phase: r.owner.Phase}
	}
	p.Settled = true
	r.owner.Phase = ownership.Settled
	r.snap = nil
	return ownership.DoneNow, nil
}

// Restore implements ownership.Store.
func (s *Store) Restore(ctx context.Context, key ownership.Key, f ownership.Fence, charge *ownership.Failure) (done ownership.Done, err error) {
	if err := check(key, f.Check(), checkCharge(charge)); err != nil {
		return 0, err
	}
	err = s.do(ctx, key, existing, func(rec *record, now time.Time) (err error) {
		done, err = rec.restore(f, charge, now)
		return err
	})
	return done, err
}

func checkCharge(f *ownership.Failure) error {
	if f == nil {
		return nil
	}
	return f.Check()
}

func (r *record) restore(f ownership.Fence, charge *ownership.Failure, now time.Time) (ownership.Done, error) {
	if err := r.current(f); err != nil {
		return 0, err
	}
	switch {
	case r.owner.Phase == ownership.Restored:
		return ownership.DoneAlready, nil
	case r.owner.Phase == ownership.Working:
		return ownership.DoneNow, nil
	case r.owner.Phase != ownership.Committed || r.snap == nil || r.snap.fence != f:
		return 0, &ownership.EndedError{Phase: r.owner.Phase}
	}
	r.state, r.snap = r.snap.state, nil
	if charge != nil {
		r.charge(*charge, now)
	}
	r.end(ownership.Restored, now)
	return ownership.DoneNow, nil
}

// Finish implements ownership.Store.
func (s *Store) Finish(ctx context.Context, key ownership.Key, f ownership.Fence, e ownership.Ending) error {
	if err := check(key, f.Check(), e.Check()); err != nil {
		return err
	}
	return s.do(ctx, key, existing, func(rec *record, now time.Time) error { return rec.finish(f, e, now) })
}

func (r *record) finish(f ownership.Fence, e ownership.Ending, now time.Time) error {
	if err := r.current(f); err != nil {
		return err
	}
	switch r.owner.Phase {
	case e.Phase:
		return nil
	case ownership.Working:
	default:
		return &ownership.EndedError{Phase: r.owner.Phase}
	}
	switch e.Phase {
	case ownership.Failed:
		r.charge(e.Failure, now)
		r.owner.Deaths = 0
	case ownership.Ineffective:
		r.strike(now)
		r.owner.Deaths = 0
	}
	r.end(e.Phase, now)
	return nil
}
