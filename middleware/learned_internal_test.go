package middleware

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/foldgate/foldgate/compression/llm"
	"github.com/foldgate/foldgate/compression/window"
)

func testLearner(t *testing.T, upstream string) *learner {
	t.Helper()
	u, err := url.Parse(upstream)
	if err != nil {
		t.Fatal(err)
	}
	book, err := window.NewBook(window.BookConfig{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := newLearner(Config{Upstream: u, Book: book}.withDefaults(), llm.NewClient(nil), new(sync.WaitGroup))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestWhenAnUpstreamIsAskedAgain goes through the answers that there are.
func TestWhenAnUpstreamIsAskedAgain(t *testing.T) {
	start := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	scope := window.Scope{Tenant: "t", Upstream: "u"}
	known := map[string]window.Limits{"m": {Total: 8192}}
	for name, tc := range map[string]struct {
		answer       llm.Advertisement
		err          error
		same, other  time.Duration // when m, and another model, may be asked for again
		until        time.Duration // how long m's window holds
		anotherScope bool
	}{
		"failed":            {llm.Advertisement{}, errors.New("down"), askFailed, askFailed, 0, true},
		"known":             {llm.Advertisement{Models: known}, nil, askSteady, askGap, window.AdvertisedFor, true},
		"known, changing":   {llm.Advertisement{Models: known, Changing: true}, nil, askChanging, askGap, changingFor, true},
		"unknown":           {llm.Advertisement{}, nil, askNothing, askGap, 0, true},
		"unknown, changing": {llm.Advertisement{Changing: true}, nil, askChanging, askGap, 0, true},
		"not loaded":        {llm.Advertisement{Changing: true, Unloaded: true}, nil, askGap, askGap, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			l := testLearner(t, "https://api.example.com")
			models, ok := l.due(scope, "m", start)
			if !ok || !slices.Equal(models, []string{"m"}) {
				t.Fatalf("the first question: %v, %v", models, ok)
			}
			if _, ok := l.due(scope, "m", start); ok {
				t.Error("it is asked twice at once")
			}
			if _, ok := l.due(window.Scope{Tenant: "another"}, "m", start); ok != tc.anotherScope {
				t.Error("another tenant's upstream is not asked")
			}
			l.answered(scope, models, tc.answer, tc.err, start)
			if got := l.book.Lookup(scope, "m", start.Add(tc.until-1)); (got.Total > 0) != (tc.until > 0) {
				t.Errorf("before %v: %+v", tc.until, got)
			}
			if got := l.book.Lookup(scope, "m", start.Add(tc.until)); got.Total != 0 {
				t.Errorf("after %v: %+v", tc.until, got)
			}
			if _, ok := l.due(scope, "other", start.Add(tc.other-1)); ok {
				t.Errorf("another model is asked for before %v", tc.other)
			}
			if _, ok := l.due(scope, "m", start.Add(tc.same-1)); ok {
				t.Errorf("it is asked again before %v", tc.same)
			}
			models, ok = l.due(scope, "m", start.Add(tc.same))
			if slices.Sort(models); !ok || !slices.Equal(models, []string{"m", "other"}) {
				t.Errorf("after %v: %v, %v", tc.same, models, ok)
			}
		})
	}
}

func TestAskingIsBounded(t *testing.T) {
	l := testLearner(t, "https://api.example.com")
	now := time.Now()
	for i := range 3 * maxAsking {
		if _, ok := l.due(window.Scope{Tenant: fmt.Sprint(i)}, "m", now); ok != (i < maxAsking) {
			t.Fatalf("tenant %d: %v", i, ok)
		}
	}
	one := window.Scope{Tenant: "0"}
	for i := range 1000 {
		l.due(one, fmt.Sprint("model-", i), now)
	}
	s, _ := l.asked.Get(one)
	if len(s.wanted) != maxWanted {
		t.Errorf("%d models are wanted", len(s.wanted))
	}
	for i := range 1000 {
		l.answered(one, []string{fmt.Sprint("model-", i)}, llm.Advertisement{}, nil, now)
	}
	if len(s.models) > 4*window.MaxModels {
		t.Errorf("%d models are remembered", len(s.models))
	}
}

func TestWorthAsking(t *testing.T) {
	far, near := testLearner(t, "https://api.example.com"), testLearner(t, "http://ollama:11434")
	for name, tc := range map[string]struct {
		l     *learner
		known window.Limits
		from  int // the smallest body that has it asked; 0: none
	}{
		"unknown":             {far, window.Limits{Source: window.Unknown}, 32<<10 + 1},
		"unknown, nearby":     {near, window.Limits{Source: window.Unknown}, 8<<10 + 1},
		"in the table":        {far, window.Limits{Total: 128000, Source: window.Table}, 32<<10 + 1},
		"small, in the table": {far, window.Limits{Total: 8192, Source: window.Table}, 2*8192 + 1},
		"learned":             {near, window.Limits{Total: 2048, Source: window.Learned}, 2*2048 + 1},
		"default":             {far, window.Limits{Total: 4096, Source: window.Default}, 2*4096 + 1},
		"advertised":          {far, window.Limits{Total: 200000, Source: window.Advertised}, 32<<10 + 1},
		"configured":          {near, window.Limits{Total: 4096, Source: window.Config}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			for _, bytes := range []int{0, tc.from - 1, tc.from, 1 << 26} {
				if got, want := tc.l.worthAsking(tc.known, bytes), tc.from > 0 && bytes >= tc.from; got != want {
					t.Errorf("%d bytes: %v, want %v", bytes, got, want)
				}
			}
		})
	}
}

func TestAskedBase(t *testing.T) {
	for _, tc := range []struct{ upstream, in, want string }{
		{"https://api.example.com", "/v1/chat/completions", "https://api.example.com/v1"},
		{"https://api.example.com/v1", "/v1/chat/completions", "https://api.example.com/v1"},
		{"https://api.example.com/api", "/v1/chat/completions?key=k", "https://api.example.com/api/v1?key=k"},
		{"http://localhost:8080", "/chat/completions", "http://localhost:8080"},
		{"https://x.azure.com/?v=1", "/openai/deployments/a%2Fb/chat/completions", "https://x.azure.com/openai/deployments/a/b?v=1&"},
	} {
		upstream, err := url.Parse(tc.upstream)
		if err != nil {
			t.Fatal(err)
		}
		in, err := url.Parse(tc.in)
		if err != nil {
			t.Fatal(err)
		}
		if got := askedBase(upstream, in).String(); got != tc.want && got+"&" != tc.want {
			t.Errorf("askedBase(%s, %s) = %s, want %s", tc.upstream, tc.in, got, tc.want)
		}
	}
}

func TestScopesHaveNamesOfTheirOwn(t *testing.T) {
	names := map[string]window.Scope{}
	for _, s := range []window.Scope{{}, {Tenant: "a", Upstream: "b"}, {Tenant: "ab"}, {Upstream: "ab"}, {Tenant: "a b"}, {Tenant: "a", Upstream: " b"}, {Tenant: "\x00\xff", Upstream: "b"}} {
		if other, ok := names[scopeName(s)]; ok {
			t.Errorf("%+v and %+v have one name", s, other)
		}
		names[scopeName(s)] = s
	}
}
