package compression_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/foldgate/foldgate/compression"
)

// sized is an agent's conversation of about n bytes.
func sized(n int) string {
	m := []string{said("system", "You are a careful assistant."), said("user", "Please find the fault in the build and mend it.")}
	size := 0
	for i := 0; size < n; i++ {
		id := fmt.Sprintf("call_%d", i)
		turn := []string{
			called(fmt.Sprintf(`{"path":"src/pkg%d/file%d.go","q":%s}`, i%40, i, quote(words(i*7, 12))), id),
			result(id, fmt.Sprintf("src/pkg%d/file%d.go:%d: %s\n%s\nexit status %d", i%40, i, i*3, words(i, 40), strings.ReplaceAll(words(i*5, 400), ". ", ".\n"), i%2)),
			said("assistant", words(i*3, 60)),
		}
		if i%8 == 7 {
			turn = append(turn, said("user", words(i*11, 50)))
		}
		for _, t := range turn {
			size += len(t)
		}
		m = append(m, turn...)
	}
	return request(append(m, said("user", "And now?"))...)
}

// Bounds what a first fold without a model costs a request that waits for it:
// cold, with every message counted for the first time, and warm.
func BenchmarkDeterministic1MB(b *testing.B) {
	body := sized(1 << 20)
	for _, warm := range []bool{false, true} {
		b.Run(temperature(warm), func(b *testing.B) {
			memo := compression.NewMemo(1 << 14)
			total := int(memo.View(parse(b, body)).Total())
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if !warm {
					memo = compression.NewMemo(1 << 14)
				}
				v := memo.View(parse(b, body))
				h := v.Deterministic(budget(total/2), settings(), nil)
				if f, err := v.Fold(h, budget(total/2)); err != nil || !f.Fits {
					b.Fatal(err, f.Fits)
				}
			}
		})
	}
}

// Bounds what measuring and naming a conversation costs a turn.
func BenchmarkView2MB(b *testing.B) {
	body := sized(2 << 20)
	for _, warm := range []bool{false, true} {
		b.Run(temperature(warm), func(b *testing.B) {
			memo := compression.NewMemo(1 << 14)
			memo.View(parse(b, body)).Total()
			r := parse(b, body)
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if !warm {
					memo = compression.NewMemo(1 << 14)
				}
				v := memo.View(r)
				v.Bounds()
				v.Total()
				v.Anchor()
				v.Chain(v.Len())
			}
		})
	}
}

func temperature(warm bool) string {
	if warm {
		return "warm"
	}
	return "cold"
}
