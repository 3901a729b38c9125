package ownership

import (
	"context"
	"time"
)

// Store is the port to the shared state of conversations. Every method is one
// atomic step on one conversation and may be repeated with the same fence: the
// repeat changes nothing and answers what stands. Implementations are safe for
// concurrent use. ownershiptest.Run holds each of them against this contract.
//
// Every method may return ErrUnavailable, ErrIndeterminate or ErrInvalid; every
// method with a fence also ErrSuperseded, ErrLost and *EndedError. Other errors
// are named at the method.
type Store interface {
	// Read writes nothing. Handoff bytes of checkpoints whose fence is in known
	// are left out. An unknown conversation is the zero View (but for Now).
	Read(ctx context.Context, key Key, known []Fence) (View, error)

	// Claim becomes the current attempt, or says why not. See Verdict.
	Claim(ctx context.Context, key Key, c Claim) (Claimed, error)

	// Renew extends the lease of a working attempt, never past its ceiling, and
	// stamps progress if r says so. A raised flag answers *CancelledError (the
	// lease is extended nevertheless).
	Renew(ctx context.Context, key Key, f Fence, r Renewal) error

	// Commit publishes c as a provisional checkpoint. c.Fence, c.Settled and
	// c.Created are the store's to set. *CancelledError when the flag is raised;
	// ErrInvalid when c.Target is not the one that was claimed.
	Commit(ctx context.Context, key Key, f Fence, c Commit) (Done, error)

	// Settle marks the checkpoint of f as proven and drops the snapshot. A repeat
	// changes nothing but how long the conversation is retained: it was used.
	Settle(ctx context.Context, key Key, f Fence) (Done, error)

	// Restore puts the snapshot of f's commit back as one unit, then charges the
	// failure, if any. A working attempt has published nothing: nothing is
	// written, the answer is DoneNow. A settled one answers *EndedError.
	Restore(ctx context.Context, key Key, f Fence, charge *Failure) (Done, error)

	// Finish ends a working attempt without a commit.
	Finish(ctx context.Context, key Key, f Fence, e Ending) error

	// Raise raises the cancel flag of a working attempt. *EndedError with phase
	// Committed or later if the commit was first; ErrNotCurrent when f does not
	// own the conversation.
	Raise(ctx context.Context, key Key, f Fence, reason string) error

	// Clear removes the flag of f whole. An attempt that still works ends by it:
	// Cancelled if the flag was raised, else Abandoned. It returns the phase in
	// which the attempt stands. ErrNotCurrent when f is not the owner.
	Clear(ctx context.Context, key Key, f Fence) (Phase, error)

	// RestoreOperator goes one checkpoint back under a new generation, whoever
	// works, provided that the owner is still saw (the zero Fence: no owner).
	// by is the operator's own attempt id, new for each decision. ErrNotCurrent
	// when the owner changed.
	RestoreOperator(ctx context.Context, key Key, saw Fence, by AttemptID) (Done, error)

	// Forget deletes the conversation but for its counter, which grows by one.
	Forget(ctx context.Context, key Key) (Generation, error)

	// Watch reports that something on the conversation may have changed, until
	// ctx ends; then the channel is closed. Events are hints and may be missing
	// or coalesced: polling is the truth. A store that cannot notify returns a
	// channel that stays silent.
	Watch(ctx context.Context, key Key) <-chan struct{}
}

// Claim asks to become the current attempt on a conversation.
type Claim struct {
	Attempt AttemptID
	Target  Target
	Replica string
	Route   string
	Lease   time.Duration // how long a silent owner counts as alive
	Ceiling time.Duration // the lease never extends past claimed + ceiling
	// Supersede names the working attempt of the same coordinator that this one
	// replaces; the zero Fence asks for a free conversation.
	Supersede Fence
	// Bypass ignores a cooldown and a block (a next route, an operator).
	Bypass      bool
	TraceParent string
}

// Verdict is how a claim ended without an error.
type Verdict int

// The verdicts of a claim. Only VerdictClaimed took a generation.
const (
	VerdictClaimed   Verdict = iota + 1 // Fence and State are set
	VerdictCommitted                    // Checkpoint with the target digest stands
	VerdictBusy                         // Owner works and its lease runs
	VerdictCancelled                    // the flag of the attempt to supersede, or of a third dead owner, is raised
	VerdictCooling                      // until Until
	VerdictBlocked                      // until Until
)

// Claimed is the answer to a claim.
type Claimed struct {
	Verdict    Verdict
	Fence      Fence      // VerdictClaimed
	State      State      // VerdictClaimed: the snapshot, without handoff bytes
	Checkpoint Checkpoint // VerdictCommitted, with its handoff
	Owner      Owner      // VerdictBusy
	Until      time.Time  // VerdictCooling, VerdictBlocked: the store's clock
	Left       time.Duration
}

// Renewal extends a lease.
type Renewal struct {
	Lease    time.Duration
	Progress bool // text came since the last renewal
}

// Commit is what an attempt publishes.
type Commit struct {
	Checkpoint Checkpoint
	// Strike: by its own corrected count the fold is still over the trigger.
	Strike bool
}

// Done tells the call that did it from its repeat.
type Done int

// The ways in which a step is done.
const (
	DoneNow     Done = iota + 1 // this call did it
	DoneAlready                 // it stands already, with this fence
)

// Failure is what a failed attempt is charged with.
type Failure struct {
	// Class is a low-cardinality error class, such as "timeout" or "status_500".
	Class string
	// Climb: go up the cooldown ladder (60 s, 300 s, 900 s). False: the streak
	// stays and the first rung applies.
	Climb bool
	// Cooldown, if over zero, is used instead of the ladder's rung (Retry-After),
	// at most an hour.
	Cooldown time.Duration
}

// Ending ends a working attempt: Failed with a Failure, or Ineffective,
// Cancelled, Abandoned.
type Ending struct {
	Phase   Phase
	Failure Failure // Failed only
}

// Limits of the protocol that every store shares.
const (
	// FirstRung, SecondRung and ThirdRung are the cooldown ladder.
	FirstRung  = 60 * time.Second
	SecondRung = 300 * time.Second
	ThirdRung  = 900 * time.Second
	// MaxCooldown bounds Failure.Cooldown; a cooldown further ahead counts as past.
	MaxCooldown = time.Hour
	// BlockFor is how long two strikes block a conversation.
	BlockFor = 300 * time.Second
	// MaxStrikes is when the block begins.
	MaxStrikes = 2
	// MaxDeaths is the number of owners dead in a row that starts the cooldown.
	MaxDeaths = 3
	// DeathClass is the class of the failure that the last of them is charged with.
	DeathClass = "died"
)
