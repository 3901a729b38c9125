package ownership

import (
	"context"
	"time"
)

// The coordinator's types. See coordinator.go for what it does.

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
	// that the caller may wait for an attempt that somebody else began.
	Matches func(Target) bool
	Routes  []Route
	Work    Worker
	// TraceParent goes into the owner record.
	TraceParent string
}

// Result is how a flight ended for those who wait for it.
type Result struct {
	Kind ResultKind
	// Fence is the attempt that was awaited; zero where there was none.
	Fence Fence
	// Checkpoint is set for ResultCommitted and ResultUnfenced.
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
