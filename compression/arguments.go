package compression

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/foldgate/foldgate/compression/chat"
)

// leaf is a string value inside JSON text: its raw span, quotes included.
type leaf struct {
	start, end int
	value      string
}

// lenient reads what models write: doubled names and invalid UTF-8 happen.
func lenient(text string) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBufferString(text),
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// leaves calls visit for every string value (not name) of one JSON value. ok is
// false where text is no single JSON value; visit may have been called by then.
func leaves(text string, visit func(leaf)) (ok bool) {
	d := lenient(text)
	values, at := 0, 0
	for {
		t, err := d.ReadToken()
		if errors.Is(err, io.EOF) {
			return values == 1
		}
		if err != nil {
			return false
		}
		end := int(d.InputOffset())
		if d.StackDepth() == 0 {
			values++
		}
		in, n := d.StackIndex(d.StackDepth())
		if t.Kind() == '"' && !(in == '{' && n%2 == 1) {
			start := at
			for start < end && text[start] != '"' {
				start++
			}
			visit(leaf{start: start, end: end, value: t.String()})
		}
		at = end
	}
}

// shortenArguments shortens the string values of JSON text that are longer than
// limit bytes, each in place, and leaves everything else as it is. ok is false
// where text is no JSON or nothing became shorter.
func shortenArguments(text string, limit int) (string, bool) {
	var b strings.Builder
	at := 0
	valid := leaves(text, func(l leaf) {
		short := shorten(l.value, limit, "")
		if len(short) >= len(l.value) {
			return
		}
		b.WriteString(text[at:l.start])
		b.Write(chat.Quote(nil, short))
		at = l.end
	})
	if !valid || at == 0 {
		return text, false
	}
	b.WriteString(text[at:])
	return b.String(), b.Len() < len(text)
}

// flatArguments writes a call's arguments on one line: name=value pairs of the
// object that they are, values cut, or the text itself where they are none, or
// none that can be read to its first value.
func flatArguments(text string) string {
	d := lenient(text)
	plain := func() string { return cutText(oneLine(cutText(text, valueLong)), 2*valueMax) }
	if d.PeekKind() != '{' {
		return plain()
	}
	if _, err := d.ReadToken(); err != nil {
		return plain()
	}
	var b strings.Builder
	for b.Len() < valueLong && d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			break
		}
		key := name.String()
		value, err := d.ReadValue()
		if err != nil {
			if b.Len() == 0 {
				return plain()
			}
			break
		}
		said := string(value)
		if value.Kind() == '"' {
			if raw, err := jsontext.AppendUnquote(nil, value); err == nil {
				said = string(raw)
			}
		}
		if len(said) > valueLong {
			said = cutEnd(said, valueBegin)
		}
		if said = cutText(oneLine(said), valueMax); said == "" || said == "null" {
			continue
		}
		if b.Len() > 0 {
			b.WriteString(", ")
		}
		b.WriteString(cutEnd(key, 60))
		b.WriteByte('=')
		b.WriteString(said)
	}
	return b.String()
}

// longValues calls visit for the values of a call that its line had to cut.
func longValues(text string, visit func(string)) {
	long := false
	if leaves(text, func(l leaf) {
		if len(l.value) > valueMax {
			long = true
			visit(l.value)
		}
	}) || long {
		return
	}
	visit(text)
}
