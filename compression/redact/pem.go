package redact

import "strings"

const (
	pemDashes = "-----"
	pemBegin  = "-----BEGIN "
	pemEnd    = "-----END "
	// pemLongest bounds how far a block's end is looked for. An RSA key of 16384
	// bits has 12 KiB, an OpenPGP one with subkeys and signatures some more.
	pemLongest = 64 << 10
	// pemLine is the shortest full line of base64 that tools write.
	pemLine = 40
)

// privateKey is at the five dashes of a line that begins or ends a private key's
// block (RFC 7468; OpenSSH's and OpenPGP's forms; inside strings, where the lines
// end with escapes). A block without an end goes as far as its lines do; an end
// without a begin, back as far as its lines.
func (x *scanner) privateKey(i int) {
	if prefixed(x.s, i, pemEnd) {
		x.keyTail(i)
		return
	}
	body := pemLabel(x.s, i, pemBegin)
	if body == 0 {
		return
	}
	limit := min(len(x.s), body+pemLongest)
	if at := strings.Index(x.s[body:limit], pemDashes); at >= 0 {
		end := pemLabel(x.s, body+at, pemEnd)
		if end > 0 && keyLike(x.s[body:body+at]) {
			x.replace(i, end)
			return
		}
		limit = body + at
	}
	if end := keyLines(x.s[:limit], body); end > body {
		x.replace(i, end)
	}
}

// pemLabel is the end of a line's closing dashes, where the line at i begins as
// said and names a private key; else 0.
func pemLabel(s string, i int, begin string) int {
	if !prefixed(s, i, begin) {
		return 0
	}
	label := i + len(begin)
	end := label
	for end < len(s) && end-label < 48 && (class[s[end]]&(up|digit) != 0 || s[end] == ' ') {
		end++
	}
	if !prefixed(s, end, pemDashes) || !strings.Contains(s[label:end], "PRIVATE KEY") {
		return 0
	}
	return end + len(pemDashes)
}

// keyLike reports whether what stands between a begin and an end can be a key's
// body: nothing but base64 and what headers, line ends, quotes and marks of
// something left out need, and a piece of base64 that is no word.
func keyLike(body string) bool {
	longest, run := 0, 0
	for i := range len(body) {
		switch c := body[i]; {
		case class[c]&(alnum|slash|equals) != 0:
			run++
			longest = max(longest, run)
			continue
		case c < 0x80 && !strings.ContainsRune(" \t\r\n\\\"',.:;-[]()#*|<>", rune(c)):
			return false
		}
		run = 0
	}
	return longest >= 24
}

// keyLines is where the lines of a key end that begin behind s[:i]; i if there
// are none. The last one may be short, or cut off.
func keyLines(s string, i int) int {
	end, full := i, false
	for {
		line := lineStart(s, i)
		if line == i {
			return end // nothing ends the line before: the text goes on
		}
		if to := header(s, line); to > 0 && !full {
			i = to
			continue
		}
		to := span(s, line, alnum|slash|equals, forever)
		if to-line >= pemLine {
			end, i, full = to, to, true
			continue
		}
		if endsLine(s, to) && (full && to-line >= 4 || to-line >= 12) && mixed(s[line:to]) {
			end = to
		}
		return end
	}
}

// mixed reports whether a piece of base64 is none of a word.
func mixed(s string) bool {
	ups := count(s, up)
	return ups > 0 && count(s, digit|slash|equals) > 0 || ups > 1 && ups < len(s)
}

// lineStart skips what separates two lines of a key, in a string too.
func lineStart(s string, i int) int {
	for i < len(s) {
		switch c := s[i]; {
		case c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '"' || c == '\'' || c == ',':
			i++
		case c == '\\' && i+1 < len(s) && strings.IndexByte("nrt\\\"'\n", s[i+1]) >= 0:
			i += 2
		default:
			return i
		}
	}
	return i
}

// endsLine reports whether a line ends at i.
func endsLine(s string, i int) bool {
	return i == len(s) || strings.IndexByte("\r\n\\\"'", s[i]) >= 0
}

// header is the end of an encapsulated header (RFC 1421) at i, or 0.
func header(s string, i int) int {
	for _, name := range [...]string{"Proc-Type:", "DEK-Info:", "Version:", "Comment:"} {
		if prefixed(s, i, name) {
			end := i + len(name)
			for end < len(s) && !endsLine(s, end) {
				end++
			}
			return end
		}
	}
	return 0
}

// keyTail is at the line that ends a block whose begin was cut off.
func (x *scanner) keyTail(i int) {
	end := pemLabel(x.s, i, pemEnd)
	if end == 0 {
		return
	}
	low := max(x.last, i-pemLongest)
	from := i
	for from > low {
		to := from
		for to > low && separates(x.s, to-1) {
			to--
		}
		start := to
		for start > low && class[x.s[start-1]]&(alnum|slash|equals) != 0 {
			start--
		}
		if to == from || start == to || to-start < pemLine && from != i {
			break
		}
		from = start
	}
	if i-from >= pemLine {
		x.replace(from, end)
	}
}

// separates reports whether the byte at i can stand between two lines of a key.
func separates(s string, i int) bool {
	return strings.IndexByte(" \t\r\n\"',\\", s[i]) >= 0 || s[i] == 'n' && i > 0 && s[i-1] == '\\'
}
