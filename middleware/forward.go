package middleware

import (
	"bytes"
	"net/http"
	"time"

	"github.com/foldgate/foldgate/compression/refusal"
	"github.com/foldgate/foldgate/compression/sse"
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
	switch first.refusal.Kind {
	case refusal.Overflow:
		x.afterOverflow(p, first)
	case refusal.TooLarge:
		x.afterTooLarge(p, first)
	default:
		x.afterStructure(p, first)
	}
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
	if x.m.cfg.Mode != ModeFold || !p.hold && !x.heavy() {
		return nil
	}
	return func(_ int, r refusal.Refusal) bool {
		switch r.Kind {
		case refusal.Overflow, refusal.TooLarge:
			return !x.envelope.Messages.Empty()
		case refusal.Structure:
			return p.covered > 0
		default:
			return false
		}
	}
}

// afterStructure retries a folded request that the upstream found malformed:
// folded without a model, or as it came where that fits. Only an accepted
// second try shows that the checkpoint was to blame.
func (x *exchange) afterStructure(p plan, first *answer) {
	again, err := x.foldAnew()
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

// foldAnew does without the checkpoint: as it came where that fits, else folded
// without a model. No reason of the list is the latter's; "retried" tells.
func (x *exchange) foldAnew() (plan, error) {
	fits := x.report.Before <= x.budget.Usable
	if fits && !x.overBytes() {
		return x.original(reasonFits), nil // nothing to compute
	}
	defer x.endTurn()
	if err := x.takeTurn(); err != nil {
		return plan{}, err
	}
	if fits {
		return x.original(reasonFits), nil
	}
	return x.fallback(nil, "")
}

// try sends p. It returns nil when the answer went to the caller, else the
// answer that was kept back because retry wants to try again.
func (x *exchange) try(p plan, retry retryOn) *answer {
	x.firstForwarding()
	t := &trial{x: x, plan: p, retry: retry}
	o := holdOptions{Head: t.head, Observe: t.observe}
	if retry != nil {
		o.Hold, o.Max, o.Inspect, o.ErrorsOnly = true, x.m.cfg.Hold, t.inspect, !p.hold
	}
	w, finish := x.writer()
	defer finish()
	h := newHolder(w, o)
	r := x.request(p)
	defer r.Body.Close() // the next handler may have opened another one
	h.serve(x.next, r)
	if h.Discarded() {
		return &answer{refusal: t.refusal, held: h}
	}
	x.learn(p, t.missed.refusal()) // too late for this request, not for the next
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
		r = withBody(x.r, x.captured)
	} else {
		if sameMemory(p.body, x.captured.Decoded) {
			x.captured.Keep() // no form is smaller: it leaves as it was decoded, and nobody tells when it has left
		}
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
			r = refusalIn(e)
		}
	}
	p.Write(body, see)
	p.Close(see)
	return r
}

// refusalIn reads one event. One that is named error is an error whatever its
// data look like, as LM Studio's.
func refusalIn(e sse.Event) refusal.Refusal {
	if e.Name == "error" {
		return refusal.Classify(http.StatusBadRequest, e.Data)
	}
	return refusal.InStream(e.Data)
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
	if t.plan.sent > 0 && !x.hidden {
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
