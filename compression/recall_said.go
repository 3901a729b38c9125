package compression

import (
	"encoding/binary"
	"strings"
)

// teller says what a handoff tells already, without reading all of it for each
// sentence.
type teller struct {
	handoff string
	grams   *grams
}

// said reports whether the handoff holds every sentence of a passage. The long
// ones are looked for first: they cost less.
func (t teller) said(text string) bool {
	all := true
	var short [16]string
	left := short[:0]
	sentences(text, func(s string) {
		switch s = oneLine(s); {
		case len(s) < gramLeast:
			left = append(left, s)
		case all:
			all = t.grams.hold(t.handoff, s)
		}
	})
	for i := 0; all && i < len(left); i++ {
		all = strings.Contains(t.handoff, left[i])
	}
	return all
}

// grams is where a text holds what, by pieces of eight bytes: those that begin at
// its bytes 0, 8, 16 and so on. Text that is long enough holds one of them, and it
// is looked for where that piece stands. Places only, no text.
type grams struct {
	key    uint64
	newest []int32 // by the hash of a piece, a power of two: its number and one; 0: none
	before []int32 // of each piece the one before it with that hash, likewise
}

const (
	gramSize  = 8
	gramLeast = 2*gramSize - 1 // of this length it holds a whole piece wherever it stands
)

func newGrams(key uint64, text string) *grams {
	size := 1
	for size < len(text)/gramSize {
		size *= 2
	}
	g := &grams{key, make([]int32, size), make([]int32, len(text)/gramSize)}
	for i := range g.before {
		at := g.slot(text[gramSize*i:])
		g.before[i], g.newest[at] = g.newest[at], int32(i+1) //nolint:gosec // so long is no handoff
	}
	return g
}

// slot is where the piece with which s begins is entered.
func (g *grams) slot(s string) uint64 {
	var b [gramSize]byte
	copy(b[:], s)
	h := (binary.LittleEndian.Uint64(b[:]) ^ g.key) * 0x9E3779B97F4A7C15
	h ^= h >> 32
	h *= 0xD6E8FEB86659FD93
	return h >> 32 & uint64(len(g.newest)-1)
}

// hold reports whether the text that the grams are of holds s, of gramLeast bytes
// or more.
func (g *grams) hold(text, s string) bool {
	for k := range gramSize {
		for i := g.newest[g.slot(s[k:])]; i > 0; i = g.before[i-1] {
			if at := gramSize*int(i-1) - k; at >= 0 && strings.HasPrefix(text[at:], s) {
				return true
			}
		}
	}
	return false
}

// teller is what a handoff tells, of which the grams are remembered under its key.
func (v *View) teller(handoff string, key memoKey) teller {
	known := v.memo.choices.runs
	g := known.handoff(key)
	if g == nil {
		g = newGrams(known.gramKey, handoff)
		known.putHandoff(key, g)
	}
	return teller{handoff, g}
}
