package middleware

import (
	"time"

	"github.com/foldgate/foldgate/compression"
	"github.com/foldgate/foldgate/compression/refusal"
	"github.com/foldgate/foldgate/compression/window"
)

// heavyBody is the length from which a refusal for bytes alone is held back and
// retried: no server that takes chat requests has a lower limit.
const heavyBody = 64 << 10

// heavy reports whether the body may be refused for its bytes, and could be made
// smaller: it was looked into.
func (x *exchange) heavy() bool {
	return len(x.captured.Raw) >= heavyBody && !x.envelope.Messages.Empty()
}

// overBytes reports whether the original is longer than the upstream is known to
// take.
func (x *exchange) overBytes() bool {
	return x.limits.Bytes > 0 && int64(len(x.captured.Raw)) > x.limits.Bytes && x.m.cfg.Mode == ModeFold
}

// trimmed is the request made small enough for the upstream's limit of bytes:
// its old images and long texts shrunk by the exit gate, or else folded without a
// model. No summary is asked for. False: it cannot be made that small; smallest
// is what comes nearest then, its body nil if nothing could be made of it.
func (x *exchange) trimmed() (p, smallest plan, ok bool) {
	if x.open() != "" {
		return plan{}, plan{}, false
	}
	h := compression.Handoff{}
	for range 2 {
		folded, err := foldOrShrink(x.view, h, x.budgetFor(&h))
		if err == nil && len(folded.Body) < len(x.captured.Decoded) {
			p := x.send(folded, &h, kindFallback, reasonTooLarge)
			if folded.Fits {
				return p, p, true
			}
			smallest = p
		}
		if h = x.view.Deterministic(x.budgetOfBytes(), x.m.cfg.Settings, nil); h.Covered == 0 {
			break
		}
	}
	return plan{}, smallest, false
}

// budgetOfBytes is the budget that cuts a request to its limit of bytes: that of
// a window of as many tokens as this request has in so many bytes. A power of
// two, so that the cut stays put while the conversation grows.
func (x *exchange) budgetOfBytes() window.Budget {
	share := float64(x.budget.Bytes) / float64(len(x.captured.Decoded))
	total := window.Tokens(1)
	for window.Tokens(share*float64(x.report.Before)) >= 2*total {
		total *= 2
	}
	b := x.newBudget(window.Limits{Total: total, Bytes: x.budget.Bytes})
	b.Step = x.budget.Step
	return b
}

// afterTooLarge makes the request smaller and sends it once more. Where nothing
// smaller comes of it, the caller gets the upstream's own answer.
func (x *exchange) afterTooLarge(p plan, first *answer) {
	again, guessed := x.lighter(p, first.refusal)
	if x.ctx().Err() != nil {
		return
	}
	if again.body == nil {
		x.replay(p, first)
		return
	}
	x.try(again, nil)
	if x.taken && guessed {
		// So much is proven to be taken, and nothing longer. It is forgotten after
		// a while, or when something longer is taken.
		proven := max(x.limits.Bytes, int64(len(again.body)))
		x.m.cfg.Book.Learn(x.scope, x.envelope.Model, window.Limits{Bytes: proven}, time.Now())
	}
}

// lighter is the request for a second try after a refusal for its bytes: within
// the limit that the upstream named, or within three quarters of what was sent
// where it named none that this request breaks.
func (x *exchange) lighter(p plan, r refusal.Refusal) (again plan, guessed bool) {
	defer x.endTurn()
	if x.takeTurn() != nil {
		return plan{}, false // the caller left
	}
	sent := int64(len(x.wire(p)))
	limit := r.Bytes
	if guessed = limit == 0 || limit >= sent; guessed {
		limit = sent / 4 * 3
	} else {
		x.learn(p, r)
	}
	if x.view == nil && x.scan() != "" || x.open() != "" {
		return plan{}, guessed
	}
	if x.budget.Correction == 0 { // the window is not known
		x.budget = x.newBudget(x.limits)
	}
	x.limits.Bytes, x.budget.Bytes = limit, limit
	x.count()
	again, smallest, ok := x.trimmed()
	if !ok && guessed && smallest.body != nil && int64(len(smallest.body)) < sent {
		again = smallest // perhaps it is enough
	}
	return again, guessed
}
