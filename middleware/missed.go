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
	body   []byte      // of an error
	parser *sse.Parser // of a stream
	found  refusal.Refusal
}

func (m *missedOverflow) begin(status int, h http.Header) {
	switch {
	case contentEncoding(h) != "":
	case status >= http.StatusBadRequest:
		m.status = status
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
	if !e.Comment && !e.Oversized && m.found.Kind == refusal.None && bytes.Contains(e.Data, errorKey) {
		m.found = refusal.InStream(e.Data)
	}
}

// refusal is what was found; call it at the end.
func (m *missedOverflow) refusal() refusal.Refusal {
	switch {
	case m.status != 0:
		return refusal.Classify(m.status, m.body)
	case m.parser != nil:
		m.parser.Close(m.event)
	}
	return m.found
}
