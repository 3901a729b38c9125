package ownership

import (
	"context"
	"errors"
	"time"
)

const (
	// commitPatience is how long waiters wait for a commit's answer.
	commitPatience = time.Second
	// commitBackoff is the longest pause between two repeats of a commit.
	commitBackoff = time.Second
)

// commit publishes the draft. While the store does not answer, the flight lands
// with what is at hand and the commit goes on being asked beside it.
func (r *run) commit(ctx context.Context, a *attempt, d Draft) Result {
	a.made(d)
	res := Result{Kind: ResultCommitted, Fence: a.Fence, Checkpoint: a.checkpoint(d)}
	if a.Fence.Unfenced() {
		r.end(a, Committed, true, "", nil)
		res.Kind = ResultUnfenced
		return res
	}
	doubt := make(chan struct{})
	answer := make(chan error, 1)
	r.c.spawn(func() { answer <- r.c.publish(ctx, a, d, doubt) })
	err := r.settled(res, answer, doubt)
	switch {
	case err == nil:
		r.end(a, Committed, false, "", nil)
		return res
	case errors.Is(err, ErrCancelled), refused(err):
		return r.told(ctx, a, err)
	case errors.Is(err, ErrInvalid):
		failure := failureOf("invalid", err)
		return r.finish(ctx, a, Ending{Phase: Failed, Failure: failure.Failure}, Result{Kind: ResultFailed, Err: failure}, failure.Class)
	}
	r.end(a, Committed, true, "store", err)
	res.Kind, res.Err = ResultUnfenced, err
	return res
}

// settled waits for the answer, and lets the waiters go when it is in doubt.
func (r *run) settled(res Result, answer <-chan error, doubt <-chan struct{}) error {
	patience := time.NewTimer(commitPatience)
	defer patience.Stop()
	select {
	case err := <-answer:
		return err
	case <-doubt:
	case <-patience.C:
	}
	res.Kind = ResultUnfenced
	r.land(res)
	return <-answer
}

// publish asks for the commit with the same fence until there is an answer, the
// attempt's deadline is past, or the coordinator shuts down. It closes doubt after
// the first repeat without one.
func (c *Coordinator) publish(ctx context.Context, a *attempt, d Draft, doubt chan<- struct{}) error {
	traced, span := startOperation(c.under(ctx, a.span), c.tracer, "commit", a.Fence)
	answer, repeats, err := "", 0, error(nil)
	a.publishing.Store(true) // its own hint is no reason to read
	defer func() {
		a.published(span, answer, err)
		endOperation(span, answer, repeats, err)
	}()
	pause := time.Duration(0)
	for try := 1; ; try++ {
		var done Done
		bounded, cancel := context.WithTimeout(context.WithoutCancel(traced), callTimeout)
		done, err = c.conf.Store.Commit(bounded, a.Conversation, a.Fence, a.commitOf(d))
		cancel()
		answer, repeats = done.String(), try-1
		c.report("commit", err)
		if err == nil || errors.Is(err, ErrCancelled) || errors.Is(err, ErrInvalid) || refused(err) {
			return err
		}
		if try == 2 {
			close(doubt)
		}
		if !time.Now().Add(pause).Before(a.deadline) {
			return err
		}
		if pause > 0 {
			timer := time.NewTimer(pause)
			select {
			case <-timer.C:
			case <-ctx.Done():
				timer.Stop()
				return err
			}
		}
		pause = min(commitBackoff, max(2*pause, 50*time.Millisecond))
	}
}
