package chat

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Decode is the text of a JSON string span, quotes included. What is no text
// (invalid UTF-8, lone surrogates, invalid escapes) becomes U+FFFD. A span that
// is absent, out of range or no string is "".
func (r *Request) Decode(s Span) string { return decodeText(r.Body, s) }

func decodeText(body []byte, s Span) string {
	raw, ok := inner(body, s)
	if !ok {
		return ""
	}
	return Valid(decoded(raw))
}

// decoded is appendDecoded for who wants a string.
func decoded(raw []byte) string {
	i := bytes.IndexByte(raw, '\\')
	if i < 0 {
		return string(raw)
	}
	var b strings.Builder
	var escape [4]byte
	for b.Grow(len(raw)); i >= 0; i = bytes.IndexByte(raw, '\\') {
		b.Write(raw[:i])
		value, n := appendEscape(escape[:0], raw[i:])
		b.Write(value)
		raw = raw[i+n:]
	}
	b.Write(raw)
	return b.String()
}

// decodeExact is decodeText without the replacing: ids and names that differ
// stay different. What has no UTF-8 form stands as appendDecoded says.
func decodeExact(body []byte, s Span) string {
	raw, ok := inner(body, s)
	if !ok {
		return ""
	}
	return decoded(raw)
}

// inner cuts a JSON string span without its quotes.
func inner(body []byte, s Span) ([]byte, bool) {
	if s.Start < 0 || s.End > len(body) || s.End-s.Start < 2 {
		return nil, false
	}
	if body[s.Start] != '"' || body[s.End-1] != '"' {
		return nil, false
	}
	return body[s.Start+1 : s.End-1], true
}

// Valid is a text with U+FFFD for every byte that is no part of valid UTF-8. The
// names, ids and roles of a Message, Part or Call keep such bytes, so that what
// differs stays different: this is how they are told to a reader. A lone surrogate
// that stands in one is three such bytes but one character.
func Valid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + len(s)/8)
	from := 0
	for i := 0; i < len(s); {
		c, n := utf8.DecodeRuneInString(s[i:])
		if c != utf8.RuneError || n != 1 {
			i += n
			continue
		}
		if isSurrogate(s[i:]) {
			n = 3
		}
		b.WriteString(s[from:i])
		b.WriteString("\ufffd")
		i += n
		from = i
	}
	b.WriteString(s[from:])
	return b.String()
}

// isSurrogate reports whether s starts with the three-byte form of a surrogate.
func isSurrogate(s string) bool {
	return len(s) >= 3 && s[0] == 0xED && s[1] >= 0xA0 && s[1] <= 0xBF && s[2]&0xC0 == 0x80
}

// appendDecoded appends the value of the inside of a JSON string. Bytes that are
// no UTF-8 are copied; a lone surrogate takes the three bytes that UTF-8 would
// give its number (WTF-8), so that different ones stay different. It is never
// longer than raw. A backslash that starts no escape is copied.
func appendDecoded(dst, raw []byte) []byte {
	for {
		i := bytes.IndexByte(raw, '\\')
		if i < 0 {
			return append(dst, raw...)
		}
		dst = append(dst, raw[:i]...)
		raw = raw[i:]
		var n int
		dst, n = appendEscape(dst, raw)
		raw = raw[n:]
	}
}

// appendEscape appends the value of the escape that raw starts with, and is the
// number of bytes it took: two escapes where they are a surrogate pair.
func appendEscape(dst, raw []byte) ([]byte, int) {
	if len(raw) < 2 {
		return append(dst, raw...), len(raw)
	}
	switch raw[1] {
	case '"', '\\', '/':
		return append(dst, raw[1]), 2
	case 'n':
		return append(dst, '\n'), 2
	case 't':
		return append(dst, '\t'), 2
	case 'r':
		return append(dst, '\r'), 2
	case 'b':
		return append(dst, '\b'), 2
	case 'f':
		return append(dst, '\f'), 2
	}
	first, ok := hex4(raw)
	if !ok {
		return append(dst, '\\'), 1
	}
	if !utf16.IsSurrogate(first) {
		return utf8.AppendRune(dst, first), 6
	}
	if second, ok := hex4(raw[6:]); ok {
		if r := utf16.DecodeRune(first, second); r != utf8.RuneError {
			return utf8.AppendRune(dst, r), 12
		}
	}
	return append(dst, 0xE0|byte(first>>12), 0x80|byte(first>>6)&0x3F, 0x80|byte(first)&0x3F), 6
}

// hex4 reads the four digits of a \u escape that raw starts with.
func hex4(raw []byte) (rune, bool) {
	if len(raw) < 6 || raw[0] != '\\' || raw[1] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range raw[2:6] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// Quote appends s as a JSON string, quotes included. It escapes only what JSON
// demands (quote, backslash, control characters); each byte that is no part of
// valid UTF-8 becomes \ufffd, so the result is valid UTF-8 whatever s holds.
func Quote(dst []byte, s string) []byte {
	dst = append(dst, '"')
	dst = QuoteInner(dst, s)
	return append(dst, '"')
}

// QuoteInner is Quote without the quotes: text to stand inside a JSON string.
func QuoteInner(dst []byte, s string) []byte {
	// One line feed in some sixty bytes is usual, and a quote here and there.
	dst = slices.Grow(dst, len(s)+len(s)/16)
	if !utf8.ValidString(s) {
		return quoteInvalid(dst, s)
	}
	for from := 0; ; {
		i := plainEnd(s, from)
		dst = append(dst, s[from:i]...)
		if i == len(s) {
			return dst
		}
		dst = appendQuoted(dst, s[i])
		from = i + 1
	}
}

// quoteInvalid is QuoteInner of what is not UTF-8 throughout.
func quoteInvalid(dst []byte, s string) []byte {
	from := 0
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			dst = append(append(dst, s[from:i]...), `\ufffd`...)
			from = i + 1
		case r < 0x20 || r == '"' || r == '\\':
			dst = appendQuoted(append(dst, s[from:i]...), s[i])
			from = i + 1
		}
		i += n
	}
	return append(dst, s[from:]...)
}

// appendQuoted appends the escape of a byte that cannot stand in a JSON string.
func appendQuoted(dst []byte, c byte) []byte {
	const hex = "0123456789abcdef"
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, '\\', 'n')
	case '\t':
		return append(dst, '\\', 't')
	case '\r':
		return append(dst, '\\', 'r')
	case '\b':
		return append(dst, '\\', 'b')
	case '\f':
		return append(dst, '\\', 'f')
	}
	return append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xF])
}
