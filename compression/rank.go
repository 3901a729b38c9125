package compression

import (
	"cmp"
	"container/heap"
	"math"
	"math/bits"
	"slices"
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

// count notes that message holds the terms of s.
func (x *lexicon) count(s string, message int32, spoken, argument bool) {
	scanTerms(s, func(text string, kind termKind) {
		id := x.id(text, kind) // first: it may move the terms
		t := &x.terms[id]
		if t.last != message+1 {
			t.last = message + 1
			t.messages++
		}
		t.spoken = t.spoken || spoken
		t.argument = t.argument || argument
	})
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

// candidate is a unit in the queue with its value at the time it was put there.
// Values only fall, so the first whose value still holds is the best.
type candidate struct {
	value int64
	unit  int32
}

type queue []candidate

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	if q[i].value != q[j].value {
		return q[i].value > q[j].value
	}
	return q[i].unit < q[j].unit
}
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)   { *q = append(*q, x.(candidate)) }
func (q *queue) Pop() any {
	old := *q
	x := old[len(old)-1]
	*q = old[:len(old)-1]
	return x
}

// unitOverhead is what a unit costs beside its text: its share of the label.
const unitOverhead = 8

// value is what a unit tells that no chosen one told, for each byte it takes.
func (x *lexicon) value(u *unit) int64 {
	var sum int64
	for _, id := range u.terms {
		if t := &x.terms[id]; !t.covered {
			sum += t.weight
		}
	}
	return sum * u.weight / int64(len(u.text)+unitOverhead)
}

// choose is the order in which units are worth taking, until their text fills
// room bytes. It marks the terms that they cover.
func (x *lexicon) choose(units []unit, room int) []int32 {
	q := make(queue, 0, len(units))
	for i := range units {
		if v := x.value(&units[i]); v > 0 {
			q = append(q, candidate{v, int32(i)})
		}
	}
	heap.Init(&q)
	var chosen []int32
	for len(q) > 0 && room > unitOverhead {
		best := q[0]
		u := &units[best.unit]
		v := x.value(u)
		if v == 0 || len(u.text)+unitOverhead > room {
			heap.Pop(&q)
			continue
		}
		if v < best.value {
			q[0].value = v
			heap.Fix(&q, 0)
			continue
		}
		heap.Pop(&q)
		chosen = append(chosen, best.unit)
		room -= len(u.text) + unitOverhead
		x.cover(u.terms)
	}
	return chosen
}

func (x *lexicon) cover(terms []int32) {
	for _, id := range terms {
		x.terms[id].covered = true
	}
}

// identifiers are the identifiers that no chosen piece holds, best first, until
// they fill room bytes. n is the number of messages.
func (x *lexicon) identifiers(n, room int) []string {
	type named struct {
		score int64
		id    int32
	}
	var all []named
	for i := range x.terms {
		t := &x.terms[i]
		if t.kind < termJoin || t.covered || t.messages == 0 || len(t.text) > maxTerm/2 {
			continue
		}
		s := worth[t.kind] * root(int64(t.messages)*1024) * 16
		if t.argument {
			s *= 2
		}
		if t.spoken {
			s *= 2
		}
		if t.messages == 1 && !t.argument && !t.spoken {
			s /= 2
		}
		s += s * int64(t.last) / int64(2*max(1, n)) // up to half as much again for the newest
		s = s * 32 / root(int64(len(t.text))*1024)
		all = append(all, named{s, int32(i)})
	}
	slices.SortFunc(all, func(a, b named) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.id, b.id))
	})
	var out []string
	for _, a := range all {
		t := x.terms[a.id].text
		if len(t)+2 > room {
			break
		}
		room -= len(t) + 2
		out = append(out, t)
	}
	return out
}
