package middleware

import (
	"net/http"
	"strings"

	"github.com/foldgate/foldgate/compression/refusal"
	"github.com/foldgate/foldgate/compression/sse"
)

// proof looks for what shows that an upstream took a request: the first bytes of
// an answer with status 2xx that are no error object. A head alone shows nothing,
// since some send it before they have read the request. The zero proof finds
// nothing until begin. For one goroutine at a time.
type proof struct {
	looking bool
	parser  *sse.Parser // of a stream
	begun   []byte      // of what is no stream: its first bytes, without white space
	found   bool
}

// errorBegins is how an answer begins that is an error object only.
const errorBegins = `{"error"`

// whole judges what is no stream by its first bytes, however they are cut, since
// some send white space to keep a connection alive.
func (p *proof) whole(b []byte) {
	if len(p.begun) == 0 { // an error object mostly comes in one piece
		if _, isError := refusal.ErrorObject(b); isError {
			p.looking = false
			return
		}
	}
	for _, c := range b {
		if len(p.begun) == len(errorBegins) {
			break
		}
		if c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			p.begun = append(p.begun, c)
		}
	}
	if len(p.begun) < len(errorBegins) && strings.HasPrefix(errorBegins, string(p.begun)) {
		return // it may still be one
	}
	p.found = string(p.begun) != errorBegins
	p.looking = false
}

// begin starts to look at an answer with status 2xx and the fields h.
func (p *proof) begin(h http.Header) {
	p.looking = true
	if isEventStream(h) && contentEncoding(h) == "" {
		p.parser = sse.NewParser(holdCap)
	}
}

// write sees the next piece of the body, and answers true once: when it proves it.
func (p *proof) write(b []byte) bool {
	switch {
	case !p.looking || len(b) == 0:
		return false
	case p.parser == nil:
		p.whole(b)
	default:
		p.parser.Write(b, p.event)
	}
	return p.found
}

// event judges the first event that is no comment.
func (p *proof) event(e sse.Event) {
	if e.Comment || !p.looking {
		return
	}
	_, isError := refusal.ErrorObject(e.Data)
	p.found = !isError && e.Name != "error"
	p.looking = false
}
