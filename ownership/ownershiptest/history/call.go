package history

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/foldgate/foldgate/ownership"
)

// op names a step of the model.
type op string

const (
	opRead     op = "read"
	opClaim    op = "claim"
	opRenew    op = "renew"
	opCommit   op = "commit"
	opSettle   op = "settle"
	opRestore  op = "restore"
	opFinish   op = "finish"
	opRaise    op = "raise"
	opClear    op = "clear"
	opOperator op = "operator"
	opForget   op = "forget"

	// What faults do to a conversation.
	opWipe     op = "wipe"      // it is gone, counter included
	opEvict    op = "evict"     // its counter is gone
	opKeep     op = "keep"      // its state is kept elsewhere
	opFallBack op = "fall back" // it is what was kept
)

// call is what a step is asked. Fields that its op has no use for are zero.
type call struct {
	op      op
	fence   ownership.Fence // operator: the owner that was seen
	claim   ownership.Claim
	renewal ownership.Renewal
	commit  ownership.Commit
	charge  *ownership.Failure
	ending  ownership.Ending
	reason  string
	by      ownership.AttemptID
	known   []ownership.Fence

	// now is when the step runs, by the store's clock.
	now span
}

// writes tells whether a call without an answer may have left a trace.
func (c *call) writes() bool { return c.op != opRead }

// answer is what came back.
type answer struct {
	// says is the decision, in one word or two; see the says… constants. It is
	// empty where no answer came.
	says    string
	claimed ownership.Claimed
	gen     ownership.Generation
	view    ownership.View
	err     error
}

func (a *answer) unknown() bool { return a.says == "" }

// Decisions. An attempt that ended, and a flag with its reason, have words of
// their own: see saysEnded and saysReason.
const (
	saysDone        = "done"
	saysAlready     = "already"
	saysClaimed     = "claimed"
	saysCommitted   = "committed"
	saysBusy        = "busy"
	saysCancelled   = "cancelled"
	saysCooling     = "cooling"
	saysBlocked     = "blocked"
	saysSuperseded  = "superseded"
	saysLost        = "lost"
	saysNotCurrent  = "not current"
	saysInvalid     = "invalid"
	saysUnavailable = "unavailable"
)

func saysEnded(p ownership.Phase) string { return "ended " + string(p) }
func saysPhase(p ownership.Phase) string { return "phase " + string(p) }
func saysReason(reason string) string    { return "raised: " + reason }

var verdicts = map[ownership.Verdict]string{
	ownership.VerdictClaimed:   saysClaimed,
	ownership.VerdictCommitted: saysCommitted,
	ownership.VerdictBusy:      saysBusy,
	ownership.VerdictCancelled: saysCancelled,
	ownership.VerdictCooling:   saysCooling,
	ownership.VerdictBlocked:   saysBlocked,
}

// ask makes the call.
func (c *call) ask(ctx context.Context, s ownership.Store, key ownership.Key) *answer {
	a := &answer{}
	said := saysDone
	var done ownership.Done
	switch c.op {
	case opRead:
		a.view, a.err = s.Read(ctx, key, c.known)
	case opClaim:
		a.claimed, a.err = s.Claim(ctx, key, c.claim)
		said = verdicts[a.claimed.Verdict]
	case opRenew:
		a.err = s.Renew(ctx, key, c.fence, c.renewal)
	case opCommit:
		done, a.err = s.Commit(ctx, key, c.fence, c.commit)
		said = saysOf(done)
	case opSettle:
		done, a.err = s.Settle(ctx, key, c.fence)
		said = saysOf(done)
	case opRestore:
		done, a.err = s.Restore(ctx, key, c.fence, c.charge)
		said = saysOf(done)
	case opFinish:
		a.err = s.Finish(ctx, key, c.fence, c.ending)
	case opRaise:
		a.err = s.Raise(ctx, key, c.fence, c.reason)
	case opClear:
		var p ownership.Phase
		p, a.err = s.Clear(ctx, key, c.fence)
		said = saysPhase(p)
	case opOperator:
		done, a.err = s.RestoreOperator(ctx, key, c.fence, c.by)
		said = saysOf(done)
	case opForget:
		a.gen, a.err = s.Forget(ctx, key)
	}
	a.says = said
	if a.err != nil {
		a.says = saysError(a.err)
	} else if said == "" {
		a.says = "no verdict"
	}
	return a
}

func saysOf(d ownership.Done) string {
	switch d {
	case ownership.DoneNow:
		return saysDone
	case ownership.DoneAlready:
		return saysAlready
	}
	return fmt.Sprintf("done %d", d)
}

// saysError is empty where nobody knows what became of the call.
func saysError(err error) string {
	var ended *ownership.EndedError
	var cancelled *ownership.CancelledError
	switch {
	case errors.Is(err, ownership.ErrIndeterminate):
		return ""
	case errors.Is(err, ownership.ErrUnavailable):
		return saysUnavailable
	case errors.As(err, &ended):
		return saysEnded(ended.Phase)
	case errors.As(err, &cancelled):
		return saysReason(cancelled.Reason)
	case errors.Is(err, ownership.ErrSuperseded):
		return saysSuperseded
	case errors.Is(err, ownership.ErrLost):
		return saysLost
	case errors.Is(err, ownership.ErrNotCurrent):
		return saysNotCurrent
	case errors.Is(err, ownership.ErrInvalid):
		return saysInvalid
	}
	return "error: " + err.Error()
}

// String is for those who read a history that went wrong.
func (c *call) String() string {
	var b strings.Builder
	b.WriteString(string(c.op))
	if c.fence != (ownership.Fence{}) {
		b.WriteString(" " + short(c.fence))
	}
	switch c.op {
	case opClaim:
		fmt.Fprintf(&b, " %s for %s lease %v", tail(c.claim.Attempt), digest(c.claim.Target), c.claim.Lease)
		if c.claim.Supersede != (ownership.Fence{}) {
			b.WriteString(" instead of " + short(c.claim.Supersede))
		}
		if c.claim.Bypass {
			b.WriteString(" bypass")
		}
	case opCommit:
		fmt.Fprintf(&b, " %s %q", digest(c.commit.Checkpoint.Target), c.commit.Checkpoint.Handoff)
		if c.commit.Strike {
			b.WriteString(" strike")
		}
	case opRestore:
		if c.charge != nil {
			fmt.Fprintf(&b, " charge %+v", *c.charge)
		}
	case opFinish:
		fmt.Fprintf(&b, " %s", c.ending.Phase)
		if c.ending.Phase == ownership.Failed {
			fmt.Fprintf(&b, " %+v", c.ending.Failure)
		}
	case opOperator:
		b.WriteString(" by " + tail(c.by))
	}
	return b.String()
}

// String is the decision and what came with it.
func (a *answer) String() string {
	switch {
	case a.unknown():
		return "no answer"
	case a.says == saysClaimed:
		return "claimed " + short(a.claimed.Fence) + " " + stateText(a.claimed.State)
	case a.says == saysCommitted:
		return "committed " + checkpointText(a.claimed.Checkpoint)
	case a.says == saysBusy:
		return "busy " + ownerText(&a.claimed.Owner)
	case a.gen > 0:
		return fmt.Sprintf("%s %d", a.says, a.gen)
	case !a.view.Now.IsZero():
		v := a.view
		text := fmt.Sprintf("gen %d %s", v.Generation, ownerText(v.Owner))
		if v.Cancel != nil {
			text += fmt.Sprintf(" raised %s %q", short(v.Cancel.Fence), v.Cancel.Reason)
		}
		return text + " " + stateText(v.State)
	}
	return a.says
}

func tail(id ownership.AttemptID) string { return string(id[max(0, len(id)-4):]) }

func short(f ownership.Fence) string { return f.Generation.String() + "/" + tail(f.Attempt) }

func digest(t ownership.Target) string { return fmt.Sprintf("%d:%.4s", t.Covered, t.Digest.String()) }

func ownerText(o *ownership.Owner) string {
	if o == nil {
		return "nobody"
	}
	return fmt.Sprintf("%s %s for %s, %d died, %v left", short(o.Fence), o.Phase, digest(o.Target), o.Deaths, o.LeaseLeft)
}

func checkpointText(c ownership.Checkpoint) string {
	mark := "provisional"
	if c.Settled {
		mark = "settled"
	}
	return fmt.Sprintf("%s %s %s %q", short(c.Fence), mark, digest(c.Target), c.Handoff)
}

func stateText(s ownership.State) string {
	var text []string
	for _, c := range s.Checkpoints {
		text = append(text, checkpointText(c))
	}
	return fmt.Sprintf("[%s] streak %d strikes %d error %q cooldown %s blocked %s",
		strings.Join(text, "; "), s.Streak, s.Strikes, s.LastError, clockText(s.CooldownUntil), clockText(s.BlockedUntil))
}

func clockText(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("15:04:05.000")
}
