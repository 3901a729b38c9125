package compression_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/foldgate/foldgate/compression"
	"github.com/foldgate/foldgate/compression/window"
)

// Bounds what a new question costs whose middle was searched before: "asked" is
// the fold with passages for a question that nobody asked, "again" the same for one
// that was, "first" the search of a middle that was never seen.
func BenchmarkRecallNewQuestion(b *testing.B) {
	for _, size := range []int{512 << 10, 2 << 20} {
		m, questions := library(size)
		ask := func(memo *compression.Memo, question string) *compression.View {
			return memo.View(parse(b, request(append(m[:len(m):len(m)], said("user", question))...)))
		}
		memo := compression.NewMemo(1 << 14)
		first := ask(memo, questions[0])
		with := budget(int(float64(first.Total()) / 1.4 / 0.8 / 0.96))
		with.Recall = with.Usable / 10
		h := first.Deterministic(with, settings(), nil)
		views := make([]*compression.View, 0, len(questions))
		for _, q := range questions {
			views = append(views, ask(memo, q))
		}
		fold := func(b *testing.B, v *compression.View, budget window.Budget) {
			if f, err := v.Fold(h, budget); err != nil || f.Recalled == 0 {
				b.Fatal(err, f.Fits, f.Recalled)
			}
		}
		name := fmt.Sprintf("%dKB", size>>10)
		b.Run("first/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				v := ask(compression.NewMemo(1<<14), questions[0])
				v.Total()
				v.Chain(h.Covered)
				b.StartTimer()
				fold(b, v, with)
			}
		})
		b.Run("asked/"+name, func(b *testing.B) {
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				if i++; i%len(views) == 0 {
					with.Recall++ // another choice for each
				}
				fold(b, views[i%len(views)], with)
			}
		})
		b.Run("again/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				fold(b, views[0], with)
			}
		})
	}
}

// library is a conversation about this repository's texts, and questions about
// places all over it.
func library(size int) (messages, questions []string) {
	text := sources()
	messages = []string{said("system", "You help with the sources of a gateway.")}
	for i, at := 0, 0; i < size; {
		if at+2000 > len(text) {
			at = 0
		}
		n := len(messages)
		piece := fmt.Sprintf("Part %d.\n%s", n, text[at:at+2000])
		m := said([]string{"assistant", "user"}[n%2], piece)
		if n%29 == 11 {
			words := strings.Fields(text[at+800 : at+1100])
			questions = append(questions, "What did part "+fmt.Sprint(n)+" say about "+strings.Join(words[1:len(words)-1], " ")+"?")
		}
		messages = append(messages, m)
		i, at = i+len(m)+1, at+2000
	}
	return append(messages, said("assistant", "So far, so good.")), questions
}

// sources is the text of this repository's documents and Go files, in ASCII.
var sources = sync.OnceValue(func() string {
	var b strings.Builder
	for _, glob := range []string{"../docs/*.md", "*.go", "../middleware/*.go", "../ownership/*.go", "../redisstore/*.go"} {
		names, _ := filepath.Glob(glob)
		for _, name := range names {
			raw, err := os.ReadFile(name)
			if err != nil {
				panic(err)
			}
			b.WriteString(strings.Map(func(r rune) rune {
				if r >= 0x7f {
					return -1
				}
				return r
			}, string(raw)))
		}
	}
	return b.String()
})
