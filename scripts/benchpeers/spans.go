package main

import "encoding/binary"

// countSpans counts the spans in an export of traces: fields 1, 2 and 2 of the
// nested messages of OTLP. Only the frames are read, so that the sink costs
// little beside what it measures. What is no such export has none.
func countSpans(export []byte) int {
	n := 0
	eachField(export, 1, func(resource []byte) {
		eachField(resource, 2, func(scope []byte) {
			eachField(scope, 2, func([]byte) { n++ })
		})
	})
	return n
}

// eachField visits the length-delimited fields of a number in a message.
func eachField(b []byte, number uint64, visit func([]byte)) {
	for len(b) > 0 {
		tag, n := binary.Uvarint(b)
		if n <= 0 {
			return
		}
		b = b[n:]
		size := uint64(0)
		switch tag & 7 {
		case 0:
			if _, n = binary.Uvarint(b); n <= 0 {
				return
			}
			size = uint64(n)
		case 1:
			size = 8
		case 5:
			size = 4
		case 2:
			if size, n = binary.Uvarint(b); n <= 0 {
				return
			}
			b = b[n:]
		default:
			return
		}
		if size > uint64(len(b)) {
			return
		}
		if tag == number<<3|2 {
			visit(b[:size])
		}
		b = b[size:]
	}
}
