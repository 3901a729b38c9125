package chat

import (
	"bytes"
	"slices"
)

// Limits within which a value is written as a tree; what is beyond stands as its
// bytes. They keep the form about as long as what it is made from, and sorting
// cheap; no real part comes near. A change to them is a change of format.
const (
	treeDepth   = 16
	treeMembers = 1 << 10 // of one object
	treeValues  = 1 << 16 // of one message
)

// tree is what canon needs to write values of any kind.
type tree struct {
	values  int      // written so far
	members []member // of the objects being written, outermost first
	sorted  []byte   // an object's members on their way to their places
}

// member is where one member of an object stands in canon.dst.
type member struct {
	start, name, nameEnd, end int
}

// value writes a JSON value of the body. Members for whose name omit is true are
// left out of the value itself, cache markers at any depth.
func (c *canon) value(v Span, omit func(name []byte) bool) {
	s := scanner{b: c.body[:v.End], i: v.Start}
	c.next(&s, 0, omit)
}

// next writes the value that the scanner is at, in one pass: nothing is read
// twice, however deep it is nested.
func (c *canon) next(s *scanner, depth int, omit func(name []byte) bool) {
	c.values++
	switch s.peek() {
	case '"':
		s.readString()
		c.decoded(tagString, s.str.Of(s.b))
	case '{':
		c.object(s, depth, omit)
	case '[':
		c.array(s, depth)
	default:
		c.raw(tagLiteral, s.value())
	}
}

// full reports whether no more containers may be written as trees.
func (c *canon) full(depth int) bool { return depth == treeDepth || c.values >= treeValues }

func (c *canon) array(s *scanner, depth int) {
	if c.full(depth) {
		c.raw(tagBytes, s.value())
		return
	}
	c.dst = append(c.dst, tagArray)
	for s.enter(); s.nextElement(); {
		if c.values >= treeValues {
			rest := s.i
			for s.skip(); s.nextElement(); {
				s.skip()
			}
			c.raw(tagBytes, Span{rest, s.i})
			return
		}
		c.dst = append(c.dst, tagElement)
		c.next(s, depth+1, nil)
	}
	c.dst = append(c.dst, tagEnd)
}

func (c *canon) object(s *scanner, depth int, omit func(name []byte) bool) {
	if c.full(depth) {
		c.raw(tagBytes, s.value())
		return
	}
	start, at, first := s.i, len(c.dst), len(c.members)
	c.dst = append(c.dst, tagObject)
	for s.enter(); s.nextKey(); {
		m := member{start: len(c.dst)}
		c.decoded(tagMember, s.str.Of(s.b))
		m.name, m.nameEnd = m.start+tagLen, len(c.dst)
		if name := c.dst[m.name:m.nameEnd]; isMarker(name) || omit != nil && omit(name) {
			c.dst = c.dst[:m.start]
			s.skip()
			continue
		}
		if len(c.members)-first == treeMembers {
			for s.skip(); s.nextKey(); {
				s.skip()
			}
			c.members = c.members[:first]
			c.dst = c.dst[:at]
			c.raw(tagBytes, Span{start, s.i})
			return
		}
		c.next(s, depth+1, nil)
		m.end = len(c.dst)
		c.members = append(c.members, m)
	}
	c.sort(c.members[first:])
	c.members = c.members[:first]
	c.dst = append(c.dst, tagEnd)
}

// sort puts the members, which stand at the end of dst, in the order of their
// names. It is stable, so that doubled names keep their order: readers differ in
// which of them counts.
func (c *canon) sort(members []member) {
	byName := func(a, b member) int {
		return bytes.Compare(c.dst[a.name:a.nameEnd], c.dst[b.name:b.nameEnd])
	}
	if slices.IsSortedFunc(members, byName) {
		return
	}
	start := members[0].start
	slices.SortStableFunc(members, byName)
	c.sorted = c.sorted[:0]
	for _, m := range members {
		c.sorted = append(c.sorted, c.dst[m.start:m.end]...)
	}
	copy(c.dst[start:], c.sorted)
}

func isMarker(name []byte) bool {
	return string(name) == markerCache || string(name) == markerBreakpoint
}

// isCallNoise knows the members of a call that say nothing to a model.
func isCallNoise(name []byte) bool { return string(name) == "index" || string(name) == "type" }

// isEcho knows the members of a message that repeat what a model thought.
func isEcho(name []byte) bool {
	switch string(name) {
	case "reasoning", "reasoning_content", "reasoning_details", "thinking_blocks", "encrypted_content", "annotations":
		return true
	}
	return false
}
