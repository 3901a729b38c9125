package main

import (
	"math"
	"testing"
)

func TestCollectorPercent(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		live uint64
		want int
	}{
		{0, 1000}, {1, 1000}, {4 << 20, 1000}, {32 << 20, 400}, {64 << 20, 200}, {128 << 20, 100}, {1 << 40, 100}, {math.MaxUint64, 100},
	} {
		if got := collectorPercent(test.live); got != test.want {
			t.Errorf("%d bytes live: %d %%, want %d", test.live, got, test.want)
		}
	}
}
