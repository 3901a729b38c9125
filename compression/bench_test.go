package compression_test

import (
	"fmt"
	"maps"
	"slices"
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

// Bounds what a fold without a model costs for a megabyte of every kind: none may
// take much longer for its bytes than another.
func BenchmarkDeterministicKinds(b *testing.B) {
	const size = 1 << 20
	log := strings.Builder{}
	for i := 0; log.Len() < size; i++ {
		fmt.Fprintf(&log, "2031-03-04T10:%02d:%02d.%03dZ INFO handled request id=%06x took=%dms\n", i/60%60, i%60, i*7%1000, i*7919, i%30)
	}
	turns := func(n int, text func(i int) string) []string {
		m := []string{said("system", "s")}
		for i := range n {
			m = append(m, said("user", text(i)), said("assistant", text(i+n)))
		}
		return append(m, said("user", "And now?"))
	}
	chinese := []rune("林晓雯下个月想带父母去成都玩五天他们不太能吃辣建议第二天上午八点前到大熊猫繁育研究基地门票需要提前预约")
	kinds := map[string][]string{
		"log":   append(flat([]string{said("user", "look")}, tool(1, "logs", "{}", log.String())), turns(4, func(i int) string { return words(i, 60) })...),
		"tiny":  turns(size/160, func(i int) string { return words(i, 2) }),
		"prose": turns(40, func(i int) string { return words(i, 1900) }),
		"one line": append(flat([]string{said("user", "look")}, tool(1, "get", "{}", "{"+strings.Repeat(`"a":1,`, size/6)+"}")),
			turns(4, func(i int) string { return words(i, 60) })...),
		"no spaces": turns(8, func(i int) string { return strings.Repeat(string(rune('a'+i%26)), size/16) }),
		"chinese": turns(64, func(i int) string {
			var s strings.Builder
			for k := range size / 3 / 128 {
				s.WriteRune(chinese[(k*(i+7)+k*k/11)%len(chinese)])
			}
			return s.String()
		}),
	}
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		body := request(kinds[name]...)
		b.Run(name, func(b *testing.B) {
			memo := compression.NewMemo(1 << 15)
			total := int(memo.View(parse(b, body)).Total())
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				memo.View(parse(b, body)).Deterministic(budget(total/2), settings(), nil)
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
