package clock_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/foldgate/foldgate/compression/internal/clock"
)

// TestMap: never more than the bounds; what is found is what was put last under
// its key since it was forgotten; what was put and fits is there at once.
func TestMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		entries, weights := rapid.IntRange(1, 6).Draw(t, "entries"), rapid.IntRange(0, 20).Draw(t, "weights")
		m := clock.New[int, int](entries, weights)
		model := map[int]int{}
		for step := range rapid.IntRange(0, 80).Draw(t, "steps") {
			k := rapid.IntRange(0, 9).Draw(t, "key")
			got := m.Get(k)
			if got != nil && *got != model[k] {
				t.Fatalf("%d is %d, want %d", k, *got, model[k])
			}
			if rapid.Bool().Draw(t, "put") {
				weight := rapid.IntRange(0, 8).Draw(t, "weight")
				if got == nil && weight <= weights {
					model[k] = step
				}
				m.Put(k, step, weight)
				if now := m.Get(k); (now == nil) != (got == nil && weight > weights) || now != nil && *now != model[k] {
					t.Fatalf("%d was put with weight %d and is not there", k, weight)
				}
			}
			if n, weight := m.Size(); n > entries || weight > weights || weight < 0 {
				t.Fatalf("%d entries weigh %d, at most %d and %d", n, weight, entries, weights)
			}
		}
	})
}

// TestUsedStays: what is asked for between two others stays.
func TestUsedStays(t *testing.T) {
	t.Parallel()
	m := clock.New[int, string](4, 0)
	m.Put(0, "used", 0)
	for k := 1; k < 100; k++ {
		m.Put(k, "once", 0)
		if v := m.Get(0); v == nil || *v != "used" {
			t.Fatalf("forgotten after %d others", k)
		}
	}
}
