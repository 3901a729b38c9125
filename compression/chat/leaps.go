package chat

import "sort"

// leastLeap is the length of a string, in bytes, from which on remembering its
// end pays.
const leastLeap = 64

// leap is a string that was read before and is well-formed: what stands between
// its quotes, and whether it holds a backslash. It is numbers only. A body of
// more than 4 GiB has none.
type leap struct {
	start, end uint32
	esc        bool
}

// stride is a message that was read before and is well-formed: the whole value,
// and what was seen in it. Reading an envelope goes over it in one step.
type stride struct {
	start, end uint32
	seen       sighting
}

// strides are the messages of a body by where they stand, and a cursor into them.
type strides struct {
	known []stride
	next  int
	found []stride // those read here, in order
	keep  bool     // whether found is wanted
	many  bool     // there are more than are looked into: none is kept
}

// add keeps a message. Of a body that has more than are looked into none is: each
// takes six times the bytes that it can be written in, and nobody would read them.
func (l *strides) add(m stride) {
	if len(l.known)+len(l.found) == MaxElements {
		*l = strides{many: true}
		return
	}
	l.found = append(l.found, m)
}

// at is the message that begins at start. Readers only move on.
func (l *strides) at(start int) (stride, bool) {
	for l.next < len(l.known) && int(l.known[l.next].start) < start {
		l.next++
	}
	if l.next == len(l.known) || int(l.known[l.next].start) != start {
		return stride{}, false
	}
	return l.known[l.next], true
}

// leaps are the long strings of a body by where they stand, and a cursor into
// them. A scanner that comes to such a string goes on at its end.
type leaps struct {
	known []leap
	next  int
	found []leap // those read here, in order
	keep  bool   // whether found is wanted
}

// at is the string whose first byte inside the quotes is at start. A scanner
// moves on, but for the few places where it looks ahead.
func (l *leaps) at(start int) (leap, bool) {
	if l.next > 0 && int(l.known[l.next-1].start) >= start {
		l.next = sort.Search(len(l.known), func(i int) bool { return int(l.known[i].start) >= start })
	}
	for l.next < len(l.known) && int(l.known[l.next].start) < start {
		l.next++
	}
	if l.next == len(l.known) || int(l.known[l.next].start) != start {
		return leap{}, false
	}
	return l.known[l.next], true
}

// add keeps a string that was read to its end.
func (l *leaps) add(s Span, esc bool) {
	if s.Len() < leastLeap {
		return
	}
	if n := len(l.found); n > 0 && int(l.found[n-1].start) >= s.Start {
		return // looked at ahead, and now once more
	}
	l.found = append(l.found, leap{start: uint32(s.Start), end: uint32(s.End), esc: esc}) //nolint:gosec // keep is false for longer bodies
}

// reading is what is known of a body after it was read once. It belongs to an
// Envelope and to the bytes in that very place.
type reading struct {
	first    *byte
	size     int
	strings  []leap
	messages []stride
	blocks   []BlockName
	many     bool // messages: more than are looked into, and none is known
}

// of is what is known of body: nothing, where it is another one.
func (r *reading) of(body []byte) reading {
	if len(body) == 0 || r.first != &body[0] || r.size != len(body) {
		return reading{}
	}
	return *r
}
