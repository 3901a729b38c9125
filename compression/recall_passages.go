package compression

import (
	"strings"
	"unicode/utf8"
)

// passageMax is the most bytes of a passage.
const passageMax = 700

// passages divides a text into pieces of at most passageMax bytes, at line ends,
// else at sentence ends, else at spaces, else between words, and calls visit for
// those that are not blank. A run without any such place is data: a piece of it
// would read as a name of its own, so it is in no passage.
func passages(text string, visit func(start, end int)) {
	for at := 0; at < len(text); {
		end := len(text)
		if end-at > passageMax {
			n := divide(text[at:])
			if n == 0 {
				at = wordStart(text, at+passageMax)
				continue
			}
			end = at + n
		}
		piece := text[at:end]
		left := len(piece) - len(strings.TrimLeft(piece, " \t\r\n"))
		if body := strings.TrimRight(piece[left:], " \t\r\n"); body != "" {
			visit(at+left, at+left+len(body))
		}
		at = end
	}
}

// divide is where the first piece of a text that is too long ends: the last best
// place in its second half, else between two words; 0 where one run fills it.
func divide(s string) int {
	best, rank := wordEnd(s, passageMax), 0
	for i := passageMax / 2; i < passageMax-1; i++ {
		r := 0
		switch c := s[i]; {
		case c == '\n':
			r = 4
		case c == 'n' && s[i-1] == '\\' && !pathOf(s[:i-1]): // a line end inside JSON
			r = 3
		case (c == '.' || c == '!' || c == '?' || c == ';' || c == '}') && (s[i+1] == ' ' || s[i+1] == ','):
			r = 2
		case strings.HasPrefix(s[i:], "。"), strings.HasPrefix(s[i:], "！"), strings.HasPrefix(s[i:], "？"), strings.HasPrefix(s[i:], "।"):
			i += utf8.UTFMax - 2 // all are three bytes; at the last
			r = 2
		case c == ' ':
			r = 1
		}
		if r > 0 && r >= rank && i < passageMax {
			best, rank = i+1, r
		}
	}
	return best
}

// pathOf reports whether s ends inside a path with backslashes, C:\dir, or with a
// backslash that is written as two: what follows is a name then, and no escape.
func pathOf(s string) bool {
	if strings.HasSuffix(s, `\`) {
		return true
	}
	run := s[max(0, len(s)-maxTerm):]
	run = run[strings.LastIndexAny(run, " \t\r\n")+1:]
	for i := 1; i < len(run); i++ {
		drive := run[i] == ':' && letter(run[i-1]) && (i == 1 || !letterOrDigit(run[i-2]))
		if drive && (i+1 == len(run) || run[i+1] == '\\') {
			return true
		}
	}
	return false
}
