package sse

import "bytes"

// DefaultMax is the largest event, in bytes, that a parser keeps when it is not
// told otherwise.
const DefaultMax = 1 << 20

// Event is one event, or one comment.
type Event struct {
	// Name is the event field; empty where the stream named none.
	Name string
	// Data holds the values of the data fields, joined by line feeds, or the
	// text of a comment. It is valid until the next call of the parser.
	Data []byte
	// Comment: this is a comment line, not an event.
	Comment bool
	// Oversized: it is larger than the parser keeps. Data is nil, and Name is
	// what had been read of it before.
	Oversized bool
}

// Done reports whether the data of an event is the mark that ends a stream of
// chat completion chunks.
func Done(data []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(data, " \t"), []byte("[DONE]"))
}

// Comment appends a comment frame to dst. Line ends inside text become spaces:
// they would end the comment and begin a field.
func Comment(dst []byte, text string) []byte {
	dst = append(dst, ':', ' ')
	for i := range len(text) {
		c := text[i]
		if c == '\r' || c == '\n' {
			c = ' '
		}
		dst = append(dst, c)
	}
	return append(dst, '\n', '\n')
}
