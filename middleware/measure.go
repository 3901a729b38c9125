package middleware

import (
	"errors"

	"github.com/foldgate/foldgate/compression"
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
	if x.windowUnknown() && !x.overBytes() && !x.observed() {
		p := x.asItCame(reasonUnknownWindow)
		p.hold = len(x.captured.Decoded) >= smallestWindow
		return p, nil
	}
	x.budget = x.newBudget(x.limits)
	if !x.envelope.Opaque && !x.overBytes() && float64(len(x.captured.Decoded))*x.budget.Correction <= float64(x.budget.Trigger) {
		return x.asItCame(reasonUnder), nil // the length gate
	}
	defer x.endTurn()
	if err := x.takeTurn(); err != nil {
		return plan{}, err
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
	e, err := x.m.seen.ReadEnvelope(x.captured.Decoded)
	if err != nil {
		return unreadable(err)
	}
	if e.Native != "" {
		return reasonNative
	}
	if e.Model == "" {
		e.Model = deploymentOf(x.r.URL)
	}
	x.envelope = e
	x.limits = x.m.cfg.Book.Lookup(x.scope, e.Model, x.start)
	x.report.Stream = e.Stream
	x.report.Window, x.report.Source = x.limits.Total, x.limits.Source
	x.m.learner.seen(x)
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
	view, err := x.m.memo.Look(x.captured.Decoded, x.envelope)
	if err != nil {
		return unreadable(err)
	}
	all, read := view.For(x.envelope.Model).Elements()
	if err := x.captured.Charge(int64(all)*knownBytes + int64(read)*elementBytes); err != nil {
		return reasonTooLarge
	}
	x.view = view
	x.hidden = hiddenTokens(x.captured.Decoded, x.envelope)
	return ""
}

// elementBytes is about what one message, part or call costs in memory beside
// its bytes: spans, names, digests, counts, and what growing them left behind.
// Measured on a body of the smallest messages there are.
const elementBytes = 640

// knownBytes is about what one costs that is only counted, by what is remembered.
const knownBytes = 128

// open reads the messages that were only counted. A reason means: forward as it
// came.
func (x *exchange) open() string {
	all, read := x.view.Elements()
	if err := x.captured.Charge(int64(all-read) * elementBytes); err != nil {
		return reasonTooLarge
	}
	x.view.Open()
	return ""
}

// measure estimates and counts, and goes on to fold what is over the trigger.
func (x *exchange) measure() (p plan, err error) {
	defer x.traceFold()(&p, &err)
	if !x.overBytes() && !x.observed() {
		_, high := x.view.Bounds()
		if x.budget.Corrected(high) <= window.Tokens(stayShare*float64(x.budget.Trigger)) {
			x.view.Remember()
			return x.asItCame(reasonUnder), nil // clearly under
		}
	}
	before := x.count()
	x.report.After = before
	if x.windowUnknown() {
		return x.original(reasonUnknownWindow), nil
	}
	over := before > x.budget.Trigger
	if !over && float64(before) <= stayShare*float64(x.budget.Trigger) {
		return x.original(reasonUnder), nil
	}
	if reason := x.open(); reason != "" {
		return x.asItCame(reason), nil
	}
	if x.compacting(before) {
		return x.original(reasonNative), nil
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

// count counts the original: what the upstream has counted of it as it said, the
// rest by our own count, corrected.
func (x *exchange) count() window.Tokens {
	x.counted = x.view.Total()
	x.report.Before = x.budgetFor(nil).Corrected(x.counted)
	x.view.Remember()
	return x.report.Before
}

// original forwards the original of a request that was counted, made smaller
// where the upstream is known not to take so many bytes. One that cannot be made
// small enough goes as it came, since that limit may be gone.
func (x *exchange) original(reason string) plan {
	if x.overBytes() {
		if p, _, ok := x.trimmed(); ok {
			return p
		}
		x.report.After, x.covered = x.report.Before, 0
	}
	p := x.asItCame(reason)
	p.sent, p.size = x.counted, x.sizeOf(nil)
	p.hold = x.m.cfg.Mode == ModeFold && float64(x.report.Before) > float64(max(x.limits.Total, x.limits.Input))/2
	return p
}

// identify is step 3.
func (x *exchange) identify() ownership.Key {
	if x.id != "" {
		return idKey(x.scope.Tenant, x.id)
	}
	return anchorKey(x.scope.Tenant, x.view.Anchor())
}

// observed reports whether the request is counted for whoever chooses windows and
// triggers, also where the decision could do without: its window is not known, or
// it is clearly under the trigger that is set now.
func (x *exchange) observed() bool {
	return x.m.cfg.Mode == ModeObserve && len(x.captured.Decoded) >= smallestWindow
}

// observe reports what a fold without a model would come to, also where that does
// not fit, and changes nothing.
func (x *exchange) observe() plan {
	p := x.original(reasonMode)
	h := x.view.Deterministic(x.budget, x.m.cfg.Settings, nil)
	folded, err := foldOrShrink(x.view, h, x.budgetFor(&h))
	if unfit := (*compression.UnfitError)(nil); err == nil || errors.As(err, &unfit) {
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

// windowUnknown reports whether nothing knows what the model accepts.
func (x *exchange) windowUnknown() bool { return x.limits.Total == 0 && x.limits.Input == 0 }

// newBudget is what this request may use of the limits.
func (x *exchange) newBudget(l window.Limits) window.Budget {
	correction := x.correction()
	return window.NewBudget(l, x.m.cfg.Settings, x.named(), correction, window.Step(correction))
}
