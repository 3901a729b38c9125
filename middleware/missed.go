package middleware

import (
	"bytes"
	"net/http"

	"github.com/foldgate/foldgate/compression/refusal"
	"github.com/foldgate/foldgate/compression/sse"
)

// missedOverflow looks for an overflow error in an answer that the caller gets,
// since nothing was held or it came too late: this request is lost, and the next
// one must know better. For one goroutine at a time.
type missedOverflow struct {
	status int
	coding string      // of an error's body
	body   []byte      // of an error, its beginning
	parser *sse.Parser // of a stream
	found  refusal.Refusal
}

func (m *missedOverflow) begin(status int, h http.Header) {
	switch coding := contentEncoding(h); {
	case status >= http.StatusBadRequest:
		m.status, m.coding = status, coding
	case coding != "":
	case isEventStream(h):
		m.parser = sse.NewParser(holdCap)
	}
}

func (m *missedOverflow) write(b []byte) {
	switch {
	case m.status != 0:
		m.body = append(m.body, b[:min(len(b), holdCap-len(m.body))]...)
	case m.parser != nil:
		m.parser.Write(b, m.event)
	}
}

// errorKey keeps the many events of an answer from being parsed.
var errorKey = []byte(`"error"`)

func (m *missedOverflow) event(e sse.Event) {
	if !e.Comment && !e.Oversized && m.found.Kind == refusal.None && (e.Name == "error" || bytes.Contains(e.Data, errorKey)) {
		m.found = refusalIn(e)
	}
}

// refusal is what was found; call it at the end.
func (m *missedOverflow) refusal() refusal.Refusal {
	switch {
	case m.status != 0:
		return refusal.Classify(m.status, m.plain())
	case m.parser != nil:
		m.parser.Close(m.event)
	}
	return m.found
}

// plain is the body of an error without its content coding; as it is where that
// is not known.
func (m *missedOverflow) plain() []byte {
	if m.coding == "" {
		return m.body
	}
	decoded, opaque := decodeAnswer(m.coding, m.body, holdCap)
	if opaque != "" {
		return m.body
	}
	return decoded
}
