package history

import (
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/foldgate/foldgate/ownership"
)

// Script is a history made by hand: calls in the order in which they began, each
// between two instants.
type Script struct {
	now span
	ops []porcupine.Operation
}

// NewScript makes a script in which the store's clock stands still at now.
func NewScript(now time.Time) *Script {
	return &Script{now: span{now.UnixNano(), now.UnixNano()}}
}

func (s *Script) add(began, ended int64, c call, a answer) *Script {
	c.now = s.now
	if a.unknown() {
		ended = never
	}
	s.ops = append(s.ops, porcupine.Operation{ClientId: len(s.ops), Input: &c, Call: began, Output: &a, Return: ended})
	return s
}

// Claim adds a claim; got is nil where no answer came.
func (s *Script) Claim(began, ended int64, q ownership.Claim, got *ownership.Claimed) *Script {
	a := answer{}
	if got != nil {
		a = answer{says: verdicts[got.Verdict], claimed: *got}
	}
	return s.add(began, ended, call{op: opClaim, claim: q}, a)
}

// Commit adds a commit that says what.
func (s *Script) Commit(began, ended int64, f ownership.Fence, q ownership.Commit, says string) *Script {
	return s.add(began, ended, call{op: opCommit, fence: f, commit: q}, answer{says: says})
}

// Raise adds a raise that says what.
func (s *Script) Raise(began, ended int64, f ownership.Fence, says string) *Script {
	return s.add(began, ended, call{op: opRaise, fence: f, reason: "reason"}, answer{says: says})
}

// Read adds a read that sees v.
func (s *Script) Read(began, ended int64, v ownership.View) *Script {
	return s.add(began, ended, call{op: opRead}, answer{says: saysDone, view: v})
}

// Fault adds what a fault does: "wipe", "evict", "keep" or "fall back".
func (s *Script) Fault(began, ended int64, what string) *Script {
	return s.add(began, ended, call{op: op(what)}, answer{says: saysDone})
}

// Allowed tells whether the model allows the history.
func (s *Script) Allowed() bool { return verify(s.ops, time.Minute) == nil }

// TimesOut tells whether a check without time is a violation.
func (s *Script) TimesOut() bool {
	v := verify(s.ops, time.Nanosecond)
	return v != nil && v.TimedOut
}
