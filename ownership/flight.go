package ownership

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// Route is one place where a summary can be asked for.
type Route struct {
	Name string
	// Idle is the silence allowed on this route, also before its first text;
	// zero: the coordinator's default.
	Idle time.Duration
}

// Attempt is one running attempt as the worker sees it.
type Attempt struct {
	Conversation Key
	Fence        Fence // unfenced when the store could not be asked
	Route        Route
	RouteIndex   int
	State        State // what the claim returned
	// Trace is the attempt's span, which the worker's context carries too; zero
	// without a Config.TracerProvider.
	Trace trace.SpanContext
}

// Draft is what a worker made.
type Draft struct {
	Handoff []byte
	Tokens  int
	Step    float64
	// Strike: the fold that uses this draft is still over the trigger.
	Strike bool
}

// Worker writes the summary for one attempt on one route. It calls progress for
// every non-empty text that it receives. ctx is cancelled, with a cause, when
// the attempt is detached, cancelled, superseded or abandoned; a worker may
// return late, and what it then returns is dropped.
//
// An error is a *RouteError where the failure's class is known; ErrIneffective
// where the fold would not have helped.
type Worker func(ctx context.Context, a Attempt, progress func()) (Draft, error)

// RouteError is a failed summary call.
type RouteError struct {
	Failure
	// Stop: no further route is tried (a 401 or 403 ends the attempt).
	Stop bool
	Err  error
}

func (e *RouteError) Error() string { return "summarise: " + e.Class + ": " + e.Err.Error() }
func (e *RouteError) Unwrap() error { return e.Err }

// Job asks for one summary.
type Job struct {
	Conversation Key
	Target       Target
	// Matches reports whether a target is a prefix of the caller's request, so
	// that the caller may wait for an attempt that somebody else began. It is
	// called from several goroutines, also after Do returned. Nil: only an equal
	// target matches.
	Matches func(Target) bool
	// Routes are tried in this order; none: one route without a name.
	Routes []Route
	// Work is required.
	Work Worker
	// TraceParent and TraceState are the W3C trace context of whoever asks, both
	// optional. Traced, the attempt's span becomes a child of it and what goes into
	// the owner record is that span; else TraceParent goes there as it is.
	TraceParent string
	TraceState  string
}

// Result is how a flight ended for those who wait for it.
type Result struct {
	Kind ResultKind
	// Fence is the attempt that was awaited; zero where there was none.
	Fence Fence
	// Checkpoint is set for ResultCommitted and ResultUnfenced, with its handoff.
	// Created is zero where this replica made the summary: only the store's clock
	// could tell.
	Checkpoint Checkpoint
	// Left is what is left of a cooldown or block.
	Left time.Duration
	// Joined: the attempt was begun by another replica.
	Joined bool
	// Err is why, for ResultFailed and ResultStore.
	Err error
}

// ResultKind says how a flight ended.
type ResultKind int

// The ways a flight ends.
const (
	ResultCommitted   ResultKind = iota + 1 // a checkpoint that covers the request stands
	ResultUnfenced                          // a draft that could not be shared
	ResultBusy                              // a live attempt with another target
	ResultCooling                           // cooldown
	ResultBlocked                           // two strikes
	ResultFull                              // no room for an attempt on this replica
	ResultFailed                            // all routes failed
	ResultIneffective                       // the fold would not have helped
	ResultCancelled                         // the cancel flag was raised
	ResultAbandoned                         // shutdown
	ResultSuperseded                        // a newer attempt owns the conversation
	ResultLost                              // the store forgot the attempt
	ResultStore                             // the store failed and nothing came of the unfenced attempt
)

// Flight is one answer in the making, shared by all jobs that it can serve. It is
// safe for concurrent use.
type Flight struct {
	done   chan struct{}
	cancel context.CancelCauseFunc
	target Target // of the job that began it

	mu      sync.Mutex
	fence   Fence
	known   bool   // fence is set
	foreign bool   // fence is another replica's
	awaited Target // of the attempt awaited right now
	trace   string // the trace context of fence's attempt, as far as it is known
	result  Result
}

func newFlight(t Target, cancel context.CancelCauseFunc) *Flight {
	return &Flight{done: make(chan struct{}), cancel: cancel, target: t, awaited: t}
}

// ended is a flight that never left.
func ended(res Result) *Flight {
	f := &Flight{done: make(chan struct{}), result: res}
	close(f.done)
	return f
}

// Done is closed when the result stands.
func (f *Flight) Done() <-chan struct{} { return f.done }

// Result is how the flight ended. Before Done it is the zero Result.
func (f *Flight) Result() Result {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.result
}

// Current is the attempt that the flight awaits right now, its own or another
// replica's, and after Done the last one. ok is false while there is none.
func (f *Flight) Current() (fence Fence, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.fence, f.known
}

// Foreign reports whether another replica began the attempt of Current.
func (f *Flight) Foreign() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.foreign
}

// TraceParent is the W3C trace context of the attempt of Current, for a link to its
// span: what stands in the owner record. Empty where nobody knows it.
func (f *Flight) TraceParent() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.trace
}

// await says which attempt the flight waits for from now on, whether it is another
// replica's, and its trace context; empty: not known, or as it was.
func (f *Flight) await(fence Fence, t Target, foreign bool, traceParent string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if traceParent != "" || fence != f.fence {
		f.trace = traceParent
	}
	f.fence, f.known, f.awaited, f.foreign = fence, true, t, foreign
}

// land publishes the result. It is called once.
func (f *Flight) land(res Result) {
	f.mu.Lock()
	f.result = res
	f.mu.Unlock()
	close(f.done)
}

// serves reports whether whatever the flight may end with is a prefix of the
// job's request: the attempt awaited, and the target that it would claim next.
func (f *Flight) serves(job Job) bool {
	f.mu.Lock()
	awaited := f.awaited
	f.mu.Unlock()
	return job.matches(awaited) && (f.target == awaited || job.matches(f.target))
}

func (j Job) check() error {
	if j.Work == nil {
		return fmt.Errorf("%w: job without a worker", ErrInvalid)
	}
	return errors.Join(j.Conversation.Check(), j.Target.Check())
}

func (j Job) matches(t Target) bool {
	return t == j.Target || (j.Matches != nil && j.Matches(t))
}

// covers reports whether c is as good for the job as its own attempt.
func (j Job) covers(c Checkpoint) bool {
	return c.Target == j.Target || (c.Covered >= j.Target.Covered && j.matches(c.Target))
}
