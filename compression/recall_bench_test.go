package compression_test

import (
	"testing"

	"github.com/foldgate/foldgate/compression"
	"github.com/foldgate/foldgate/compression/window"
)

// Bounds what recall adds to a fold of 1 MB: the first time that a user message
// is seen, and in the tool rounds after it.
func BenchmarkRecall1MB(b *testing.B) {
	body := []byte(sized(1 << 20))
	at := len(body) - len(`,"temperature":0.70}`) - 1
	body = append(body[:at:at], `,{"role":"assistant","content":"Done."},`+
		said("user", "What did src/pkg7/file47.go say about the lantern and the canyon, and how did file102.go end?")+string(body[at:])...)
	memo := compression.NewMemo(1 << 14)
	r := parse(b, string(body))
	v := memo.View(r)
	total := int(v.Total())
	with := budget(total / 2)
	with.Recall = window.Tokens(total / 20)
	h := v.Deterministic(with, settings(), nil)
	fold := func(b *testing.B, v *compression.View, budget window.Budget, recalls bool) {
		f, err := v.Fold(h, budget)
		if err != nil || !f.Fits || recalls != (f.Recalled > 0) {
			b.Fatal(err, f.Fits, f.Recalled)
		}
	}
	b.Run("without", func(b *testing.B) {
		b.ReportAllocs()
		without := with
		without.Recall = 0
		for b.Loop() {
			fold(b, memo.View(r), without, false)
		}
	})
	b.Run("first", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(body)))
		for b.Loop() {
			with.Recall++ // another choice
			fold(b, memo.View(r), with, true)
		}
	})
	b.Run("again", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			fold(b, memo.View(r), with, true)
		}
	})
}
