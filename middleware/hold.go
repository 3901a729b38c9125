package middleware

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/foldgate/foldgate/compression/sse"
)

// verdict is what Inspect makes of the beginning of a response.
type verdict int

const (
	keepHolding verdict = iota // not enough to tell
	release                    // let it go, as it came
	discard                    // nothing of it was sent: the request may be retried
)

const (
	// holdCap is the most that is ever held, and the longest error body that can
	// be classified whole.
	holdCap = 64 << 10
	// replayCap is the most that is collected of an answer that was discarded.
	replayCap = 4 * holdCap
	// holdLimit is how much of an answer that is no stream is looked at when
	// holdOptions say nothing.
	holdLimit = 4 << 10
)

// holdOptions say what a holder holds and whom it tells. All functions are
// called with the holder's lock held, one at a time, from the handler's
// goroutine or, when Max has passed, from a timer's. They must not call the
// holder, nor block.
type holdOptions struct {
	// Hold: false lets everything straight through, only observed.
	Hold bool
	// ErrorsOnly: of what is held, only errors (status 400 and more) are. Anything
	// else goes straight through, as without Hold.
	ErrorsOnly bool
	// Max is how long the head is held after it came. Zero: not at all.
	Max time.Duration
	// Limit is how many bytes of an answer that is neither a stream nor an error
	// are held before Inspect is asked. Zero: 4 KiB.
	Limit int
	// Head is called once, just before the head goes out (or before nothing, if
	// the handler wrote nothing), with the fields that are about to be sent. Nil:
	// not called.
	Head func(status int, h http.Header)
	// Inspect looks at what is held: a stream whenever it holds one data event
	// more, an error (status 400 and more) at its end, anything else at Limit and
	// at its end. Error bodies in a known content coding come decoded. At 64 KiB
	// it is asked for the last time before everything is released. body and h are
	// only valid during the call. Nil: nothing is held.
	Inspect func(status int, h http.Header, body []byte, end bool) verdict
	// Observe gets every byte of the body after it was sent. Nil: not called.
	Observe func(b []byte, stream bool)
}

// holder is a ResponseWriter that keeps a response back while a retry is still
// possible. Everything that is released leaves exactly as it came. A holder is
// for one call of one handler; after a discard the caller makes another one over
// the same ResponseWriter, whose header is as it was before.
//
//	h := newHolder(w, options)
//	h.serve(next, r)
//	if h.Discarded() { … retry, or h.Replay() … }
type holder struct {
	w http.ResponseWriter
	o holdOptions

	// pending is the header that the handler sees while nothing has gone out:
	// its own map, since a timer may send the head while the handler already
	// adds trailers. Nil without holding: then it is w's.
	pending http.Header

	mu       sync.Mutex
	state    holdState
	head     http.Header // the fields as they were at WriteHeader
	status   int
	stream   bool
	coded    bool // the body has a content coding
	length   bool // a Content-Length says where the body ends
	held     []byte
	next     int // ask Inspect at this many bytes
	parser   *sse.Parser
	timer    *time.Timer
	cancel   context.CancelFunc // ends the upstream call after a discard
	cut      bool               // the discarded answer is not all there
	flushed  bool               // nothing is waiting in the server's buffer
	finished bool
	informed bool // a 1xx went out
}

// holdState is where the response stands.
type holdState uint8

const (
	waiting   holdState = iota // no head yet
	holding                    // the head came and is held
	open                       // the head went out
	discarded                  // the answer is kept back for good
	hijacked                   // somebody else owns the connection
)

// errHolderDone is what a handler gets that writes after its end.
var errHolderDone = errors.New("middleware: write after the handler's end")

// newHolder puts a holder before w.
func newHolder(w http.ResponseWriter, o holdOptions) *holder {
	h := &holder{w: w, o: o}
	if h.o.Max <= 0 || h.o.Inspect == nil {
		h.o.Hold = false
	}
	if h.o.Limit <= 0 {
		h.o.Limit = holdLimit
	}
	h.o.Limit = min(h.o.Limit, holdCap)
	if h.o.Hold {
		h.pending = w.Header().Clone()
		if h.pending == nil {
			h.pending = make(http.Header)
		}
	}
	return h
}

// serve runs next with the holder and finishes. A panic of next goes on, after
// what is held was released as it came; only the http.ErrAbortHandler of a
// response that was discarded ends here.
func (h *holder) serve(next http.Handler, r *http.Request) {
	if h.o.Hold {
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		h.cancel = cancel
		r = r.WithContext(ctx)
	}
	defer func() {
		p := recover()
		if p == nil {
			h.Finish()
			return
		}
		h.abandon()
		if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) && h.Discarded() {
			return
		}
		panic(p)
	}()
	next.ServeHTTP(h, r)
}

// Discarded reports whether Inspect discarded the response: nothing was sent,
// the request may be retried.
func (h *holder) Discarded() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.state == discarded
}

// Status is the status of the response, 0 if there is none yet.
func (h *holder) Status() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.status
}

// Sent reports whether the head went out.
func (h *holder) Sent() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.state == open || h.state == hijacked
}

// Header is the header that will be sent, and after that takes trailers.
func (h *holder) Header() http.Header {
	if h.pending != nil {
		return h.pending
	}
	return h.w.Header()
}

// Unwrap gives http.ResponseController what the holder does not do itself.
func (h *holder) Unwrap() http.ResponseWriter { return h.w }

// WriteHeader takes the head. Informational ones pass at once.
func (h *holder) WriteHeader(status int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.writeHeader(status)
}

func (h *holder) writeHeader(status int) {
	switch {
	case h.finished || h.state == hijacked || h.state == discarded:
		return
	case h.state != waiting: // net/http complains about the second one in its own words
		if h.state == open {
			h.w.WriteHeader(status)
		}
		return
	case status >= 100 && status < 200 && status != http.StatusSwitchingProtocols:
		h.inform(status)
		return
	}
	h.status = status
	h.head = h.Header()
	h.stream = isEventStream(h.head)
	if !h.o.Hold || status < 200 || status > 999 {
		h.release()
		return
	}
	h.hold()
}

// inform sends a 1xx.
func (h *holder) inform(status int) {
	stripFoldgate(h.Header())
	if h.pending == nil {
		h.w.WriteHeader(status)
		return
	}
	h.informed = true
	before := h.w.Header().Clone()
	replaceHeader(h.w.Header(), h.pending)
	h.w.WriteHeader(status)
	replaceHeader(h.w.Header(), before)
}

// hold begins to hold, if there is anything to wait for.
func (h *holder) hold() {
	if _, named := h.pending["Content-Type"]; h.informed && !named {
		h.pending["Content-Type"] = nil // a proxy's mark that none is to be guessed, lost with a 1xx
	}
	h.head = h.pending.Clone() // what comes into the header from here on are trailers
	h.coded = contentEncoding(h.head) != ""
	h.length = len(h.head["Content-Length"]) > 0
	h.state = holding
	switch {
	case h.status >= 400:
		h.stream = false
		h.next = holdCap
	case h.o.ErrorsOnly:
		h.release()
		return
	case h.coded: // it cannot be looked into
		h.release()
		return
	case h.stream:
		h.next = holdCap
		h.parser = sse.NewParser(holdCap)
	default:
		h.next = h.o.Limit
	}
	h.timer = time.AfterFunc(h.o.Max, h.expire)
}

// expire lets go of what was held for too long. What was discarded meanwhile and
// still has not ended is waited for no longer.
func (h *holder) expire() {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.finished:
	case h.state == holding:
		h.release()
	case h.state == discarded:
		h.stopUpstream()
	}
}

// Write takes a piece of the body.
func (h *holder) Write(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.finished {
		return 0, errHolderDone
	}
	if h.state == waiting {
		h.writeHeader(http.StatusOK)
	}
	switch h.state {
	case open:
		return h.send(b)
	case holding:
		h.held = append(h.held, b...)
		h.look(b)
		return len(b), nil
	case discarded:
		h.collect(b)
		return len(b), nil
	default:
		return 0, http.ErrHijacked
	}
}

// look asks Inspect where there is something new to see.
func (h *holder) look(b []byte) {
	full := len(h.held) >= holdCap
	ask := full
	if h.stream {
		h.parser.Write(b, func(e sse.Event) { ask = ask || !e.Comment })
	} else if h.status < 400 && len(h.held) >= h.next {
		ask, h.next = true, 2*len(h.held) // so that all looks together stay linear
	}
	if !ask {
		return
	}
	switch h.inspect(false) {
	case release:
		h.release()
	case discard:
		h.discard()
	default:
		if full {
			h.release()
		}
	}
}

func (h *holder) inspect(end bool) verdict {
	body := h.held
	if h.coded && end {
		if decoded, opaque := decodeAnswer(contentEncoding(h.head), body, holdCap); opaque == "" {
			body = decoded
		}
	}
	return h.o.Inspect(h.status, h.head, body, end)
}

// discard keeps the answer back. What still comes of it is collected, so that it
// can be replayed if the retry fares no better.
func (h *holder) discard() {
	h.state = discarded
	h.parser = nil
}

func (h *holder) collect(b []byte) {
	room := max(0, replayCap-len(h.held))
	h.held = append(h.held, b[:min(room, len(b))]...)
	if len(b) > room {
		h.stopUpstream()
	}
}

func (h *holder) stopUpstream() {
	h.cut = true
	h.stopTimer()
	if h.cancel != nil {
		h.cancel()
	}
}

func (h *holder) stopTimer() {
	if h.timer != nil {
		h.timer.Stop()
	}
}
