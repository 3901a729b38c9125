package ownership

import (
	"errors"
	"fmt"
)

// What a caller decides on. ErrSuperseded, ErrLost and ErrCancelled are not
// failures: no retry, no cooldown and no fallback follows, and whoever was told
// so does not ask again. Look for them before any other classification.
var (
	// ErrSuperseded: a newer generation exists. Final.
	ErrSuperseded = errors.New("ownership: superseded by a newer attempt")
	// ErrLost: the store no longer knows the attempt (wiped, evicted, failed
	// over, forgotten). Final, treated as superseded.
	ErrLost = errors.New("ownership: attempt lost by the store")
	// ErrCancelled: the cancel flag of this attempt is raised. Final.
	ErrCancelled = errors.New("ownership: attempt cancelled")
	// ErrIndeterminate: sent, no answer. Ask again with the same fence.
	ErrIndeterminate = errors.New("ownership: sent to the store, no answer")
	// ErrUnavailable: the store was not asked (unreachable, breaker open).
	ErrUnavailable = errors.New("ownership: store unavailable")
	// ErrInvalid: the arguments break the port's contract; nothing was written.
	ErrInvalid = errors.New("ownership: invalid argument")
	// ErrNotCurrent: the owner is not the one that the caller named (raise,
	// clear by another fence, operator's restore).
	ErrNotCurrent = errors.New("ownership: not the current attempt")
	// ErrEnded matches every *EndedError.
	ErrEnded = errors.New("ownership: attempt ended")
	// ErrAbandoned is the cause with which a coordinator that shuts down, or a
	// detached worker's caller, ends an attempt.
	ErrAbandoned = errors.New("ownership: attempt abandoned")
	// ErrStalled is the cause with which a silent or overlong worker is detached.
	ErrStalled = errors.New("ownership: attempt stalled")
	// ErrIneffective is what a worker returns when the fold would not have helped.
	ErrIneffective = errors.New("ownership: fold would not help")
)

// EndedError says that the attempt is current but its phase does not allow the
// call.
type EndedError struct{ Phase Phase }

func (e *EndedError) Error() string { return fmt.Sprintf("ownership: attempt ended as %s", e.Phase) }

// Is makes errors.Is(err, ErrEnded) hold.
func (e *EndedError) Is(target error) bool { return target == ErrEnded }

// CancelledError is ErrCancelled with the reason that came with the flag.
type CancelledError struct{ Reason string }

func (e *CancelledError) Error() string { return ErrCancelled.Error() + ": " + e.Reason }

// Is makes errors.Is(err, ErrCancelled) hold.
func (e *CancelledError) Is(target error) bool { return target == ErrCancelled }
