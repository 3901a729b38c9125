package compression

import "strconv"

// How a transcript is thinned: in stretches of the same size, of which the
// newest keeps about three times the share of the oldest. Neighbours stay
// together as far as there is room.
const (
	stretches    = 16
	stretchEven  = 8          // added to each stretch's weight, 1 to stretches
	gapSize      = Tokens(10) // what the note on a gap takes
	leastInThin  = Tokens(64) // a record is not cut below this to be kept
	partsOfShare = 2          // a record takes at most this part of a mean stretch
)

// thinned keeps about room tokens of the records and says where it left some
// out. Of each stretch first what users wrote is kept, then its beginning, of
// the newest its end.
func (t *Transcript) thinned(records []record, room Tokens) (out []record, total Tokens) {
	records, size := t.bounded(records, max(room/(stretches*partsOfShare), leastInThin))
	ends := stretchEnds(records, size)
	keep := make([]bool, len(records))
	left := room
	for s := stretches - 1; s >= 0; s-- {
		from := 0
		if s > 0 {
			from = ends[s-1]
		}
		// Weights fall from the newest to the oldest; what a stretch does not
		// need goes to the older ones.
		share := left * Tokens(s+1+stretchEven) / Tokens((s+1)*(s+2)/2+(s+1)*stretchEven)
		left -= keepSome(records[from:ends[s]], keep[from:ends[s]], share, s == stretches-1)
	}
	return withGaps(records, keep)
}

// stretchEnds is where each stretch ends, as an index into records.
func stretchEnds(records []record, size Tokens) (ends [stretches]int) {
	seen, s := Tokens(0), 0
	for i, r := range records {
		for s < stretches-1 && seen*stretches >= size*Tokens(s+1) {
			ends[s] = i
			s++
		}
		seen += r.size
	}
	for ; s < stretches; s++ {
		ends[s] = len(records)
	}
	return ends
}

// keepSome marks what is kept of one stretch and answers what that takes.
func keepSome(records []record, keep []bool, room Tokens, fromEnd bool) (taken Tokens) {
	take := func(i int) bool {
		cost := records[i].size + gapSize
		if taken+cost > room {
			return false
		}
		taken += cost
		keep[i] = true
		return true
	}
	for i, r := range records {
		if r.user && !take(i) {
			break
		}
	}
	for k := range records {
		i := k
		if fromEnd {
			i = len(records) - 1 - k
		}
		if !keep[i] && !take(i) {
			break
		}
	}
	return taken
}

// withGaps is the records that are kept, with a note for each run of others.
func withGaps(records []record, keep []bool) (out []record, total Tokens) {
	gone := 0
	for i, r := range records {
		if !keep[i] {
			gone++
		}
		if gone > 0 && (keep[i] || i+1 == len(records)) {
			out = append(out, record{text: "[" + strconv.Itoa(gone) + " messages left out]\n\n", size: gapSize})
			total += gapSize
			gone = 0
		}
		if keep[i] {
			out = append(out, r)
			total += r.size
		}
	}
	return out, total
}
