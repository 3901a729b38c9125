package compression_test

import (
	"bytes"
	"fmt"
	"reflect"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/foldgate/foldgate/compression"
	"github.com/foldgate/foldgate/compression/chat"
)

// reader reads bodies as a replica does: with what it has seen before.
type reader struct {
	seen *chat.Seen
	memo *compression.Memo
}

func newReader() *reader {
	return &reader{chat.NewSeen(), compression.NewMemo(1 << 12)}
}

// views are two Views of one body with one Memo: by Look, and by Parse. Both are
// nil where it cannot be read.
func (r *reader) views(t fataler, body []byte) (look, plain *compression.View) {
	e, err := r.seen.ReadEnvelope(body)
	if err != nil {
		return nil, nil
	}
	look, lookErr := r.memo.Look(body, e)
	request, err := chat.Parse(body, e)
	if (err == nil) != (lookErr == nil) || err != nil && err.Error() != lookErr.Error() {
		t.Fatalf("Parse says %v, Look %v", err, lookErr)
	}
	if err != nil {
		return nil, nil
	}
	return look, r.memo.View(request)
}

// models: of no family, of one that pays for images in its own way, of the
// reference.
var models = []string{"m", "claude-sonnet-4-5", "gpt-4o"}

// sameCounts compares all that counts and names.
func sameCounts(t fataler, look, plain *compression.View) {
	elements, read := look.Elements()
	want, all := plain.Elements()
	if look.Len() != plain.Len() || look.Head != plain.Head || elements != want || all != want || read > want {
		t.Fatalf("%d and %d messages, heads of %d and %d, %d and %d elements, %d read",
			look.Len(), plain.Len(), look.Head, plain.Head, elements, want, read)
	}
	for n := -1; n <= plain.Len()+1; n++ {
		a, of := look.Prefix(n)
		b, want := plain.Prefix(n)
		if a != b || of != want || look.Chain(n) != plain.Chain(n) {
			t.Fatalf("the first %d: %d and %d tokens, the same name %v", n, of, want, a == b)
		}
	}
	lowA, highA := look.Bounds()
	lowB, highB := plain.Bounds()
	if lowA != lowB || highA != highB || look.Total() != plain.Total() || look.Anchor() != plain.Anchor() {
		t.Fatalf("bounds %d to %d and %d to %d, totals %d and %d", lowA, highA, lowB, highB, look.Total(), plain.Total())
	}
}

// TestLookProperty: what was remembered changes nothing of what a body is counted,
// named and folded as, whatever became of it meanwhile, and whatever was asked for
// before it was remembered.
func TestLookProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, messages := newReader(), messy(t)
		messages = append(messages, said("user", words(1, 3000)), said("assistant", words(2, 2000)))
		for range rapid.IntRange(2, 5).Draw(t, "turns") {
			body := []byte(request(messages...))
			if rapid.IntRange(0, 3).Draw(t, "damaged") == 0 {
				body[rapid.IntRange(0, len(body)-1).Draw(t, "at")] = rapid.SampledFrom([]byte("\"\\{}[],:x\n\x00")).Draw(t, "byte")
			}
			look, plain := r.views(t, body)
			if look != nil {
				model := rapid.SampledFrom(models).Draw(t, "model")
				ask(look.For(model), rapid.IntRange(0, 4).Draw(t, "asked"))
				look.Remember()
				if rapid.Bool().Draw(t, "compared") {
					sameCounts(t, look, plain.For(model))
					sameFolds(t, look, plain)
				}
			}
			switch at := rapid.IntRange(0, len(messages)-1).Draw(t, "message"); rapid.IntRange(0, 3).Draw(t, "how") {
			case 0:
				messages = messages[:at+1]
			case 1:
				messages[at] = said("user", "edited")
			default:
				messages = append(messages, turn(t)...)
			}
		}
	})
}

// ask asks for more and more.
func ask(v *compression.View, what int) {
	if what > 0 {
		v.Bounds()
	}
	if what > 1 {
		v.Chain(v.Len() / 2)
	}
	if what > 2 {
		v.Total()
	}
	if what > 3 {
		v.Chain(v.Len())
	}
}

func sameFolds(t fataler, look, plain *compression.View) {
	b := budget(int(plain.Total())*2/3 + 600)
	fold := func(v *compression.View) (compression.Folded, error) {
		h := v.Deterministic(b, settings(), nil)
		return v.Fold(h, b)
	}
	a, errA := fold(look)
	want, err := fold(plain)
	if (errA == nil) != (err == nil) || err == nil && (!bytes.Equal(a.Body, want.Body) || a.Tokens != want.Tokens) {
		t.Fatalf("folded in another way: %v, %v", errA, err)
	}
	look.Open()
	if !reflect.DeepEqual(look.Messages, plain.Messages) {
		t.Fatalf("other messages: %+v, %+v", look.Messages, plain.Messages)
	}
}

// TestLookAtOnce: turns of one conversation are counted at once.
func TestLookAtOnce(t *testing.T) {
	t.Parallel()
	r := newReader()
	turns := garden(40, 300)
	var counters sync.WaitGroup
	for n := 8; n < len(turns); n += 9 {
		body := []byte(request(turns[:n]...))
		want := view(t, string(body)).Total()
		for range 3 {
			counters.Go(func() {
				e, err := r.seen.ReadEnvelope(body)
				if err != nil {
					t.Error(err)
					return
				}
				v, err := r.memo.Look(body, e)
				if err != nil || v.Total() != want {
					t.Errorf("%v, or not %d tokens", err, want)
					return
				}
				v.Remember()
			})
		}
	}
	counters.Wait()
}

// BenchmarkLook counts a conversation all of which was counted before.
func BenchmarkLook(b *testing.B) {
	for _, turns := range []int{130, 520} {
		body := []byte(request(garden(turns, 330)...))
		b.Run(size(len(body)), func(b *testing.B) {
			r := newReader()
			look := func() {
				e, err := r.seen.ReadEnvelope(body)
				if err != nil {
					b.Fatal(err)
				}
				v, err := r.memo.Look(body, e)
				if err != nil {
					b.Fatal(err)
				}
				v.Bounds()
				v.Total()
				v.Prefix(v.Len())
				v.Remember()
			}
			look()
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				look()
			}
		})
	}
}

func size(n int) string { return fmt.Sprintf("%dKB", n>>10) }
