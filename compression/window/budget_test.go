package window_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/foldgate/foldgate/compression/window"
)

func TestNewBudget(t *testing.T) {
	settings := window.Settings{Trigger: 0.8, ReserveOutput: 4096, Recall: 0.05, Deterministic: 0.25}
	for _, tc := range []struct {
		name            string
		total, input    window.Tokens
		named           window.Tokens
		usable, trigger window.Tokens
	}{
		{"no output named", 128000, 0, 0, 118947, 95157},                    // 123904 - 4957
		{"output named", 128000, 0, 16384, 107151, 85720},                   // 111616 - 4465
		{"output over three quarters", 128000, 0, 120000, 30720, 24576},     // 32000 - 1280
		{"input limit binds", 400000, 272000, 0, 261120, 208896},            // 272000 - 10880
		{"input limit does not bind", 400000, 272000, 300000, 96000, 76800}, // 100000 - 4000
		{"reserve at most a quarter", 8192, 0, 0, 5898, 4718},               // 6144 - 246
		{"least margin", 1024, 0, 0, 704, 563},                              // 768 - 64
		{"tiny", 256, 0, 0, 128, 102},                                       // 192 - 64
		{"tiny, all named", 256, 0, 256, 1, 1},                              // 64 - 64
		{"one token", 1, 0, 0, 1, 1},
		{"one token, named", 1, 0, 5, 1, 1},
		{"negative name is none", 8192, 0, -1, 5898, 4718},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := limits(tc.total, tc.input, window.Table)
			want := window.Budget{Limits: l, Usable: tc.usable, Trigger: tc.trigger, Correction: 1.2, Step: 1.3}
			want.Handoff = window.Tokens(0.15 * float64(tc.usable)) // where no share is named
			want.Deterministic = tc.usable / 4
			want.Recall = tc.total / 20
			if got := window.NewBudget(l, settings, tc.named, 1.2, 1.3); got != want {
				t.Errorf("NewBudget = %+v, want %+v", got, want)
			}
		})
	}
}

func TestNewBudgetUnknown(t *testing.T) {
	l := window.Limits{Input: 5000, Bytes: 70_000, Source: window.Unknown}
	want := window.Budget{Limits: window.Limits{Bytes: 70_000, Source: window.Unknown}, Correction: 1.4, Step: 1.5}
	if got := window.NewBudget(l, window.Settings{Trigger: 0.8}, 100, 1.4, 0); got != want {
		t.Errorf("NewBudget = %+v, want %+v", got, want)
	}
}

func TestNewBudgetProperties(t *testing.T) {
	odd := []float64{0, -1, 1, 2, math.NaN(), math.Inf(1), math.Inf(-1)}
	number := func(low, high float64) *rapid.Generator[float64] {
		return rapid.OneOf(rapid.Float64Range(low, high), rapid.SampledFrom(odd))
	}
	count := rapid.OneOf(rapid.IntRange(-10, 2000), rapid.IntRange(0, 3_000_000), rapid.Int())
	rapid.Check(t, func(t *rapid.T) {
		total := window.Tokens(rapid.OneOf(rapid.IntRange(1, 2000), rapid.IntRange(1, 3_000_000), rapid.IntRange(1, math.MaxInt)).Draw(t, "total"))
		l := window.Limits{Total: total, Input: window.Tokens(count.Draw(t, "input")), Source: window.Table}
		s := window.Settings{Trigger: number(0, 1).Draw(t, "trigger"), ReserveOutput: window.Tokens(count.Draw(t, "reserve"))}
		named := window.Tokens(count.Draw(t, "named"))
		b := window.NewBudget(l, s, named, number(0.5, 3).Draw(t, "correction"), number(1, 3).Draw(t, "step"))
		if !(0 < b.Trigger && b.Trigger <= b.Usable && b.Usable <= total) {
			t.Fatalf("trigger %d, usable %d, total %d", b.Trigger, b.Usable, total)
		}
		if l.Input > 0 && b.Usable > l.Input {
			t.Fatalf("usable %d is over the input limit %d", b.Usable, l.Input)
		}
		if total >= window.MinTotal && named > 0 && l.Input <= 0 && b.Usable > 1 && b.Usable > total-min(named, total-total/4) {
			t.Fatalf("usable %d leaves no room for %d of output in %d", b.Usable, named, total)
		}
		if !(b.Correction > 0) || !(b.Step >= 1) || math.IsInf(b.Correction+b.Step, 0) {
			t.Fatalf("correction %v, step %v", b.Correction, b.Step)
		}
	})
}

// What the upstream counted is taken as it said; the rest is an estimate. Less
// than what was counted is its share of it, so that a fold is never taken for
// smaller than it is.
func TestCorrected(t *testing.T) {
	known := window.Known{Counted: 1000, Reported: 1100}
	for _, tc := range []struct {
		name  string
		known window.Known
		n     window.Tokens
		want  window.Tokens
	}{
		{"nothing known", window.Known{}, 1000, 1300},
		{"all of it known", known, 1000, 1100},
		{"more since", known, 1500, 1100 + 650},
		{"less than that", known, 500, 550},
		{"nothing", known, 0, 0},
		{"no vocabulary needs so many", window.Known{Counted: 1000, Reported: 3001}, 1000, 1300},
		{"nor so few", window.Known{Counted: 1000, Reported: 499}, 1000, 1300},
		{"the most", window.Known{Counted: 1000, Reported: 3000}, 1000, 3000},
		{"the least", window.Known{Counted: 1000, Reported: 500}, 1000, 500},
		{"nothing counted", window.Known{Reported: 500}, 1000, 1300},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := window.Budget{Correction: 1.3, Known: tc.known}
			if got := b.Corrected(tc.n); got != tc.want {
				t.Errorf("Corrected(%d) = %d, want %d", tc.n, got, tc.want)
			}
		})
	}
	if got := (window.Budget{}).Corrected(7); got != 7 {
		t.Errorf("without a correction: %d, want 7", got)
	}
}
