package redact

// The classes of bytes. Everything above ASCII is none of them.
const (
	digit uint16 = 1 << iota
	hexLow
	restLow
	hexUp
	restUp
	underscore
	dash
	dot
	slash // and plus: base64
	equals
	tildeByte

	low   = hexLow | restLow
	up    = hexUp | restUp
	alpha = low | up
	alnum = alpha | digit
	word  = alnum | underscore
	url64 = word | dash
	hexed = digit | hexLow | hexUp
)

// The tables below are computed once and never changed.

// class is the class of each byte.
var class = func() (t [256]uint16) {
	for c := range t {
		switch {
		case c >= '0' && c <= '9':
			t[c] = digit
		case c >= 'a' && c <= 'f':
			t[c] = hexLow
		case c >= 'g' && c <= 'z':
			t[c] = restLow
		case c >= 'A' && c <= 'F':
			t[c] = hexUp
		case c >= 'G' && c <= 'Z':
			t[c] = restUp
		}
	}
	t['_'], t['-'], t['.'], t['/'], t['+'], t['='] = underscore, dash, dot, slash, slash, equals
	t['~'] = tildeByte
	return t
}()

// What the loop does at a byte.
const (
	actNone = 0
	actWord = 1 // a letter or digit: a word begins
	actJoin = 3 // an underscore: it continues a word, and begins none
	actLook = 4
	actDash = 6
)

var acts = func() (t [256]uint8) {
	for c := range t {
		if class[c]&alnum != 0 {
			t[c] = actWord
		}
	}
	t['_'] = actJoin
	for _, c := range []byte{'=', ':', '\\', '>', '~', fullColon[0]} {
		t[c] = actLook
	}
	t['-'] = actDash
	return t
}()

// pairs is a set of pairs of bytes. It answers for most words with one look that
// no rule is about them.
type pairs [1 << 10]uint64

func (p *pairs) has(a, b byte) bool {
	at := uint(a)<<8 | uint(b)
	return p[at>>6]>>(at&63)&1 != 0
}

func (p *pairs) add(a, b byte) {
	at := uint(a)<<8 | uint(b)
	p[at>>6] |= 1 << (at & 63)
}

// addFold adds a pair in every case; both are in lower case.
func (p *pairs) addFold(a, b byte) {
	for _, first := range [...]byte{a, upper(a)} {
		p.add(first, b)
		p.add(first, upper(b))
	}
}

// begins are the pairs that words begin with which are known by their shape, or
// begin a phrase.
var begins = func() (p pairs) {
	for _, begin := range beginnings() {
		p.add(begin[0], begin[1])
	}
	for c := range 256 {
		if class[c]&url64 != 0 {
			for _, first := range []byte("MNO") {
				p.add(first, byte(c)) // discordToken
			}
		}
	}
	return p
}()

// triples is to three bytes what begins is to two, by a hash, for what the pairs
// let through.
var triples = func() (p pairs) {
	for _, begin := range beginnings() {
		p.add(fold3(begin[0], begin[1], begin[2]))
	}
	return p
}()

// fold3 makes a pair of three bytes.
func fold3(a, b, c byte) (byte, byte) { return a ^ c<<3, b ^ c>>2 }

// beginnings are the first three bytes of all that a word can begin with.
func beginnings() (all []string) {
	const hex = "0123456789abcdef"
	for _, f := range shapes {
		if len(f.prefix) > 2 {
			all = append(all, f.prefix[:3])
			continue
		}
		for _, c := range hex {
			all = append(all, f.prefix+string(c))
		}
	}
	for n := range 1000 { // telegramToken
		all = append(all, string([]byte{byte('0' + n/100), byte('0' + n/10%10), byte('0' + n%10)}))
	}
	for _, c := range hex[:10] { // mailchimpKey
		all = append(all, "us"+string(c))
	}
	all = append(all, "eyJ", "LS0", "bot", "atl")
	for _, begin := range []string{"bea", "ide", "pas"} { // phrase
		for mask := range 8 {
			var w [3]byte
			for k := range w {
				if w[k] = begin[k]; mask>>k&1 != 0 {
					w[k] = upper(w[k])
				}
			}
			all = append(all, string(w[:]))
		}
	}
	return all
}

// ends are the pairs that the names end with which kind and whole know. Digits
// at the end are skipped before.
var ends = func() (p pairs) {
	for _, end := range []string{
		"password", "passwort", "kennwort", "passwd", "pwd", "passphrase", "passcode", "motdepasse", "pass", "secret", "pat",
		"token", "key", "psk", "senha", "cookie", "authorization", "auth", "credential", "creds", "sig", "signature",
		"mnemonic", "value", "production", "prod", "staging", "dev", "test", "live", "old", "new", "base", "plaintext",
	} {
		p.addFold(end[len(end)-2], end[len(end)-1])
	}
	for c := range 256 {
		for d := 0x80; d < 256; d++ {
			p.add(byte(c), byte(d)) // foreign
		}
	}
	p.addFold(0xB1, 'a') // contraseña
	return p
}()

// byFirst are the shapes by their first byte, in their order.
var byFirst = func() (t [256][]shape) {
	for _, f := range shapes {
		t[f.prefix[0]] = append(t[f.prefix[0]], f)
	}
	return t
}()

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

func upper(c byte) byte {
	if c >= 'a' && c <= 'z' {
		return c + 'A' - 'a'
	}
	return c
}
