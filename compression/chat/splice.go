package chat

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// ErrEdit says that an edit is out of range or overlaps another. It is a mistake of the
// caller, never of the body.
var ErrEdit = errors.New("chat: edits do not fit the body")

// Edit replaces the bytes of Span by With. An empty Span inserts With before
// the byte at Span.Start; an empty With removes.
type Edit struct {
	Span Span
	With []byte
}

// Splice is body with the edits made and every other byte as it was. The edits
// may come in any order and are not changed; insertions at one place stand in
// the order given, before what replaces the bytes that start there. Edits out of
// range or overlapping are ErrEdit. The result is always a copy.
func Splice(body []byte, edits []Edit) ([]byte, error) {
	if !slices.IsSortedFunc(edits, byPlace) {
		edits = slices.Clone(edits)
		slices.SortStableFunc(edits, byPlace)
	}
	size, at := len(body), 0
	for _, e := range edits {
		if e.Span.Start < at || e.Span.End < e.Span.Start || e.Span.End > len(body) {
			return nil, fmt.Errorf("splicing bytes %d to %d of %d: %w", e.Span.Start, e.Span.End, len(body), ErrEdit)
		}
		at = e.Span.End
		size += len(e.With) - e.Span.Len()
	}
	out := make([]byte, 0, size)
	at = 0
	for _, e := range edits {
		out = append(out, body[at:e.Span.Start]...)
		out = append(out, e.With...)
		at = e.Span.End
	}
	return append(out, body[at:]...), nil
}

func byPlace(a, b Edit) int {
	return cmp.Or(cmp.Compare(a.Span.Start, b.Span.Start), cmp.Compare(a.Span.End, b.Span.End))
}
