package window_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/foldgate/foldgate/compression/window"
)

var (
	start = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	mine  = window.Scope{Tenant: "mine", Upstream: "https://api.example"}
)

const unheard = "acme-1" // a model that no table knows

func book(tb testing.TB, c window.BookConfig) *window.Book {
	tb.Helper()
	b, err := window.NewBook(c)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func limits(total, input window.Tokens, source window.Source) window.Limits {
	return window.Limits{Total: total, Input: input, Source: source}
}

func TestLookupOrder(t *testing.T) {
	rule := []window.Rule{{Glob: "gpt-4o", Total: 9000, Input: 8000}}
	for _, tc := range []struct {
		name  string
		c     window.BookConfig
		model string
		learn window.Tokens
		want  window.Source
	}{
		{"config over learned", window.BookConfig{Rules: rule}, "gpt-4o", 4000, window.Config},
		{"learned over table", window.BookConfig{}, "gpt-4o", 4000, window.Learned},
		{"table over default", window.BookConfig{Default: 5000}, "gpt-4o", 0, window.Table},
		{"learned over default", window.BookConfig{Default: 5000}, unheard, 50000, window.Learned},
		{"default over unknown", window.BookConfig{Default: 5000}, unheard, 0, window.Default},
		{"unknown", window.BookConfig{}, unheard, 0, window.Unknown},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := book(t, tc.c)
			if tc.learn > 0 && !b.Learn(mine, tc.model, window.Limits{Total: tc.learn}, start) {
				t.Fatal("Learn is no news")
			}
			if got := b.Lookup(mine, tc.model, start); got.Source != tc.want || (got.Total == 0) != (tc.want == window.Unknown) {
				t.Errorf("Lookup = %+v, want source %s", got, tc.want)
			}
		})
	}
}

func TestLearn(t *testing.T) {
	type step struct {
		learn window.Limits
		after time.Duration // since the step before
		news  bool
		want  window.Limits
	}
	const hour = time.Hour
	for _, tc := range []struct {
		name  string
		model string
		steps []step
	}{
		{"first", unheard, []step{
			{window.Limits{Total: 32768}, 0, true, limits(32768, 0, window.Learned)},
		}},
		{"the same prolongs", unheard, []step{
			{window.Limits{Total: 32768}, 0, true, limits(32768, 0, window.Learned)},
			{window.Limits{Total: 32768}, 5 * hour, false, limits(32768, 0, window.Learned)},
			{window.Limits{}, 5 * hour, false, limits(32768, 0, window.Learned)},
			{window.Limits{}, hour, false, limits(0, 0, window.Unknown)},
		}},
		{"lower only", unheard, []step{
			{window.Limits{Total: 32768}, 0, true, limits(32768, 0, window.Learned)},
			{window.Limits{Total: 65536}, 0, false, limits(32768, 0, window.Learned)},
			{window.Limits{Total: 16384}, 0, true, limits(16384, 0, window.Learned)},
		}},
		{"a refused higher one does not prolong", unheard, []step{
			{window.Limits{Total: 32768}, 0, true, limits(32768, 0, window.Learned)},
			{window.Limits{Total: 65536}, 5 * hour, false, limits(32768, 0, window.Learned)},
			{window.Limits{}, hour, false, limits(0, 0, window.Unknown)},
		}},
		{"lower than the table only", "gpt-4", []step{
			{window.Limits{Total: 16384}, 0, false, window.Limits{Total: 8192, Output: 8192, Source: window.Table}},
			{window.Limits{Total: 4096}, 0, true, limits(4096, 0, window.Learned)}, // less than the output that the table knows
		}},
		{"input only, model unknown", unheard, []step{
			{window.Limits{Input: 200000}, 0, true, limits(200000, 200000, window.Learned)},
		}},
		{"input only, total known", "gpt-5", []step{
			{window.Limits{Input: 272000}, 0, false, window.Limits{Total: 400000, Input: 272000, Output: 128000, Source: window.Table}},
			{window.Limits{Input: 200000}, 0, true, window.Limits{Total: 400000, Input: 200000, Output: 128000, Source: window.Learned}},
		}},
		{"one number that is an input limit, total known", "gpt-5", []step{
			{window.Limits{Total: 200000, Input: 200000}, 0, true, window.Limits{Total: 400000, Input: 200000, Output: 128000, Source: window.Learned}},
		}},
		{"total only, input known", "gpt-5", []step{
			{window.Limits{Total: 300000}, 0, true, window.Limits{Total: 300000, Input: 272000, Output: 128000, Source: window.Learned}},
		}},
		{"input over total is none", unheard, []step{
			{window.Limits{Total: 4000, Input: 5000}, 0, true, limits(4000, 0, window.Learned)},
		}},
		{"not plausible", unheard, []step{
			{window.Limits{Total: 1023}, 0, false, limits(0, 0, window.Unknown)},
			{window.Limits{Total: 10_000_001}, 0, false, limits(0, 0, window.Unknown)},
			{window.Limits{Total: -4000}, 0, false, limits(0, 0, window.Unknown)},
			{window.Limits{Total: 4000, Input: 3}, 0, false, limits(0, 0, window.Unknown)},
			{window.Limits{}, 0, false, limits(0, 0, window.Unknown)},
		}},
		{"name too long", strings.Repeat("m", window.MaxName+1), []step{
			{window.Limits{Total: 4000}, 0, false, limits(0, 0, window.Unknown)},
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := book(t, window.BookConfig{})
			now := start
			for i, s := range tc.steps {
				now = now.Add(s.after)
				if got := b.Learn(mine, tc.model, s.learn, now); got != s.news {
					t.Errorf("step %d: Learn = %v, want %v", i, got, s.news)
				}
				if got := b.Lookup(mine, tc.model, now); got != s.want {
					t.Errorf("step %d: Lookup = %+v, want %+v", i, got, s.want)
				}
			}
		})
	}
}

func TestLearnBesideConfig(t *testing.T) {
	b := book(t, window.BookConfig{Rules: []window.Rule{{Total: 128000}}})
	for i, tc := range []struct {
		total window.Tokens
		news  bool
	}{{200000, false}, {32000, true}, {32000, false}, {64000, false}, {16000, true}} {
		if got := b.Learn(mine, unheard, window.Limits{Total: tc.total}, start); got != tc.news {
			t.Errorf("step %d: Learn(%d) = %v, want %v", i, tc.total, got, tc.news)
		}
		if got, want := b.Lookup(mine, unheard, start), limits(128000, 0, window.Config); got != want {
			t.Errorf("step %d: Lookup = %+v, want %+v", i, got, want)
		}
	}
}

func TestLearnedIsTheScopesOwn(t *testing.T) {
	b := book(t, window.BookConfig{})
	b.Learn(mine, unheard, window.Limits{Total: 4000}, start)
	for _, s := range []window.Scope{
		{Tenant: "other", Upstream: mine.Upstream}, {Tenant: mine.Tenant, Upstream: "other"}, {},
	} {
		if got := b.Lookup(s, unheard, start); got.Source != window.Unknown {
			t.Errorf("Lookup for %+v = %+v, want unknown", s, got)
		}
	}
	b.Unlearn(mine, unheard, start)
	b.Unlearn(mine, "never heard of", start)
	if got := b.Lookup(mine, unheard, start); got.Source != window.Unknown {
		t.Errorf("Lookup after Unlearn = %+v, want unknown", got)
	}
}

func TestLearnForgetsTheLeastRecentlyUsed(t *testing.T) {
	b := book(t, window.BookConfig{})
	model := func(i int) string { return fmt.Sprintf("acme-%dx", i) }
	for i := range window.MaxModels {
		b.Learn(mine, model(i), window.Limits{Total: 4000}, start)
	}
	b.Lookup(mine, model(0), start)
	b.Learn(mine, model(window.MaxModels), window.Limits{Total: 4000}, start)
	for i, want := range map[int]window.Source{0: window.Learned, 1: window.Unknown, 2: window.Learned, window.MaxModels: window.Learned} {
		if got := b.Lookup(mine, model(i), start); got.Source != want {
			t.Errorf("model %d: Lookup = %+v, want %s", i, got, want)
		}
	}
	for i := range window.MaxScopes {
		b.Learn(window.Scope{Tenant: fmt.Sprint(i)}, unheard, window.Limits{Total: 4000}, start)
	}
	if got := b.Lookup(mine, model(0), start); got.Source != window.Unknown {
		t.Errorf("Lookup of a forgotten scope = %+v, want unknown", got)
	}
}

func TestAcceptedAbove(t *testing.T) {
	const later = window.LearnedFor
	for _, tc := range []struct {
		name   string
		c      window.BookConfig
		model  string
		learn  window.Tokens
		tokens window.Tokens
		want   window.Limits
		after  window.Limits // once LearnedFor is over
	}{
		{
			"learned, not above",
			window.BookConfig{},
			unheard, 4000, 4000,
			limits(4000, 0, window.Learned), limits(0, 0, window.Unknown),
		},
		{
			"learned, above",
			window.BookConfig{},
			unheard, 4000, 4001,
			limits(0, 0, window.Unknown), limits(0, 0, window.Unknown),
		},
		{
			"learned, above, back to the table",
			window.BookConfig{},
			"o1", 4000, 5000,
			window.Limits{Total: 200000, Output: 100000, Source: window.Table},
			window.Limits{Total: 200000, Output: 100000, Source: window.Table},
		},
		{
			"table, above",
			window.BookConfig{},
			"gpt-4", 0, 9000,
			limits(0, 0, window.Unknown),
			window.Limits{Total: 8192, Output: 8192, Source: window.Table},
		},
		{
			"table, above its input",
			window.BookConfig{},
			"gpt-5", 0, 300000,
			limits(0, 0, window.Unknown),
			window.Limits{Total: 400000, Input: 272000, Output: 128000, Source: window.Table},
		},
		{
			"learned and table, above both",
			window.BookConfig{},
			"gpt-4", 4000, 9000,
			limits(0, 0, window.Unknown),
			window.Limits{Total: 8192, Output: 8192, Source: window.Table},
		},
		{
			"table, above, a default below",
			window.BookConfig{Default: 8500},
			"gpt-4", 0, 9000,
			limits(0, 0, window.Unknown),
			window.Limits{Total: 8192, Output: 8192, Source: window.Table},
		},
		{
			"table, above, a default beyond",
			window.BookConfig{Default: 32000},
			"gpt-4", 0, 9000,
			limits(32000, 0, window.Default),
			window.Limits{Total: 8192, Output: 8192, Source: window.Table},
		},
		{
			"config stands",
			window.BookConfig{Rules: []window.Rule{{Total: 4000}}},
			"gpt-4", 0, 9000,
			limits(4000, 0, window.Config), limits(4000, 0, window.Config),
		},
		{
			"default stands",
			window.BookConfig{Default: 4000},
			unheard, 0, 9000,
			limits(4000, 0, window.Default), limits(4000, 0, window.Default),
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := book(t, tc.c)
			if tc.learn > 0 {
				b.Learn(mine, tc.model, window.Limits{Total: tc.learn}, start)
			}
			b.AcceptedAbove(mine, tc.model, tc.tokens, start)
			if got := b.Lookup(mine, tc.model, start); got != tc.want {
				t.Errorf("Lookup = %+v, want %+v", got, tc.want)
			}
			if got := b.Lookup(mine, tc.model, start.Add(later)); got != tc.after {
				t.Errorf("Lookup later = %+v, want %+v", got, tc.after)
			}
		})
	}
}

// TestAcceptedAboveKeepsTheLargest: a later, smaller acceptance takes nothing
// back, and an overflow error teaches again.
func TestAcceptedAboveKeepsTheLargest(t *testing.T) {
	b := book(t, window.BookConfig{Default: 12000})
	b.AcceptedAbove(mine, "gpt-4", 20000, start)
	b.AcceptedAbove(mine, "gpt-4", 9000, start)
	if got := b.Lookup(mine, "gpt-4", start); got.Source != window.Unknown {
		t.Errorf("Lookup = %+v, want unknown", got)
	}
	if !b.Learn(mine, "gpt-4", window.Limits{Total: 32768}, start) {
		t.Error("Learn is no news where the table does not count")
	}
	if got := b.Lookup(mine, "gpt-4", start); got.Total != 32768 {
		t.Errorf("Lookup = %+v, want a total of 32768", got)
	}
}

func TestCheckDue(t *testing.T) {
	t.Run("once an hour", func(t *testing.T) {
		b := book(t, window.BookConfig{})
		for i, tc := range []struct {
			at   time.Duration
			want bool
		}{
			{0, true},
			{0, false},
			{time.Hour - 1, false},
			{time.Hour, true},
			{time.Hour, false},
			{-time.Minute, true}, // the clock was set back
		} {
			if got := b.CheckDue(mine, "gpt-4", start.Add(tc.at)); got != tc.want {
				t.Errorf("step %d: CheckDue = %v, want %v", i, got, tc.want)
			}
		}
		other := window.Scope{Tenant: "other", Upstream: mine.Upstream}
		if !b.CheckDue(other, "gpt-4", start) || !b.CheckDue(mine, "o1", start) {
			t.Error("CheckDue = false for another tenant or model, want true")
		}
	})
	for _, tc := range []struct {
		name  string
		c     window.BookConfig
		learn window.Tokens
		want  bool
	}{
		{"configured", window.BookConfig{Rules: []window.Rule{{Total: 4000}}}, 0, false},
		{"default", window.BookConfig{Default: 4000}, 0, false},
		{"unknown", window.BookConfig{}, 0, false},
		{"learned", window.BookConfig{}, 4000, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := book(t, tc.c)
			if tc.learn > 0 {
				b.Learn(mine, unheard, window.Limits{Total: tc.learn}, start)
			}
			if got := b.CheckDue(mine, unheard, start); got != tc.want {
				t.Errorf("CheckDue = %v, want %v", got, tc.want)
			}
		})
	}
}

// TestLookupPrecedence holds a Book against a model of it: for each scope and
// model, what was learned last and may still count.
func TestLookupPrecedence(t *testing.T) {
	rank := map[window.Source]int{window.Config: 0, window.Advertised: 1, window.Learned: 1, window.Table: 2, window.Default: 3, window.Unknown: 4}
	bounded := func(s window.Source) bool {
		return s == window.Learned || s == window.Table || s == window.Advertised
	}
	rapid.Check(t, func(t *rapid.T) {
		c := window.BookConfig{Default: rapid.SampledFrom([]window.Tokens{0, 6000}).Draw(t, "default")}
		if rapid.Bool().Draw(t, "rule") {
			c.Rules = append(c.Rules, window.Rule{Glob: "gpt-4", Total: 7000})
		}
		b, err := window.NewBook(c)
		if err != nil {
			t.Fatal(err)
		}
		now := start
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			model := rapid.SampledFrom([]string{"gpt-4", "o1", unheard}).Draw(t, "model")
			tokens := window.Tokens(rapid.IntRange(0, 300_000).Draw(t, "tokens"))
			before := b.Lookup(mine, model, now)
			switch rapid.IntRange(0, 4).Draw(t, "call") {
			case 0:
				news := b.Learn(mine, model, window.Limits{Total: tokens}, now)
				after := b.Lookup(mine, model, now)
				if !news && after != before {
					t.Fatalf("no news, but %+v became %+v", before, after)
				}
				known := before.Source != window.Default && before.Source != window.Unknown
				if known && after.Total > before.Total {
					t.Fatalf("learning raised %+v to %+v", before, after)
				}
				if news && before.Source != window.Config && (after.Total == 0 || after.Total > tokens) {
					t.Fatalf("news of %d, but Lookup = %+v", tokens, after)
				}
			case 1:
				b.AcceptedAbove(mine, model, tokens, now)
				after := b.Lookup(mine, model, now)
				if rank[after.Source] < rank[before.Source] && (after.Source != window.Learned || after.Total < tokens) {
					t.Fatalf("acceptance of %d made %+v of %+v", tokens, after, before)
				}
				if bounded(after.Source) && after.Input == 0 && after.Total < tokens {
					t.Fatalf("%+v stands although %d were accepted", after, tokens)
				}
			case 2:
				if first, second := b.CheckDue(mine, model, now), b.CheckDue(mine, model, now); first && second {
					t.Fatal("CheckDue twice")
				}
				if after := b.Lookup(mine, model, now); after != before {
					t.Fatalf("a check made %+v of %+v", after, before)
				}
			case 3:
				b.Advertise(mine, map[string]window.Limits{model: {Total: tokens}}, now, now.Add(time.Hour))
				after := b.Lookup(mine, model, now)
				if plausible := tokens >= window.MinLearned; !plausible && after != before {
					t.Fatalf("an advertisement of %d made %+v of %+v", tokens, after, before)
				}
				if bounded(after.Source) && after.Source != window.Learned && after.Source != window.Table && after.Total != tokens && after != before {
					t.Fatalf("an advertisement of %d made %+v of %+v", tokens, after, before)
				}
			case 4:
				now = now.Add(time.Duration(rapid.IntRange(0, 7*60).Draw(t, "minutes")) * time.Minute)
			}
			got := b.Lookup(mine, model, now)
			if (got.Total == 0) != (got.Source == window.Unknown) || got.Input > got.Total {
				t.Fatalf("Lookup = %+v", got)
			}
			if len(c.Rules) > 0 && model == "gpt-4" && got.Source != window.Config {
				t.Fatalf("Lookup = %+v, want the rule", got)
			}
		}
		now = now.Add(window.LearnedFor)
		for _, model := range []string{"gpt-4", "o1", unheard} {
			if got := b.Lookup(mine, model, now); got.Source == window.Learned {
				t.Fatalf("Lookup = %+v after %v", got, window.LearnedFor)
			}
		}
	})
}

func TestBookConcurrently(t *testing.T) {
	b := book(t, window.BookConfig{Default: 8000})
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		dues  int
		model = "gpt-4"
	)
	for g := range 8 {
		wg.Go(func() {
			scope := window.Scope{Tenant: fmt.Sprint(g % 3), Upstream: "u"}
			for i := range 200 {
				name := fmt.Sprintf("acme-%dx", i%70)
				b.Learn(scope, name, window.Limits{Total: window.Tokens(2000 + i)}, start)
				b.Lookup(scope, name, start)
				b.AcceptedAbove(scope, name, window.Tokens(3000+i), start)
				b.Observe(window.Scope{Upstream: "u"}, name, window.Observation{Counted: 1000, Reported: 1200, At: start})
				b.Correction(window.Scope{Upstream: "u"}, name)
				b.Unlearn(scope, name, start)
				b.Advertise(scope, map[string]window.Limits{name: {Total: window.Tokens(2000 + i)}}, start, start.Add(time.Hour))
				b.Unshared(scope, name, start)
				if value := b.Export(scope, name, start); value != nil {
					if _, err := b.Import(mine, name, value, start); err != nil {
						t.Error(err)
					}
				}
				if b.CheckDue(mine, model, start) {
					mu.Lock()
					dues++
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	if dues != 1 {
		t.Errorf("CheckDue was true %d times, want once", dues)
	}
}
