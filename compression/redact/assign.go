package redact

// assignment is a name and what separates it from its value.
type assignment struct {
	kind  kind
	name  string
	start int  // of the name
	sep   byte // '=', ':', '>' of an element, ' ' of a flag
	// spaced: white space stands before or behind the separator.
	spaced bool
	// compared: the separator was "==", so only a literal is a value.
	compared bool
	// named: the name is in quotes.
	named bool
	// query: a "?" or "&" stands before the name.
	query bool
}

// separator is at "=" or ":".
func (x *scanner) separator() {
	at := x.i
	a := assignment{sep: x.s[at]}
	if a.sep == ':' && prefixed(x.s, at, "://") {
		if !x.address() {
			x.i = at + len("://")
		}
		return
	}
	x.i++
	for x.i < len(x.s) && x.s[x.i] == '=' {
		a.compared = a.sep == '='
		x.i++
	}
	if a.sep == ':' && x.i < len(x.s) && x.s[x.i] == ':' {
		x.i++
		return
	}
	if a.sep == '=' && x.i < len(x.s) && x.s[x.i] == '>' {
		x.i++
	}
	if x.nameBefore(at, &a) {
		x.assigned(&a)
	}
}

// fullColon is the colon of East Asian texts.
const fullColon = "："

func (x *scanner) fullColon() {
	at := x.i
	if !prefixed(x.s, at, fullColon) {
		x.i++
		return
	}
	x.i += len(fullColon)
	if a := (assignment{sep: ':'}); x.nameBefore(at, &a) {
		x.assigned(&a)
	}
}

// element is at the ">" that ends an element's start tag.
func (x *scanner) element() {
	end := x.i
	x.i++
	if !endsSecret(x.s, end) {
		return
	}
	start := nameStart(x.s, end, x.last)
	if start == end || start == 0 || x.s[start-1] != '<' {
		return
	}
	a := assignment{sep: '>', name: x.s[start:end], start: start, kind: classify(x.s[start:end])}
	switch a.kind {
	case plain, valueOf, authorization, cookie, setCookie, signature:
		return
	}
	to := x.i
	for to < len(x.s) && to-x.i < longestLiteral && x.s[to] != '<' && x.s[to] != '\n' {
		to++
	}
	if prefixed(x.s, to, "</") && a.holds(literal{text: x.s[x.i:to], quoted: true}) {
		x.replace(x.i, to)
	}
}

// nameBefore reads the name that ends before the separator at i: a word, perhaps
// in quotes, in quotes and brackets, or between asterisks.
func (x *scanner) nameBefore(i int, a *assignment) bool {
	s, end := x.s, i
	if end > 0 && (s[end-1] == ':' || s[end-1] == '?') && a.sep == '=' {
		end-- // ":=", "?="
	}
	for end > 0 && i-end < 8 && (s[end-1] == ' ' || s[end-1] == '\t') {
		end--
		a.spaced = true
	}
	for end > 0 && s[end-1] == '*' {
		end--
		if i-end > 8 {
			return false
		}
	}
	if end > 0 && s[end-1] == ']' {
		if end = opening(s, end-1); end == 0 {
			return false
		}
	}
	if end > 0 && isQuote(s[end-1]) {
		end--
		a.named = true
		for end > 0 && i-end < 16 && s[end-1] == '\\' {
			end--
		}
	}
	if !endsSecret(s, end) {
		return false
	}
	start := nameStart(s, end, x.last)
	if start >= end {
		return false
	}
	if start+3 == end && prefixedFold(s, start, "key") && start > 1 && s[start-1] == ' ' { // "API key"
		start = nameStart(s, start-1, x.last)
	}
	a.kind = classify(s[start:end])
	if a.kind == plain {
		return false
	}
	a.name, a.start = s[start:end], start
	a.query = start > 0 && (s[start-1] == '?' || s[start-1] == '&')
	if i+1 < len(s) && s[i] != fullColon[0] && (s[i+1] == ' ' || s[i+1] == '\t') {
		a.spaced = true
	}
	return true
}

// endsSecret tells from the end of a name, quickly, that it promises nothing.
func endsSecret(s string, end int) bool {
	for n := 0; n < 3 && end > 0 && class[s[end-1]] == digit; n++ {
		end--
	}
	return end > 1 && ends.has(s[end-2], s[end-1])
}

// opening skips a bracket back that ends at i: of an index (["NAME"]) to behind
// the quote, of what a prompt offers ("Secret Access Key [None]:") to before it.
// It is 0 where there is neither.
func opening(s string, i int) int {
	if i > 0 && isQuote(s[i-1]) {
		return i
	}
	for start := i - 1; start > 0 && i-start <= 24; start-- {
		switch s[start] {
		case '\n', ']':
			return 0
		case '[':
			if s[start-1] == ' ' {
				return start - 1
			}
			return 0
		}
	}
	return 0
}

func isQuote(c byte) bool { return c == '"' || c == '\'' || c == '`' }

// nameStart is where the name begins that ends before i; what stands before from is
// no part of it.
func nameStart(s string, i, from int) int {
	start := i
	for start > from && i-start < longestName && (class[s[start-1]]&(url64|dot) != 0 || s[start-1] >= 0x80) {
		start--
	}
	if start+1 < i && start > 0 && s[start-1] == '\\' && (s[start] == 'n' || s[start] == 'r' || s[start] == 't') {
		start++ // a line's end, written inside a string
	}
	for start < i && s[start] == '-' {
		start++
	}
	return start
}

// upper reports whether the name is written as environments write them.
func (a *assignment) upper() bool {
	return count(a.name, low) == 0 && count(a.name, up) > 0
}

// environment: NAME=value, where every word is meant as it stands.
func (a *assignment) environment() bool {
	return a.sep == '=' && !a.spaced && !a.compared && a.upper()
}

// opensLine: nothing but space and dashes stands before the name.
func (a *assignment) opensLine(s string) bool {
	i := a.start
	for i > 0 && a.start-i < 64 && (s[i-1] == ' ' || s[i-1] == '\t' || s[i-1] == '-') {
		i--
	}
	return i == 0 || s[i-1] == '\n' || i > 1 && s[i-1] == 'n' && s[i-2] == '\\'
}

// assigned is behind the separator of a name that may have a secret.
func (x *scanner) assigned(a *assignment) {
	switch a.kind {
	case authorization:
		from, _, _ := x.open(a)
		x.credentials(from)
		return
	case cookie, setCookie:
		from, _, _ := x.open(a)
		x.cookies(from, a.kind)
		return
	case signature:
		if !a.query {
			return
		}
	case valueOf:
		if !x.namedBefore(a) {
			return
		}
	}
	x.value(a)
}
