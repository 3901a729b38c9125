package ownership

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/foldgate/foldgate/internal/semconv"
)

// PanicError is a worker's panic. It ends the route, not the process.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("worker panicked: %v", e.Value) }

// errNoReturn is a worker whose goroutine ended without returning.
var errNoReturn = errors.New("worker did not return")

// worker is one call of a job's Worker. Whether it finished or was detached first
// is decided by one compare-and-swap, so that of two timers only one is believed.
type worker struct {
	state  atomic.Int32
	cancel context.CancelCauseFunc

	done  chan struct{} // closed when it finished; draft and err stand then
	draft Draft
	err   error

	started time.Time
	last    atomic.Int64  // nanoseconds from started to the last progress; 0: none yet
	first   chan struct{} // told of the first progress
	before  time.Duration // silence allowed until then
	after   time.Duration // and from then on
}

// States of a worker.
const (
	workerRuns int32 = iota
	workerFinished
	workerStalled // detached, its late success still goes to the store
	workerDropped // detached, what it returns goes nowhere
)

// start calls the job's worker in a goroutine of its own, on a context that only
// detaching it cancels.
func (r *run) start(ctx context.Context, a *attempt) *worker {
	ctx, cancel := context.WithCancelCause(r.c.under(context.WithoutCancel(ctx), a.span))
	w := &worker{
		cancel:  cancel,
		done:    make(chan struct{}),
		started: time.Now(),
		first:   make(chan struct{}, 1),
		before:  max(r.c.conf.Idle, FirstText),
		after:   r.c.conf.Idle,
	}
	if idle := a.Route.Idle; idle > 0 {
		w.before, w.after = idle, idle
	}
	work := r.job.Work
	r.c.spawn(func() {
		draft, err := Draft{}, errNoReturn
		defer func() {
			if p := recover(); p != nil {
				err = &PanicError{Value: p, Stack: debug.Stack()}
			}
			if !w.finish(draft, err) && w.state.Load() == workerStalled {
				r.c.late(ctx, a, draft, err)
			}
			cancel(nil)
		}()
		draft, err = work(ctx, a.Attempt, func() { w.progress(a) })
	})
	return w
}

// finish hands the result over, unless the worker was detached.
func (w *worker) finish(draft Draft, err error) bool {
	w.draft, w.err = draft, err
	if !w.state.CompareAndSwap(workerRuns, workerFinished) {
		return false
	}
	close(w.done)
	return true
}

// detach gives the worker up, unless it finished.
func (w *worker) detach(state int32, cause error) bool {
	detached := w.state.CompareAndSwap(workerRuns, state)
	w.cancel(cause)
	return detached
}

// progress notes that text came. It never blocks.
func (w *worker) progress(a *attempt) {
	a.progressed.Store(true)
	if w.last.Swap(max(1, int64(time.Since(w.started)))) == 0 {
		w.first <- struct{}{}
	}
}

// patience is how much silence is left, zero or less when the worker stalled.
func (w *worker) patience() time.Duration {
	silent := time.Since(w.started)
	last := time.Duration(w.last.Load())
	if last == 0 {
		return w.before - silent
	}
	return w.after - (silent - last)
}

// ending is how the worker's part of an attempt ended.
type ending int

const (
	made ending = iota + 1
	routeFailed
	notEffective
	storeRefused // the store told the attempt to stop
	shutDown
)

type outcome struct {
	ending  ending
	draft   Draft
	failure *RouteError // routeFailed
	refusal error       // storeRefused
}

// supervise calls the worker and waits for its end, for its silence, for its
// ceiling, for what the renewals bring, and for the shutdown.
func (r *run) supervise(ctx context.Context, a *attempt) outcome {
	w := r.start(ctx, a)
	silence := time.NewTimer(w.before)
	defer silence.Stop()
	ceiling := time.NewTimer(time.Until(a.deadline))
	defer ceiling.Stop()
	for {
		select {
		case <-w.done:
			return judge(ctx, a, w)
		case <-w.first:
			silence.Reset(w.patience())
		case <-silence.C:
			if left := w.patience(); left > 0 {
				silence.Reset(left)
				continue
			}
			if w.detach(workerStalled, ErrStalled) {
				a.event(semconv.EventDetach, semconv.KeyReason, "silent")
				return stalled("no text within the idle budget")
			}
		case <-ceiling.C:
			if w.detach(workerStalled, ErrStalled) {
				a.event(semconv.EventDetach, semconv.KeyReason, "ceiling")
				return stalled("not done within the ceiling")
			}
		case err := <-a.refused:
			if w.detach(workerDropped, err) {
				a.event(semconv.EventDetach, semconv.KeyReason, AnswerOf(err))
			}
			return outcome{ending: storeRefused, refusal: err}
		case <-ctx.Done():
			if w.detach(workerDropped, ErrAbandoned) {
				a.event(semconv.EventDetach, semconv.KeyReason, "shutdown")
			}
			return outcome{ending: shutDown}
		}
	}
}

func stalled(why string) outcome {
	return outcome{ending: routeFailed, failure: &RouteError{
		Failure: Failure{Class: "stalled", Climb: true},
		Err:     fmt.Errorf("%w: %s", ErrStalled, why),
	}}
}

// judge classifies what a worker returned. What the store or a shutdown said in the
// same instant goes first, since it is no failure of the worker.
func judge(ctx context.Context, a *attempt, w *worker) outcome {
	select {
	case err := <-a.refused:
		return outcome{ending: storeRefused, refusal: err}
	default:
	}
	switch {
	case w.err == nil && len(w.draft.Handoff) > 0:
		return outcome{ending: made, draft: w.draft}
	case w.err == nil:
		return outcome{ending: routeFailed, failure: failureOf("empty", errors.New("draft without a handoff"))}
	case ctx.Err() != nil:
		return outcome{ending: shutDown}
	case errors.Is(w.err, ErrIneffective):
		return outcome{ending: notEffective}
	}
	var known *RouteError
	if errors.As(w.err, &known) && known.Failure.Check() == nil {
		return outcome{ending: routeFailed, failure: known}
	}
	class := "error"
	if p := (*PanicError)(nil); errors.As(w.err, &p) {
		class = "panic"
	}
	return outcome{ending: routeFailed, failure: failureOf(class, w.err)}
}

func failureOf(class string, err error) *RouteError {
	return &RouteError{Failure: Failure{Class: class, Climb: true}, Err: err}
}

// late takes a stalled worker's success to the store, with the fence it had. The
// write is the check: nothing is asked first, and the refusal is counted. Then it
// says the attempt's last word.
func (c *Coordinator) late(ctx context.Context, a *attempt, draft Draft, err error) {
	if err != nil || a.Fence.Unfenced() || len(draft.Handoff) == 0 {
		return
	}
	_ = c.ask(c.under(ctx, a.span), "commit", a.Fence, func(ctx context.Context) (string, error) {
		span := trace.SpanFromContext(ctx)
		span.SetAttributes(semconv.KeyLate.Bool(true))
		done, err := c.conf.Store.Commit(ctx, a.Conversation, a.Fence, a.commitOf(draft))
		a.published(span, done.String(), err)
		return done.String(), err
	})
	c.clear(ctx, a)
}
