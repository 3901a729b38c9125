package tokens

// Longest vocabulary entries, by what they hold. A test holds them against the
// vocabulary.
const (
	longestEntry = 128 // bytes
	longestHigh  = 60  // bytes of 0x80 and above
	longestWide  = 10  // Han and Hangul: bytes from 0xE4 to 0xED, one a character
)

// Bounds answers low and high with low <= Count(text) <= high for every text,
// in one pass of about a nanosecond a byte, without a Counter.
//
// high is len(text): a token covers at least one byte. It could be lowered by
// what is known of pairs of letters, but by less than a quarter, so it is left
// plain.
//
// low is the greatest of four bounds.
//   - A token has at most 128 bytes.
//   - A token has at most 60 bytes of 0x80 and above.
//   - A token has at most 10 bytes from 0xE4 to 0xED, with which Han and Hangul
//     characters begin.
//   - A token lies within one piece, and a piece is never empty, so there are as
//     many tokens as there are pieces. Between these two neighbours a piece
//     surely ends, since no alternative of the pattern matches both:
//     a letter and then a digit, white space, or a symbol that is no apostrophe;
//     a lower-case letter and then a capital, but for those that may be 'll, 're
//     or 've in mixed case;
//     a digit and then anything ASCII but a digit, and the reverse;
//     a symbol and then white space that is no line end;
//     a line end and then a letter, or a symbol that is no slash;
//     white space that is neither blank nor line end and then a symbol;
//     a character above ASCII that is no white space (told by its last byte) and
//     then white space that is no line end.
//     Within a run of d digits there are at least (d-1)/3 ends more, rounded
//     down, as a number has at most three. Over r runs of n digits in all that
//     is at least n/3 - r.
func Bounds(text []byte) (low, high int) {
	var ends, digits, runs, wide, top int
	prev := uint8(edge) << 4
	for rest := text; len(rest) > 0; {
		block := rest[:min(len(rest), blockSize)]
		rest = rest[len(block):]
		var sum uint64
		for _, b := range block {
			k := bounds.kinds[b]
			sum += bounds.pairs[prev|k]
			prev = k << 4
		}
		ends += int(sum & fieldMask)
		digits += int(sum >> digitField & fieldMask)
		runs += int(sum >> runField & fieldMask)
		wide += int(sum >> wideField & fieldMask)
		top += int(sum >> topField & fieldMask)
	}
	if len(text) == 0 {
		return 0, 0
	}
	pieces := ends + 1 + max(0, ceil(digits, 3)-runs)
	return max(pieces, ceil(wide, longestWide), ceil(top, longestHigh), ceil(len(text), longestEntry)), len(text)
}

func ceil(n, by int) int { return (n + by - 1) / by }

// The kinds of a byte that Bounds tells apart. At most 16.
const (
	edge        uint8 = iota // before the text, and bytes that may end white space
	above                    // other bytes of 0x80 and above
	aboveWide                // 0xE4 to 0xED
	small                    // a-z but l, r, v
	smallFirst               // l, r, v: what a contraction of two letters begins with
	capital                  // A-Z but L, E
	capitalLast              // L, E: what it ends with
	digit                    // 0-9
	blank                    // the space
	tab                      // other white space
	lineEnd                  // \r, \n
	slash                    // /
	apostrophe               // '
	sign                     // the rest of ASCII
)

// A block's counts are added up in fields of one word.
const (
	blockSize = 1024
	fieldMask = 1<<11 - 1 // holds blockSize

	digitField = 11
	runField   = 22
	wideField  = 33
	topField   = 44
)

type boundTables struct {
	kinds [256]uint8
	pairs [256]uint64 // by kind of the byte before <<4 | kind of the byte
}

// bounds is computed once and never written again.
var bounds = newBoundTables()

func newBoundTables() *boundTables {
	t := new(boundTables)
	for b := range t.kinds {
		t.kinds[b] = kindOf(byte(b))
	}
	for prev := range uint8(16) {
		for k := range uint8(16) {
			var sum uint64
			if surelyEnds(prev, k) {
				sum++
			}
			switch k {
			case digit:
				sum += 1 << digitField
				if prev != digit {
					sum += 1 << runField
				}
			case aboveWide:
				sum += 1<<wideField + 1<<topField
			case above, edge:
				sum += 1 << topField
			}
			t.pairs[prev<<4|k] = sum
		}
	}
	return t
}

func kindOf(b byte) uint8 {
	switch {
	case b >= 0x80 && b <= 0x8a, b == 0x9f, b == 0xa0, b == 0xa8, b == 0xa9, b == 0xaf:
		return edge // the last bytes of white space: U+0085, U+00A0, U+1680, U+2000 to U+205F, U+3000
	case b >= 0xe4 && b <= 0xed:
		return aboveWide
	case b >= 0x80:
		return above
	case b == 'l' || b == 'r' || b == 'v':
		return smallFirst
	case b >= 'a' && b <= 'z':
		return small
	case b == 'L' || b == 'E':
		return capitalLast
	case b >= 'A' && b <= 'Z':
		return capital
	case b >= '0' && b <= '9':
		return digit
	case b == ' ':
		return blank
	case b == '\r' || b == '\n':
		return lineEnd
	case b == '\t' || b == '\v' || b == '\f':
		return tab
	case b == '/':
		return slash
	case b == '\'':
		return apostrophe
	}
	return sign
}

// surelyEnds reports whether a piece ends between two such bytes, whatever
// stands around them.
func surelyEnds(prev, k uint8) bool {
	letter := func(k uint8) bool { return k >= small && k <= capitalLast }
	lower := func(k uint8) bool { return k == small || k == smallFirst }
	symbol := func(k uint8) bool { return k == slash || k == apostrophe || k == sign }
	blankOrTab := k == blank || k == tab
	switch {
	case prev == edge || k == edge || k == above || k == aboveWide:
		return false
	case prev == above || prev == aboveWide:
		return blankOrTab
	case prev == digit:
		return k != digit
	case k == digit:
		return true
	case letter(prev):
		if letter(k) {
			return lower(prev) && !lower(k) && (prev != smallFirst || k != capitalLast)
		}
		return k != apostrophe
	case symbol(prev):
		return blankOrTab
	case prev == lineEnd:
		return letter(k) || symbol(k) && k != slash
	case prev == tab:
		return symbol(k)
	}
	return false
}
