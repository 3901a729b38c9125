package ownership

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/trace"
)

const (
	// callTimeout bounds one call to the store that must not be cut off by a
	// shutdown. Stores have shorter time-outs of their own.
	callTimeout = 5 * time.Second
	// renewEvery is the longest time between two renewals.
	renewEvery = time.Second
)

// run is what the goroutine of one flight knows. It is used by that goroutine only.
type run struct {
	c   *Coordinator
	f   *Flight
	job Job

	slot    bool
	landed  bool
	own     []*attempt // every attempt of this flight, oldest first
	watched Owner      // the last one of another replica that was waited for
}

// fly answers the job, then says the last word for each of its attempts. Whoever
// waits does not wait for that.
func (r *run) fly(ctx context.Context) {
	r.land(r.answer(ctx))
	for _, a := range r.own {
		a.stop()
		if !a.Fence.Unfenced() {
			r.c.clear(ctx, a)
		}
	}
}

// land publishes the result, once: what a commit in doubt learns later is too late
// for those who waited. The flight leaves the index first, so that the next job
// begins anew.
func (r *run) land(res Result) {
	if r.landed {
		return
	}
	r.landed = true
	r.releaseSlot()
	r.c.mu.Lock()
	delete(r.c.flights, r.job.Conversation)
	r.c.mu.Unlock()
	r.f.land(res)
}

// answer claims, and works, watches or declines.
func (r *run) answer(ctx context.Context) Result {
	for {
		if ctx.Err() != nil {
			return Result{Kind: ResultAbandoned}
		}
		res, again := r.once(ctx)
		if !again {
			return res
		}
	}
}

// once is one round of answer. Another one follows only after a watched attempt
// ended without an answer.
func (r *run) once(ctx context.Context) (res Result, again bool) {
	if !r.takeSlot() {
		return r.withoutSlot(ctx)
	}
	got, span, err := r.claim(ctx, r.claimOf(0), 0, nil)
	if err != nil {
		return r.work(ctx, r.begin(ctx, 0, unfenced(), State{}, span)), false
	}
	switch got.Verdict {
	case VerdictClaimed:
		return r.work(ctx, r.begin(ctx, 0, got.Fence, got.State, span)), false
	case VerdictCommitted:
		return r.found(got.Checkpoint, nil), false
	case VerdictBusy:
		if !r.job.matches(got.Owner.Target) {
			return Result{Kind: ResultBusy}, false
		}
		return r.watch(ctx, got.Owner)
	case VerdictCooling:
		return Result{Kind: ResultCooling, Left: got.Left}, false
	case VerdictBlocked:
		return Result{Kind: ResultBlocked, Left: got.Left}, false
	case VerdictCancelled:
		return Result{Kind: ResultCancelled}, false
	}
	return Result{Kind: ResultStore, Err: fmt.Errorf("claim: unknown verdict %d", got.Verdict)}, false
}

// withoutSlot begins nothing, but what others made or make is as good.
func (r *run) withoutSlot(ctx context.Context) (res Result, again bool) {
	v, err := r.c.read(ctx, r.job.Conversation, nil)
	switch {
	case ctx.Err() != nil:
		return Result{Kind: ResultAbandoned}, false
	case err != nil:
		return Result{Kind: ResultFull}, false
	}
	if i := slices.IndexFunc(v.State.Checkpoints, r.job.covers); i >= 0 {
		return r.found(v.State.Checkpoints[i], v.Owner), false
	}
	if v.Owner != nil && v.Owner.Live && r.job.matches(v.Owner.Target) {
		return r.watch(ctx, *v.Owner)
	}
	return Result{Kind: ResultFull}, false
}

// lookAgain is for an attempt that was told superseded or lost: others may have
// made, or be making, what it wanted. It does not claim. Result otherwise.
func (r *run) lookAgain(ctx context.Context, otherwise Result) Result {
	if r.landed {
		return otherwise
	}
	r.releaseSlot()
	v, err := r.c.read(ctx, r.job.Conversation, nil)
	switch {
	case ctx.Err() != nil:
		return Result{Kind: ResultAbandoned}
	case err != nil:
		return otherwise
	}
	if i := slices.IndexFunc(v.State.Checkpoints, r.job.covers); i >= 0 {
		return r.found(v.State.Checkpoints[i], v.Owner)
	}
	if v.Owner == nil || !v.Owner.Live || r.mine(v.Owner.Fence) || !r.job.matches(v.Owner.Target) {
		return otherwise
	}
	res, again := r.watch(ctx, *v.Owner)
	if again {
		return otherwise
	}
	return res
}

// found is the answer that c stands. o is the owner that was read with it, or nil:
// where it made c, it tells the trace too.
func (r *run) found(c Checkpoint, o *Owner) Result {
	trace := ""
	if o != nil && o.Fence == c.Fence {
		trace = o.TraceParent
	}
	r.f.await(c.Fence, c.Target, !r.mine(c.Fence), trace)
	return Result{Kind: ResultCommitted, Fence: c.Fence, Checkpoint: c, Joined: !r.mine(c.Fence)}
}

func (r *run) mine(f Fence) bool {
	return slices.ContainsFunc(r.own, func(a *attempt) bool { return a.Fence == f })
}

func (r *run) takeSlot() bool {
	if r.slot {
		return true
	}
	select {
	case r.c.slots <- struct{}{}:
		r.slot = true
	default:
	}
	return r.slot
}

func (r *run) releaseSlot() {
	if r.slot {
		<-r.c.slots
		r.slot = false
	}
}

// route is the i-th route of the job.
func (r *run) route(i int) Route {
	if len(r.job.Routes) == 0 {
		return Route{}
	}
	return r.job.Routes[i]
}

func (r *run) claimOf(route int) Claim {
	return Claim{
		Attempt:     newAttemptID(),
		Target:      r.job.Target,
		Replica:     r.c.conf.Replica,
		Route:       r.route(route).Name,
		Lease:       r.c.conf.Lease,
		Ceiling:     r.c.conf.Ceiling,
		TraceParent: r.job.TraceParent,
	}
}

// claim is not cut off by a shutdown: an owner that nobody knows of would cost a
// lease. Without an answer it asks once more, as the same attempt. The span is that
// of the attempt which the claim began, or that begins unfenced since the store
// could not be asked; instead is the attempt that it is to supersede, or nil.
func (r *run) claim(ctx context.Context, c Claim, route int, instead *attempt) (out Claimed, span trace.Span, err error) {
	span = r.attemptSpan(route, c.Attempt, instead)
	c.TraceParent = traceParentOf(span, c.TraceParent)
	err = r.c.ask(r.c.under(ctx, span), "claim", Fence{Attempt: c.Attempt}, func(ctx context.Context) (answer string, err error) {
		out, err = r.c.conf.Store.Claim(ctx, r.job.Conversation, c)
		trace.SpanFromContext(ctx).SetAttributes(fenceAttributes(out.Fence)...)
		return out.Verdict.String(), err
	})
	works := err == nil && out.Verdict == VerdictClaimed || err != nil && (instead == nil || !refused(err))
	noteClaim(span, out, err, works)
	return out, span, err
}

// ask calls the store once, and once more if there was no answer. It reports what
// went wrong. call returns the word for an answer that is no error.
func (c *Coordinator) ask(ctx context.Context, operation string, f Fence, call func(context.Context) (string, error)) error {
	ctx, span := startOperation(ctx, c.tracer, operation, f)
	for repeats := 0; ; repeats++ {
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
		answer, err := call(bounded)
		cancel()
		c.report(operation, err)
		if repeats > 0 || !errors.Is(err, ErrIndeterminate) {
			endOperation(span, answer, repeats, err)
			return err
		}
	}
}

// report tells the observer of an error from the store, unless it is an answer
// that the caller only asked for.
func (c *Coordinator) report(operation string, err error) {
	switch {
	case err == nil, errors.Is(err, ErrCancelled), errors.Is(err, ErrNotCurrent):
	case refused(err):
		c.conf.Observer.Refused(operation, err)
	default:
		c.conf.Observer.StoreError(operation, err)
	}
}

// read is cut off by a shutdown.
func (c *Coordinator) read(ctx context.Context, key Key, known []Fence) (View, error) {
	bounded, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	v, err := c.conf.Store.Read(bounded, key, known)
	if ctx.Err() == nil {
		c.report("read", err)
	}
	return v, err
}

// clear is the last word of an attempt.
func (c *Coordinator) clear(ctx context.Context, a *attempt) {
	_ = c.ask(c.under(ctx, a.span), "clear", a.Fence, func(ctx context.Context) (string, error) {
		p, err := c.conf.Store.Clear(ctx, a.Conversation, a.Fence)
		return string(p), err
	})
}

// refused reports whether err is final for the fence that met it.
func refused(err error) bool {
	return errors.Is(err, ErrSuperseded) || errors.Is(err, ErrLost) || errors.Is(err, ErrEnded)
}

func newAttemptID() AttemptID { return AttemptID(uuid.Must(uuid.NewV7()).String()) }

func unfenced() Fence { return Fence{Attempt: newAttemptID()} }
