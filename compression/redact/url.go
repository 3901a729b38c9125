package redact

// userInfo bounds how long the part of a URL before its host may be.
const userInfo = 512

// address is at the colon of "://": the password before an "@" goes, the user
// stays (RFC 3986 3.2.1). It reports whether it replaced one.
func (x *scanner) address() bool {
	s, start := x.s, x.i+len("://")
	colon, at := -1, -1
	for i := start; i < len(s) && i-start < userInfo && !endsUserInfo(s[i]); i++ {
		switch {
		case s[i] == ':' && colon < 0:
			colon = i
		case s[i] == '@':
			at = i
		}
	}
	if colon < 0 || at <= colon+1 || template(s[colon+1:at]) {
		return false
	}
	x.i = start
	if class[s[start]]&word != 0 { // a token may stand for the user
		if from, to := x.shape(start); to > 0 && to <= colon {
			x.replace(from, to)
		}
	}
	x.replace(colon+1, at)
	return true
}

// endsUserInfo: what a URL cannot hold there, or what a text puts around URLs.
func endsUserInfo(c byte) bool {
	switch c {
	case '/', '?', '#', ' ', '\t', '\r', '\n', '"', '\'', '<', '>', '\\', '`', ',', '(', ')', '|':
		return true
	}
	return false
}
