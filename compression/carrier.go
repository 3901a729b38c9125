package compression

import (
	"github.com/foldgate/foldgate/compression/chat"
)

// jsonWord is what the messages of a request for a json_object must hold.
const jsonWord = "json"

// carrier is the user message in which a handoff stands. Which of the three
// kinds it is depends on the covered messages and on the first of the rest only.
type carrier struct {
	// source is the message (head included) whose text the handoff leads: the
	// first of the rest, or a covered one of which a copy is sent; -1: a message
	// of its own.
	source int
	copied bool
	marker []byte // the cache marker that moves to the handoff
}

// leadable reports whether a handoff can go before a message's own text.
func leadable(m *chat.Message) bool {
	return m.Role == chat.RoleUser && (m.ContentKind == chat.ContentString || m.ContentKind == chat.ContentArray)
}

// carrierFor finds the carrier of a handoff that covers n messages, 0 < n < Len.
func (v *View) carrierFor(n int) carrier {
	c := carrier{source: -1}
	if first := v.Head + n; leadable(&v.Messages[first]) {
		c.source = first
	} else if u := v.lastUser(n); u >= 0 {
		c.source, c.copied = u, true
	}
	for i := v.Head + n - 1; i >= v.Head && c.marker == nil; i-- {
		if c.copied && i == c.source {
			continue // its own markers go along
		}
		c.marker = v.lastMarker(&v.Messages[i])
	}
	return c
}

// lastUser is the last of the first n messages after the head that is a user's
// and can be led, as an index into Messages, or -1.
func (v *View) lastUser(n int) int {
	if v.users == nil {
		v.users = make([]int, v.Len()+1)
		v.users[0] = -1
		for p := range v.Len() {
			v.users[p+1] = v.users[p]
			if leadable(&v.Messages[v.Head+p]) {
				v.users[p+1] = v.Head + p
			}
		}
	}
	return v.users[n]
}

// carried is what a copy of the last covered user message costs with the cut at
// n: nothing where the rest begins with a user's.
func (v *View) carried(n int) Tokens {
	if n <= 0 || n >= v.Len() || leadable(&v.Messages[v.Head+n]) {
		return 0
	}
	if u := v.lastUser(n); u >= 0 {
		return v.reference(u)
	}
	return 0
}

// lastMarker is the last cache marker of a message, as an object member.
func (v *View) lastMarker(m *chat.Message) []byte {
	if !m.Marker.Empty() {
		return v.markerOf(m.MarkerKey, m.Marker)
	}
	for i := len(m.Parts) - 1; i >= 0; i-- {
		if p := &m.Parts[i]; !p.Marker.Empty() {
			return v.markerOf(p.MarkerKey, p.Marker)
		}
	}
	return nil
}

// ownMessage is a user message that holds nothing but the handoff.
func ownMessage(text string, marker []byte) []byte {
	dst := []byte(`{"role":"user","content":`)
	if len(marker) > 0 {
		dst = append(dst, '[')
		dst = appendTextPart(dst, text, marker)
		return append(dst, "]}"...)
	}
	dst = chat.Quote(dst, text)
	return append(dst, '}')
}

// render is message i in a form, as bytes of its own.
func (v *View) render(i int, f form, marker []byte) ([]byte, error) {
	m := &v.Messages[i]
	edits := v.edits(m, f, marker)
	for k := range edits {
		edits[k].Span.Start -= m.Span.Start
		edits[k].Span.End -= m.Span.Start
	}
	return chat.Splice(m.Span.Of(v.Body), edits)
}

// needsWord reports whether the word that a request for a json_object must hold
// would be lost with the first n messages. It does not look at the rest, which
// grows, so that the handoff's bytes stay the same.
func (v *View) needsWord(text string, n int) bool {
	if !v.JSONObject || containsFold(text, jsonWord) || v.saysWord(0, v.Head) {
		return false
	}
	return v.saysWord(v.Head, v.Head+n)
}

// saysWord reports whether a content among messages from to to holds the word.
func (v *View) saysWord(from, to int) bool {
	for i := from; i < to; i++ {
		if containsFold(string(v.Messages[i].Content.Of(v.Body)), jsonWord) {
			return true
		}
	}
	return false
}
