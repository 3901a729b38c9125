package chat_test

import (
	"fmt"
	"strings"
	"unicode/utf16"

	"pgregory.net/rapid"
)

// node is a JSON value before it is spelled. Strings and keys are code points,
// lone surrogates included; a literal is spelled as it is.
type node struct {
	kind    byte // '"', '{', '[' or 0: literal
	literal string
	text    []rune
	members []pair
	items   []node
}

type pair struct {
	key   string
	value node
}

func str(s string) node             { return node{kind: '"', text: []rune(s)} }
func runes(r []rune) node           { return node{kind: '"', text: r} }
func literal(s string) node         { return node{literal: s} }
func list(items ...node) node       { return node{kind: '[', items: items} }
func object(members ...pair) node   { return node{kind: '{', members: members} }
func field(key string, v node) pair { return pair{key, v} }
func (n node) with(members ...pair) node {
	n.members = append(append([]pair{}, n.members...), members...)
	return n
}

// drawRunes draws the text of a string: plain, escaped and lone surrogates.
func drawRunes(t *rapid.T, label string) []rune {
	one := rapid.OneOf(
		rapid.RuneFrom([]rune("abcxyz 0189\"\\/\n\t\r\b\f\x00\x1f<>&é漢😀\u2028")),
		rapid.Just(rune(0xD800)), rapid.Just(rune(0xDFFF)), rapid.Just(rune(0xD83D)),
	)
	return separated(rapid.SliceOfN(one, 0, 40).Draw(t, label))
}

// separated puts a letter between surrogates that would pair up.
func separated(text []rune) []rune {
	var out []rune
	for i, r := range text {
		if i > 0 && utf16.IsSurrogate(r) && utf16.IsSurrogate(text[i-1]) {
			out = append(out, '-')
		}
		out = append(out, r)
	}
	return out
}

// drawValue draws any JSON value.
func drawValue(t *rapid.T, depth int) node {
	kinds := 5
	if depth == 0 {
		kinds = 3
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return runes(drawRunes(t, "string"))
	case 1:
		return literal(rapid.SampledFrom([]string{"true", "false", "null"}).Draw(t, "literal"))
	case 2:
		return literal(rapid.SampledFrom([]string{"0", "-0", "1e999", "12345678901234567890123", "0.10", "-1.5E+3"}).Draw(t, "number"))
	case 3:
		n := node{kind: '['}
		for range rapid.IntRange(0, 4).Draw(t, "items") {
			n.items = append(n.items, drawValue(t, depth-1))
		}
		return n
	default:
		n := node{kind: '{'}
		for i := range rapid.IntRange(0, 4).Draw(t, "members") {
			key := fmt.Sprintf("%s%d", rapid.SampledFrom([]string{"k", "é", "messages", "\n"}).Draw(t, "key"), i)
			n.members = append(n.members, pair{key, drawValue(t, depth-1)})
		}
		return n
	}
}

// speller writes nodes with any white space, any spelling of characters and, if
// shuffle is on, any order of keys.
type speller struct {
	t       *rapid.T
	shuffle bool
	b       strings.Builder
}

func spell(t *rapid.T, n node, shuffle bool) string {
	s := speller{t: t, shuffle: shuffle}
	s.node(n)
	return s.b.String()
}

func (s *speller) space() {
	s.b.WriteString(rapid.SampledFrom([]string{"", "", "", " ", "\n\t", "\r\n  "}).Draw(s.t, "space"))
}

func (s *speller) node(n node) {
	s.space()
	switch n.kind {
	case '"':
		s.text(n.text)
	case '[':
		s.b.WriteByte('[')
		for i, item := range n.items {
			if i > 0 {
				s.b.WriteByte(',')
			}
			s.node(item)
		}
		s.space()
		s.b.WriteByte(']')
	case '{':
		members := n.members
		if s.shuffle {
			members = rapid.Permutation(members).Draw(s.t, "order")
		}
		s.b.WriteByte('{')
		for i, m := range members {
			if i > 0 {
				s.b.WriteByte(',')
			}
			s.space()
			s.text([]rune(m.key))
			s.space()
			s.b.WriteByte(':')
			s.node(m.value)
		}
		s.space()
		s.b.WriteByte('}')
	default:
		s.b.WriteString(n.literal)
	}
	s.space()
}

func (s *speller) text(text []rune) {
	s.b.WriteByte('"')
	for _, r := range text {
		s.rune(r)
	}
	s.b.WriteByte('"')
}

func (s *speller) rune(r rune) {
	short := map[rune]string{'"': `\"`, '\\': `\\`, '/': `\/`, '\b': `\b`, '\f': `\f`, '\n': `\n`, '\r': `\r`, '\t': `\t`}
	choice := rapid.IntRange(0, 9).Draw(s.t, "spelling")
	switch {
	case choice == 0 || utf16.IsSurrogate(r):
		s.unicode(r)
	case short[r] != "" && (choice < 9 || r != '/'):
		s.b.WriteString(short[r])
	case r < 0x20:
		s.unicode(r)
	default:
		s.b.WriteRune(r)
	}
}

// unicode spells a character by \u escapes, in either case.
func (s *speller) unicode(r rune) {
	format := rapid.SampledFrom([]string{`\u%04x`, `\u%04X`}).Draw(s.t, "case")
	if r > 0xFFFF {
		high, low := utf16.EncodeRune(r)
		fmt.Fprintf(&s.b, format+format, high, low)
		return
	}
	fmt.Fprintf(&s.b, format, r)
}
