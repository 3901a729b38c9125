package redact

import (
	"bytes"
	"encoding/base64"
)

// irregular finds the tokens that have no prefix of their own, or more to check
// than what follows it. Arguments and results are those of shape.
func (x *scanner) irregular(i int) (from, to int) {
	switch c := x.s[i]; {
	case c == 'e':
		return i, x.webToken(i)
	case c == 'L':
		return i, encodedKey(x.s, i)
	case c == 'M' || c == 'N' || c == 'O':
		return i, discordToken(x.s, i)
	case c == 'a':
		return terraformToken(x.s, i)
	case c == 'b':
		if prefixed(x.s, i, "bot") {
			return i + 3, telegramToken(x.s, i+3)
		}
	case c == 'u':
		return mailchimpKey(x.s, i)
	case class[c] == digit:
		return i, telegramToken(x.s, i)
	}
	return 0, 0
}

// webToken: RFC 7519 and 7516. Parts of base64url, the first a JSON object
// ("{\"" is "eyJ"); three of a signed token, the last of which may be empty or
// cut off, five of an encrypted one. One part alone may be anything: many
// services hand out a JSON object in base64 as a page's mark.
func (x *scanner) webToken(i int) (to int) {
	if i < x.dead || !prefixed(x.s, i, "eyJ") {
		return 0
	}
	end := span(x.s, i, url64, forever)
	x.dead = end
	if end-i < 16 || end == len(x.s) || x.s[end] != '.' {
		return 0
	}
	second := span(x.s, end+1, url64, 16)
	signed := prefixed(x.s, end+1, "eyJ")
	if second-end-1 < 8 && !signed && second-end-1 > 0 {
		return 0
	}
	to, parts := end, 1
	for parts < 5 && to < len(x.s) && x.s[to] == '.' {
		next := span(x.s, to+1, url64, forever)
		if next == to+1 && parts != 1 { // only an encrypted token's second part may be empty
			break
		}
		to, parts = next, parts+1
	}
	if parts >= 3 || signed {
		return to
	}
	return 0
}

// encodedKey: a private key's block in base64, as kubeconfig files and secrets
// of Kubernetes hold it.
func encodedKey(s string, i int) (to int) {
	const begin = "LS0tLS1CRUdJTi" // -----BEGIN
	if !prefixed(s, i, begin) {
		return 0
	}
	var head [48]byte
	n, _ := base64.StdEncoding.Decode(head[:], []byte(s[i:i+(span(s, i, alnum|slash, 64)-i)&^3]))
	if !bytes.Contains(head[:n], []byte("PRIVATE KEY")) {
		return 0
	}
	return span(s, i, alnum|slash|equals, forever)
}

// discordToken: the bot's id in base64 (it is a number, so its first character is
// one of three), a time of six characters, 27 or 38 of a digest.
func discordToken(s string, i int) (to int) {
	end := span(s, i, url64, 29)
	if end-i < 23 || end-i > 28 || end == len(s) || s[end] != '.' {
		return 0
	}
	stamp := span(s, end+1, url64, 7)
	if stamp-end-1 != 6 || stamp == len(s) || s[stamp] != '.' {
		return 0
	}
	to = span(s, stamp+1, url64, 48)
	if n := to - stamp - 1; n < 27 || n > 40 {
		return 0
	}
	return to
}

// telegramToken: the bot's id, a colon, 35 characters the first of which is A.
func telegramToken(s string, i int) (to int) {
	end := span(s, i, digit, 17)
	if end-i < 5 || end-i > 16 || !prefixed(s, end, ":A") {
		return 0
	}
	to = span(s, end+1, url64, 37)
	if n := to - end - 1; n < 34 || n > 36 {
		return 0
	}
	return to
}

// terraformToken: 14 characters, "atlasv1", 60 to 70 characters.
func terraformToken(s string, i int) (from, to int) {
	const middle = "atlasv1."
	if i < 15 || s[i-1] != '.' || !prefixed(s, i, middle) || span(s, i-15, alnum, 14) != i-1 || goesOn(s, i-15) {
		return 0, 0
	}
	to = span(s, i+len(middle), url64|equals, forever)
	if to-i-len(middle) < 50 {
		return 0, 0
	}
	return i - 15, to
}

// mailchimpKey: 32 hexadecimal digits and the data centre, "-us21".
func mailchimpKey(s string, i int) (from, to int) {
	const size = 32
	to = span(s, i+1, restLow, 2)
	if i < size+1 || s[i-1] != '-' || to != i+2 || s[i+1] != 's' || goesOn(s, i-size-1) {
		return 0, 0
	}
	digits := span(s, to, digit, 3)
	if digits == to || digits-to > 2 || wordAt(s, digits) || span(s, i-1-size, digit|hexLow, size) != i-1 {
		return 0, 0
	}
	return i - 1 - size, digits
}

// goesOn reports whether the word at i began before it.
func goesOn(s string, i int) bool {
	if i == 0 || class[s[i-1]]&alnum == 0 {
		return false
	}
	return i == 1 || s[i-2] != '\\' || s[i-1] != 'n' && s[i-1] != 'r' && s[i-1] != 't'
}

// tilde is at the one character that the client secrets of Microsoft's Entra id
// show: three characters, a digit, "Q~", 31 to 34 characters.
func (x *scanner) tilde() {
	const before, after = 5, 31
	i := x.i
	x.i++
	if i < before || x.s[i-1] != 'Q' || class[x.s[i-2]] != digit || goesOn(x.s, i-before) {
		return
	}
	const set = url64 | dot | tildeByte
	end := span(x.s, i+1, set, after+10)
	for x.s[end-1] == '.' {
		end--
	}
	if n := end - i - 1; n < after || n > 36 || span(x.s, i-before, set, before) != i {
		return
	}
	x.replace(i-before, end)
}
