package redact

// kind says what a name promises of its value, and so what a value must look
// like to be taken for a secret.
type kind uint8

const (
	plain      kind = iota
	password        // what people think up: anything that is no type, template or code
	passphrase      // as that, of several words too
	seed            // of twelve words or more
	passing         // "pass": a password or a test's outcome
	working         // "pwd": a password or a directory
	secret          // random, or a plain word where a program is configured
	random          // tokens and keys: random
	personal        // "pat": a personal access token, or a pattern
	signature       // in a URL's query only
	authorization
	cookie
	setCookie
	valueOf // "value": the name stands before it
)

// longestName bounds how much of a name is read, from its end.
const longestName = 64

// squeezed is the end of a name, in lower case and without what joins its words.
type squeezed struct {
	buf    [longestName]byte
	n      int
	starts uint64 // bit i: buf[i] begins a word
}

// squeeze reads a name.
func squeeze(name string) (q squeezed) {
	begins := true
	for i := max(0, len(name)-longestName); i < len(name); i++ {
		c := name[i]
		if class[c]&(underscore|dash|dot) != 0 || c == ' ' {
			begins = true
			continue
		}
		if begins || class[c]&up != 0 && i > 0 && class[name[i-1]]&up == 0 {
			q.starts |= 1 << q.n
		}
		q.buf[q.n] = lower(c)
		q.n++
		begins = false
	}
	return q
}

// ends reports whether the name ends in these letters.
func (q *squeezed) ends(suffix string) bool {
	return q.n >= len(suffix) && string(q.buf[q.n-len(suffix):q.n]) == suffix
}

// endsWord is ends, where a word of the name begins there.
func (q *squeezed) endsWord(suffix string) bool {
	return q.ends(suffix) && q.starts>>(q.n-len(suffix))&1 != 0
}

// cut drops an end from the name.
func (q *squeezed) cut(suffix string) bool {
	if !q.ends(suffix) {
		return false
	}
	q.n -= len(suffix)
	return true
}

// classify says what a name promises.
func classify(name string) kind {
	q := squeeze(name)
	if k := q.whole(); k != plain {
		return k
	}
	for q.n > 0 && class[q.buf[q.n-1]] == digit { // password2
		q.n--
	}
	if k := q.kind(); k != plain {
		return k
	}
	// What says where a secret is used, not what it is.
	for _, end := range [...]string{"production", "prod", "staging", "dev", "test", "live", "old", "new", "base", "plaintext"} {
		if q.cut(end) {
			return q.kind()
		}
	}
	return plain
}

// whole knows the names that mean something only as a whole.
func (q *squeezed) whole() kind {
	switch string(q.buf[:q.n]) {
	case "value":
		return valueOf
	case "authorization", "proxyauthorization":
		return authorization
	case "cookie":
		return cookie
	case "setcookie":
		return setCookie
	case "auth", "httpauth", "basicauth", "credential", "creds":
		return random
	case "sig", "signature", "xamzsignature", "xgoogsignature", "xossignature":
		return signature
	case "mnemonic", "seedphrase", "recoveryphrase":
		return seed
	}
	return plain
}

// kind knows the ends of names.
func (q *squeezed) kind() kind {
	if q.n == 0 {
		return plain
	}
	switch q.buf[q.n-1] {
	case 'd':
		switch {
		case q.ends("password"), q.ends("passwd"):
			return password
		case q.endsWord("pwd"), q.ends("pgpwd"):
			return working
		}
	case 'e':
		switch {
		case q.ends("passphrase"):
			return passphrase
		case q.ends("passcode"), q.endsWord("motdepasse"):
			return password
		}
	case 's':
		if q.endsWord("pass") || q.ends("dbpass") || q.ends("userpass") {
			return passing
		}
	case 't':
		switch {
		case q.ends("secret"):
			return secret
		case q.endsWord("pat"):
			return personal
		case q.ends("passwort"), q.ends("kennwort"):
			return password
		}
	case 'n':
		if q.ends("token") && !q.marksPlace() {
			return random
		}
	case 'y':
		return q.key()
	case 'k':
		if q.endsWord("psk") {
			return password
		}
	case 'a':
		if q.endsWord("senha") || q.ends("contraseña") {
			return password
		}
	default:
		return q.foreign()
	}
	return plain
}

// key: of the many keys there are, those that open something.
func (q *squeezed) key() kind {
	for _, end := range [...]string{
		"apikey", "accesskey", "secretkey", "privatekey", "accountkey", "signingkey", "encryptionkey",
		"authkey", "masterkey", "storagekey", "sharedkey", "subscriptionkey", "functionskey", "webhookkey",
		"deploykey", "integrationkey", "consumerkey", "appkey", "applicationkey", "serverkey", "servicekey",
	} {
		if q.ends(end) {
			return random
		}
	}
	return plain
}

// marksPlace: a token that says where a list goes on, or which call this is. Later
// turns need it.
func (q *squeezed) marksPlace() bool {
	for _, name := range [...]string{
		"pagetoken", "nexttoken", "continuationtoken", "cursortoken", "synctoken", "idempotencytoken",
		"clienttoken", "startingtoken", "markertoken", "resumetoken", "cancellationtoken",
	} {
		if q.ends(name) {
			return true
		}
	}
	return false
}

// foreign: the word for a password where it is written in other letters.
func (q *squeezed) foreign() kind {
	for _, end := range [...]string{"密码", "密碼", "口令", "密钥", "密鑰", "パスワード", "비밀번호", "пароль", "पासवर्ड"} {
		if q.ends(end) {
			return password
		}
	}
	return plain
}
