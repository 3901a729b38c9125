package middleware

import (
	"bytes"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/foldgate/foldgate/compression/sse"
)

// keepaliveFrame is the comment that keeps a connection alive.
const keepaliveFrame = ": foldgate\n\n"

// ownFields are the response fields that a kept-alive stream sends late.
var ownFields = [...]string{headerFold, headerTokens, headerAttempt, headerKey}

// keepalive is a stream whose head went out before there was an answer: its
// status is 200, whatever comes, and later trouble travels in the stream. It has
// no goroutine of its own, so that no frame can come after the handler's end.
//
//	k := startKeepalive(w, head)
//	… wait, and Beat now and then …
//	a := k.Answer()   // a ResponseWriter for the next handler, or for a holder
//	next.ServeHTTP(a, r)
//	a.Finish()
type keepalive struct{ w http.ResponseWriter }

// startKeepalive sends the head (200, an event stream; head adds fields of its
// own) with a first comment frame. Fields set by an earlier layer stay.
func startKeepalive(w http.ResponseWriter, head func(http.Header)) *keepalive {
	h := w.Header()
	h.Del("Content-Length")
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no")
	if head != nil {
		head(h)
	}
	for _, name := range ownFields {
		h.Add("Trailer", name)
	}
	w.WriteHeader(http.StatusOK)
	k := &keepalive{w: w}
	k.Beat()
	return k
}

// Beat sends one comment frame. A client that is gone shows in the request's
// context.
func (k *keepalive) Beat() {
	if _, err := k.w.Write([]byte(keepaliveFrame)); err != nil {
		return
	}
	_ = http.NewResponseController(k.w).Flush()
}

// Fail ends the stream with an error in it. Fields of ours in late are sent
// first.
func (k *keepalive) Fail(late http.Header, code errorCode, message, param string) {
	k.announce(late)
	writeInStreamError(k.w, code, message, param)
}

// announce sends our fields in one comment frame, and again as trailers.
func (k *keepalive) announce(late http.Header) {
	var frame []byte
	for _, name := range ownFields {
		values := late[name]
		if len(values) == 0 {
			delete(k.w.Header(), name) // what the head said is not final
			continue
		}
		k.w.Header()[name] = values
		// One frame: lines of comments, ended by one blank line.
		frame = bytes.TrimSuffix(sse.Comment(frame, name+": "+strings.Join(values, ", ")), []byte("\n"))
	}
	if len(frame) > 0 {
		_, _ = k.w.Write(append(frame, '\n'))
	}
}

// Answer gives the ResponseWriter for what comes after the frames.
func (k *keepalive) Answer() *lateAnswer {
	return &lateAnswer{k: k, header: make(http.Header)}
}

// lateAnswer fits a response into a stream that has already begun. An event
// stream passes byte for byte; our fields in its head are announced before it.
// Any other answer becomes one event: its JSON as it came, or an error. For one
// goroutine.
type lateAnswer struct {
	k      *keepalive
	header http.Header
	status int
	stream bool
	body   []byte
	done   bool
}

// Header takes the fields of the answer. Only our own reach the client.
func (a *lateAnswer) Header() http.Header { return a.header }

// WriteHeader takes the status. The client has had a 200 long since.
func (a *lateAnswer) WriteHeader(status int) {
	if a.status != 0 || status < 200 {
		return
	}
	a.status = status
	a.stream = status < 300 && isEventStream(a.header) && contentEncoding(a.header) == ""
	a.k.announce(a.header)
}

// Write takes a piece of the body.
func (a *lateAnswer) Write(b []byte) (int, error) {
	if a.status == 0 {
		a.WriteHeader(http.StatusOK)
	}
	if a.stream {
		return a.k.w.Write(b)
	}
	// The answer of a stream's request that is none: an error, mostly. More than
	// that of it cannot be told in one event.
	a.body = append(a.body, b[:min(len(b), maxLateBody-len(a.body)+1)]...)
	return len(b), nil
}

// maxLateBody is the longest answer, in bytes, that is put into one event.
const maxLateBody = 1 << 20

// FlushError flushes the stream.
func (a *lateAnswer) FlushError() error {
	return http.NewResponseController(a.k.w).Flush()
}

// Flush is for handlers that know http.Flusher.
func (a *lateAnswer) Flush() { _ = a.FlushError() }

// Finish ends the answer: one that is no stream is sent now. Where there was no
// answer (a holder kept it back) nothing is sent, and one may still come. Calls
// after the end do nothing.
func (a *lateAnswer) Finish() {
	if a.done || a.status == 0 {
		return
	}
	a.done = true
	if a.stream {
		return
	}
	body, ok := a.event()
	if !ok {
		writeInStreamError(a.k.w, codeUpstreamUnreachable, "The upstream gave no answer that fits into the stream.", "")
		return
	}
	frame := append([]byte("data: "), body...)
	_, _ = a.k.w.Write(append(frame, "\n\n"+streamDone...))
	_ = a.FlushError()
}

// event is the body as the data of one event: JSON on one line. With a status
// that is an error only an error object will do, since nothing else would tell
// the client.
func (a *lateAnswer) event() ([]byte, bool) {
	if len(a.body) > maxLateBody {
		return nil, false
	}
	body := a.body
	if coding := contentEncoding(a.header); coding != "" {
		var opaque string
		if body, opaque = decodeAnswer(coding, body, maxLateBody); opaque != "" {
			return nil, false
		}
	}
	body = bytes.TrimSpace(body)
	if len(body) == 0 || body[0] != '{' || !jsontext.Value(body).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) {
		return nil, false
	}
	if a.status >= 400 && !hasErrorKey(body) {
		return nil, false
	}
	// Outside strings a line end is white space, and inside it is escaped.
	one := bytes.ReplaceAll(body, []byte("\r"), []byte(" "))
	return bytes.ReplaceAll(one, []byte("\n"), []byte(" ")), true
}

// hasErrorKey reports whether an object has an "error" at its top.
func hasErrorKey(body []byte) bool {
	d := jsontext.NewDecoder(bytes.NewReader(body), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if _, err := d.ReadToken(); err != nil {
		return false
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return false
		}
		if name.String() == "error" {
			return d.PeekKind() != 'n'
		}
		if err := d.SkipValue(); err != nil {
			return false
		}
	}
	return false
}
