package ownership

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"time"
)

// Key identifies a conversation: 40 lower-case hexadecimal digits, a hash of
// the tenant and the conversation's anchor. It never holds text of a user.
type Key string

// Valid reports whether k has the form of a key. A store refuses any other.
func (k Key) Valid() bool {
	if len(k) != 40 {
		return false
	}
	for i := range len(k) {
		if c := k[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// Generation is what Redis INCR returned for an attempt. It grows per
// conversation. Zero means unfenced: no store took part.
type Generation uint64

// String is the decimal form, in which stores compare generations.
func (g Generation) String() string { return strconv.FormatUint(uint64(g), 10) }

// AttemptID is the identity of one attempt: a UUIDv7 in its canonical text
// form. An id is never reused for another claim.
type AttemptID string

// Fence is what every shared write carries and compares: both halves, since
// numbers repeat after a store was wiped. The zero Fence names no attempt.
type Fence struct {
	Generation Generation
	Attempt    AttemptID
}

// Unfenced reports whether f can write nothing shared (generation 0).
func (f Fence) Unfenced() bool { return f.Generation == 0 }

// String is "generation/attempt", the form in which stores name handoff fields.
func (f Fence) String() string { return f.Generation.String() + "/" + string(f.Attempt) }

// Phase is the state of an attempt as the owner record keeps it. It only moves
// along the arrows of the package documentation, so each step happens once.
type Phase string

// The phases. Superseded and Lost are never stored: they are what an attempt
// learns when the record is no longer its own.
const (
	Working     Phase = "working"
	Committed   Phase = "committed"
	Settled     Phase = "settled"
	Restored    Phase = "restored"
	Failed      Phase = "failed"
	Ineffective Phase = "ineffective"
	Cancelled   Phase = "cancelled"
	Abandoned   Phase = "abandoned"
	Superseded  Phase = "superseded"
	Lost        Phase = "lost"
)

// Digest is the chain digest of the messages that a target covers.
type Digest [32]byte

// String is the digest in hexadecimal, as stores keep it.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// ParseDigest reads what String wrote.
func ParseDigest(s string) (Digest, error) {
	var d Digest
	if len(s) != hex.EncodedLen(len(d)) {
		return d, fmt.Errorf("parse digest: %d digits, want %d", len(s), hex.EncodedLen(len(d)))
	}
	if _, err := hex.Decode(d[:], []byte(s)); err != nil {
		return d, fmt.Errorf("parse digest: %w", err)
	}
	return d, nil
}

// Target is what an attempt covers, or a checkpoint covered: the number of
// messages counted from the first one after the head, and their digest.
type Target struct {
	Covered int
	Digest  Digest
}

// Checkpoint is a committed summary. It is provisional until settled.
type Checkpoint struct {
	Target
	Fence   Fence
	Settled bool
	// Tokens is the handoff's size by the reference count.
	Tokens int
	// Created is when the store took it, by the store's clock.
	Created time.Time
	// Route is the name of the route that wrote the summary.
	Route string
	// Step is the correction step under which the fold was cut (1 to 3).
	Step float64
	// Handoff is the text that stands for the middle. Nil where the caller of
	// Read named this fence as known.
	Handoff []byte
}

// State is what commit, restore and finish write and claim returns.
type State struct {
	// Checkpoints, newest first by order of commit, at most MaxCheckpoints.
	Checkpoints []Checkpoint
	// CooldownUntil and BlockedUntil are zero when there is none. They may lie
	// in the past: only the store's clock decides.
	CooldownUntil time.Time
	BlockedUntil  time.Time
	// Streak counts failures in a row: the rung of the cooldown ladder.
	Streak int
	// Strikes counts folds in a row that did not help.
	Strikes int
	// LastError is the class of the last failure; empty when there is none.
	LastError string
}

// MaxCheckpoints is how many checkpoints a conversation keeps.
const MaxCheckpoints = 4

// Owner is the owner record of a conversation.
type Owner struct {
	Fence   Fence
	Phase   Phase
	Replica string
	Route   string
	// Claimed, Progress, LeaseEnd and Ceiling are times of the store's clock.
	Claimed  time.Time
	Progress time.Time
	LeaseEnd time.Time
	Ceiling  time.Time
	// Live is whether the attempt works and its lease runs, judged by the store.
	Live bool
	// LeaseLeft is what is left of the lease by the store's clock, zero if over.
	// A replica waits by it and so needs no clock that agrees with the store's.
	LeaseLeft time.Duration
	Deaths    int
	Target    Target
	// TraceParent is the W3C trace context of the attempt's span, or empty.
	TraceParent string
}

// Cancel is a raised cancel flag.
type Cancel struct {
	Fence  Fence
	Reason string
	At     time.Time
}

// View is a conversation as Read found it. Owner and Cancel are nil where there
// is none. The zero View is a conversation that nobody ever claimed.
type View struct {
	Generation Generation
	Owner      *Owner
	Cancel     *Cancel
	State      State
	// Now is the store's clock at the time of the read.
	Now time.Time
}
