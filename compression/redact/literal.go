package redact

import "strings"

const (
	// longestLiteral bounds how far a closing quote is looked for.
	longestLiteral = 1024
	// longestBare bounds how much of a value without quotes is judged.
	longestBare = 256
	// mostRefusals bounds how often the same bytes are judged, where one value that
	// is none holds the next name: "token:token:token:…".
	mostRefusals = 8
)

// literal is a value as it stands in the text.
type literal struct {
	text     string
	from, to int
	quoted   bool
	closed   bool // the closing quote is there
	// alone: the line ends behind it, and it is the first thing after its name,
	// which is the first thing of the line.
	alone bool
	next  byte // what follows it; 0 at the end
}

// open skips what stands between a separator and a value: space, the asterisks
// around a name, a string's prefix and its quotes.
func (x *scanner) open(a *assignment) (from int, quote byte, depth int) {
	i := skipSpace(x.s, x.i)
	if a.sep == ':' && prefixed(x.s, i, "**") {
		i = skipSpace(x.s, i+2)
	}
	if i+1 < len(x.s) && isQuote(x.s[i+1]) && strings.IndexByte("bBrRuUfFL@", x.s[i]) >= 0 {
		i++
	}
	end := i
	for end < len(x.s) && end-i < 8 && x.s[end] == '\\' {
		end++
	}
	if end < len(x.s) && isQuote(x.s[end]) {
		return end + 1, x.s[end], end - i
	}
	return i, 0, 0
}

func skipSpace(s string, i int) int {
	for start := i; i < len(s) && i-start < 64 && (s[i] == ' ' || s[i] == '\t'); i++ {
	}
	return i
}

// value replaces the value of an assignment, if it holds what its name promises.
func (x *scanner) value(a *assignment) bool {
	if a.start >= x.refusedTo {
		x.refusals = 0
	} else if x.refusals++; x.refusals > mostRefusals {
		return false
	}
	l, ok := x.literal(a)
	if !ok {
		return false
	}
	if !a.holds(l) {
		x.refusedTo = max(x.refusedTo, l.to)
		return false
	}
	if l.to-l.from >= longestBare && !l.closed {
		l.to = x.bareEnd(l.to, forever, a.query)
	}
	x.replace(l.from, l.to)
	return true
}

// literal reads the value of an assignment; of one without quotes no more than
// is judged.
func (x *scanner) literal(a *assignment) (literal, bool) {
	from, quote, depth := x.open(a)
	if quote != 0 {
		if to := closing(x.s, from, quote, depth); to >= 0 {
			return literal{text: x.s[from:to], from: from, to: to, quoted: true, closed: true}, true
		}
	}
	if a.compared && quote == 0 {
		return literal{}, false
	}
	to := x.bareEnd(from, longestBare, a.query)
	l := literal{text: x.s[from:to], from: from, to: to, quoted: quote != 0}
	end := skipSpace(x.s, l.to)
	l.alone = (end == len(x.s) || strings.IndexByte("\r\n\\", x.s[end]) >= 0) && a.opensLine(x.s)
	if l.to < len(x.s) {
		l.next = x.s[l.to]
	}
	return l, true
}

// closing is where the string ends that begins at i behind a quote with so many
// backslashes before it, or -1. Strings do not go over a line's end here.
func closing(s string, i int, quote byte, depth int) int {
	run := 0
	for j := i; j < len(s) && j-i <= longestLiteral; j++ {
		switch s[j] {
		case '\\':
			run++
			continue
		case '\n':
			return -1
		case quote:
			if depth == 0 && run%2 == 0 {
				return j
			}
			if depth > 0 && run <= depth {
				return j - run
			}
		}
		run = 0
	}
	return -1
}

// bareEnd is where a value without quotes ends.
func (x *scanner) bareEnd(i, limit int, query bool) int {
	s, start := x.s, i
	for ; i < len(s) && i-start < limit; i++ {
		switch s[i] {
		case ' ', '\t', '\r', '\n', '"', '\'', '`', '<', '>', '\\':
			return i
		case '&', '#':
			if query || s[i] == '&' && listed(s, i+1) {
				return i
			}
		case ',', ';', ')', ']', '}', '|':
			if listed(s, i+1) {
				return i
			}
		case 0xE2, 0xE3, 0xEF: // dashes and quotes; East Asian marks; full width
			if i+1 < len(s) && (s[i] == 0xE2 && s[i+1] == 0x80 || s[i] == 0xE3 && s[i+1] == 0x80 || s[i] == 0xEF && s[i+1] == 0xBC) {
				return i
			}
		}
	}
	return i
}

// listed reports whether what stands before i ends a value: nothing follows, or
// space, another mark, or the next name.
func listed(s string, i int) bool {
	if i >= len(s) || class[s[i]]&alnum == 0 && strings.IndexByte("!@#$%^*+-_/=.~", s[i]) < 0 {
		return true
	}
	if s[i] == '.' {
		return i+1 == len(s) || class[s[i+1]]&alnum == 0
	}
	end := span(s, i, url64|dot, 32)
	return end > i && end < len(s) && (s[end] == '=' || s[end] == ':')
}

// namedBefore finds the name of an assignment to "value": the last thing that was
// assigned to "name" or "key", on the line before at the most. It takes over
// what that name promises.
func (x *scanner) namedBefore(a *assignment) bool {
	const reach = 128
	window := x.s[max(x.last, a.start-reach, 0):a.start]
	if at := strings.LastIndexByte(window, '\n'); at >= 0 {
		if before := strings.LastIndexByte(window[:at], '\n'); before >= 0 {
			window = window[before:]
		}
	}
	for i := len(window) - 1; i > 0; i-- {
		if window[i] != ':' && window[i] != '=' {
			continue
		}
		end := i
		for end > 0 && strings.IndexByte(" \t\"'\\", window[end-1]) >= 0 {
			end--
		}
		if start := nameStart(window, end, 0); !isName(window[start:end]) {
			return false
		}
		from := i + 1
		for from < len(window) && strings.IndexByte(" \t\"'\\", window[from]) >= 0 {
			from++
		}
		to := span(window, from, url64|dot, longestName)
		a.kind, a.name = classify(window[from:to]), window[from:to]
		switch a.kind {
		case password, passphrase, passing, secret, random, personal:
			return true
		}
		return false
	}
	return false
}

func isName(s string) bool {
	return len(s) == 4 && prefixedFold(s, 0, "name") || len(s) == 3 && prefixedFold(s, 0, "key")
}
