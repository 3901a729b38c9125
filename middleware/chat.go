package middleware

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"time"

	"github.com/foldgate/foldgate/compression"
	"github.com/foldgate/foldgate/compression/chat"
	"github.com/foldgate/foldgate/compression/window"
	"github.com/foldgate/foldgate/ownership"
)

// The tokens of Foldgate-Fold.
const (
	kindNone      = "none"
	kindReused    = "reused"
	kindCommitted = "committed"
	kindUnfenced  = "unfenced"
	kindFallback  = "fallback"
	kindUnfit     = "unfit"
	kindBypassed  = "bypassed"
	kindPending   = "pending"
)

// The reasons of Foldgate-Fold.
const (
	reasonUnder         = "under"
	reasonFits          = "fits"
	reasonUnknownWindow = "unknown-window"
	reasonBusy          = "busy"
	reasonCooling       = "cooling"
	reasonBlocked       = "blocked"
	reasonTimeout       = "timeout"
	reasonFull          = "full"
	reasonStore         = "store"
	reasonRoutes        = "routes"
	reasonCancelled     = "cancelled"
	reasonTooLarge      = "too-large"
	reasonNative        = "native"
	reasonEncoding      = "encoding"
	reasonDuplicateKey  = "duplicate-key"
	reasonNotChat       = "not-chat"
	reasonSuperseded    = "superseded"
	reasonLost          = "lost"
	reasonIneffective   = "ineffective"
	reasonMode          = "mode"
	reasonCaller        = "caller"
)

// stayShare: a conversation that was forwarded folded stays folded while its
// original is over this share of the trigger, so that it does not flip back and
// forth when the client drops a message.
const stayShare = 0.9

// exchange is one chat request on its way through the middleware. Its fields
// are filled in the order of section 3; one goroutine owns it.
type exchange struct {
	m    *Middleware
	w    http.ResponseWriter
	r    *http.Request
	next http.Handler

	start    time.Time
	deadline time.Time // until when a summary may be awaited
	id       string    // Foldgate-Conversation, or empty
	bypassed bool
	told     bool // the request carries fields that are for us

	captured *captured
	lent     bool // an attempt reads captured, and releases it
	envelope chat.Envelope
	scope    window.Scope
	limits   window.Limits
	budget   window.Budget
	view     *compression.View
	key      ownership.Key
	output   int           // what the upstream said that it sets aside for the answer
	counted  window.Tokens // the original's reference count; 0: not counted

	covered int  // what the forwarded handoff stands for
	ready   bool // the first forwarding has begun; report.Added is final
	taken   bool // the upstream began an answer that is no error
	report  Report
	attempt attemptHeader
	flight  *ownership.Flight // of a summary that is prepared beside this request
	alive   *keepalive
}

func newExchange(m *Middleware, w http.ResponseWriter, r *http.Request, next http.Handler) *exchange {
	return &exchange{m: m, w: w, r: r, next: next, start: time.Now()}
}

// plan is what the decision came to: what to send, and what may follow.
type plan struct {
	kind, reason string
	// body is what leaves; nil: the original bytes with their encoding.
	body []byte
	// sent is body's reference count (uncorrected); 0: not counted.
	sent window.Tokens
	// checkpoint is what the body was folded with; zero for a fold without a model.
	checkpoint ownership.Checkpoint
	// covered is how many messages the handoff stands for; 0: not folded.
	covered int
	// hold: a retry is possible, so the response's head is held.
	hold bool
	// checking: a limit that refuses is checked against the upstream by this request.
	checking bool
}

// serve is steps 2 to 8.
func (x *exchange) serve() {
	defer x.done()
	x.readHeader()
	if x.m.cfg.Mode == ModeOff {
		x.passOn()
		return
	}
	x.read()
	if x.captured == nil {
		return
	}
	defer x.releaseBody()
	p, err := x.decide()
	if err != nil {
		x.refuse(err)
		return
	}
	x.forward(p)
}

// readHeader takes what the header says to us.
func (x *exchange) readHeader() {
	x.id, _ = conversationID(x.r.Header)
	x.bypassed = bypass(x.r.Header)
	x.told = hasOwn(x.r.Header)
}

// passOn is all that a plain proxy does: the body is neither read nor bounded.
func (x *exchange) passOn() {
	reason := reasonMode
	if x.bypassed {
		reason = reasonCaller
	}
	p := x.asItCame(reason)
	r := x.r
	if x.told {
		r = r.WithContext(r.Context()) // a shallow copy
		r.Header = r.Header.Clone()
		stripFoldgate(r.Header)
	}
	x.firstForwarding()
	t := &trial{x: x, plan: p}
	newHolder(x.w, holdOptions{Head: t.head}).serve(x.next, r)
}

// read takes the body.
func (x *exchange) read() {
	header := x.r.Header
	x.scope = window.Scope{Tenant: x.m.tenancy.of(header), Upstream: x.m.cfg.Upstream.Host}
	x.r.Body = newPatientBody(x.w, x.r.Body)
	c, err := readBody(x.r, x.m.cfg.BodyLimit, x.m.budget)
	if err != nil {
		x.refuseBody(err)
		return
	}
	x.captured = c
	x.deadline = x.patience(header)
	x.report.BodyBytes = len(c.Raw)
}

// patience is until when this caller may be kept waiting, now that its body is
// here: the configured wait, or what its own time-out, which runs since it sent
// the request, leaves, less a margin to answer in.
func (x *exchange) patience(h http.Header) time.Time {
	until := time.Now().Add(x.m.cfg.Wait)
	own := callerTimeout(h)
	if own == 0 {
		return until
	}
	if theirs := x.start.Add(own - min(own/5, 5*time.Second)); theirs.Before(until) {
		return theirs
	}
	return until
}

// refuseBody answers a request whose body could not be had.
func (x *exchange) refuseBody(err error) {
	x.report.Kind, x.report.Reason = kindNone, reasonTooLarge
	code, message := codeOf(err), "the request body is broken: it ended early or its framing is wrong"
	switch code {
	case codeTooLarge:
		message = fmt.Sprintf("the request body is over this gateway's body_limit of %d bytes", x.m.cfg.BodyLimit)
	case codeOverloaded:
		x.report.Reason = "" // nothing is wrong with the request
		message = "this gateway holds as many request bodies as its memory allows; try again"
	default:
		x.report.Reason = reasonNotChat
	}
	x.fail(code, message, "")
}

// fail answers with an error of our own.
func (x *exchange) fail(code errorCode, message, param string) {
	x.setHead(x.w.Header())
	writeError(x.w, x.r, code, message, param)
	x.report.Status = errorEntry(code).Status
}

// releaseBody gives the body's bytes back to the budget, unless an attempt that
// outlives the request still reads them.
func (x *exchange) releaseBody() {
	if !x.lent {
		x.captured.Release()
	}
}

// refuse answers a request that no form of which can fit.
func (x *exchange) refuse(err error) {
	if x.r.Context().Err() != nil {
		return // nobody is there to be told
	}
	x.report.Kind, x.report.Reason = kindUnfit, ""
	message := "the request cannot fit the model's context window"
	var unfit *compression.UnfitError
	if errors.As(err, &unfit) {
		message = unfit.Error()[len("compression: "):]
	}
	if x.alive != nil {
		late := make(http.Header)
		x.setHead(late)
		x.alive.Fail(late, codeContextLength, message, "messages")
		x.report.Status = http.StatusOK // as the caller sees it
		return
	}
	x.fail(codeContextLength, message, "messages")
}

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

// hasOwn reports whether a header carries fields of ours.
func hasOwn(h http.Header) bool {
	for name := range h {
		if isOwn(name) {
			return true
		}
	}
	return false
}

// ctx is the caller's.
func (x *exchange) ctx() context.Context { return x.r.Context() }
