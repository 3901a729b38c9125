package main

import (
	"fmt"
	"math"
	"slices"
)

// box is the median of some figures and their quartiles.
type box struct{ low, median, high float64 }

// boxOf takes figures in any order. None give a box of NaN.
func boxOf(figures []float64) box {
	if len(figures) == 0 {
		return box{math.NaN(), math.NaN(), math.NaN()}
	}
	sorted := slices.Sorted(slices.Values(figures))
	return box{quantile(sorted, 0.25), quantile(sorted, 0.5), quantile(sorted, 0.75)}
}

// quantile interpolates between the two nearest of sorted figures.
func quantile(sorted []float64, share float64) float64 {
	at := share * float64(len(sorted)-1)
	below := int(at)
	above := min(below+1, len(sorted)-1)
	return sorted[below] + (at-float64(below))*(sorted[above]-sorted[below])
}

func (b box) String() string {
	if math.IsNaN(b.median) {
		return "–"
	}
	return fmt.Sprintf("%s (%s to %s)", short(b.median), short(b.low), short(b.high))
}

// short keeps three digits that mean something.
func short(v float64) string {
	switch a := math.Abs(v); {
	case a >= 100:
		return fmt.Sprintf("%.0f", v)
	case a >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// verdict is a word on a target.
type verdict string

const (
	reached verdict = "reached"
	missed  verdict = "**missed**"
	invalid verdict = "**invalid**"
	noAim   verdict = ""
)

// atLeast judges figures of which more is better.
func atLeast(b box, target float64) verdict {
	switch {
	case math.IsNaN(b.median):
		return invalid
	case target <= b.high:
		return reached
	}
	return missed
}

// atMost judges figures of which less is better.
func atMost(b box, target float64) verdict {
	switch {
	case math.IsNaN(b.median):
		return invalid
	case target >= b.low:
		return reached
	}
	return missed
}
