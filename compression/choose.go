package compression

import (
	"container/heap"
	"strings"
)

// picker takes units until a room is full, those first that tell the most that
// nothing taken tells, for each token.
type picker struct {
	notes *notes
	taken []bool // by unit
}

func newPicker(n *notes) *picker { return &picker{notes: n, taken: make([]bool, len(n.units))} }

// unitOverhead is what a unit is taken to cost beside its text when it is ranked,
// in tokens: a label, and that many small pieces read badly. jointCost is the
// least that it does cost.
const (
	unitOverhead = 6
	jointCost    = 2
)

// fillTries bounds how often what labels really cost is put right, and fillLeft
// the tokens that are not worth another try.
const (
	fillTries = 4
	fillLeft  = 6
)

// joint stands between two pieces of one message.
const joint = " | "

// older is what is taken of earlier notes, in about room tokens.
func (p *picker) older(room int) string {
	return p.fill(room, func(s *source) bool { return s.notes > 0 }, p.printOlder)
}

// done is what is taken of the messages, in about room tokens, with what was
// taken before.
func (p *picker) done(room int) string {
	return p.fill(room, func(s *source) bool { return s.notes == 0 }, p.printDone)
}

// fill takes units of some sources until what is printed of them has about room
// tokens.
func (p *picker) fill(room int, of func(*source) bool, print func() string) string {
	text := print()
	for range fillTries {
		left := room - int(p.notes.tokens(text))
		if left < fillLeft || !p.choose(left, of) {
			break
		}
		text = print()
	}
	return text
}

// choose takes the units that are worth most, until they fill room tokens, and
// marks the terms that they cover. It reports whether it took any.
func (p *picker) choose(room int, of func(*source) bool) bool {
	n := p.notes
	q := make(queue, 0, len(n.units))
	for i := range n.units {
		u := &n.units[i]
		if p.taken[i] || !of(&n.sources[u.source]) {
			continue
		}
		if v := n.lexicon.value(u); v > 0 {
			q = append(q, candidate{v, int32(i)})
		}
	}
	heap.Init(&q)
	took := false
	for len(q) > 0 && room > jointCost {
		best := q[0]
		u := &n.units[best.unit]
		v := n.lexicon.value(u)
		switch {
		case v == 0 || u.cost+jointCost > room:
			heap.Pop(&q)
		case v < best.value:
			q[0].value = v
			heap.Fix(&q, 0)
		default:
			heap.Pop(&q)
			p.taken[best.unit], took = true, true
			room -= u.cost + jointCost
			n.lexicon.cover(u.terms)
		}
	}
	return took
}

// printDone is the taken units of the messages, in the order of the conversation:
// a line for each message and speaker.
func (p *picker) printDone() string {
	n := p.notes
	var b strings.Builder
	last, before := -1, ""
	for i := range n.units {
		u := &n.units[i]
		s := &n.sources[u.source]
		if !p.taken[i] || s.notes > 0 {
			continue
		}
		label := s.label()
		if u.call {
			label = labelCall
		}
		switch {
		case u.source == last && label == before:
			b.WriteString(joint)
		case label == before && label != labelResult:
			b.WriteString("\n" + labelSame)
		case last >= 0:
			b.WriteByte('\n')
			fallthrough
		default:
			b.WriteString(label)
		}
		b.WriteString(u.text)
		last, before = u.source, label
	}
	return b.String()
}

// printOlder is the taken units of earlier notes, line by line as they stood,
// under their headings.
func (p *picker) printOlder() string {
	n := p.notes
	var b strings.Builder
	last, heading := -1, ""
	for i := range n.units {
		u := &n.units[i]
		s := &n.sources[u.source]
		if !p.taken[i] || s.notes == 0 {
			continue
		}
		switch {
		case u.source == last:
			b.WriteByte(' ')
		case last >= 0:
			b.WriteByte('\n')
		}
		if s.heading != heading {
			if heading = s.heading; heading != "" {
				b.WriteString(heading + "\n")
			}
		}
		b.WriteString(u.text)
		last = u.source
	}
	return b.String()
}

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
