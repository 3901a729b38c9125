package compression

import (
	"math"
	"math/bits"
	"strings"
	"unicode/utf8"
)

// All arithmetic here is in integers: a fused multiply-add on one architecture
// and not on another would give two replicas two handoffs.

// term is what is known of a word, a pair or an identifier over all of the middle.
type term struct {
	text     string // as it came first
	kind     termKind
	messages int32 // how many messages hold it
	last     int32 // the last of them, plus one
	argument bool  // it was a short argument of a call
	spoken   bool  // a user or the assistant wrote it
	covered  bool  // a chosen piece holds it
	weight   int64
}

// lexicon numbers the terms of the middle.
type lexicon struct {
	index map[string]int32
	terms []term
	folds []byte // scratch: the spelling under which a term is known
}

func newLexicon() *lexicon { return &lexicon{index: make(map[string]int32, 1<<12)} }

// id is the number of a term. Words are known in small letters.
func (x *lexicon) id(text string, kind termKind) int32 {
	key := text
	if kind == termWord {
		x.folds = appendLower(x.folds[:0], text)
		if id, ok := x.index[string(x.folds)]; ok {
			return id
		}
		key = string(x.folds)
	} else if id, ok := x.index[text]; ok {
		return id
	}
	id := int32(len(x.terms))
	x.index[key] = id
	x.terms = append(x.terms, term{text: text, kind: kind})
	return id
}

// appendLower appends s in small letters.
func appendLower(dst []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= utf8.RuneSelf {
			return append(dst, strings.ToLower(s[i:])...)
		}
		if capital(c) {
			c += 'a' - 'A'
		}
		dst = append(dst, c)
	}
	return dst
}

// note counts a term of a text, and answers its number.
func (x *lexicon) note(text string, kind termKind, from origin) int32 {
	id := x.id(text, kind)
	t := &x.terms[id]
	if at := int32(from.source) + 1; t.last != at {
		t.last = max(t.last, at)
		t.messages++
	}
	t.spoken = t.spoken || from.spoken
	t.argument = t.argument || from.argument
	return id
}

// weigh fixes what each term counts among n messages: neither what is everywhere
// nor what came once by chance should lead.
func (x *lexicon) weigh(n int) {
	for i := range x.terms {
		t := &x.terms[i]
		m := max(1, int64(t.messages))
		rare := log2(1 + uint64(n)*16/uint64(m)) // sixteenths, so that the logarithm has some play
		t.weight = rare * root(m*1024) * worth[t.kind] >> 10
	}
}

// log2 is the binary logarithm in 256ths, linear between powers of two.
func log2(x uint64) int64 {
	if x <= 1 {
		return 0
	}
	n := bits.Len64(x) - 1
	part := x << (63 - n) << 1 >> 56 // the eight bits after the leading one
	return int64(n)<<8 | int64(part)
}

// root is the integer square root. math.Sqrt is exact by IEEE 754 everywhere.
func root(x int64) int64 { return int64(math.Sqrt(float64(x))) }

// value is what a unit tells that nothing taken tells, for each token it takes.
func (x *lexicon) value(u *unit) int64 {
	var sum int64
	for _, id := range u.terms {
		if t := &x.terms[id]; !t.covered {
			sum += t.weight
		}
	}
	return sum * u.weight / int64(u.cost+unitOverhead)
}

func (x *lexicon) cover(terms []int32) {
	for _, id := range terms {
		x.terms[id].covered = true
	}
}

// uncover begins anew: nothing is told yet.
func (x *lexicon) uncover() {
	for i := range x.terms {
		x.terms[i].covered = false
	}
}
