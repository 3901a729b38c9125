package chat

import "math/bits"

// scanner walks JSON text. A syntax error is sticky: it sets bad, leaves i near
// the offending byte, and every loop over members or elements ends.
//
//	for s.enter(); s.nextKey(); {
//		// s.i is at the value; exactly one value must be consumed
//		s.skip()
//	}
type scanner struct {
	b     []byte
	i     int
	depth int
	bad   bool
	fresh bool // a container was entered and nothing was read in it yet

	str Span // inside the quotes of the string or key read last
	esc bool // it holds a backslash

	leaps   leaps   // strings of this body that were read before
	strides strides // and messages

	watch   watch
	seen    sighting
	scratch [maxEscapedName]byte
}

// maxEscapedName bounds the keys that are worth unescaping: every name that is
// looked for is at most a sixth of it long, the ratio of the longest escape.
const maxEscapedName = 6 * 32

func (s *scanner) fail() { s.bad = true }

// space moves to the next byte that is no white space.
func (s *scanner) space() {
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case ' ', '\n', '\r', '\t':
			s.i++
		default:
			return
		}
	}
}

// peek is the byte at the cursor, 0 at the end: a NUL is no JSON either.
func (s *scanner) peek() byte {
	if s.i < len(s.b) {
		return s.b[s.i]
	}
	return 0
}

// end reports whether nothing but white space follows.
func (s *scanner) end() bool {
	s.space()
	if s.i != len(s.b) {
		s.fail()
	}
	return !s.bad
}

// enter consumes the bracket of an object or array.
func (s *scanner) enter() {
	s.i++
	s.depth++
	s.fresh = true
	if s.depth > MaxDepth {
		s.fail()
	}
}

func (s *scanner) leave() {
	s.i++
	s.depth--
	s.fresh = false
}

// nextKey moves over a comma, a key and its colon to the value, or out of the
// object. The key is in s.str; name decodes it.
func (s *scanner) nextKey() bool {
	if !s.separate('}') {
		return false
	}
	s.readString()
	if s.bad {
		return false
	}
	if s.peek() != ':' {
		s.space()
		if s.peek() != ':' {
			s.fail()
			return false
		}
	}
	s.i++
	s.space()
	return true
}

// nextElement moves to the next element, or out of the array.
func (s *scanner) nextElement() bool { return s.separate(']') }

// separate consumes what stands before a member or element: nothing before the
// first, a comma before each other one. It answers false at the closing bracket.
func (s *scanner) separate(closing byte) bool {
	if s.bad {
		return false
	}
	s.space()
	c := s.peek()
	if c == closing {
		s.leave()
		return false
	}
	if s.fresh {
		s.fresh = false
		return true
	}
	if c != ',' {
		s.fail()
		return false
	}
	s.i++
	s.space()
	return true
}

// skip consumes one value of any kind.
func (s *scanner) skip() {
	if s.bad {
		return
	}
	switch c := s.peek(); c {
	case '"':
		s.readString()
	case '{':
		for s.enter(); s.nextKey(); {
			if s.watch != watchNothing {
				s.look()
			}
			s.skip()
		}
	case '[':
		for s.enter(); s.nextElement(); {
			s.skip()
		}
	case 't':
		s.literal("true")
	case 'f':
		s.literal("false")
	case 'n':
		s.literal("null")
	default:
		s.number()
	}
}

// messages consumes the array of messages, or whatever stands in its place.
func (s *scanner) messages() {
	if s.peek() != '[' {
		s.skip()
		return
	}
	for s.enter(); s.nextElement(); {
		s.stride()
	}
}

// stride consumes one element of messages and remembers it.
func (s *scanner) stride() {
	if known, ok := s.strides.at(s.i); ok {
		s.i = int(known.end)
		s.seen |= known.seen
		return
	}
	start, before := s.i, s.seen
	s.seen = 0
	s.skip()
	if s.strides.keep && !s.bad {
		s.strides.add(stride{start: uint32(start), end: uint32(s.i), seen: s.seen}) //nolint:gosec // keep is false for longer bodies
	}
	s.seen |= before
}

// value consumes one value and is its span.
func (s *scanner) value() Span {
	start := s.i
	s.skip()
	return Span{start, s.i}
}

// text consumes one value. If it is a string, text is its span, quotes included.
func (s *scanner) text() (Span, bool) {
	isString := s.peek() == '"'
	v := s.value()
	return v, isString && !s.bad
}

func (s *scanner) literal(word string) {
	if len(s.b)-s.i < len(word) || string(s.b[s.i:s.i+len(word)]) != word {
		s.fail()
		return
	}
	s.i += len(word)
}

func (s *scanner) number() {
	if s.peek() == '-' {
		s.i++
	}
	if s.peek() == '0' {
		s.i++
	} else {
		s.digits()
	}
	if s.peek() == '.' {
		s.i++
		s.digits()
	}
	if c := s.peek(); c == 'e' || c == 'E' {
		s.i++
		if c := s.peek(); c == '+' || c == '-' {
			s.i++
		}
		s.digits()
	}
}

// digits consumes at least one digit.
func (s *scanner) digits() {
	start := s.i
	for s.i < len(s.b) && s.b[s.i]-'0' < 10 {
		s.i++
	}
	if s.i == start {
		s.fail()
	}
}

// readString consumes a string. Most bytes of a request are inside strings, so
// plain ones are passed eight at a time.
func (s *scanner) readString() {
	if s.peek() != '"' {
		s.fail()
		return
	}
	b, i := s.b, s.i+1
	start := i
	if len(s.leaps.known) > 0 {
		if known, ok := s.leaps.at(start); ok {
			s.str, s.esc = Span{start, int(known.end)}, known.esc
			s.i = s.str.End + 1
			return
		}
	}
	s.esc = false
	for {
		i = plainEnd(b, i)
		if i >= len(b) {
			break
		}
		if b[i] == '"' {
			s.str = Span{start, i}
			s.i = i + 1
			if s.leaps.keep {
				s.leaps.add(s.str, s.esc)
			}
			return
		}
		n := escapeLen(b[i:])
		if n == 0 {
			break
		}
		s.esc = true
		i += n
	}
	s.i = i
	s.fail()
}

// plainEnd is the index of the first byte from i on that ends a run of plain
// string bytes: a quote, a backslash or a control character; else the length.
func plainEnd[T string | []byte](b T, i int) int {
	for i+8 <= len(b) {
		x := uint64(b[i]) | uint64(b[i+1])<<8 | uint64(b[i+2])<<16 | uint64(b[i+3])<<24 |
			uint64(b[i+4])<<32 | uint64(b[i+5])<<40 | uint64(b[i+6])<<48 | uint64(b[i+7])<<56 // one load
		if stops := stops(x); stops != 0 {
			return i + bits.TrailingZeros64(stops)>>3
		}
		i += 8
	}
	for ; i < len(b); i++ {
		if c := b[i]; c < 0x20 || c == '"' || c == '\\' {
			return i
		}
	}
	return i
}

// stops marks, with the high bit of its byte, the lowest byte of x that is a
// quote, a backslash or a control character. Marks above the lowest one may be
// wrong (a borrow), so only the lowest may be used.
func stops(x uint64) uint64 {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	quote := x ^ ones*'"'
	slash := x ^ ones*'\\'
	return ((quote-ones)&^quote | (slash-ones)&^slash | (x-ones*0x20)&^x) & highs
}

// escapeLen is the length of the escape that b starts with, 0 if it is none.
func escapeLen(b []byte) int {
	if len(b) < 2 || b[0] != '\\' {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if _, ok := hex4(b); ok {
			return 6
		}
	}
	return 0
}

// name decodes the string read last, if that can give a name worth comparing;
// else it is the raw bytes, whose backslash makes them unlike every such name.
// It is valid until the next call.
func (s *scanner) name() []byte {
	raw := s.str.Of(s.b)
	if !s.esc || len(raw) > maxEscapedName {
		return raw
	}
	return appendDecoded(s.scratch[:0], raw)
}
