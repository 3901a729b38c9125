package redact

import "strings"

// holds reports whether a value can be what its name promises.
func (a *assignment) holds(l literal) bool {
	v := l.text
	if len(v) < 3 || template(v) || keyword(v) || address(v) {
		return false
	}
	if l.closed && joined(v) || !l.closed && code(v) || a.variable(v) {
		return false
	}
	switch a.kind {
	case passphrase:
		return a.thoughtUp(l) || l.closed && phrase(v, 2)
	case seed:
		return l.closed && phrase(v, 11)
	case password:
		return a.thoughtUp(l)
	case working:
		return count(v, digit) > 0 && v[0] != '~' && v[0] != '.' && !strings.ContainsAny(v, "/\\") && a.thoughtUp(l)
	case passing:
		if len(a.name) == len("pass") && a.sep == ':' && !a.named {
			return false // a test's outcome
		}
		return len(v) >= 4 && count(v, alpha) > 0 && count(v, alpha) < len(v) && a.thoughtUp(l)
	case secret:
		return noise(v) || a.plainSecret(l)
	case random:
		return noise(v)
	case personal:
		return noise(v) && count(v, url64) == len(v)
	case signature:
		return len(v) >= 16 && count(v, digit) > 0
	}
	return false
}

// variable: under the name of something random, what is written as a name and says
// what it holds.
func (a *assignment) variable(v string) bool {
	if a.kind != random && a.kind != secret || a.environment() || a.query || count(v, word|dot) < len(v) {
		return false
	}
	bare := strings.TrimRight(v, "0123456789")
	return stem(bare) && (count(bare, digit) == 0 || count(v, digit) <= len(v)/2)
}

// joined: what stands between two strings that an expression puts together.
func joined(v string) bool {
	return strings.IndexByte("+,).;&%", v[0]) >= 0 && strings.IndexByte("+,(.&%", v[len(v)-1]) >= 0
}

// plainSecret: a word under a secret's name, where a program is configured or
// the name says whose secret it is ("client_secret").
func (a *assignment) plainSecret(l literal) bool {
	v := l.text
	if len(v) < 8 || count(v, alpha) != len(v) || stem(v) {
		return false
	}
	return a.environment() || l.quoted && len(a.name) > len("secret") && count(v, up) == 0
}

// thoughtUp: what people think up as passwords. In quotes, anything of one word.
// Without, it depends on how much the place looks like a configuration, and the
// word like a variable.
func (a *assignment) thoughtUp(l literal) bool {
	v := l.text
	letters, digits := count(v, alpha), count(v, digit)
	for i := range len(v) {
		if v[i] >= 0x80 {
			letters++
		}
	}
	if l.quoted && !l.closed && strings.IndexByte("+,).;&%", v[0]) >= 0 {
		return false
	}
	if l.quoted {
		return !strings.ContainsAny(v, " \t") && !strings.Contains(v, `\n`) && letters+digits > 0 &&
			(digits > 0 || !stem(v))
	}
	switch {
	case letters+digits == 0:
		return false
	case letters == 0:
		return digits == len(v) && digits >= 4 && !a.named || digits != len(v) && !strings.ContainsAny(v, "-./:,")
	case digits == 0 && !strings.ContainsAny(v, "!@#$%^&*+=~?"):
		return a.word(l)
	case strings.IndexByte("*&!@", v[0]) >= 0 && count(v[1:], word|dot) == len(v)-1:
		return digits > 0 && v[0] != '*' && v[0] != '&'
	case count(v, word) == len(v): // a variable, perhaps
		bare := strings.TrimRight(v, "0123456789")
		if len(v)-len(bare) == digits && stem(bare) {
			return a.environment() || a.query
		}
		return len(v) >= 6
	}
	return len(v) >= 4
}

// word: a value of letters alone, without quotes.
func (a *assignment) word(l literal) bool {
	v := l.text
	if a.environment() {
		return true
	}
	if len(v) < 6 || stem(v) || count(v, low) != len(v) {
		return false
	}
	switch a.sep {
	case '=':
		return a.query || !a.spaced && l.next != ',' && l.next != ')'
	case ' ':
		return true
	}
	return l.alone && !a.named
}

// stem reports whether a word says what it holds: a variable's or a field's name.
func stem(v string) bool {
	for i := range len(v) {
		switch lower(v[i]) {
		case 'p':
			if prefixedFold(v, i, "passw") || prefixedFold(v, i, "pwd") || prefixedFold(v, i, "passphrase") {
				return true
			}
		case 's':
			if prefixedFold(v, i, "secret") {
				return true
			}
		case 't':
			if prefixedFold(v, i, "token") {
				return true
			}
		case 'k':
			if prefixedFold(v, i, "key") || prefixedFold(v, i, "kennwort") {
				return true
			}
		case 'i':
			if prefixedFold(v, i, "input") {
				return true
			}
		case 'h':
			if prefixedFold(v, i, "hash") {
				return true
			}
		case 'f':
			if prefixedFold(v, i, "field") {
				return true
			}
		case 'v':
			if prefixedFold(v, i, "value") {
				return true
			}
		case 'c':
			if prefixedFold(v, i, "contrase") || prefixedFold(v, i, "credential") {
				return true
			}
		}
	}
	return false
}

// phrase: words of lower-case letters, with so many spaces at least.
func phrase(v string, least int) bool {
	spaces := strings.Count(v, " ")
	return spaces >= least && count(v, low)+spaces == len(v) && !strings.Contains(v, " the ") && !strings.Contains(v, " is ")
}

// noise: what a machine made. A part of it mixes letters and digits as words do
// not, or it is longer than words are.
func noise(v string) bool {
	if len(v) < 8 || strings.ContainsAny(v, " \t") {
		return false
	}
	if v[0] == '/' || prefixed(v, 0, "./") || prefixed(v, 0, "~/") {
		// Base64 may: an AWS secret key, or what was padded.
		return (len(v) == 40 || len(v) >= 24 && v[len(v)-1] == '=') && count(v, dot) == 0 && count(v, up) > 2 && count(v, low) > 2
	}
	if count(v, alnum|slash|equals|underscore|dash|dot) < len(v) && count(v, digit) > 0 && count(v, alpha) > 0 &&
		!strings.ContainsAny(v, "/:,;|()[]{}<>\\") {
		return true // symbols that only passwords hold
	}
	for i := 0; i < len(v); {
		end := span(v, i, alnum, forever)
		if noisyPart(v[i:end]) {
			return true
		}
		i = end + 1
	}
	return false
}

func noisyPart(p string) bool {
	digits, ups, lows := count(p, digit), count(p, up), count(p, low)
	switch {
	case digits == len(p):
		return false
	case digits == 0 && stem(p):
		return false
	case digits == 0 && (ups == 0 || lows == 0):
		return len(p) >= 24
	case digits == 0:
		return len(p) >= 20 && 4*changes(p, up) >= len(p)
	case len(p) >= 16:
		return true
	case len(p) >= 10:
		return ups > 0 && lows > 0 || changes(p, digit) >= 2 || class[p[0]] == digit
	case len(p) >= 6:
		return changes(p, digit) >= 3
	}
	return false
}

// changes counts how often a text goes from bytes of a set to others, or back.
func changes(p string, set uint16) int {
	n := 0
	for i := 1; i < len(p); i++ {
		if (class[p[i]]&set != 0) != (class[p[i-1]]&set != 0) {
			n++
		}
	}
	return n
}
