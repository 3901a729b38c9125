package redact

import "strings"

// token68 is what credentials are made of (RFC 9110 11.2), and a little more.
const token68 = url64 | dot | slash | equals | tildeByte

// credentials is at the value of an authorization header (RFC 9110 11.6.2): a
// scheme stays, what follows it goes.
func (x *scanner) credentials(from int) {
	s := x.s
	end := span(s, from, alpha|dash, 16)
	if end < len(s) && s[end] == ' ' && scheme(s[from:end]) {
		from = skipSpace(s, end)
		if end = span(s, from, token68, judged); credential(s[from:end]) && !code(s[from:end]) {
			x.replace(from, span(s, end, token68, forever))
		}
		return
	}
	end = span(s, from, token68, judged)
	if v := s[from:end]; v != "" && noise(v) && !template(v) && !keyword(v) && !code(v) {
		x.replace(from, span(s, end, token68, forever))
	}
}

// scheme knows the authentication schemes that carry a secret (IANA's registry,
// and the words that services made up).
func scheme(s string) bool {
	switch len(s) {
	case 5:
		return prefixedFold(s, 0, "basic") || prefixedFold(s, 0, "token") || prefixedFold(s, 0, "oauth")
	case 6:
		return prefixedFold(s, 0, "bearer") || prefixedFold(s, 0, "apikey") || prefixedFold(s, 0, "splunk")
	case 7:
		return prefixedFold(s, 0, "api-key")
	case 9:
		return prefixedFold(s, 0, "negotiate") || prefixedFold(s, 0, "sharedkey") || prefixedFold(s, 0, "genie-key")
	}
	return len(s) == 4 && prefixedFold(s, 0, "ssws")
}

// credential reports whether what follows a scheme is no word.
func credential(v string) bool {
	if len(v) < 6 || template(v) || keyword(v) {
		return false
	}
	return count(v, digit|slash) > 0 || len(v) >= 12 && v[len(v)-1] == '=' || len(v) >= 16 && count(v, low) < len(v) && changes(v, up) > 3
}

// cookies is at the value of a cookie header (RFC 6265): all of a Cookie's pairs
// go; of a Set-Cookie the value, and its attributes stay.
func (x *scanner) cookies(from int, k kind) {
	s := x.s
	name := span(s, from, url64|dot, longestName)
	if name == from || name+1 >= len(s) || s[name] != '=' || s[name+1] == '=' {
		return
	}
	end := name + 1
	for end < len(s) && end-name <= judged && s[end] != ';' && !endsHeader(s[end]) {
		end++
	}
	value := s[name+1 : end]
	if len(value) < 3 || strings.ContainsAny(value, " (){}") || template(value) {
		return
	}
	for end < len(s) && !endsHeader(s[end]) && (k == cookie || s[end] != ';') {
		end++
	}
	if k == setCookie {
		x.replace(name+1, end)
		return
	}
	x.replace(from, from+len(strings.TrimRight(s[from:end], " \t")))
}

// endsHeader: a line's end, or what a header is written in.
func endsHeader(c byte) bool {
	switch c {
	case '\r', '\n', '"', '\'', '`', '\\':
		return true
	}
	return false
}
