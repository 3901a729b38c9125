package middleware_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/foldgate/foldgate/middleware"
)

const compactionWish = "Please write a detailed summary of our conversation so far, so that another model can continue."

// compaction is a conversation of so many turns that its client compacts.
func compaction(t *testing.T, tag string, turns int, more ...any) []byte {
	t.Helper()
	m := talk(tag, turns)
	m[len(m)-1] = msg{"role": "user", "content": compactionWish}
	raw, err := json.Marshal(request(m, more...))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// Turns of talk that are over the trigger of the tests' window and fit it, and
// that do not.
const (
	fittingTurns = 10
	unfitTurns   = 40
)

func TestAClientThatCompactsSeesTheOriginal(t *testing.T) {
	plain := func(t *testing.T) []byte {
		t.Helper()
		raw, err := json.Marshal(request(talk("codex", fittingTurns)))
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	tests := []struct {
		name   string
		body   func(t *testing.T) []byte
		header []string
		native bool
	}{
		{"by its wish", func(t *testing.T) []byte { return compaction(t, "wish", fittingTurns) }, nil, true},
		{"tools that may not be called", func(t *testing.T) []byte {
			return compaction(t, "none", fittingTurns, "tools", []msg{lookup("x")}, "tool_choice", "none")
		}, nil, true},
		{"by its header", plain, []string{"X-Openai-Subagent", "compact"}, true},
		{"another subagent", plain, []string{"X-Openai-Subagent", "review"}, false},
		{"with tools", func(t *testing.T) []byte { return compaction(t, "tools", fittingTurns, "tools", []msg{lookup("x")}) }, nil, false},
		{"no wish", plain, nil, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := newGateway(t, options{})
			raw := tt.body(t)
			a := g.post(t, raw, tt.header...)
			if a.status != 200 || a.fold() != "none" {
				t.Fatalf("got %d %s", a.status, a.header.Get("Foldgate-Fold"))
			}
			if got := g.up.last(t).Body; !bytes.Equal(got, raw) {
				t.Errorf("the upstream got other bytes")
			}
			if !tt.native {
				if a.reason() != "fits" {
					t.Errorf("reason %q, want fits: a summary is prepared", a.reason())
				}
				g.sum.called(t)
				return
			}
			g.Wait()
			if a.reason() != "native" || a.header.Get("Foldgate-Attempt") != "" {
				t.Errorf("Foldgate-Fold: %s, Foldgate-Attempt: %s", a.header.Get("Foldgate-Fold"), a.header.Get("Foldgate-Attempt"))
			}
			if g.sum.count() != 0 || g.store.calls.Load() != 0 {
				t.Errorf("%d summary calls, %d store calls, want none", g.sum.count(), g.store.calls.Load())
			}
		})
	}
}

// A compaction that is refused leaves its client with nothing, so one that cannot
// fit is folded as any other.
func TestACompactionThatCannotFitIsFolded(t *testing.T) {
	for _, header := range [][]string{nil, {"X-Openai-Subagent", "compact"}} {
		g := newGateway(t, options{})
		raw := compaction(t, "large", unfitTurns)
		a := g.post(t, raw, header...)
		if a.status != 200 || a.fold() != "committed" {
			t.Fatalf("got %d %s", a.status, a.header.Get("Foldgate-Fold"))
		}
		got := sent(t, g.up.last(t).Body)
		if last := got[len(got)-1]; text(last) != compactionWish {
			t.Errorf("the wish became %q", text(last))
		}
		for _, breach := range brokenRules(raw, g.up.last(t).Body) {
			t.Error(breach)
		}
	}
}

// A conversation that was folded before is compacted from its original too.
func TestACompactionOfAFoldedConversation(t *testing.T) {
	g := newGateway(t, options{})
	m := talk("again", fittingTurns)
	m[len(m)-1] = msg{"role": "user", "content": words("large", 1, 1200)}
	if a := g.post(t, request(m)); a.fold() != "committed" {
		t.Fatalf("Foldgate-Fold: %s", a.header.Get("Foldgate-Fold"))
	}
	if a := g.post(t, request(talk("again", fittingTurns))); a.fold() != "reused" {
		t.Fatalf("without the wish: %s", a.header.Get("Foldgate-Fold"))
	}
	raw := compaction(t, "again", fittingTurns)
	if a := g.post(t, raw); a.reason() != "native" || !bytes.Equal(g.up.last(t).Body, raw) {
		t.Errorf("Foldgate-Fold: %s", a.header.Get("Foldgate-Fold"))
	}
}

func TestACompactionIsObserved(t *testing.T) {
	g := newGateway(t, options{config: func(c *middleware.Config) { c.Mode = middleware.ModeObserve }})
	if a := g.post(t, compaction(t, "observed", fittingTurns)); a.reason() != "native" {
		t.Errorf("Foldgate-Fold: %s", a.header.Get("Foldgate-Fold"))
	}
}
