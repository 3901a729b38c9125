package redact

// Mark stands where a secret stood. No rule reads it as a value, a name or a
// part of either.
const Mark = "[redacted]"

// passes bounds how often a text is read. A second pass has something to do only
// where the first one changed what stands around a secret; a third was never
// seen to.
const passes = 4

// Text returns s with every secret replaced by Mark; s itself if there is none.
// Safe for concurrent use.
func Text(s string) string {
	for range passes {
		x := scanner{s: s}
		x.run()
		if !x.found {
			return s
		}
		s = string(append(x.out, s[x.last:]...))
	}
	return s
}

// scanner reads a text once, from left to right.
type scanner struct {
	s     string
	i     int    // what is read next
	out   []byte // what is final of the result
	last  int    // how much of s is in out, or replaced
	found bool
	// dead is the end of a run of base64url characters that begins no JSON web
	// token, so that its later words need not look again.
	dead int
	// refusedTo is the end of a value that holds no secret; refusals, how many names
	// stood within such values since.
	refusedTo, refusals int
}

// run is the loop. Each step moves on; what it hands over to looks ahead or back
// by a bounded number of bytes, unless it replaces what it looked at.
func (x *scanner) run() {
	s, i := x.s, x.i
	for i < len(s) {
		switch acts[s[i]] {
		case actNone, actJoin:
			i++
			continue
		case actWord:
			if i+1 == len(s) || !begins.has(s[i], s[i+1]) {
				for i++; i < len(s) && acts[s[i]]&actWord != 0; i++ {
				}
				continue
			}
		case actDash:
			if i > 0 && class[s[i-1]]&word != 0 && i+1 < len(s) && s[i+1] != '-' {
				i++ // within a word, a date, a range
				continue
			}
		}
		x.i = i
		x.look()
		i = x.i
	}
}

// look is at a byte that may mean something.
func (x *scanner) look() {
	switch x.s[x.i] {
	case '=', ':':
		x.separator()
	case '-':
		x.dashes()
	case '\\':
		x.escape()
	case '>':
		x.element()
	case '~':
		x.tilde()
	case fullColon[0]:
		x.fullColon()
	default:
		x.word()
	}
}

// replace puts the mark in the place of s[from:to] and goes on behind it. What
// stands before x.last is gone already.
func (x *scanner) replace(from, to int) {
	x.found = true
	if from = max(from, x.last); from < to {
		x.out = append(x.out, x.s[x.last:from]...)
		x.out = append(x.out, Mark...)
		x.last = to
	}
	x.i = max(x.i, to)
}

// word is at the first byte of a word: what is known by its shape begins here.
func (x *scanner) word() {
	if !mayBegin(x.s, x.i) {
		x.i = span(x.s, x.i, word, forever)
		return
	}
	if from, to := x.shape(x.i); to > 0 {
		x.replace(from, to)
		return
	}
	if !x.phrase() {
		x.i = span(x.s, x.i, word, forever)
	}
}

// mayBegin tells from the first bytes of a word, quickly, that it is nothing.
func mayBegin(s string, i int) bool {
	switch c := s[i]; {
	case c == 'M' || c == 'N' || c == 'O':
		return true
	case class[c] == digit: // a bot's id is a long number
		return i+4 < len(s) && class[s[i+3]]&class[s[i+4]] == digit
	}
	return i+2 < len(s) && triples.has(fold3(s[i], s[i+1], s[i+2]))
}

// escape is at a backslash. What follows it is no part of the word behind it:
// "\nghp_…" is a line feed, written inside a string, and a token.
func (x *scanner) escape() {
	for x.i < len(x.s) && x.s[x.i] == '\\' {
		x.i++
	}
	if x.i == len(x.s) {
		return
	}
	switch x.s[x.i] {
	case 'n', 'r', 't':
		if from, to := x.shape(x.i); to > 0 { // a path, after all
			x.replace(from, to)
			return
		}
		x.i++
	case 'u':
		if len(x.s)-x.i > 4 {
			x.i += 5
		}
	}
}

// span is the end of the run of bytes of a set at i, at most limit bytes on.
func span(s string, i int, set uint16, limit int) int {
	end := len(s)
	if limit < end-i {
		end = i + limit
	}
	for i < end && class[s[i]]&set != 0 {
		i++
	}
	return i
}

// wordAt reports whether the byte at i continues a word.
func wordAt(s string, i int) bool { return i >= 0 && i < len(s) && class[s[i]]&word != 0 }

// prefixed is strings.HasPrefix at i.
func prefixed(s string, i int, prefix string) bool {
	return len(s)-i >= len(prefix) && s[i:i+len(prefix)] == prefix
}

// prefixedFold is prefixed without regard to case; prefix is in lower case.
func prefixedFold(s string, i int, prefix string) bool {
	if len(s)-i < len(prefix) {
		return false
	}
	for j := range len(prefix) {
		if lower(s[i+j]) != prefix[j] {
			return false
		}
	}
	return true
}
