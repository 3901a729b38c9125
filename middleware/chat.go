package middleware

import (
	"context"
	"errors"
	"fmt"
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
	begun    []*ownership.Flight // the attempts of this request, which read captured
	served   chan struct{}       // closed at the end; nil unless an attempt reads captured too, and then releases it
	envelope chat.Envelope
	scope    window.Scope
	limits   window.Limits
	budget   window.Budget
	view     *compression.View
	key      ownership.Key
	output   int           // what the upstream said that it sets aside for the answer
	counted  window.Tokens // the original's own count; 0: not counted
	hidden   bool          // it has tokens that not even its messages show

	scopeOf   scopeOf // of the last name that nameScope made for a handoff,
	scopeName sizeName

	covered int  // what the forwarded handoff stands for
	ready   bool // the first forwarding has begun; report.Added is final
	taken   bool // the upstream began an answer that is no error
	report  Report
	attempt attemptHeader
	flight  *ownership.Flight // of a summary that is prepared beside this request
	alive   *keepalive
	trace   exchangeTrace

	giveBack func() // the turn that it has; nil: none
	stage    stage  // whether it had one before
}

func newExchange(m *Middleware, w http.ResponseWriter, r *http.Request, next http.Handler) *exchange {
	return &exchange{m: m, w: w, r: r, next: next, start: time.Now(), trace: m.exchangeTrace(r)}
}

// plan is what the decision came to: what to send, and what may follow.
type plan struct {
	kind, reason string
	// body is what leaves; nil: the original bytes with their encoding.
	body []byte
	// sent is body's own count (uncorrected), size its name; zero: not counted.
	sent window.Tokens
	size sizeName
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
	r := withoutOwn(x.r)
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
	stripFoldgate(x.r.Trailer)
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
	if x.served != nil {
		close(x.served)
		return
	}
	x.captured.Release()
}

// refuse answers a request that no form of which can fit.
func (x *exchange) refuse(err error) {
	if x.r.Context().Err() != nil {
		return // nobody is there to be told
	}
	x.report.Kind, x.report.Reason = kindUnfit, ""
	message, param := "The request cannot fit the model's context window.", "messages"
	var unfit *compression.UnfitError
	if errors.As(err, &unfit) {
		// Clients know an overflow by these words where they do not look at the code.
		message = fmt.Sprintf("This model's maximum context length is %d tokens, and %s cannot fit: at least %d tokens.",
			unfit.Limit, unfit.Part, unfit.Least)
		if unfit.Part == "tools" {
			param = "tools"
		}
	}
	if x.alive != nil {
		late := make(http.Header)
		x.setHead(late)
		x.alive.Fail(late, codeContextLength, message, param)
		x.report.Status = http.StatusOK // as the caller sees it
		return
	}
	x.fail(codeContextLength, message, param)
}

// ctx is the caller's.
func (x *exchange) ctx() context.Context { return x.r.Context() }
