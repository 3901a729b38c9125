package compression

import (
	"strconv"
	"strings"

	"github.com/foldgate/foldgate/compression/chat"
)

// The levels to which the exit gate cuts, in bytes of text. They are fixed, and
// what a level makes of a message depends on the message alone: as a
// conversation grows only the boundary between shrunk and whole moves.
var (
	textLevels     = [...]int{128 << 10, 32 << 10, 8 << 10, 2 << 10, 512}
	argumentLevels = [...]int{8 << 10, 1 << 10, 200}
	handoffLevels  = [...]int{32 << 10, 8 << 10, 2 << 10, 512, 128, leastText}
)

// allMedia is a form's media where every one became a note.
const allMedia = 1 << 30

// leastText is the least that a text is cut to when many parts share a level.
const leastText = 48

// shorten cuts the middle out of s so that about limit bytes of it are left, and
// says what was cut. word, if not empty, stays present when s held it. s comes
// back as it is where that would not make it shorter. What was shortened before,
// here or in another gateway, is shortened as the whole of it would have been:
// the notes do not add up.
func shorten(s string, limit int, word string) string {
	if limit <= 0 || len(s) <= limit {
		return s
	}
	head, tail, size, before := shortenedBefore(s)
	if !before {
		head, tail, size = s, s, len(s)
	} else if len(head)+len(tail) <= limit {
		return s
	}
	head, tail = head[:headEnd(head, limit*2/3)], tail[tailStart(tail, limit/3):]
	note := cutNote(size-len(head)-len(tail), size, "")
	if word != "" && containsFold(s, word) && !containsFold(head, word) && !containsFold(tail, word) {
		note = cutNote(size-len(head)-len(tail), size, word)
	}
	if out := head + note + tail; len(out) < len(s) {
		return out
	}
	return s
}

// headEnd is where the first n bytes of s end, tailStart where the last n begin:
// between two words, unless one run fills more than half of them. That is data,
// not a name, and the note beside it says that it was cut.
func headEnd(s string, n int) int {
	if at := wordEnd(s, n); at >= n/2 {
		return at
	}
	return runeStart(s, n)
}

func tailStart(s string, n int) int {
	if at := wordStart(s, len(s)-n); len(s)-at >= n/2 {
		return at
	}
	return runeStart(s, len(s)-n)
}

// The note that stands for what was cut out of a text. It gives counts, and says
// that it is none of the text, so that a model does not write it into new ones.
const (
	noteOpen  = "\n["
	noteOf    = " of "
	noteClose = " bytes left out here to fit the window; this note is not part of the text"
	noteWord  = "; "
	noteEnd   = "]\n"
)

func cutNote(gone, size int, word string) string {
	if word != "" {
		word = noteWord + word
	}
	return noteOpen + strconv.Itoa(gone) + noteOf + strconv.Itoa(size) + noteClose + word + noteEnd
}

// shortenedBefore takes apart a text that was shortened before: its two ends, and the
// size it had. A text that merely quotes a note does not add up, and counts as
// any other.
func shortenedBefore(s string) (head, tail string, size int, ok bool) {
	at := strings.Index(s, noteClose)
	if at < 0 {
		return "", "", 0, false
	}
	open := strings.LastIndex(s[:at], noteOpen)
	end := strings.Index(s[at:], noteEnd)
	if open < 0 || end < 0 || end > len(noteClose)+maxControl {
		return "", "", 0, false
	}
	left, of, found := strings.Cut(s[open+len(noteOpen):at], noteOf)
	gone, err1 := strconv.Atoi(left)
	size, err2 := strconv.Atoi(of)
	head, tail = s[:open], s[at+end+len(noteEnd):]
	if !found || err1 != nil || err2 != nil || gone <= 0 || size-gone != len(head)+len(tail) {
		return "", "", 0, false
	}
	return head, tail, size, true
}

// shortened applies the form's limit to a text.
func (v *View) shortened(text string, f form) string {
	if f.text == 0 {
		return text
	}
	return shorten(text, f.text, v.lasting())
}

// lasting is the word that a request for a json_object has to hold: what is cut
// keeps it. Empty where none is wanted.
func (v *View) lasting() string {
	if v.JSONObject {
		return jsonWord
	}
	return ""
}

// arguments is what the arguments of a call in m become in a form. What is no
// JSON stays, and so does what stands in a message that cannot call: no API
// gives it a meaning, so it is no one's to change, in a user's message that
// carries the handoff least of all.
func (v *View) arguments(m *chat.Message, c *chat.Call, f form) string {
	text := v.Decode(c.Arguments)
	if f.args == 0 || !m.MayCall() || len(text) <= f.args {
		return text
	}
	if short, ok := shortenArguments(text, f.args); ok {
		return short
	}
	return text // in quotes the shorter values may be the longer ones
}

// notePart is the part that stands for a media part.
func (v *View) notePart(p *chat.Part) []byte {
	return appendTextPart(nil, v.mediaNote(p), v.markerOf(p.MarkerKey, p.Marker))
}

// mediaNote is the text that stands for an image, a sound or a file.
func (v *View) mediaNote(p *chat.Part) string {
	return "[" + mediaName(*p, v.Decode(p.URL)) + " left out here to fit the window]"
}

// edits are the changes that give message m its form.
func (v *View) edits(m *chat.Message, f form, marker []byte) []chat.Edit {
	var out []chat.Edit
	switch m.ContentKind {
	case chat.ContentString:
		out = v.stringEdits(out, m, f, marker)
	case chat.ContentArray:
		out = v.arrayEdits(out, m, f, marker)
	}
	for i := range m.Calls {
		c := &m.Calls[i]
		text := v.Decode(c.Arguments)
		if short := v.arguments(m, c, f); len(short) < len(text) {
			out = append(out, chat.Edit{Span: c.Arguments, With: chat.Quote(nil, short)})
		}
	}
	return out
}

// stringEdits changes a content that is a string. The own text of the message
// keeps its bytes unless it is cut.
func (v *View) stringEdits(out []chat.Edit, m *chat.Message, f form, marker []byte) []chat.Edit {
	raw := m.Content.Of(v.Body)
	text := v.Decode(m.Content)
	if short := v.shortened(text, f); len(short) < len(text) {
		raw = chat.Quote(nil, short)
	} else if len(f.before()) == 0 {
		return out
	}
	var with []byte
	switch before := f.before(); {
	case len(before) == 0:
		with = raw
	case f.split:
		with = appendParts([]byte{'['}, f, marker)
		with = append(with, `,{"type":"text","text":`...)
		with = append(with, raw...)
		with = append(with, "}]"...)
	default:
		size := len(raw) + 1
		for _, text := range before {
			size += len(text) + len(text)/16 + len(quotedGap) // as QuoteInner guesses
		}
		with = append(make([]byte, 0, size), '"')
		for _, text := range before {
			with = append(chat.QuoteInner(with, text), quotedGap...)
		}
		with = append(with, raw[1:]...)
	}
	return append(out, chat.Edit{Span: m.Content, With: with})
}

// appendParts appends what goes before a message's own text as parts of its own.
// The marker, if any, belongs to the handoff: it stays what it is from turn to
// turn, and recalled passages do not.
func appendParts(dst []byte, f form, marker []byte) []byte {
	for i, text := range f.before() {
		if i > 0 {
			dst = append(dst, ',')
		}
		if f.lead == "" || i > 0 {
			dst = appendTextPart(dst, text, nil)
		} else {
			dst = appendTextPart(dst, text, marker)
		}
	}
	return dst
}

// arrayEdits changes a content that is an array.
func (v *View) arrayEdits(out []chat.Edit, m *chat.Message, f form, marker []byte) []chat.Edit {
	if with := appendParts(nil, f, marker); len(with) > 0 {
		if len(m.Parts) > 0 {
			with = append(with, ',')
		}
		at := m.Content.Start + 1
		out = append(out, chat.Edit{Span: chat.Span{Start: at, End: at}, With: with})
	}
	limited := f.perPart(m)
	for i := range m.Parts {
		p := &m.Parts[i]
		switch {
		case reasoning(p):
		case !p.Text.Empty():
			text := v.Decode(p.Text)
			if short := v.shortened(text, limited); len(short) < len(text) {
				out = append(out, chat.Edit{Span: p.Text, With: chat.Quote(nil, short)})
			}
		case media(*p) && limited.media > 0:
			limited.media--
			out = append(out, chat.Edit{Span: p.Span, With: v.notePart(p)})
		}
	}
	return out
}

// appendTextPart appends a text part; marker is a member to add, or empty.
func appendTextPart(dst []byte, text string, marker []byte) []byte {
	dst = append(dst, `{"type":"text","text":`...)
	dst = chat.Quote(dst, text)
	if len(marker) > 0 {
		dst = append(append(dst, ','), marker...)
	}
	return append(dst, '}')
}

// markerOf is a cache marker as an object member, nil if there is none.
func (v *View) markerOf(key string, value chat.Span) []byte {
	if value.Empty() {
		return nil
	}
	return append(append(chat.Quote(nil, key), ':'), value.Of(v.Body)...)
}

// containsFold reports whether s holds word, in ASCII letters of either case.
func containsFold(s, word string) bool {
	first, other := word[:1], strings.ToUpper(word[:1])
	for i := 0; i+len(word) <= len(s); i++ {
		if s[i] != first[0] && s[i] != other[0] {
			continue
		}
		if strings.EqualFold(s[i:i+len(word)], word) {
			return true
		}
	}
	return false
}
