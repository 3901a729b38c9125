package window_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/foldgate/foldgate/compression/window"
)

func observe(b *window.Book, counted window.Tokens, ratios ...float64) {
	for _, r := range ratios {
		b.Observe(window.Scope{Upstream: "u"}, "m", window.Observation{Counted: counted, Reported: window.Tokens(r * float64(counted)), At: start})
	}
}

func repeat(r float64, n int) []float64 {
	ratios := make([]float64, n)
	for i := range ratios {
		ratios[i] = r
	}
	return ratios
}

func TestCorrection(t *testing.T) {
	for _, tc := range []struct {
		name      string
		counted   window.Tokens
		ratios    []float64
		low, high float64
	}{
		{"nothing known", 10000, nil, 1, 1},
		{"the same tokenizer", 10000, repeat(1, 5), 1, 1},
		{"a rounding difference", 10000, []float64{1.003, 0.998, 1.005, 1.001}, 1, 1},
		{"once a third more", 10000, []float64{1.33}, 1.33, 1.6},
		{"settles at a third more", 10000, repeat(1.33, 50), 1.33, 1.35},
		{"fewer tokens than ours, always at one size", 10000, repeat(0.8, 50), 1, 1},
		{"varying lies above the mean", 10000, []float64{1.1, 1.3, 1.1, 1.3, 1.1, 1.3, 1.1, 1.3}, 1.25, 1.5},
		{"too short to tell", 255, repeat(2, 5), 1, 1},
		{"just long enough", 256, repeat(2, 50), 1.99, 2.05},
		{"a truncating server", 10000, repeat(0.74, 5), 1, 1},
		{"no tokenizer", 10000, repeat(4.1, 5), 1, 1},
		{"at most 3", 10000, repeat(3.9, 50), 3, 3},
		{"nothing reported, as of a stream that was broken off", 10000, repeat(0, 5), 1, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := book(t, window.BookConfig{})
			observe(b, tc.counted, tc.ratios...)
			if got := b.Correction(window.Scope{Upstream: "u"}, "m"); got < tc.low || got > tc.high {
				t.Errorf("Correction = %v, want %v to %v", got, tc.low, tc.high)
			}
			if got := b.Correction(window.Scope{Tenant: "t", Upstream: "u"}, "m"); got != 1 {
				t.Errorf("another tenant got %v", got)
			}
			if got := b.Correction(window.Scope{Upstream: "u"}, "other"); got != 1 {
				t.Errorf("Correction of another model = %v, want 1", got)
			}
		})
	}
}

// TestCorrectionOutlier: one odd report moves the correction for a while only.
func TestCorrectionOutlier(t *testing.T) {
	b := book(t, window.BookConfig{})
	observe(b, 10000, repeat(1.1, 20)...)
	observe(b, 10000, 3.5)
	observe(b, 10000, repeat(1.1, 40)...)
	if got := b.Correction(window.Scope{Upstream: "u"}, "m"); got < 1.1 || got > 1.15 {
		t.Errorf("Correction = %v, want about 1.1", got)
	}
}

func TestCorrectionProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ratios := rapid.SliceOfN(rapid.Float64Range(0, 6), 0, 40).Draw(t, "ratios")
		var got [2]float64
		for i := range got {
			b, err := window.NewBook(window.BookConfig{})
			if err != nil {
				t.Fatal(err)
			}
			observe(b, 100_000, ratios...)
			got[i] = b.Correction(window.Scope{Upstream: "u"}, "m")
		}
		if got[0] != got[1] {
			t.Fatalf("two corrections of one sequence: %v, %v", got[0], got[1])
		}
		if got[0] < 0.75 || got[0] > 3 {
			t.Fatalf("Correction = %v, want 0.75 to 3", got[0])
		}
	})
}

// TestCorrectionBelowOne: a tokenizer that needs less than ours is believed as soon
// as requests of two quite different sizes show it.
func TestCorrectionBelowOne(t *testing.T) {
	b := book(t, window.BookConfig{})
	for i, tc := range []struct {
		counted window.Tokens
		ratio   float64
		want    bool // the correction is below 1 from here on
	}{
		{10000, 0.85, false},
		{10000, 0.85, false}, // the same size says nothing more
		{12000, 0.85, false},
		{13000, 0.85, true},
		{13000, 0.85, true},
	} {
		observe(b, tc.counted, tc.ratio)
		if got := b.Correction(window.Scope{Upstream: "u"}, "m"); got < 1 != tc.want {
			t.Errorf("step %d: Correction = %v, want below 1: %v", i, got, tc.want)
		}
	}
}

// TestPeers35 (DeepSeek-Reasonix PR 10245): a server that cuts what is too long for
// it, and answers 200, reports fewer tokens than it was sent. That must not make
// requests look smaller than they are.
func TestPeers35(t *testing.T) {
	for _, tc := range []struct {
		name   string
		window window.Tokens
		ratio  float64 // of its tokenizer to ours
		step   window.Tokens
		drops  window.Tokens // it drops whole messages of this size
	}{
		{"cut at the window, small steps", 4096, 1, 50, 1},
		{"cut at the window, large steps", 4096, 1, 900, 1},
		{"drops messages", 4096, 1, 333, 400},
		{"its tokenizer needs more", 8192, 1.2, 150, 1},
		{"drops messages, needs more", 8192, 1.2, 150, 700},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := book(t, window.BookConfig{})
			for counted := window.Tokens(300); counted < 4*tc.window; counted += tc.step {
				reported := window.Tokens(float64(counted) * tc.ratio)
				if over := reported - tc.window; over > 0 {
					reported -= (over + tc.drops - 1) / tc.drops * tc.drops
				}
				b.Observe(mine, "m", window.Observation{Counted: counted, Reported: reported, At: start})
				if got := b.Correction(mine, "m"); got < 1 {
					t.Fatalf("Correction = %v after %d of %d tokens", got, reported, counted)
				}
			}
		})
	}
}

func TestStep(t *testing.T) {
	for _, tc := range []struct{ correction, want float64 }{
		{0, 1},
		{-1, 1},
		{0.5, 1},
		{1, 1},
		{1.0001, 1.15},
		{1.15, 1.15},
		{1.16, 1.3},
		{1.3, 1.3},
		{1.31, 1.5},
		{1.5, 1.5},
		{1.6, 2},
		{2, 2},
		{2.1, 3},
		{3, 3},
		{9, 3},
		{math.Inf(1), 3},
		{math.Inf(-1), 1},
		{math.NaN(), 1},
	} {
		if got := window.Step(tc.correction); got != tc.want {
			t.Errorf("Step(%v) = %v, want %v", tc.correction, got, tc.want)
		}
	}
}
