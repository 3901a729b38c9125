package window_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/foldgate/foldgate/compression/window"
)

// tell gives to what from knows about the model, and reports what came of it.
func tell(tb testing.TB, from, to *window.Book, at time.Time) window.Merged {
	tb.Helper()
	value := from.Export(mine, unheard, at)
	if value == nil {
		return window.Merged{}
	}
	m, err := to.Import(mine, unheard, value, at)
	if err != nil {
		tb.Fatalf("importing %s: %v", value, err)
	}
	return m
}

func TestShareWhatWasLearned(t *testing.T) {
	a, b := book(t, window.BookConfig{}), book(t, window.BookConfig{})
	if a.Export(mine, unheard, start) != nil || a.Unshared(mine, unheard, start) {
		t.Error("there is something to tell of nothing")
	}
	a.Learn(mine, unheard, window.Limits{Total: 32768, Output: 4096, Bytes: 1 << 20}, start)
	if !a.Unshared(mine, unheard, start) {
		t.Error("what was learned is nothing to tell")
	}
	if m := tell(t, a, b, start); !m.News || m.Ahead {
		t.Errorf("the first time: %+v", m)
	}
	if a.Unshared(mine, unheard, start) || b.Unshared(mine, unheard, start) {
		t.Error("it is to be told again")
	}
	want := window.Limits{Total: 32768, Output: 4096, Bytes: 1 << 20, Source: window.Learned}
	if got := b.Lookup(mine, unheard, start); got != want {
		t.Errorf("Lookup = %+v, want %+v", got, want)
	}
	if m := tell(t, a, b, start); m.News || m.Ahead {
		t.Errorf("the second time: %+v", m)
	}
	for _, s := range []window.Scope{{Tenant: "other", Upstream: mine.Upstream}, {Tenant: mine.Tenant, Upstream: "other"}} {
		if got := b.Lookup(s, unheard, start); got.Source != window.Unknown {
			t.Errorf("%+v knows %+v", s, got)
		}
	}
}

// TestShareDoesNotProlong: a value that is passed back and forth expires when it
// would have.
func TestShareDoesNotProlong(t *testing.T) {
	books := []*window.Book{book(t, window.BookConfig{}), book(t, window.BookConfig{}), book(t, window.BookConfig{})}
	books[0].Learn(mine, unheard, window.Limits{Total: 32768}, start)
	for minute := range 60 * 24 {
		now := start.Add(time.Duration(minute) * time.Minute)
		tell(t, books[minute%3], books[(minute+1)%3], now)
		for i, b := range books[:min(minute, 3)] {
			if got, want := b.Lookup(mine, unheard, now).Source, window.Learned; (got == want) != now.Before(start.Add(window.LearnedFor)) {
				t.Fatalf("book %d after %d minutes: %s", i, minute, got)
			}
		}
	}
}

func TestShareForgetting(t *testing.T) {
	later := start.Add(time.Minute)
	for name, forget := range map[string]func(*window.Book){
		"more was accepted":    func(b *window.Book) { b.AcceptedAbove(mine, unheard, 40000, later) },
		"unlearned":            func(b *window.Book) { b.Unlearn(mine, unheard, later) },
		"unlearned at once":    func(b *window.Book) { b.Unlearn(mine, unheard, start) },
		"accepted at once":     func(b *window.Book) { b.AcceptedAbove(mine, unheard, 40000, start) },
		"accepted, clock back": func(b *window.Book) { b.AcceptedAbove(mine, unheard, 40000, start.Add(-time.Minute)) },
		"the server is another": func(b *window.Book) {
			advertise(b, unheard, window.Limits{Total: 64000}, start)
			advertise(b, unheard, window.Limits{Total: 65000}, later)
		},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := book(t, window.BookConfig{}), book(t, window.BookConfig{})
			a.Learn(mine, unheard, window.Limits{Total: 32768}, start)
			stale := a.Export(mine, unheard, start)
			tell(t, a, b, start)
			forget(b)
			if !b.Unshared(mine, unheard, later) {
				t.Error("it is nothing to tell")
			}
			if m := tell(t, b, a, later); !m.News {
				t.Errorf("it is no news: %+v", m)
			}
			for i, x := range []*window.Book{a, b} {
				m, err := x.Import(mine, unheard, stale, later) // a copy from before
				if err != nil || m.News || !m.Ahead {
					t.Errorf("book %d: a stale copy came to %+v, %v", i, m, err)
				}
				if got := x.Lookup(mine, unheard, later); got.Source == window.Learned {
					t.Errorf("book %d: Lookup = %+v", i, got)
				}
			}
			if !a.Learn(mine, unheard, window.Limits{Total: 16384}, later) || a.Lookup(mine, unheard, later).Total != 16384 {
				t.Error("nothing can be learned any more")
			}
			if tell(t, a, b, later); b.Lookup(mine, unheard, later).Total != 16384 {
				t.Error("what was learned anew does not reach the other")
			}
		})
	}
}

func TestShareWithAWrongClock(t *testing.T) {
	fast := start.Add(24 * time.Hour)
	a, b := book(t, window.BookConfig{}), book(t, window.BookConfig{})
	a.Learn(mine, unheard, window.Limits{Total: 32768}, fast)
	value := a.Export(mine, unheard, fast)
	for hour := range 48 { // it is loaded again and again
		now := start.Add(time.Duration(hour) * time.Hour)
		if _, err := b.Import(mine, unheard, value, now); err != nil {
			t.Fatal(err)
		}
		b.AcceptedAbove(mine, unheard, 40000, now)
		if got := b.Lookup(mine, unheard, now); got.Source != window.Unknown {
			t.Fatalf("after %d hours a disproved limit stands: %+v", hour, got)
		}
	}
	c := book(t, window.BookConfig{})
	if _, err := c.Import(mine, unheard, value, start); err != nil {
		t.Fatal(err)
	}
	if got := c.Lookup(mine, unheard, start.Add(window.LearnedFor)); got.Source != window.Unknown {
		t.Errorf("it holds longer than %v: %+v", window.LearnedFor, got)
	}
}

// A clock that runs a day ahead does not give its replica the last word for a day:
// what another one learns some minutes later stands.
func TestAFastClockHasNotTheLastWord(t *testing.T) {
	fast, fair, reader := book(t, window.BookConfig{}), book(t, window.BookConfig{}), book(t, window.BookConfig{})
	ahead, later := start.Add(24*time.Hour), start.Add(5*time.Minute)
	fast.Learn(mine, unheard, window.Limits{Total: 32768}, ahead)
	fair.Learn(mine, unheard, window.Limits{Total: 16384}, later)
	for _, said := range []struct {
		value []byte
		now   time.Time
	}{{fast.Export(mine, unheard, ahead), start}, {fair.Export(mine, unheard, later), later}} {
		if _, err := reader.Import(mine, unheard, said.value, said.now); err != nil {
			t.Fatal(err)
		}
	}
	if got := reader.Lookup(mine, unheard, later); got.Total != 16384 {
		t.Errorf("Lookup = %+v, want what was learned last", got)
	}
}

func TestShareCorrections(t *testing.T) {
	a, b := book(t, window.BookConfig{}), book(t, window.BookConfig{})
	see := func(b *window.Book, ratio float64, at time.Time) {
		b.Observe(mine, unheard, window.Observation{Counted: 10000, Reported: window.Tokens(10000 * ratio), At: at})
	}
	see(a, 1.4, start)
	if !a.Unshared(mine, unheard, start) {
		t.Error("the first correction is nothing to tell")
	}
	if m := tell(t, a, b, start); !m.News || a.Correction(mine, unheard) != b.Correction(mine, unheard) {
		t.Errorf("%+v: %v and %v", m, a.Correction(mine, unheard), b.Correction(mine, unheard))
	}
	soon, later := start.Add(time.Second), start.Add(time.Minute)
	see(a, 1.41, soon)
	if step := window.Step(a.Correction(mine, unheard)); step != window.Step(b.Correction(mine, unheard)) {
		t.Fatalf("the case is none: step %v", step)
	}
	if a.Unshared(mine, unheard, soon) {
		t.Error("a correction that stays within its step is told at once")
	}
	see(a, 1.41, later)
	if !a.Unshared(mine, unheard, later) {
		t.Error("a correction is not told after a minute")
	}
	tell(t, a, b, later)
	see(a, 3, later.Add(time.Second))
	if !a.Unshared(mine, unheard, later.Add(time.Second)) {
		t.Error("a correction that moved by a step is not told at once")
	}
	fresh := book(t, window.BookConfig{})
	see(fresh, 1, later.Add(time.Hour))
	if m := tell(t, fresh, a, later.Add(time.Hour)); m.News {
		t.Error("one observation drove out many")
	}
}

func TestImportWhatIsNoLesson(t *testing.T) {
	at, until := start.UnixMilli(), start.Add(time.Hour).UnixMilli()
	word := fmt.Sprintf(`"at":%d,"until":%d`, at, until)
	for name, tc := range map[string]struct {
		value string
		fails bool
	}{
		"nothing":                 {"", true},
		"no JSON":                 {"{", true},
		"another kind":            {`[1]`, true},
		"a number that is a text": {`{"v":1,"learned":{"total":"x"}}`, true},
		"too large a number":      {`{"v":1,"learned":{"total":1e300}}`, true},
		"no version":              {`{"learned":{"total":4096,` + word + `}}`, false},
		"a later version":         {`{"v":2,"learned":"of another form"}`, false},
		"null":                    {`null`, false},
		"too small a window":      {`{"v":1,"learned":{"total":100,` + word + `}}`, false},
		"too large a window":      {`{"v":1,"learned":{"total":100000000,` + word + `}}`, false},
		"a negative window":       {`{"v":1,"learned":{"total":-4096,` + word + `}}`, false},
		"no times":                {`{"v":1,"learned":{"total":4096}}`, false},
		"expired":                 {fmt.Sprintf(`{"v":1,"learned":{"total":4096,"at":%d,"until":%d}}`, at-2, at-1), false},
		"ends before it begins":   {fmt.Sprintf(`{"v":1,"learned":{"total":4096,"at":%d,"until":%d}}`, at, at-5), false},
		"an absurd time":          {`{"v":1,"learned":{"total":4096,"at":-9223372036854775808,"until":9223372036854775807}}`, false},
		"an absurd acceptance":    {`{"v":1,"accepted":{"tokens":100000000,` + word + `}}`, false},
		"few bytes":               {`{"v":1,"bytes":{"limit":1,` + word + `}}`, false},
		"no count":                {`{"v":1,"correction":{"count":0,"mean":2,"deviation":0,"at":1}}`, false},
		"many counts":             {`{"v":1,"correction":{"count":1000000,"mean":2,"deviation":0,"at":1}}`, false},
		"a low ratio":             {`{"v":1,"correction":{"count":8,"mean":0.1,"deviation":0,"at":1}}`, false},
		"a high ratio":            {`{"v":1,"correction":{"count":8,"mean":50,"deviation":0,"at":1}}`, false},
		"a wide ratio":            {`{"v":1,"correction":{"count":8,"mean":1,"deviation":50,"at":1}}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := book(t, window.BookConfig{})
			m, err := b.Import(mine, unheard, []byte(tc.value), start)
			if (err != nil) != tc.fails || m != (window.Merged{}) {
				t.Errorf("Import = %+v, %v", m, err)
			}
			got := b.Lookup(mine, unheard, start)
			if got != limits(0, 0, window.Unknown) || b.Correction(mine, unheard) != 1 || b.Export(mine, unheard, start) != nil {
				t.Errorf("the book knows %+v and %v", got, b.Correction(mine, unheard))
			}
		})
	}
	b := book(t, window.BookConfig{})
	long := strings.Repeat("m", window.MaxName+1)
	if m, err := b.Import(mine, long, []byte(`{"v":1,"learned":{"total":4096,`+word+`}}`), start); err != nil || m.News {
		t.Errorf("a name too long: %+v, %v", m, err)
	}
}

// drawLesson is a value that some replica may export, at some time, with whatever
// clock.
func drawLesson(t *rapid.T, label string) []byte {
	b, err := window.NewBook(window.BookConfig{})
	if err != nil {
		t.Fatal(err)
	}
	now := start
	for range rapid.IntRange(1, 5).Draw(t, label) {
		now = start.Add(time.Duration(rapid.IntRange(-4, 4).Draw(t, "hours")) * time.Hour)
		tokens := rapid.SampledFrom([]window.Tokens{4096, 8192, 16384, 32768}).Draw(t, "tokens")
		switch rapid.IntRange(0, 5).Draw(t, "call") {
		case 0, 1:
			b.Learn(mine, unheard, window.Limits{Total: tokens, Output: rapid.SampledFrom([]window.Tokens{0, 1000}).Draw(t, "output")}, now)
		case 2:
			b.AcceptedAbove(mine, unheard, tokens, now)
		case 3:
			b.Unlearn(mine, unheard, now)
		case 4:
			b.Learn(mine, unheard, window.Limits{Bytes: int64(tokens)}, now)
		case 5:
			b.Observe(mine, unheard, window.Observation{Counted: tokens, Reported: 2 * tokens, At: now})
		}
	}
	return b.Export(mine, unheard, now)
}

// TestShareInAnyOrder: replicas that heard the same know the same, in whatever
// order and however often they heard it; and one that knows all of it is not told
// that it is ahead.
func TestShareInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := make([][]byte, rapid.IntRange(1, 5).Draw(t, "values"))
		for i := range values {
			values[i] = drawLesson(t, "calls")
		}
		hear := func(order []int) (*window.Book, []byte) {
			b, err := window.NewBook(window.BookConfig{})
			if err != nil {
				t.Fatal(err)
			}
			for _, i := range order {
				if values[i] == nil {
					continue
				}
				if _, err := b.Import(mine, unheard, values[i], start); err != nil {
					t.Fatal(err)
				}
			}
			return b, b.Export(mine, unheard, start)
		}
		all := make([]int, len(values))
		for i := range all {
			all[i] = i
		}
		one, first := hear(rapid.Permutation(all).Draw(t, "one order"))
		again := append(rapid.Permutation(all).Draw(t, "another order"), rapid.SliceOf(rapid.IntRange(0, len(values)-1)).Draw(t, "repeats")...)
		other, second := hear(again)
		if !bytes.Equal(first, second) {
			t.Fatalf("one order gave %s, another %s", first, second)
		}
		if got, want := one.Lookup(mine, unheard, start), other.Lookup(mine, unheard, start); got != want {
			t.Fatalf("one knows %+v, the other %+v", got, want)
		}
		if first != nil {
			if m, err := one.Import(mine, unheard, second, start); err != nil || m.News || m.Ahead {
				t.Fatalf("what both know came to %+v, %v", m, err)
			}
		}
		end := start.Add(window.LearnedFor)
		if got := one.Lookup(mine, unheard, end); got.Source != window.Unknown || got.Bytes != 0 {
			t.Fatalf("after %v: %+v", window.LearnedFor, got)
		}
	})
}

func FuzzImport(f *testing.F) {
	b, err := window.NewBook(window.BookConfig{})
	if err != nil {
		f.Fatal(err)
	}
	b.Learn(mine, unheard, window.Limits{Total: 32768, Bytes: 1 << 20}, start)
	b.AcceptedAbove(mine, unheard, 40000, start)
	b.Observe(mine, unheard, window.Observation{Counted: 1000, Reported: 1300, At: start})
	f.Add(b.Export(mine, unheard, start))
	f.Add([]byte(`{"v":1,"learned":{"at":1,"until":9999999999999},"accepted":null,"bytes":{},"correction":{}}`))
	f.Fuzz(func(t *testing.T, value []byte) {
		b := book(t, window.BookConfig{})
		if _, err := b.Import(mine, unheard, value, start); err != nil {
			return
		}
		got := b.Lookup(mine, unheard, start)
		if got.Total != 0 && (got.Total < window.MinLearned || got.Total > window.MaxLearned) || got.Input > got.Total || got.Output > got.Total {
			t.Errorf("Lookup = %+v", got)
		}
		if c := b.Correction(mine, unheard); !(c >= 0.75 && c <= 3) {
			t.Errorf("Correction = %v", c)
		}
		out := b.Export(mine, unheard, start)
		if out == nil {
			return
		}
		if !json.Valid(out) {
			t.Errorf("exported %q", out)
		}
		if m, err := b.Import(mine, unheard, out, start); err != nil || m.News || m.Ahead {
			t.Errorf("its own export came to %+v, %v", m, err)
		}
	})
}
