package window_test

import (
	"sync"
	"testing"

	"github.com/foldgate/foldgate/compression/window"
)

// Rules change, lessons stay, and a book that somebody holds answers as before.
func TestWith(t *testing.T) {
	t.Parallel()
	before := book(t, window.BookConfig{Rules: []window.Rule{{Glob: "gpt-*", Total: 9000}}, Default: 5000})
	before.Learn(mine, unheard, window.Limits{Total: 4000}, start)
	before.Observe(mine, unheard, window.Observation{Counted: 10000, Reported: 15000, At: start})

	after, err := before.With(window.BookConfig{Rules: []window.Rule{{Glob: "gpt-*", Total: 7000}}, Default: 6000})
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name, model string
		book        *window.Book
		want        window.Limits
	}{
		{"the old rule", "gpt-4o", before, limits(9000, 0, window.Config)},
		{"the new rule", "gpt-4o", after, limits(7000, 0, window.Config)},
		{"the old default", "other", before, limits(5000, 0, window.Default)},
		{"the new default", "other", after, limits(6000, 0, window.Default)},
		{"what was learned", unheard, after, limits(4000, 0, window.Learned)},
		{"the table, where no rule matches", "claude-3-haiku", after, before.Lookup(mine, "claude-3-haiku", start)},
	} {
		if got := tc.book.Lookup(mine, tc.model, start); got != tc.want {
			t.Errorf("%s: got %+v, want %+v", tc.name, got, tc.want)
		}
	}
	if got, want := after.Correction(mine, unheard), before.Correction(mine, unheard); got != want || got == 1 {
		t.Errorf("the correction is %v, was %v", got, want)
	}

	// What either learns later, both know.
	after.Learn(mine, "acme-2", window.Limits{Total: 3000}, start)
	if got := before.Lookup(mine, "acme-2", start); got.Total != 3000 || got.Source != window.Learned {
		t.Errorf("the old book does not know what the new one learned: %+v", got)
	}
}

func TestWithRefusesWhatCannotBe(t *testing.T) {
	t.Parallel()
	b := book(t, window.BookConfig{Default: 5000})
	if other, err := b.With(window.BookConfig{Rules: []window.Rule{{Total: 1}}}); err == nil || other != nil {
		t.Errorf("got %v, %v", other, err)
	}
	if got := b.Lookup(mine, unheard, start); got.Total != 5000 {
		t.Errorf("the book changed: %+v", got)
	}
}

// Books over the same lessons are used at once.
func TestWithWhileInUse(t *testing.T) {
	t.Parallel()
	b := book(t, window.BookConfig{})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			own, err := b.With(window.BookConfig{Default: window.Tokens(1000 * (i + 1))})
			if err != nil {
				t.Error(err)
				return
			}
			for range 200 {
				own.Learn(mine, unheard, window.Limits{Total: 4000}, start)
				if got := own.Lookup(mine, "other", start).Total; got != window.Tokens(1000*(i+1)) {
					t.Errorf("got %d", got)
				}
			}
		})
	}
	all.Wait()
}
