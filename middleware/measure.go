package middleware

import (
	"errors"
	"math"

	"github.com/foldgate/foldgate/compression/chat"
	"github.com/foldgate/foldgate/compression/window"
	"github.com/foldgate/foldgate/ownership"
)

// stayShare: a conversation that was forwarded folded stays folded while its
// original is over this share of the trigger, so that it does not flip back and
// forth when the client drops a message.
const stayShare = 0.9

// decide is steps 2 to 7. Its error is a *compression.UnfitError, or the
// context's when the caller left.
func (x *exchange) decide() (plan, error) {
	if reason := x.look(); reason != "" {
		return x.asItCame(reason), nil
	}
	if x.limits.Total == 0 && x.limits.Input == 0 {
		p := x.asItCame(reasonUnknownWindow)
		p.hold = len(x.captured.Decoded) >= smallestWindow
		return p, nil
	}
	x.budget = window.NewBudget(x.limits, x.m.cfg.Settings, x.named(), x.correction(), window.Step(x.correction()))
	if !x.envelope.Opaque && float64(len(x.captured.Decoded))*x.budget.Correction <= float64(x.budget.Trigger) {
		return x.asItCame(reasonUnder), nil // the length gate
	}
	if reason := x.scan(); reason != "" {
		return x.asItCame(reason), nil
	}
	return x.measure()
}

// smallestWindow is the smallest window that is believed (window.Learn has the
// same bound). A body of fewer bytes than that cannot overflow any.
const smallestWindow = 1024

// asItCame forwards the original bytes.
func (x *exchange) asItCame(reason string) plan {
	p := plan{kind: kindNone, reason: reason}
	if x.bypassed {
		p.kind = kindBypassed
	}
	return p
}

// look is the cheapest part of measuring: what rules out a fold, and the
// envelope. A reason means: forward as it came.
func (x *exchange) look() string {
	switch {
	case x.bypassed:
		return reasonCaller
	case x.captured.Opaque != "":
		return x.captured.Opaque // reasonEncoding or reasonTooLarge
	}
	e, err := chat.ReadEnvelope(x.captured.Decoded)
	if err != nil {
		return unreadable(err)
	}
	if e.Native != "" {
		return reasonNative
	}
	x.envelope = e
	x.limits = x.m.cfg.Book.Lookup(x.scope, e.Model, x.start)
	x.report.Stream = e.Stream
	x.report.Window, x.report.Source = x.limits.Total, x.limits.Source
	return ""
}

func unreadable(err error) string {
	if errors.Is(err, chat.ErrDuplicateKey) {
		return reasonDuplicateKey
	}
	return reasonNotChat
}

// scan finds the messages.
func (x *exchange) scan() string {
	req, err := chat.Parse(x.captured.Decoded, x.envelope)
	if err != nil {
		return unreadable(err)
	}
	if err := x.captured.Charge(int64(elements(req)) * elementBytes); err != nil {
		return reasonTooLarge
	}
	x.view = x.m.memo.View(req)
	return ""
}

// elementBytes is about what one message, part or call costs in memory beside
// its bytes: spans, names, digests, counts, and what growing them left behind.
// Measured on a body of the smallest messages there are.
const elementBytes = 640

// elements counts what Parse made.
func elements(r *chat.Request) int {
	n := len(r.Messages)
	for i := range r.Messages {
		n += len(r.Messages[i].Parts) + len(r.Messages[i].Calls)
	}
	return n
}

// measure estimates and counts, and goes on to fold what is over the trigger.
func (x *exchange) measure() (plan, error) {
	_, high := x.view.Bounds()
	if x.corrected(high) <= window.Tokens(stayShare*float64(x.budget.Trigger)) {
		return x.asItCame(reasonUnder), nil // clearly under
	}
	x.counted = x.view.Total()
	before := x.corrected(x.counted)
	x.report.Before, x.report.After = before, before
	over := before > x.budget.Trigger
	if !over && float64(before) <= stayShare*float64(x.budget.Trigger) {
		return x.original(reasonUnder), nil
	}
	x.key = x.identify()
	if p, ok := x.stayFolded(); ok {
		return p, nil
	}
	if !over {
		return x.original(reasonUnder), nil
	}
	if x.m.cfg.Mode == ModeObserve {
		return x.observe(), nil
	}
	return x.fold()
}

// original forwards the original of a request that was counted.
func (x *exchange) original(reason string) plan {
	p := x.asItCame(reason)
	p.sent = x.counted
	p.hold = float64(x.report.Before) > float64(max(x.limits.Total, x.limits.Input))/2
	return p
}

// identify is step 3.
func (x *exchange) identify() ownership.Key {
	if x.id != "" {
		return idKey(x.scope.Tenant, x.id)
	}
	return anchorKey(x.scope.Tenant, x.view.Anchor())
}

// observe reports what a fold without a model would come to, and changes nothing.
func (x *exchange) observe() plan {
	p := x.original(reasonMode)
	h := x.view.Deterministic(x.budget, x.m.cfg.Settings, nil)
	if folded, err := x.view.Fold(h, x.budget); err == nil {
		x.report.After = folded.Tokens
	}
	return p
}

func (x *exchange) named() window.Tokens {
	return window.Tokens(max(x.envelope.MaxTokens, x.envelope.MaxCompletionTokens, x.output))
}

func (x *exchange) correction() float64 {
	return x.m.cfg.Book.Correction(x.scope, x.envelope.Model)
}

func (x *exchange) corrected(reference window.Tokens) window.Tokens {
	return window.Tokens(math.Ceil(float64(reference) * x.budget.Correction))
}

// reference is the inverse of corrected, for a count that Fold has corrected.
func (x *exchange) reference(corrected window.Tokens) window.Tokens {
	return window.Tokens(math.Floor(float64(corrected) / x.budget.Correction))
}
