package middleware

import (
	"bytes"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/foldgate/foldgate/compression/refusal"
	"github.com/foldgate/foldgate/compression/sse"
)

// tapWindow is the longest event, and the longest end of a JSON answer, in
// bytes, in which usage is looked for.
const tapWindow = 64 << 10

// usageTap reads usage from a copy of an answer that somebody else forwards. It
// keeps at most twice tapWindow. For one goroutine at a time. A nil tap sees
// nothing.
type usageTap struct {
	parser *sse.Parser // of a stream
	tail   []byte      // of anything else
	cut    bool        // the tail is not the whole
	usage  refusal.Usage
	found  bool
}

// newUsageTap makes a tap for an answer with the fields h, nil where there is
// nothing to read: the answer has a content coding.
func newUsageTap(h http.Header) *usageTap {
	if contentEncoding(h) != "" {
		return nil
	}
	t := &usageTap{}
	if isEventStream(h) {
		t.parser = sse.NewParser(tapWindow)
	}
	return t
}

// Write sees the next piece of the body.
func (t *usageTap) Write(b []byte) {
	switch {
	case t == nil:
	case t.parser != nil:
		t.parser.Write(b, t.event)
	default:
		t.keep(b)
	}
}

// Usage is what the answer said last; call it at the end. False: nothing.
func (t *usageTap) Usage() (refusal.Usage, bool) {
	if t == nil {
		return refusal.Usage{}, false
	}
	if t.parser != nil {
		t.parser.Close(t.event)
	} else if !t.found {
		t.read(t.document())
	}
	return t.usage, t.found
}

func (t *usageTap) event(e sse.Event) {
	if !e.Comment && !e.Oversized {
		t.read(e.Data)
	}
}

// usageKey keeps the many events without usage from being parsed.
var usageKey = []byte(`"usage"`)

func (t *usageTap) read(data []byte) {
	if !bytes.Contains(data, usageKey) {
		return
	}
	if usage, ok := refusal.ReadUsage(data); ok {
		t.usage, t.found = usage, true
	}
}

// keep keeps the last tapWindow bytes, by moving them once per window.
func (t *usageTap) keep(b []byte) {
	if len(b) > tapWindow {
		b, t.tail, t.cut = b[len(b)-tapWindow:], t.tail[:0], true
	}
	if len(t.tail)+len(b) > 2*tapWindow {
		n := copy(t.tail, t.tail[len(t.tail)-tapWindow:])
		t.tail, t.cut = t.tail[:n], true
	}
	t.tail = append(t.tail, b...)
}

// document is the answer, or an object made of the last usage in its end. A key
// inside a string would have its quotes escaped, so it is not mistaken for one.
func (t *usageTap) document() []byte {
	if !t.cut {
		return t.tail
	}
	at := bytes.LastIndex(t.tail, usageKey)
	if at < 0 {
		return nil
	}
	value, ok := bytes.CutPrefix(bytes.TrimLeft(t.tail[at+len(usageKey):], " \t\r\n"), []byte(":"))
	if !ok {
		return nil
	}
	object, err := jsontext.NewDecoder(bytes.NewReader(value)).ReadValue()
	if err != nil {
		return nil
	}
	return append(append([]byte(`{"usage":`), object...), '}')
}
