package middleware

import (
	"bytes"
	"net/http"
	"time"

	"github.com/foldgate/foldgate/compression/refusal"
	"github.com/foldgate/foldgate/compression/sse"
	"github.com/foldgate/foldgate/compression/window"
)

// answer is an upstream's answer that was held and kept back: the caller has
// seen nothing of it, and gets it after all if the retry fares no better.
type answer struct {
	refusal refusal.Refusal
	held    *holder
}

// forward is step 8: send, and retry once where the answer calls for it.
func (x *exchange) forward(p plan) {
	first := x.try(p, x.retryable(p))
	if first == nil {
		return
	}
	x.report.Retried = true
	if first.refusal.Kind == refusal.Overflow {
		x.afterOverflow(p, first)
		return
	}
	x.afterStructure(p, first)
}

// retryOn says whether an answer is kept back for another try. Nil: never, and
// nothing is held.
type retryOn func(status int, r refusal.Refusal) bool

// anyRefusal keeps back whatever is no success.
func anyRefusal(status int, r refusal.Refusal) bool {
	return status >= http.StatusBadRequest || r.Kind != refusal.None
}

// retryable says which answers are worth a second try.
func (x *exchange) retryable(p plan) retryOn {
	if !p.hold || x.m.cfg.Mode != ModeFold {
		return nil
	}
	return func(_ int, r refusal.Refusal) bool {
		switch r.Kind {
		case refusal.Overflow:
			return true
		case refusal.Structure:
			return p.covered > 0
		default:
			return false
		}
	}
}

// afterOverflow learns the window, folds and sends once more. Where nothing
// smaller comes of it, the caller gets the upstream's own answer.
func (x *exchange) afterOverflow(p plan, first *answer) {
	again, err := x.relearn(p, first.refusal)
	if x.ctx().Err() != nil {
		return
	}
	if err != nil || again.body == nil || (p.body != nil && len(again.body) >= len(p.body)) {
		x.replay(p, first)
		return
	}
	x.try(again, nil)
}

// relearn takes in what an overflow error says and decides again.
func (x *exchange) relearn(p plan, r refusal.Refusal) (plan, error) {
	if x.view == nil { // the length gate or an unknown window ended the measuring
		if reason := x.scan(); reason != "" {
			return x.asItCame(reason), nil
		}
	}
	sent := p.sent
	if sent == 0 {
		sent = x.view.Total()
		x.counted = sent
	}
	x.output = r.Output
	x.learn(r, sent)
	limits, guessed := x.narrowed(r, sent)
	if !guessed {
		x.limits = limits
		x.report.Window, x.report.Source = limits.Total, limits.Source
	}
	x.budget = window.NewBudget(limits, x.m.cfg.Settings, x.named(), x.correction(), window.Step(x.correction()))
	x.report.Before = x.corrected(x.counted)
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
// sent, where it is exact.
func (x *exchange) learn(r refusal.Refusal, sent window.Tokens) {
	book, model, now := x.m.cfg.Book, x.envelope.Model, time.Now()
	if r.Actual > 0 && !r.LowerBound && !x.envelope.Opaque {
		book.Observe(x.scope, model, window.Observation{Counted: sent, Reported: window.Tokens(r.Actual), At: now})
	}
	if r.Limit > 0 {
		book.Learn(x.scope, model, learnedLimits(r), now)
	}
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
		limits = learnedLimits(r)
	}
	tooMuch := window.Tokens(float64(sent) * x.correction())
	if limits.Total == 0 || limits.Total > tooMuch {
		return window.Limits{Total: tooMuch * 3 / 4}, true
	}
	return limits, false
}

// afterStructure retries a folded request that the upstream found malformed:
// folded without a model, or as it came where that fits. Only an accepted
// second try shows that the checkpoint was to blame.
func (x *exchange) afterStructure(p plan, first *answer) {
	var again plan
	var err error
	if x.report.Before <= x.budget.Usable {
		again = x.original(reasonFits)
	} else {
		again, err = x.fallback(nil, "") // no reason of the list is this one; "retried" tells
	}
	if err != nil || x.ctx().Err() != nil || bytes.Equal(again.body, p.body) {
		x.replay(p, first)
		return
	}
	if second := x.try(again, anyRefusal); second != nil {
		x.replay(p, first)
		return
	}
	if x.taken {
		x.blame(p.checkpoint)
	}
}

// try sends p. It returns nil when the answer went to the caller, else the
// answer that was kept back because retry wants to try again.
func (x *exchange) try(p plan, retry retryOn) *answer {
	x.firstForwarding()
	t := &trial{x: x, plan: p, retry: retry}
	o := holdOptions{Head: t.head, Observe: t.observe}
	if retry != nil {
		o.Hold, o.Max, o.Inspect = true, x.m.cfg.Hold, t.inspect
	}
	w, finish := x.writer()
	defer finish()
	h := newHolder(w, o)
	h.serve(x.next, x.request(p))
	if h.Discarded() {
		return &answer{refusal: t.refusal, held: h}
	}
	// A request that was not looked into (bypassed) names no model to learn for.
	if r := t.missed.refusal(); r.Kind == refusal.Overflow && r.Limit > 0 && !x.envelope.Messages.Empty() {
		x.m.cfg.Book.Learn(x.scope, x.envelope.Model, learnedLimits(r), time.Now())
	}
	x.learnFrom(p, t)
	return nil
}

// replay gives the caller an answer that was kept back.
func (x *exchange) replay(p plan, a *answer) {
	x.report.Kind, x.report.Reason, x.report.Retried = p.kind, p.reason, false
	a.held.Replay()
}

// writer is where the answer goes: to the caller, or into the stream that was
// begun while it waited. finish ends the latter.
func (x *exchange) writer() (w http.ResponseWriter, finish func()) {
	if x.alive == nil {
		return x.w, func() {}
	}
	a := x.alive.Answer()
	return a, a.Finish
}

// request is what the next handler gets.
func (x *exchange) request(p plan) *http.Request {
	var r *http.Request
	if p.body == nil {
		r = withBody(x.r, x.captured.Raw)
	} else {
		r = withReplacedBody(x.r, p.body)
	}
	if p.hold || x.told {
		r.Header = r.Header.Clone()
		stripFoldgate(r.Header)
	}
	if p.hold {
		// Errors and usage must be readable, and whoever takes codings takes none.
		r.Header.Set("Accept-Encoding", "identity")
	}
	return r
}

// firstForwarding stops the clock of the gateway's own time.
func (x *exchange) firstForwarding() {
	if !x.ready {
		x.ready = true
		x.report.Added = time.Since(x.start) - x.report.Wait
	}
}

// trial is one forwarding.
type trial struct {
	x       *exchange
	plan    plan
	retry   retryOn
	tap     *usageTap
	refusal refusal.Refusal
	proof   proof
	missed  missedOverflow
}

// inspect judges what is held: a stream by its data events so far, an error when
// it is whole.
func (t *trial) inspect(status int, h http.Header, body []byte, end bool) verdict {
	if isEventStream(h) && status < http.StatusBadRequest {
		t.refusal = inStream(body)
	} else {
		t.refusal = refusal.Classify(status, body)
	}
	if !t.retry(status, t.refusal) {
		return release
	}
	return discard
}

// inStream is the refusal in the events that a stream began with, if any.
func inStream(body []byte) (r refusal.Refusal) {
	p := sse.NewParser(holdCap)
	see := func(e sse.Event) {
		if !e.Comment && r.Kind == refusal.None {
			r = refusal.InStream(e.Data)
		}
	}
	p.Write(body, see)
	p.Close(see)
	return r
}

// head is called right before the head goes out.
func (t *trial) head(status int, h http.Header) {
	x := t.x
	x.report.Status = status
	x.report.Kind, x.report.Reason = t.plan.kind, t.plan.reason
	x.setHead(h)
	t.missed.begin(status, h)
	if status < http.StatusOK || status >= http.StatusMultipleChoices {
		return
	}
	if t.plan.sent > 0 && !x.envelope.Opaque {
		t.tap = newUsageTap(h)
	}
	x.forwarded(t.plan)
	t.proof.begin(h)
}

// observe sees what the caller has been sent.
func (t *trial) observe(b []byte, _ bool) {
	t.tap.Write(b)
	t.missed.write(b)
	if t.proof.write(b) {
		t.x.accepted(t.plan)
	}
}
