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
)

// leastText is the least that a text is cut to when many parts share a level.
const leastText = 48

// shorten cuts the middle out of s so that about limit bytes of it are left, and
// says what was cut. word, if not empty, stays present when s held it. s comes
// back as it is where that would not make it shorter.
func shorten(s string, limit int, word string) string {
	if limit <= 0 || len(s) <= limit {
		return s
	}
	head, tail := clip(s, limit*2/3, limit/3)
	note := "\n[" + strconv.Itoa(len(s)-len(head)-len(tail)) + " of " + strconv.Itoa(len(s)) + " bytes left out here to fit the window]\n"
	out := head + note + tail
	if word != "" && containsFold(s, word) && !containsFold(out, word) {
		out += "[" + word + "]"
	}
	if len(out) >= len(s) {
		return s
	}
	return out
}

// shortened applies the form's limit to a text. The word that a request for
// a json_object has to hold survives.
func (v *View) shortened(text string, f form) string {
	if f.text == 0 {
		return text
	}
	word := ""
	if v.JSONObject {
		word = jsonWord
	}
	return shorten(text, f.text, word)
}

// arguments is what a call's arguments become in a form. What is no JSON stays.
func (v *View) arguments(c *chat.Call, f form) string {
	text := v.Decode(c.Arguments)
	if f.args == 0 || len(text) <= f.args {
		return text
	}
	short, _ := shortenArguments(text, f.args)
	return short
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
		if short := v.arguments(c, f); len(short) < len(text) {
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
	} else if f.lead == "" {
		return out
	}
	if f.lead == "" {
		return append(out, chat.Edit{Span: m.Content, With: raw})
	}
	var with []byte
	if f.split {
		with = append(with, '[')
		with = appendTextPart(with, f.lead, marker)
		with = append(with, `,{"type":"text","text":`...)
		with = append(with, raw...)
		with = append(with, "}]"...)
		return append(out, chat.Edit{Span: m.Content, With: with})
	}
	with = append(with, '"')
	with = chat.QuoteInner(with, f.lead+gap)
	with = append(with, raw[1:]...)
	return append(out, chat.Edit{Span: m.Content, With: with})
}

// arrayEdits changes a content that is an array.
func (v *View) arrayEdits(out []chat.Edit, m *chat.Message, f form, marker []byte) []chat.Edit {
	if f.lead != "" {
		with := appendTextPart(nil, f.lead, marker)
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
		case f.media && media(*p):
			out = append(out, chat.Edit{Span: p.Span, With: appendTextPart(nil, v.mediaNote(p), v.markerOf(p.MarkerKey, p.Marker))})
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
