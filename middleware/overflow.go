package middleware

import (
	"time"

	"github.com/foldgate/foldgate/compression/refusal"
	"github.com/foldgate/foldgate/compression/window"
)

// afterOverflow learns the window, folds and sends once more. Where nothing
// smaller comes of it, the caller gets the upstream's own answer.
func (x *exchange) afterOverflow(p plan, first *answer) {
	again, err := x.relearn(p, first.refusal)
	if x.ctx().Err() != nil {
		return
	}
	same := p.body == nil && sameMemory(again.body, x.captured.Decoded) // no form is smaller
	if err != nil || again.body == nil || same || (p.body != nil && len(again.body) >= len(p.body)) {
		x.replay(p, first)
		return
	}
	x.try(again, nil)
}

// relearn takes in what an overflow error says and decides again.
func (x *exchange) relearn(p plan, r refusal.Refusal) (again plan, err error) {
	defer x.traceFold()(&again, &err)
	defer x.endTurn()
	if err := x.takeTurn(); err != nil {
		return plan{}, err
	}
	if x.view == nil { // the length gate or an unknown window ended the measuring
		if reason := x.scan(); reason != "" {
			return x.asItCame(reason), nil
		}
	}
	if reason := x.open(); reason != "" {
		return x.asItCame(reason), nil
	}
	if p.sent == 0 { // then it left as it came
		p.sent, p.size = x.view.Total(), x.sizeOf(nil)
	}
	x.output = r.Output
	x.learn(p, r)
	limits, guessed := x.narrowed(r, p.sent)
	if !guessed {
		x.limits = limits
		x.report.Window, x.report.Source = limits.Total, limits.Source
	}
	x.budget = x.newBudget(limits)
	x.count()
	if x.key == "" {
		x.key = x.identify()
	}
	if guessed {
		// Good for this answer, and no ground to cut a conversation for good. Where a
		// window is known, no reason of the list is this one; "retried" tells.
		reason := reasonUnknownWindow
		if x.limits.Total > 0 {
			reason = ""
		}
		return x.fallback(nil, reason)
	}
	return x.fold()
}

// learn keeps the limit for everybody, and the upstream's own count of what was
// sent, where it is exact. An output that is too large by itself teaches nothing,
// and neither does a limit that the request does not break.
func (x *exchange) learn(p plan, r refusal.Refusal) {
	book, model, now := x.m.cfg.Book, x.envelope.Model, time.Now()
	switch {
	case x.envelope.Messages.Empty(): // not looked into (bypassed): there is no model to learn for
	case r.Kind == refusal.TooLarge && r.Bytes > 0 && r.Bytes < int64(len(x.wire(p))):
		book.Learn(x.scope, model, window.Limits{Bytes: r.Bytes}, now)
	case r.Kind == refusal.Overflow:
		if p.sent > 0 && r.Actual > 0 && !r.LowerBound && !x.hidden {
			reported := window.Tokens(r.Actual)
			x.remember(p.size, p.sent, reported)
			if !x.envelope.Opaque {
				book.Observe(x.scope, model, window.Observation{Counted: p.sent, Reported: reported, At: now})
			}
		}
		if r.Limit > 0 && !x.wellUnder(p, r.Limit) {
			book.Learn(x.scope, model, learnedLimits(r), now)
		}
	}
}

// wire is what left for the upstream as a body.
func (x *exchange) wire(p plan) []byte {
	if p.body != nil {
		return p.body
	}
	return x.captured.Raw
}

// wellUnder reports whether a request cannot be what broke a limit of tokens: it
// has not half as many bytes, and a token covers one at least. The limit is then
// something else's: of a quotation of what was sent, say.
func (x *exchange) wellUnder(p plan, limit int) bool {
	text := x.captured.Decoded
	if p.body != nil {
		text = p.body
	}
	return !x.envelope.Opaque && limit/2 > len(text)+int(x.named())
}

func learnedLimits(r refusal.Refusal) window.Limits {
	l := window.Limits{Total: window.Tokens(r.Limit), Source: window.Learned}
	if r.InputLimit {
		l.Input = l.Total
	}
	return l
}

// narrowed is the window to fold for now. Where what is known of it says that
// the request fits, the upstream knows better: then a quarter less than what was
// sent is guessed, for this request only.
func (x *exchange) narrowed(r refusal.Refusal, sent window.Tokens) (limits window.Limits, guessed bool) {
	limits = x.m.cfg.Book.Lookup(x.scope, x.envelope.Model, time.Now())
	if r.Limit > 0 && (limits.Total == 0 || window.Tokens(r.Limit) < limits.Total) {
		bytes := limits.Bytes
		limits = learnedLimits(r)
		limits.Bytes = bytes
	}
	tooMuch := window.Tokens(float64(sent) * x.correction())
	if limits.Total == 0 || limits.Total > tooMuch {
		return window.Limits{Total: tooMuch * 3 / 4, Bytes: limits.Bytes}, true
	}
	return limits, false
}
