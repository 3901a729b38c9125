package window_test

import (
	"testing"

	"github.com/foldgate/foldgate/compression/window"
)

// BenchmarkLookup bounds what every chat request pays: under a microsecond, and
// no allocation.
func BenchmarkLookup(b *testing.B) {
	for _, tc := range []struct {
		name  string
		c     window.BookConfig
		model string
	}{
		{"config", window.BookConfig{Rules: []window.Rule{{Glob: "gpt-*", Total: 128000}, {Glob: "*-instruct", Total: 8192}}}, "gpt-4o"},
		{"learned", window.BookConfig{}, unheard},
		{"advertised", window.BookConfig{}, "acme-2"},
		{"table", window.BookConfig{}, "gpt-4o"},
		{"family", window.BookConfig{}, "meta-llama/Llama-3.3-70B-Instruct-Turbo"},
		{"dated", window.BookConfig{}, "us.anthropic.claude-sonnet-4-5-20250929-v1:0"},
		{"unknown", window.BookConfig{}, "some-org/some-model-70b-instruct-awq"},
	} {
		b.Run(tc.name, func(b *testing.B) {
			book := book(b, tc.c)
			book.Learn(mine, unheard, window.Limits{Total: 32000}, start)
			advertise(book, "acme-2", window.Limits{Total: 32000}, start)
			b.ReportAllocs()
			for b.Loop() {
				book.Lookup(mine, tc.model, start)
			}
		})
	}
}

func TestLookupDoesNotAllocate(t *testing.T) {
	b := book(t, window.BookConfig{Rules: []window.Rule{{Glob: "x-*", Total: 4000}}})
	b.Learn(mine, unheard, window.Limits{Total: 32000}, start)
	advertise(b, "acme-2", window.Limits{Total: 32000}, start)
	b.Observe(window.Scope{Upstream: "u"}, "m", window.Observation{Counted: 1000, Reported: 1500})
	got := testing.AllocsPerRun(100, func() {
		for _, model := range []string{"x-1", unheard, "acme-2", "openai/GPT-4o-2024-08-06", "some-org/some-model"} {
			b.Lookup(mine, model, start)
		}
		b.Correction(window.Scope{Upstream: "u"}, "m")
	})
	if got > 0 {
		t.Errorf("Lookup and Correction allocate %v times, want 0", got)
	}
}

// BenchmarkUnshared bounds what every chat request pays at its end.
func BenchmarkUnshared(b *testing.B) {
	book := book(b, window.BookConfig{})
	book.Learn(mine, unheard, window.Limits{Total: 32000}, start)
	book.Observe(mine, unheard, window.Observation{Counted: 1000, Reported: 1500, At: start})
	book.Export(mine, unheard, start)
	b.ReportAllocs()
	for b.Loop() {
		if book.Unshared(mine, unheard, start) {
			b.Fatal("there is something to tell")
		}
	}
}
