package backendtest

import (
	"unicode"
	"unicode/utf8"
)

// What a message, and a picture, cost beside their text, in tokens.
const (
	perMessage = 4
	perPicture = 300
)

// count is the size of a request, in this package's own tokens: the vocabulary
// of these backends is nobody else's.
func (r *request) count() int {
	n := 3
	for _, m := range r.messages {
		n += m.count()
	}
	for _, name := range []string{"tools", "functions", "response_format"} {
		n += countText(string(r.fields[name]))
	}
	return n
}

func (m message) count() int {
	n := perMessage + countText(m.content.text)
	for _, p := range m.content.parts {
		if !p.has {
			n += perPicture
		}
	}
	for _, c := range m.calls {
		n += perMessage + countText(c.name) + countText(c.arguments)
	}
	for _, name := range []string{"reasoning_content", "reasoning"} {
		n += countText(stringOf(m.fields[name]))
	}
	return n
}

// countText takes six letters, three digits or one of anything else for a token;
// white space before a word costs nothing. What is not Latin costs one a letter.
func countText(s string) int {
	n, run, kind := 0, 0, rune(0)
	end := func() {
		switch kind {
		case 'a':
			n += (run + 5) / 6
		case '0':
			n += (run + 2) / 3
		}
		run, kind = 0, 0
	}
	for _, c := range s {
		next := rune(0)
		switch {
		case unicode.IsDigit(c):
			next = '0'
		case unicode.IsLetter(c) && utf8.RuneLen(c) <= 2:
			next = 'a'
		case unicode.IsSpace(c):
		default:
			n++
		}
		if next != kind {
			end()
		}
		if next != 0 {
			kind = next
			run++
		}
	}
	end()
	return n
}
