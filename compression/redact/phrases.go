package redact

import "strings"

// phrase is at a word: "Bearer" and its token outside a header, "PASSWORD" and
// "IDENTIFIED BY" and a string (SQL), "password is" and a value.
func (x *scanner) phrase() bool {
	switch x.s[x.i] {
	case 'b', 'B':
		if prefixedFold(x.s, x.i, "bearer ") {
			return x.bearer(x.i + len("bearer "))
		}
	case 'i', 'I':
		if prefixedFold(x.s, x.i, "identified by ") {
			return x.quotedAfter(x.i + len("identified by "))
		}
	case 'p', 'P':
		if !prefixedFold(x.s, x.i, "password ") {
			break
		}
		i := x.i + len("password ")
		if prefixedFold(x.s, i, "is ") {
			return x.toldIs(i + len("is "))
		}
		return x.quotedAfter(i)
	}
	return false
}

// bearer: RFC 6750's token, where it is long and mixed enough to be one.
func (x *scanner) bearer(i int) bool {
	end := span(x.s, i, token68, judged)
	if end-i < 16 || !noise(x.s[i:end]) || code(x.s[i:end]) {
		return false
	}
	x.replace(i, span(x.s, end, token68, forever))
	return true
}

// quotedAfter: a string in the quotes of SQL.
func (x *scanner) quotedAfter(i int) bool {
	if i >= len(x.s) || x.s[i] != '\'' {
		return false
	}
	to := closing(x.s, i+1, '\'', 0)
	a := assignment{kind: password, sep: '='}
	if to < 0 || !a.holds(literal{text: x.s[i+1 : to], quoted: true}) {
		return false
	}
	x.replace(i+1, to)
	return true
}

// toldIs: somebody tells a password in a sentence. Only what no sentence about
// passwords would say there is taken for one.
func (x *scanner) toldIs(i int) bool {
	quote := byte(0)
	if i < len(x.s) && isQuote(x.s[i]) {
		quote = x.s[i]
		i++
	}
	to := x.bareEnd(i, longestBare, false)
	for to > i && strings.IndexByte(".,;:!?", x.s[to-1]) >= 0 && quote == 0 {
		to--
	}
	v := x.s[i:to]
	if len(v) < 6 || template(v) || keyword(v) || address(v) || count(v, alpha) == 0 {
		return false
	}
	if quote == 0 && (code(v) || count(v, digit) == 0 || strings.IndexByte(v, '-') >= 0 || algorithm(v)) {
		return false
	}
	x.replace(i, to)
	return true
}

// algorithm knows the words with digits that sentences about passwords hold.
func algorithm(v string) bool {
	for _, begin := range [...]string{"sha", "md5", "base64", "bcrypt", "argon2", "pbkdf2", "utf", "aes", "ascii"} {
		if prefixedFold(v, 0, begin) {
			return true
		}
	}
	return false
}

// dashes is at a run of dashes: a private key's block, or a flag.
func (x *scanner) dashes() {
	start := x.i
	for x.i < len(x.s) && x.s[x.i] == '-' {
		x.i++
	}
	switch n := x.i - start; {
	case n >= len(pemDashes):
		x.privateKey(x.i - len(pemDashes))
	case n <= 2 && (start == 0 || class[x.s[start-1]] == 0):
		x.flag()
	}
}

// flag is at a flag's name. Its value may be the next word; what stands behind
// an equals sign is found there.
func (x *scanner) flag() {
	end := span(x.s, x.i, url64, longestName)
	if end == x.i || end == len(x.s) || x.s[end] != ' ' {
		return
	}
	a := assignment{name: x.s[x.i:end], sep: ' ', spaced: true, start: x.i}
	switch a.name {
	case "u", "user":
		x.userFlag(end)
		return
	case "p":
		if x.lineHas("sshpass") {
			a.kind = password
		}
	case "a":
		if x.lineHas("redis-cli") {
			a.kind = password
		}
	default:
		a.kind = classify(a.name)
	}
	switch a.kind {
	case password, passphrase, secret, random, personal:
	default:
		return
	}
	at := x.i
	x.i = end
	if l := skipSpace(x.s, end); prefixed(x.s, l, "-") || !x.value(&a) {
		x.i = at
	}
}

// userFlag: curl's "-u name:password".
func (x *scanner) userFlag(i int) {
	if !x.lineHas("curl") && !x.lineHas("http") {
		return
	}
	at := x.i
	x.i = i
	a := assignment{kind: password, sep: ' '}
	l, _ := x.literal(&a) // nothing is compared, so there is one
	colon := strings.IndexByte(l.text, ':')
	x.i = at
	if colon < 0 {
		return
	}
	v := l.text[colon+1:]
	if len(v) >= 3 && !template(v) && !keyword(v) && !strings.ContainsAny(v, " /") {
		x.replace(l.from+colon+1, l.to)
	}
}

// lineHas reports whether a word stands before x.i on its line, not far away.
func (x *scanner) lineHas(word string) bool {
	const reach = 256
	line := x.s[max(x.last, x.i-reach, 0):x.i]
	return strings.Contains(line[strings.LastIndexByte(line, '\n')+1:], word)
}
