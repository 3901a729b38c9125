package compression

import (
	"cmp"
	"slices"
	"strings"
)

const (
	indexLongest = 80 // bytes of a name in the index
	indexAlike   = 8  // names that differ in their digits alone
)

// index is a list of the identifiers that nothing taken holds, best first, in at
// most room tokens, and what it takes. A name has no spaces, so spaces part them.
func (n *notes) index(room int) (text string, cost int) {
	type named struct {
		score int64
		id    int32
	}
	x := n.lexicon
	var all []named
	for i := range x.terms {
		if t := &x.terms[i]; t.kind >= termJoin && !t.covered && t.messages > 0 && len(t.text) <= indexLongest {
			all = append(all, named{n.score(t), int32(i)})
		}
	}
	slices.SortFunc(all, func(a, b named) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.id, b.id))
	})
	var b strings.Builder
	like := map[uint64]int{}
	for _, a := range all {
		t := " " + x.terms[a.id].text
		shape := alike(t)
		if like[shape]++; like[shape] > indexAlike {
			continue
		}
		size := int(n.tokens(t))
		if cost+size > room {
			break
		}
		cost += size
		b.WriteString(t)
	}
	return strings.TrimPrefix(b.String(), " "), cost
}

// score ranks an identifier for the index: by kind, by how many messages hold it,
// by who used it and how lately, for its length.
func (n *notes) score(t *term) int64 {
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
	s += s * int64(t.last) / int64(2*max(1, len(n.sources))) // up to half as much again for the newest
	return s * 32 / root(int64(len(t.text))*1024)
}
