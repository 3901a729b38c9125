package window_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/foldgate/foldgate/compression/window"
)

func advertise(b *window.Book, model string, l window.Limits, at time.Time) {
	b.Advertise(mine, map[string]window.Limits{model: l}, at, at.Add(time.Hour))
}

func TestAdvertise(t *testing.T) {
	unknown := limits(0, 0, window.Unknown)
	for _, tc := range []struct {
		name  string
		c     window.BookConfig
		model string
		l     window.Limits
		want  window.Limits
		after window.Limits // once it has expired
	}{
		{"over nothing", window.BookConfig{}, unheard, window.Limits{Total: 32768}, limits(32768, 0, window.Advertised), unknown},
		{"over a default", window.BookConfig{Default: 5000}, unheard, window.Limits{Total: 32768}, limits(32768, 0, window.Advertised), limits(5000, 0, window.Default)},
		{"under the configuration", window.BookConfig{Rules: []window.Rule{{Total: 9000}}}, unheard, window.Limits{Total: 32768}, limits(9000, 0, window.Config), limits(9000, 0, window.Config)},
		{
			"over the table, larger",
			window.BookConfig{},
			"gpt-4",
			window.Limits{Total: 32768},
			window.Limits{Total: 32768, Output: 8192, Source: window.Advertised},
			window.Limits{Total: 8192, Output: 8192, Source: window.Table},
		},
		{
			"over the table, smaller than its output",
			window.BookConfig{},
			"gpt-4",
			window.Limits{Total: 4096},
			limits(4096, 0, window.Advertised),
			window.Limits{Total: 8192, Output: 8192, Source: window.Table},
		},
		{
			"a total, and the table knows the input limit",
			window.BookConfig{},
			"gpt-5",
			window.Limits{Total: 400000},
			window.Limits{Total: 400000, Input: 272000, Output: 128000, Source: window.Advertised},
			window.Limits{Total: 400000, Input: 272000, Output: 128000, Source: window.Table},
		},
		{
			"an input limit, and the table knows the total",
			window.BookConfig{},
			"gpt-5",
			window.Limits{Input: 200000},
			window.Limits{Total: 400000, Input: 200000, Output: 128000, Source: window.Advertised},
			window.Limits{Total: 400000, Input: 272000, Output: 128000, Source: window.Table},
		},
		{"an input limit alone", window.BookConfig{}, unheard, window.Limits{Input: 200000, Output: 64000}, window.Limits{Total: 200000, Input: 200000, Output: 64000, Source: window.Advertised}, unknown},
		{"an output of more than all is none", window.BookConfig{}, unheard, window.Limits{Total: 32768, Output: 65536}, limits(32768, 0, window.Advertised), unknown},
		{"nothing", window.BookConfig{}, unheard, window.Limits{Output: 4000}, unknown, unknown},
		{"too small", window.BookConfig{}, unheard, window.Limits{Total: 512}, unknown, unknown},
		{"too large", window.BookConfig{}, unheard, window.Limits{Total: 100_000_000}, unknown, unknown},
		{"negative", window.BookConfig{}, unheard, window.Limits{Total: -1, Input: -1}, unknown, unknown},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := book(t, tc.c)
			advertise(b, tc.model, tc.l, start)
			if got := b.Lookup(mine, tc.model, start); got != tc.want {
				t.Errorf("Lookup = %+v, want %+v", got, tc.want)
			}
			if got := b.Lookup(mine, tc.model, start.Add(time.Hour)); got != tc.after {
				t.Errorf("Lookup later = %+v, want %+v", got, tc.after)
			}
			other := window.Scope{Tenant: "other", Upstream: mine.Upstream}
			if got := b.Lookup(other, tc.model, start); got.Source == window.Advertised {
				t.Errorf("another tenant got %+v", got)
			}
		})
	}
}

func TestAdvertisedAtMostSoLong(t *testing.T) {
	b := book(t, window.BookConfig{})
	b.Advertise(mine, map[string]window.Limits{unheard: {Total: 4000}}, start, start.Add(1000*time.Hour))
	if got := b.Lookup(mine, unheard, start.Add(window.AdvertisedFor-time.Millisecond)); got.Source != window.Advertised {
		t.Errorf("Lookup = %+v, want advertised", got)
	}
	if got := b.Lookup(mine, unheard, start.Add(window.AdvertisedFor)); got.Source != window.Unknown {
		t.Errorf("Lookup = %+v, want unknown", got)
	}
}

// TestAnErrorIsTheBetterWitness: an overflow error that names less than what is
// advertised wins while it lasts; one that names more does not.
func TestAnErrorIsTheBetterWitness(t *testing.T) {
	b := book(t, window.BookConfig{})
	advertise(b, unheard, window.Limits{Total: 32768}, start)
	if b.Learn(mine, unheard, window.Limits{Total: 65536}, start) {
		t.Error("more than what is advertised is news")
	}
	if !b.Learn(mine, unheard, window.Limits{Total: 16384}, start) {
		t.Error("less than what is advertised is no news")
	}
	for i := range 7 { // it is announced again and again
		now := start.Add(time.Duration(i) * time.Hour)
		advertise(b, unheard, window.Limits{Total: 32768}, now)
		want := limits(16384, 0, window.Learned)
		if now.Sub(start) >= window.LearnedFor {
			want = limits(32768, 0, window.Advertised)
		}
		if got := b.Lookup(mine, unheard, now); got != want {
			t.Errorf("after %d hours: Lookup = %+v, want %+v", i, got, want)
		}
	}
}

// TestAnotherServer: a model that is announced with other limits than before was
// loaded anew; what its former self taught is over.
func TestAnotherServer(t *testing.T) {
	b := book(t, window.BookConfig{})
	advertise(b, unheard, window.Limits{Total: 8192}, start)
	b.Learn(mine, unheard, window.Limits{Total: 6000}, start)
	advertise(b, unheard, window.Limits{Total: 32768}, start)
	if got, want := b.Lookup(mine, unheard, start), limits(32768, 0, window.Advertised); got != want {
		t.Errorf("larger: Lookup = %+v, want %+v", got, want)
	}
	b.AcceptedAbove(mine, unheard, 40000, start)
	if got := b.Lookup(mine, unheard, start); got.Source != window.Unknown {
		t.Errorf("more was accepted: Lookup = %+v, want unknown", got)
	}
	advertise(b, unheard, window.Limits{Total: 32768}, start)
	if got := b.Lookup(mine, unheard, start); got.Source != window.Unknown {
		t.Errorf("the same again: Lookup = %+v, want unknown", got)
	}
	advertise(b, unheard, window.Limits{Total: 4096}, start)
	if got, want := b.Lookup(mine, unheard, start), limits(4096, 0, window.Advertised); got != want {
		t.Errorf("smaller: Lookup = %+v, want %+v", got, want)
	}
}

// TestTheTableMayBeWrongWhereTheAdvertisementIsRight: more was accepted than the
// table's input limit, with which an advertisement was completed.
func TestTheTableMayBeWrongWhereTheAdvertisementIsRight(t *testing.T) {
	b := book(t, window.BookConfig{})
	advertise(b, "gpt-5", window.Limits{Total: 400000}, start)
	b.AcceptedAbove(mine, "gpt-5", 300000, start)
	if got, want := b.Lookup(mine, "gpt-5", start), limits(400000, 0, window.Advertised); got != want {
		t.Errorf("Lookup = %+v, want %+v", got, want)
	}
}

func TestAdvertiseForgetsTheLeastRecentlyUsed(t *testing.T) {
	b := book(t, window.BookConfig{})
	all := map[string]window.Limits{}
	for i := range 3 * window.MaxModels {
		all[fmt.Sprintf("acme-%03dx", i)] = window.Limits{Total: 4000}
	}
	b.Learn(mine, unheard, window.Limits{Total: 4000}, start)
	b.Advertise(mine, all, start, start.Add(time.Hour))
	known := 0
	for model := range all {
		if b.Lookup(mine, model, start).Source == window.Advertised {
			known++
		}
	}
	if known != window.MaxModels {
		t.Errorf("%d advertisements are remembered, want %d", known, window.MaxModels)
	}
	if got := b.Lookup(mine, unheard, start); got.Source != window.Learned {
		t.Errorf("advertisements drove out what was learned: %+v", got)
	}
}

func TestBytes(t *testing.T) {
	const million = 1_000_000
	rule := window.BookConfig{Rules: []window.Rule{{Glob: "ruled", Total: 9000}}}
	b := book(t, rule)
	for i, tc := range []struct {
		learn int64
		news  bool
		want  int64
	}{
		{100, false, 0},
		{window.MaxBytes + 1, false, 0},
		{5 * million, true, 5 * million},
		{5 * million, false, 5 * million},
		{9 * million, false, 5 * million},
		{3 * million, true, 3 * million},
	} {
		for _, model := range []string{"ruled", unheard, "gpt-4"} {
			if got := b.Learn(mine, model, window.Limits{Bytes: tc.learn}, start); got != tc.news {
				t.Errorf("step %d: Learn(%d bytes) = %v, want %v", i, tc.learn, got, tc.news)
			}
			got := b.Lookup(mine, model, start)
			if got.Bytes != tc.want || got.Source == window.Learned {
				t.Errorf("step %d: Lookup(%s) = %+v, want %d bytes and no learned window", i, model, got, tc.want)
			}
		}
	}
	b.AcceptedBytes(mine, unheard, 3*million, start)
	if got := b.Lookup(mine, unheard, start).Bytes; got != 3*million {
		t.Errorf("%d bytes after an acceptance of as many", got)
	}
	b.AcceptedBytes(mine, unheard, 3*million+1, start)
	if got := b.Lookup(mine, unheard, start).Bytes; got != 0 {
		t.Errorf("%d bytes after an acceptance of more", got)
	}
	if got := b.Lookup(mine, "gpt-4", start.Add(window.LearnedFor)).Bytes; got != 0 {
		t.Errorf("%d bytes after %v", got, window.LearnedFor)
	}
}

// TestPeers24 (OmniRoute 1470, 1405): a window is never made up. One that resolves
// to a few thousand by mistake would fold a conversation at every turn.
func TestPeers24(t *testing.T) {
	b := book(t, window.BookConfig{})
	for _, implausible := range []window.Limits{{Total: 1}, {Total: 512}, {Output: 4096}, {Input: -1}, {}} {
		advertise(b, unheard, implausible, start)
		b.Learn(mine, unheard, implausible, start)
		if got := b.Lookup(mine, unheard, start); got.Source != window.Unknown {
			t.Errorf("%+v made %+v", implausible, got)
		}
	}
}

// TestPeers27 (litellm 18927): a wrong window in the table holds nobody back, in
// either direction.
func TestPeers27(t *testing.T) {
	t.Run("too small, and the upstream says so", func(t *testing.T) {
		b := book(t, window.BookConfig{})
		advertise(b, "gpt-4", window.Limits{Total: 128000}, start)
		if got := b.Lookup(mine, "gpt-4", start); got.Total != 128000 {
			t.Errorf("Lookup = %+v", got)
		}
	})
	t.Run("too small, and the upstream takes more", func(t *testing.T) {
		b := book(t, window.BookConfig{})
		b.AcceptedAbove(mine, "gpt-4", 9000, start)
		if got := b.Lookup(mine, "gpt-4", start); got.Total != 0 {
			t.Errorf("Lookup = %+v", got)
		}
	})
	t.Run("too large, and the upstream refuses", func(t *testing.T) {
		b := book(t, window.BookConfig{})
		b.Learn(mine, "gpt-4", window.Limits{Total: 4096}, start)
		if got := b.Lookup(mine, "gpt-4", start); got.Total != 4096 {
			t.Errorf("Lookup = %+v", got)
		}
	})
}

// TestPeers37 (hermes-agent 14690): no floor makes the trigger equal to all that
// may be used.
func TestPeers37(t *testing.T) {
	settings := window.Settings{Trigger: 0.8, KeepRecent: 0.25, Recall: 0.05, ReserveOutput: 4096}
	for total := window.MinTotal; total < 1<<22; total = total*5/4 + 1 {
		budget := window.NewBudget(limits(total, 0, window.Config), settings, 0, 1, 1)
		if !(0 < budget.Trigger && budget.Trigger < budget.Usable && budget.Usable < total) {
			t.Errorf("of %d: trigger %d, usable %d", total, budget.Trigger, budget.Usable)
		}
	}
}

// TestPeers91 (open-webui 26199): each model has limits of its own.
func TestPeers91(t *testing.T) {
	b := book(t, window.BookConfig{Rules: []window.Rule{{Glob: "ruled*", Total: 9000, Input: 8000}}})
	b.Advertise(mine, map[string]window.Limits{"big": {Total: 200000}, "small": {Total: 8192}}, start, start.Add(time.Hour))
	b.Learn(mine, "taught", window.Limits{Total: 4000}, start)
	for model, want := range map[string]window.Limits{
		"ruled-1": limits(9000, 8000, window.Config), "big": limits(200000, 0, window.Advertised),
		"small": limits(8192, 0, window.Advertised), "taught": limits(4000, 0, window.Learned),
		"unheard": limits(0, 0, window.Unknown), "gpt-4": {Total: 8192, Output: 8192, Source: window.Table},
	} {
		if got := b.Lookup(mine, model, start); got != want {
			t.Errorf("Lookup(%s) = %+v, want %+v", model, got, want)
		}
	}
}
