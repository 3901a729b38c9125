package ownership

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/foldgate/foldgate/internal/semconv"
)

// attempt is one running attempt of a flight.
type attempt struct {
	Attempt
	target   Target
	info     *Info
	started  time.Time
	deadline time.Time
	over     bool
	span     trace.Span // never nil

	stop       context.CancelFunc // ends the renewals
	refused    chan error         // the refusal that the renewals brought
	progressed atomic.Bool        // since the last renewal
	publishing atomic.Bool        // a commit was sent: it answers a raised flag itself
}

func (a *attempt) checkpoint(d Draft) Checkpoint {
	return Checkpoint{
		Target:  a.target,
		Fence:   a.Fence,
		Tokens:  d.Tokens,
		Route:   a.Route.Name,
		Step:    d.Step,
		Handoff: d.Handoff,
	}
}

func (a *attempt) commitOf(d Draft) Commit {
	return Commit{Checkpoint: a.checkpoint(d), Strike: d.Strike}
}

// begin enters an attempt on the given route and keeps its lease.
func (r *run) begin(ctx context.Context, route int, f Fence, s State, span trace.Span) *attempt {
	now := time.Now()
	renewing, stop := context.WithCancel(context.WithoutCancel(ctx))
	a := &attempt{
		Attempt: Attempt{
			Conversation: r.job.Conversation,
			Fence:        f,
			Route:        r.route(route),
			RouteIndex:   route,
			State:        s,
			Trace:        span.SpanContext(),
		},
		span:     span,
		target:   r.job.Target,
		started:  now,
		deadline: now.Add(r.c.conf.Ceiling),
		stop:     stop,
		refused:  make(chan error, 1),
	}
	a.info = r.c.ring.add(Info{
		Fence:        f,
		Conversation: a.Conversation,
		Phase:        Working,
		Unfenced:     f.Unfenced(),
		Route:        a.Route.Name,
		Covered:      a.target.Covered,
		Started:      now,
	})
	a.entered()
	r.own = append(r.own, a)
	r.f.await(f, a.target, false, traceParentOf(span, r.job.TraceParent))
	r.c.conf.Observer.AttemptStarted(a.Attempt)
	if !f.Unfenced() {
		r.c.spawn(func() { r.c.renew(renewing, a) })
	}
	return a
}

// end says once how the attempt ended.
func (r *run) end(a *attempt, p Phase, unshared bool, reason string, err error) {
	if a.over {
		return
	}
	a.over = true
	a.stop()
	now := time.Now()
	r.c.ring.end(a.info, p, unshared, now, reason)
	a.traceEnd(p, unshared, reason)
	r.c.conf.Observer.AttemptEnded(a.Attempt, p, unshared, now.Sub(a.started), err)
}

// renew keeps the lease until ctx ends or the store refuses. A refusal, a cancel
// included, is final and goes to whoever supervises.
func (c *Coordinator) renew(ctx context.Context, a *attempt) {
	tick := time.NewTicker(max(min(renewEvery, c.conf.Lease/3), time.Millisecond))
	defer tick.Stop()
	hints := c.conf.Store.Watch(ctx, a.Conversation)
	for {
		select {
		case <-ctx.Done():
			return
		case _, open := <-hints:
			if !open {
				hints = nil
			}
			if !open || a.publishing.Load() || !c.raised(ctx, a) {
				continue // the rest can wait for the tick
			}
		case <-tick.C:
		}
		progressed := a.progressed.Swap(false)
		bounded, cancel := context.WithTimeout(ctx, callTimeout)
		err := c.conf.Store.Renew(bounded, a.Conversation, a.Fence, Renewal{Lease: c.conf.Lease, Progress: progressed})
		cancel()
		if ctx.Err() != nil {
			return
		}
		c.report("renew", err)
		switch {
		case errors.Is(err, ErrCancelled), refused(err):
			a.event(semconv.EventRenewRefused, semconv.KeyAnswer, AnswerOf(err))
			a.refused <- err
			return
		case err != nil && progressed:
			a.progressed.Store(true)
		}
	}
}

// raised looks whether a hint was about a's flag. Most are not, such as that of
// another replica's claim.
func (c *Coordinator) raised(ctx context.Context, a *attempt) bool {
	known := make([]Fence, 0, len(a.State.Checkpoints))
	for _, cp := range a.State.Checkpoints {
		known = append(known, cp.Fence)
	}
	v, err := c.read(ctx, a.Conversation, known)
	return err == nil && v.Cancel != nil && v.Cancel.Fence == a.Fence
}

// work runs the attempt, and the next routes' after it, to an answer.
func (r *run) work(ctx context.Context, a *attempt) Result {
	for {
		next, res := r.conclude(ctx, a, r.supervise(ctx, a))
		if next == nil {
			return res
		}
		a = next
	}
}

// conclude acts on how the worker's part ended: the next route's attempt, or the
// flight's result.
func (r *run) conclude(ctx context.Context, a *attempt, o outcome) (next *attempt, res Result) {
	switch o.ending {
	case made:
		return nil, r.commit(ctx, a, o.draft)
	case storeRefused:
		return nil, r.told(ctx, a, o.refusal)
	case shutDown:
		return nil, r.finish(ctx, a, Ending{Phase: Abandoned}, Result{Kind: ResultAbandoned, Err: ErrAbandoned}, "shutdown")
	case notEffective:
		return nil, r.finish(ctx, a, Ending{Phase: Ineffective}, Result{Kind: ResultIneffective, Err: ErrIneffective}, "")
	}
	if !o.failure.Stop && a.RouteIndex+1 < len(r.job.Routes) {
		return r.climb(ctx, a, o.failure)
	}
	kind := ResultFailed
	if a.Fence.Unfenced() {
		kind = ResultStore
	}
	return nil, r.finish(ctx, a, Ending{Phase: Failed, Failure: o.failure.Failure}, Result{Kind: kind, Err: o.failure}, o.failure.Class)
}

// climb begins the next route's attempt in place of a. Whether the flag was raised,
// and whether a commit was first, is for that one claim to say.
func (r *run) climb(ctx context.Context, a *attempt, failure *RouteError) (*attempt, Result) {
	route := a.RouteIndex + 1
	if a.Fence.Unfenced() {
		next := unfenced()
		span := r.attemptSpan(route, next.Attempt, a)
		a.superseded(next)
		r.end(a, Failed, true, failure.Class, failure)
		return r.begin(ctx, route, next, State{}, span), Result{}
	}
	c := r.claimOf(route)
	c.Supersede, c.Bypass = a.Fence, true
	got, span, err := r.claim(ctx, c, route, a)
	switch {
	case refused(err):
		return nil, r.told(ctx, a, err)
	case err != nil:
		r.end(a, Abandoned, false, failure.Class, failure)
		return r.begin(ctx, route, unfenced(), State{}, span), Result{}
	}
	switch got.Verdict {
	case VerdictClaimed:
		a.superseded(got.Fence)
		r.end(a, Superseded, false, failure.Class, failure)
		return r.begin(ctx, route, got.Fence, got.State, span), Result{}
	case VerdictCommitted:
		if got.Checkpoint.Fence == a.Fence {
			r.end(a, Committed, false, "", nil)
		}
		r.end(a, Superseded, false, failure.Class, failure)
		return nil, r.found(got.Checkpoint, nil)
	case VerdictCancelled:
		return nil, r.told(ctx, a, ErrCancelled)
	}
	return nil, r.finish(ctx, a, Ending{Phase: Failed, Failure: failure.Failure}, Result{Kind: ResultFailed, Err: failure}, failure.Class)
}

// finish ends the attempt without a commit. A failure is charged only after asking
// once more whether the attempt was cancelled, which is no failure.
func (r *run) finish(ctx context.Context, a *attempt, e Ending, res Result, reason string) Result {
	res.Fence = a.Fence
	if a.Fence.Unfenced() {
		r.end(a, e.Phase, true, reason, res.Err)
		return res
	}
	if e.Phase == Failed || e.Phase == Ineffective {
		if err := r.consult(ctx, a); errors.Is(err, ErrCancelled) || refused(err) {
			return r.told(ctx, a, err)
		}
	}
	if err := r.record(ctx, a, e); refused(err) {
		return r.told(ctx, a, err)
	}
	r.end(a, e.Phase, false, reason, res.Err)
	return res
}

// consult asks for the flag.
func (r *run) consult(ctx context.Context, a *attempt) error {
	err := r.c.ask(r.c.under(ctx, a.span), "renew", a.Fence, func(ctx context.Context) (string, error) {
		return "current", r.c.conf.Store.Renew(ctx, a.Conversation, a.Fence, Renewal{Lease: r.c.conf.Lease})
	})
	if errors.Is(err, ErrCancelled) || refused(err) {
		a.event(semconv.EventRenewRefused, semconv.KeyAnswer, AnswerOf(err))
	}
	return err
}

func (r *run) record(ctx context.Context, a *attempt, e Ending) error {
	return r.c.ask(r.c.under(ctx, a.span), "finish", a.Fence, func(ctx context.Context) (string, error) {
		return "finished", r.c.conf.Store.Finish(ctx, a.Conversation, a.Fence, e)
	})
}

// told acts on a refusal: cancelled, superseded, lost, or ended by somebody.
func (r *run) told(ctx context.Context, a *attempt, err error) Result {
	res := Result{Fence: a.Fence, Err: err}
	var by *EndedError
	switch {
	case errors.Is(err, ErrCancelled):
		_ = r.record(ctx, a, Ending{Phase: Cancelled})
		r.end(a, Cancelled, false, reasonOf(err), err)
		res.Kind = ResultCancelled
		return res
	case errors.Is(err, ErrLost):
		r.end(a, Lost, false, "", err)
		res.Kind = ResultLost
	case errors.As(err, &by):
		r.end(a, by.Phase, false, "", err)
		res.Kind = kindOf(by.Phase)
		if by.Phase == Cancelled {
			return res
		}
	default:
		r.end(a, Superseded, false, "", err)
		res.Kind = ResultSuperseded
	}
	return r.lookAgain(ctx, res)
}

// kindOf is the result of an attempt that somebody else ended, where nothing serves
// the job.
func kindOf(p Phase) ResultKind {
	switch p {
	case Cancelled:
		return ResultCancelled
	case Abandoned:
		return ResultAbandoned
	case Failed:
		return ResultFailed
	case Ineffective:
		return ResultIneffective
	}
	return ResultSuperseded
}

func reasonOf(err error) string {
	var c *CancelledError
	if errors.As(err, &c) {
		return c.Reason
	}
	return ""
}
