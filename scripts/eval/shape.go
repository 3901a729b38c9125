package main

import (
	"regexp"
	"strings"

	"github.com/foldgate/foldgate/compression"
)

// shape is what a handoff's body is made of, in bytes.
type shape struct {
	bytes  int
	lines  int // sentences and lines of the source, verbatim but for white space
	calls  int // a call and what became of it, on one line
	index  int // the list of identifiers
	others int // labels, titles, joints, and what was written anew
}

// percent is a part of the body.
func (s shape) percent(n int) int {
	if s.bytes == 0 {
		return 0
	}
	return (n*100 + s.bytes/2) / s.bytes
}

// add adds another body's parts.
func (s *shape) add(o shape) {
	s.bytes += o.bytes
	s.lines += o.lines
	s.calls += o.calls
	s.index += o.index
	s.others += o.others
}

// label begins a line of notes: where it stands and who said it.
var label = regexp.MustCompile(`^(?:(?:#\d+ [^:]{1,60}|user [^:]{1,60}|user|assistant|tool|call|other): |- )`)

// callLine is a call as notes tell it.
var callLine = regexp.MustCompile(`^[\w.:-]+\(.*`)

// joint stands between two pieces of one message.
const pieceJoint = " | "

// shapeOf divides a handoff's body into what the source says and what it does not.
func shapeOf(h compression.Handoff, s *source) shape {
	bare, index := withoutIndex(h)
	body, _ := compression.Body(bare.Text)
	out := shape{bytes: len(body) + index, index: index}
	for line := range strings.SplitSeq(body, "\n") {
		line = line[len(label.FindString(line)):]
		for piece := range strings.SplitSeq(line, pieceJoint) {
			switch {
			case s.says(piece):
				out.lines += len(piece)
			case callLine.MatchString(piece):
				out.calls += len(piece)
			}
		}
	}
	out.others = out.bytes - out.lines - out.calls - out.index
	return out
}

// says reports whether the source holds a piece; of one that was cut, what was
// left on both sides.
func (s *source) says(piece string) bool {
	told := false
	for part := range strings.SplitSeq(piece, cutMark) {
		part = oneLine(part)
		if part == "" {
			continue
		}
		if !strings.Contains(s.flat, part) {
			return false
		}
		told = true
	}
	return told
}
