package middleware_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/foldgate/foldgate/compression/window"
	"github.com/foldgate/foldgate/middleware"
)

// Whatever cannot be looked into goes on as it came: the upstream's own error is
// the right one.
func TestBadBodiesPassUntouched(t *testing.T) {
	long := strings.Repeat("word ", 20000)
	for name, tc := range map[string]struct{ body, reason string }{
		"empty":               {"", "not-chat"},
		"no JSON":             {"this is not json", "not-chat"},
		"no object":           {`[1,2,3]`, "not-chat"},
		"no messages":         {`{"model":"gpt-test"}`, "not-chat"},
		"messages null":       {`{"model":"gpt-test","messages":null}`, "not-chat"},
		"messages a string":   {`{"model":"gpt-test","messages":"` + long + `"}`, "not-chat"},
		"messages of numbers": {`{"model":"gpt-test","messages":[1,2,"` + long + `"]}`, "not-chat"},
		"a role of 7":         {`{"model":"gpt-test","messages":[{"role":7,"content":"` + long + `"}]}`, "not-chat"},
		"trailing comma":      {`{"model":"gpt-test","messages":[{"role":"user","content":"` + long + `"},]}`, "not-chat"},
		"cut short":           {`{"model":"gpt-test","messages":[{"role":"user","content":"` + long, "not-chat"},
		"two values":          {`{"model":"gpt-test","messages":[]} {}`, "not-chat"},
		"deep":                {`{"model":"gpt-test","messages":` + strings.Repeat("[", 200000) + strings.Repeat("]", 200000) + `}`, "not-chat"},
		"messages twice":      {`{"model":"gpt-test","messages":[],"messages":[{"role":"user","content":"` + long + `"}]}`, "duplicate-key"},
		"role twice":          {`{"model":"gpt-test","messages":[{"role":"user","role":"system","content":"` + long + `"}]}`, "duplicate-key"},
		"native compaction":   {`{"model":"gpt-test","context_management":[{"type":"compaction"}],"messages":[{"role":"user","content":"` + long + `"}]}`, "native"},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGateway(t, options{})
			a := g.post(t, []byte(tc.body))
			if got := g.up.last(t).Body; !bytes.Equal(got, []byte(tc.body)) {
				t.Errorf("forwarded %d other bytes than the %d sent", len(got), len(tc.body))
			}
			if a.fold() != "none" || a.reason() != tc.reason {
				t.Errorf("Foldgate-Fold: %s, want reason %s", a.header.Get("Foldgate-Fold"), tc.reason)
			}
			if n := g.store.calls.Load(); n != 0 {
				t.Errorf("%d store calls", n)
			}
		})
	}
}

func TestOddMessagesStillFold(t *testing.T) {
	m := talk("odd", 24)
	m[4] = msg{"role": "tool", "tool_call_id": "nobody-called", "content": 17}
	m[6] = msg{"role": "alien", "content": map[string]any{"a": []int{1}}}
	m[7] = msg{"role": "user", "content": []any{"not a part", 3, map[string]any{"type": "text"}}}
	g := newGateway(t, options{})
	if a := g.post(t, request(m)); a.status != 200 || a.fold() != "committed" {
		t.Errorf("got %d %s", a.status, a.header.Get("Foldgate-Fold"))
	}
}

func TestBodyOverTheLimit(t *testing.T) {
	g := newGateway(t, options{config: func(c *middleware.Config) { c.BodyLimit = 1000 }})
	a := g.post(t, request(talk("l", 10)))
	if a.status != http.StatusRequestEntityTooLarge || !bytes.Contains(a.body, []byte(`"request_too_large"`)) || g.up.count() != 0 {
		t.Errorf("got %d %s after %d upstream calls", a.status, a.body, g.up.count())
	}
	if a.fold() != "none" || a.reason() != "too-large" {
		t.Errorf("Foldgate-Fold: %s", a.header.Get("Foldgate-Fold"))
	}
}

func TestMemoryBudget(t *testing.T) {
	g := newGateway(t, options{config: func(c *middleware.Config) { c.Memory = 1000 }})
	a := g.post(t, request(talk("m", 10)))
	if a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") == "" || !bytes.Contains(a.body, []byte(`"overloaded"`)) {
		t.Errorf("got %d %s", a.status, a.body)
	}
	if got := a.header.Get("Foldgate-Fold"); got != "none" {
		t.Errorf("Foldgate-Fold: %s, want no reason: nothing is wrong with the request", got)
	}
}

// What is made of a body counts as much as its bytes: many tiny messages take
// fifty times their length.
func TestManyTinyMessagesCountAsMemory(t *testing.T) {
	body := []byte(`{"model":"gpt-test","messages":[` + strings.Repeat(`{"role":"a"},`, 9999) + `{"role":"user","content":"hi"}]}`)
	for name, tc := range map[string]struct {
		memory int64
		reason string
	}{
		"room for the body only": {int64(len(body)) * 2, "too-large"},
		"room for all":           {int64(len(body)) * 100, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGateway(t, options{config: func(c *middleware.Config) { c.Memory = tc.memory }})
			a := g.post(t, body)
			if a.status != 200 || (a.reason() == "too-large") != (tc.reason == "too-large") {
				t.Errorf("got %d %s", a.status, a.header.Get("Foldgate-Fold"))
			}
		})
	}
}

func TestCompressedBodies(t *testing.T) {
	raw, _ := json.Marshal(request(talk("z", 24)))
	pack := func(b []byte) []byte {
		var out bytes.Buffer
		w := gzip.NewWriter(&out)
		w.Write(b)
		w.Close()
		return out.Bytes()
	}
	t.Run("folded, it leaves decoded", func(t *testing.T) {
		g := newGateway(t, options{})
		a := g.post(t, pack(raw), "Content-Encoding", "gzip")
		if a.fold() != "committed" {
			t.Fatalf("Foldgate-Fold: %s", a.header.Get("Foldgate-Fold"))
		}
		if got := g.up.last(t); got.Header.Get("Content-Encoding") != "" || !json.Valid(got.Body) {
			t.Errorf("Content-Encoding %q, JSON %t", got.Header.Get("Content-Encoding"), json.Valid(got.Body))
		}
	})
	t.Run("not folded, it leaves as it came", func(t *testing.T) {
		g := newGateway(t, options{window: window.BookConfig{Rules: []window.Rule{{Total: 1 << 20}}}})
		packed := pack(raw)
		g.post(t, packed, "Content-Encoding", "gzip")
		if got := g.up.last(t); got.Header.Get("Content-Encoding") != "gzip" || !bytes.Equal(got.Body, packed) {
			t.Errorf("Content-Encoding %q, equal %t", got.Header.Get("Content-Encoding"), bytes.Equal(got.Body, packed))
		}
	})
	t.Run("a bomb passes untouched", func(t *testing.T) {
		g := newGateway(t, options{config: func(c *middleware.Config) { c.BodyLimit = 1 << 20 }})
		bomb := pack(make([]byte, 4<<20))
		a := g.post(t, bomb, "Content-Encoding", "gzip")
		if !bytes.Equal(g.up.last(t).Body, bomb) || a.reason() != "too-large" {
			t.Errorf("equal %t, Foldgate-Fold: %s", bytes.Equal(g.up.last(t).Body, bomb), a.header.Get("Foldgate-Fold"))
		}
	})
	t.Run("an unknown coding passes untouched", func(t *testing.T) {
		g := newGateway(t, options{})
		a := g.post(t, raw, "Content-Encoding", "br")
		if !bytes.Equal(g.up.last(t).Body, raw) || a.reason() != "encoding" {
			t.Errorf("Foldgate-Fold: %s", a.header.Get("Foldgate-Fold"))
		}
	})
}

func TestDraining(t *testing.T) {
	g := newGateway(t, options{})
	g.Drain(0)
	a := g.post(t, request(talk("x", 1)))
	if a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") == "" || !bytes.Contains(a.body, []byte(`"draining"`)) {
		t.Errorf("got %d %s", a.status, a.body)
	}
	if a.header.Get("Foldgate-Fold") != "none" || a.header.Get("Foldgate-Tokens") != "source=unknown" {
		t.Errorf("got %v, want both fields on every chat response", a.header)
	}
}

func TestCredentialsGoToTheUpstreamOnly(t *testing.T) {
	t.Run("a route elsewhere gets its own key", func(t *testing.T) {
		g := newGateway(t, options{config: func(c *middleware.Config) { c.Routes[0].Key = "route-key" }})
		g.post(t, request(talk("k", 24)), "X-Api-Key", "caller-key")
		h := g.sum.last(t).Header
		if h.Get("Authorization") != "Bearer route-key" || h.Get("X-Api-Key") != "" {
			t.Errorf("the summarizer got %q and %q", h.Get("Authorization"), h.Get("X-Api-Key"))
		}
	})
	t.Run("or none", func(t *testing.T) {
		g := newGateway(t, options{})
		g.post(t, request(talk("k", 24)))
		if h := g.sum.last(t).Header; h.Get("Authorization") != "" {
			t.Errorf("the summarizer got %q", h.Get("Authorization"))
		}
	})
	t.Run("the default route repeats the caller's request", func(t *testing.T) {
		up := newStub(t, func(w http.ResponseWriter, r *http.Request, c stubCall) {
			if bytes.Contains(c.Body, []byte(`"stream":true`)) {
				answerSummary(summaryText)(w, r, c)
				return
			}
			answerOK(w, r, c)
		})
		g := newGateway(t, options{up: up, config: func(c *middleware.Config) { c.Routes = nil }})
		if a := g.post(t, request(talk("k", 24)), "X-Stainless-Retry-Count", "0", "Openai-Organization", "org"); a.fold() != "committed" {
			t.Fatalf("Foldgate-Fold: %s", a.header.Get("Foldgate-Fold"))
		}
		c := up.calls[0]
		if c.Header.Get("Authorization") != "Bearer sk-tenant-a" || c.Header.Get("Openai-Organization") != "org" || c.Header.Get("X-Stainless-Retry-Count") != "" {
			t.Errorf("headers of the summary call: %v", c.Header)
		}
		var body map[string]any
		if err := json.Unmarshal(c.Body, &body); err != nil || len(body) != 3 || body["model"] != "gpt-test" {
			t.Errorf("body of the summary call: %.200s, %v", c.Body, err)
		}
	})
}
