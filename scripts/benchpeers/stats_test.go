package main

import (
	"math"
	"testing"
)

func TestBoxOf(t *testing.T) {
	t.Parallel()
	got := boxOf([]float64{5, 1, 4, 2, 3})
	if want := (box{2, 3, 4}); got != want {
		t.Errorf("box %v, want %v", got, want)
	}
	if got := boxOf([]float64{1, 2}); got.median != 1.5 {
		t.Errorf("median of two %v, want 1.5", got.median)
	}
	if got := boxOf(nil); !math.IsNaN(got.median) || got.String() != "–" {
		t.Errorf("box of nothing %v", got)
	}
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	b := box{0.90, 0.93, 0.96}
	for _, c := range []struct {
		what string
		got  verdict
		want verdict
	}{
		{"below the median", atLeast(b, 0.92), reached},
		{"at the upper quartile", atLeast(b, 0.96), reached},
		{"the whole box is below", atLeast(b, 0.97), missed},
		{"nothing was measured", atLeast(boxOf(nil), 0.5), invalid},
		{"less is better, at the lower quartile", atMost(b, 0.90), reached},
		{"less is better, the whole box is above", atMost(b, 0.89), missed},
		{"less is better, nothing was measured", atMost(boxOf(nil), 2), invalid},
	} {
		if c.got != c.want {
			t.Errorf("%s: %s, want %s", c.what, c.got, c.want)
		}
	}
}

func TestRatiosNeedTwoSidesWithoutErrors(t *testing.T) {
	t.Parallel()
	a, b := &target{rates: []float64{2, 6}}, &target{rates: []float64{1, 2}}
	if got := ratios(a, b, rateOf); len(got) != 2 || got[0] != 2 || got[1] != 3 {
		t.Errorf("ratios %v, want [2 3]", got)
	}
	b.err = errShort
	if got := ratios(a, b, rateOf); got != nil {
		t.Errorf("ratios %v beside a side with wrong answers, want none", got)
	}
}
