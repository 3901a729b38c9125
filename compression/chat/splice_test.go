package chat_test

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/foldgate/foldgate/compression/chat"
)

func edit(start, end int, with string) chat.Edit {
	return chat.Edit{Span: chat.Span{Start: start, End: end}, With: []byte(with)}
}

func TestSplice(t *testing.T) {
	tests := []struct {
		name  string
		body  string
		edits []chat.Edit
		want  string
		err   error
	}{
		{"no edit", "abc", nil, "abc", nil},
		{"nothing at all", "", nil, "", nil},
		{"replace", "abcdef", []chat.Edit{edit(2, 4, "XYZ")}, "abXYZef", nil},
		{"remove", "abcdef", []chat.Edit{edit(0, 3, "")}, "def", nil},
		{"everything", "abc", []chat.Edit{edit(0, 3, "x")}, "x", nil},
		{"insert at the start", "abc", []chat.Edit{edit(0, 0, "x")}, "xabc", nil},
		{"insert at the end", "abc", []chat.Edit{edit(3, 3, "x")}, "abcx", nil},
		{"unsorted", "abcdef", []chat.Edit{edit(4, 5, "2"), edit(1, 2, "1")}, "a1cd2f", nil},
		{"touching", "abcd", []chat.Edit{edit(0, 2, "1"), edit(2, 4, "2")}, "12", nil},
		{"two insertions at one place", "ab", []chat.Edit{edit(1, 1, "1"), edit(1, 1, "2")}, "a12b", nil},
		{"insertion before a replacement, given after it", "abc", []chat.Edit{edit(1, 2, "X"), edit(1, 1, "1")}, "a1Xc", nil},
		{"insertion after a replacement", "abc", []chat.Edit{edit(1, 2, "X"), edit(2, 2, "1")}, "aX1c", nil},
		{"bytes that are no text", "a\xffb\x00", []chat.Edit{edit(0, 1, "\xfe")}, "\xfe\xffb\x00", nil},

		{"overlap", "abcdef", []chat.Edit{edit(0, 3, ""), edit(2, 4, "")}, "", chat.ErrEdit},
		{"overlap, unsorted", "abcdef", []chat.Edit{edit(2, 4, ""), edit(0, 3, "")}, "", chat.ErrEdit},
		{"same span twice", "abc", []chat.Edit{edit(0, 1, "x"), edit(0, 1, "x")}, "", chat.ErrEdit},
		{"insertion inside a replacement", "abc", []chat.Edit{edit(0, 3, ""), edit(1, 1, "x")}, "", chat.ErrEdit},
		{"beyond the end", "abc", []chat.Edit{edit(2, 4, "")}, "", chat.ErrEdit},
		{"before the start", "abc", []chat.Edit{edit(-1, 2, "")}, "", chat.ErrEdit},
		{"backwards", "abc", []chat.Edit{edit(2, 1, "")}, "", chat.ErrEdit},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := slices.Clone(tt.edits)
			got, err := chat.Splice([]byte(tt.body), tt.edits)
			if !errors.Is(err, tt.err) || string(got) != tt.want {
				t.Errorf("got %q, %v, want %q, %v", got, err, tt.want, tt.err)
			}
			for i := range before {
				if before[i].Span != tt.edits[i].Span {
					t.Errorf("edit %d was moved", i)
				}
			}
		})
	}
}

func TestSpliceCopies(t *testing.T) {
	body := []byte("abc")
	got, err := chat.Splice(body, nil)
	if err != nil {
		t.Fatal(err)
	}
	got[0] = 'x'
	if string(body) != "abc" {
		t.Error("the result shares memory with the body")
	}
}

func TestSpliceAllocations(t *testing.T) {
	body := make([]byte, 1<<16)
	edits := []chat.Edit{edit(1, 10, "x"), edit(20, 20, "yyy"), edit(30, 1000, "")}
	if n := testing.AllocsPerRun(20, func() { _, _ = chat.Splice(body, edits) }); n != 1 {
		t.Errorf("got %v allocations, want 1", n)
	}
}

// TestSpliceProperty compares with replacing one edit at a time from the end.
func TestSpliceProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		body := rapid.SliceOfN(rapid.Byte(), 0, 60).Draw(t, "body")
		cuts := rapid.SliceOfN(rapid.IntRange(0, len(body)), 0, 10).Draw(t, "cuts")
		slices.Sort(cuts)
		var edits []chat.Edit
		for i := 0; i+1 < len(cuts); i += 2 {
			with := rapid.SliceOfN(rapid.Byte(), 0, 8).Draw(t, "with")
			edits = append(edits, chat.Edit{Span: chat.Span{Start: cuts[i], End: cuts[i+1]}, With: with})
		}
		want := slices.Clone(body)
		for _, e := range slices.Backward(edits) {
			want = slices.Concat(want[:e.Span.Start], e.With, want[e.Span.End:])
		}
		// A replaced span may end where an insertion stands: shuffling keeps the
		// result only where no two edits start at one place.
		starts := map[int]bool{}
		for _, e := range edits {
			starts[e.Span.Start] = true
		}
		if len(starts) == len(edits) {
			edits = rapid.Permutation(edits).Draw(t, "order")
		}
		got, err := chat.Splice(body, edits)
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("got %q, %v, want %q", got, err, want)
		}
	})
}

// TestSpliceMessages replaces one message of a random body: every other one is
// found again as the same bytes.
func TestSpliceMessages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		body := drawBody(t)
		r, err := read(body)
		if err != nil {
			t.Fatalf("parsing %q: %v", body, err)
		}
		if len(r.Messages) == 0 {
			return
		}
		i := rapid.IntRange(0, len(r.Messages)-1).Draw(t, "replaced")
		const other = `{"role":"user","content":"other"}`
		out, err := chat.Splice(r.Body, []chat.Edit{{Span: r.Messages[i].Span, With: []byte(other)}})
		if err != nil {
			t.Fatal(err)
		}
		again, err := read(string(out))
		if err != nil {
			t.Fatalf("parsing %q: %v", out, err)
		}
		for j := range r.Messages {
			want := string(r.Raw(j))
			if j == i {
				want = other
			}
			if got := string(again.Raw(j)); got != want {
				t.Fatalf("message %d: got %q, want %q", j, got, want)
			}
		}
	})
}
