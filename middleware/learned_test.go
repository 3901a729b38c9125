package middleware_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/foldgate/foldgate/compression/window"
	"github.com/foldgate/foldgate/middleware"
)

// askLog is a log handler that tells when the answer of an upstream that was asked
// for its windows has been taken in.
type askLog struct {
	slog.Handler
	told chan struct{}
}

func newAskLog() *askLog {
	return &askLog{Handler: slog.DiscardHandler, told: make(chan struct{}, 100)}
}

func (a *askLog) Enabled(context.Context, slog.Level) bool { return true }

func (a *askLog) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "asked the upstream for its windows" {
		a.told <- struct{}{}
	}
	return nil
}

func (a *askLog) wait(t *testing.T) {
	t.Helper()
	select {
	case <-a.told:
	case <-time.After(patience):
		t.Fatal("the upstream was not asked")
	}
}

// unruled is a book that no rule of which is about the models of these tests.
var unruled = window.BookConfig{Rules: []window.Rule{{Glob: "none", Total: 4000}}}

// speaking is an upstream that answers questions from says and the rest with chat.
func speaking(says map[string]string, chat func(http.ResponseWriter, *http.Request, stubCall)) func(http.ResponseWriter, *http.Request, stubCall) {
	return func(w http.ResponseWriter, r *http.Request, c stubCall) {
		if r.Method != http.MethodGet {
			chat(w, r, c)
			return
		}
		if body, ok := says[c.Path]; ok {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, body)
			return
		}
		http.NotFound(w, r)
	}
}

// questions are the calls that are no chats.
func (s *stub) questions() (paths []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.calls {
		if !strings.HasSuffix(c.Path, "/chat/completions") {
			paths = append(paths, c.Path)
		}
	}
	return paths
}

// asking makes a gateway that asks its upstream.
func asking(t *testing.T, up *stub, change ...func(*middleware.Config)) (*gateway, *askLog) {
	t.Helper()
	log := newAskLog()
	return newGateway(t, options{up: up, window: unruled, config: func(c *middleware.Config) {
		c.IgnoreAdvertised, c.Logger = false, slog.New(log)
		for _, f := range change {
			f(c)
		}
	}}), log
}

const servedModels = `{"object":"list","data":[{"id":"served","owned_by":"vllm","max_model_len":4000},{"id":"smaller","owned_by":"vllm","max_model_len":2000}]}`

func TestAnAdvertisedWindowFoldsBeforehand(t *testing.T) {
	g, log := asking(t, newStub(t, speaking(map[string]string{"/v1/models": servedModels}, answerOK)))
	m := request(talk("adv", 30), "model", "served")
	if a := g.post(t, m); a.reason() != "unknown-window" {
		t.Fatalf("the first request: %s", a.header.Get("Foldgate-Fold"))
	}
	log.wait(t)
	a := g.post(t, m)
	if a.fold() != "committed" || strings.Contains(a.header.Get("Foldgate-Fold"), "retried") {
		t.Errorf("the second request: %s", a.header.Get("Foldgate-Fold"))
	}
	if tokens := a.header.Get("Foldgate-Tokens"); !strings.Contains(tokens, "window=4000, source=advertised") {
		t.Errorf("Foldgate-Tokens: %s", tokens)
	}
	if paths := g.up.questions(); len(paths) != 1 || paths[0] != "/v1/models" {
		t.Errorf("the upstream was asked %q", paths)
	}
}

// TestPeers31ASmallerWindow (litellm 31557): a client that goes on with a model whose window is
// smaller has its conversation folded to that one.
func TestPeers31ASmallerWindow(t *testing.T) {
	g, log := asking(t, newStub(t, speaking(map[string]string{"/v1/models": servedModels}, answerOK)))
	talked := talk("fallback", 8)
	g.post(t, request(talked, "model", "served"))
	log.wait(t)
	if a := g.post(t, request(talked, "model", "served")); a.fold() != "none" || !strings.Contains(a.header.Get("Foldgate-Tokens"), "window=4000") {
		t.Errorf("the larger window: %s %s", a.header.Get("Foldgate-Fold"), a.header.Get("Foldgate-Tokens"))
	}
	a := g.post(t, request(talked, "model", "smaller"))
	if a.fold() == "none" || !strings.Contains(a.header.Get("Foldgate-Tokens"), "window=2000, source=advertised") {
		t.Errorf("the smaller window: %s %s", a.header.Get("Foldgate-Fold"), a.header.Get("Foldgate-Tokens"))
	}
	if n := len(g.up.last(t).Body); n > 2000*6 {
		t.Errorf("%d bytes were forwarded to the smaller window", n)
	}
}

// ollama cuts what is over its window without a word: only prompt_tokens shows it.
func ollama(window int) func(http.ResponseWriter, *http.Request, stubCall) {
	return func(w http.ResponseWriter, _ *http.Request, c stubCall) {
		prompt := min(len(c.Body)/5, window)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}],"usage":{"prompt_tokens":%d,"completion_tokens":1}}`, prompt)
	}
}

// TestPeers35ASilentCut (DeepSeek-Reasonix PR 10245): what a server cuts silently is folded
// before it comes there, and what it counts then makes nothing look smaller.
func TestPeers35ASilentCut(t *testing.T) {
	says := map[string]string{
		"/v1/models": `{"object":"list","data":[{"id":"llama3:latest","object":"model","owned_by":"library"}]}`,
		"/api/ps":    `{"models":[{"name":"llama3:latest","model":"llama3:latest","context_length":4096}]}`,
	}
	g, log := asking(t, newStub(t, speaking(says, ollama(4096))))
	g.post(t, request(talk("cut", 40), "model", "llama3")) // its usage is a cut one
	log.wait(t)
	for turns := 41; turns < 45; turns++ {
		a := g.post(t, request(talk("cut", turns), "model", "llama3"))
		if a.fold() == "none" || !strings.Contains(a.header.Get("Foldgate-Tokens"), "window=4096, source=advertised") {
			t.Errorf("%d turns: %s %s", turns, a.header.Get("Foldgate-Fold"), a.header.Get("Foldgate-Tokens"))
		}
		if n := len(g.up.last(t).Body); n/5 > 4096 {
			t.Errorf("%d turns: %d bytes were forwarded", turns, n)
		}
	}
	if paths := g.up.questions(); len(paths) != 2 {
		t.Errorf("the upstream was asked %q", paths)
	}
}

func TestWhoIsNotAsked(t *testing.T) {
	long, short := talk("quiet", 40), talk("quiet", 4)
	for name, tc := range map[string]struct {
		config func(*middleware.Config)
		body   any
		header []string
	}{
		"a small request":     {nil, request(short, "model", "served"), nil},
		"a configured window": {nil, request(long, "model", "none"), nil},
		"a bypassed request":  {nil, request(long, "model", "served"), []string{"Foldgate-Bypass", "?1"}},
		"told not to":         {func(c *middleware.Config) { c.IgnoreAdvertised = true }, request(long, "model", "served"), nil},
		"off":                 {func(c *middleware.Config) { c.Mode = middleware.ModeOff }, request(long, "model", "served"), nil},
		"no model":            {nil, request(long, "model", ""), nil},
		"no chat":             {nil, []byte(strings.Repeat("x", 64<<10)), nil},
	} {
		t.Run(name, func(t *testing.T) {
			g, _ := asking(t, newStub(t, speaking(map[string]string{"/v1/models": servedModels}, answerOK)), func(c *middleware.Config) {
				if tc.config != nil {
					tc.config(c)
				}
			})
			g.post(t, tc.body, tc.header...)
			g.Wait()
			if paths := g.up.questions(); len(paths) != 0 {
				t.Errorf("the upstream was asked %q", paths)
			}
		})
	}
}

// TestAskedOnceForEachTenant: however many requests come meanwhile, none of which
// waits; and each tenant with its own credential.
func TestAskedOnceForEachTenant(t *testing.T) {
	release := make(chan struct{})
	waiting := make(chan http.Header, 10)
	g, log := asking(t, newStub(t, func(w http.ResponseWriter, r *http.Request, c stubCall) {
		if r.Method == http.MethodGet {
			waiting <- c.Header
			<-release
			fmt.Fprint(w, servedModels)
			return
		}
		answerOK(w, r, c)
	}))
	m := request(talk("many", 40), "model", "served")
	for range 5 {
		for _, key := range []string{"Bearer sk-a", "Bearer sk-b"} {
			if a := g.post(t, m, "Authorization", key, "Traceparent", "00-x", "Foldgate-Conversation", "id"); a.reason() != "unknown-window" {
				t.Fatalf("Foldgate-Fold: %s", a.header.Get("Foldgate-Fold"))
			}
		}
	}
	keys := map[string]bool{}
	for range 2 {
		h := <-waiting
		keys[h.Get("Authorization")] = true
		if h.Get("Foldgate-Conversation") != "" || h.Get("Traceparent") != "" || h.Get("Content-Type") != "" {
			t.Errorf("the question's header: %v", h)
		}
	}
	close(release)
	log.wait(t)
	log.wait(t)
	if len(waiting) != 0 || !keys["Bearer sk-a"] || !keys["Bearer sk-b"] {
		t.Errorf("%d more questions; keys %v", len(waiting), keys)
	}
	if a := g.post(t, m, "Authorization", "Bearer sk-c"); a.reason() != "unknown-window" {
		t.Errorf("a third tenant knows what others were told: %s", a.header.Get("Foldgate-Tokens"))
	}
	log.wait(t)
}

// TestAQuestionEndsWithTheMiddleware: an upstream that never answers it holds up
// neither a request nor the end.
func TestAQuestionEndsWithTheMiddleware(t *testing.T) {
	began := make(chan struct{}, 1)
	g, _ := asking(t, newStub(t, func(w http.ResponseWriter, r *http.Request, c stubCall) {
		if r.Method == http.MethodGet {
			began <- struct{}{}
			<-r.Context().Done()
			return
		}
		answerOK(w, r, c)
	}))
	g.post(t, request(talk("silent", 40), "model", "served"))
	<-began
	g.Wait()
	g.post(t, request(talk("silent", 40), "model", "served")) // nothing begins any more
	g.Wait()
	if n := len(g.up.questions()); n != 1 {
		t.Errorf("the upstream was asked %d times", n)
	}
}

// TestALowerBoundIsNoLimit: of "at least so many" only the limit is learned.
func TestALowerBoundIsNoLimit(t *testing.T) {
	const atLeast = `{"error":{"message":"This model's maximum context length is 4000 tokens. However, you requested 100 output tokens and your prompt contains at least 3901 input tokens, for a total of at least 4001 tokens.","type":"BadRequestError","param":"input_tokens","code":400}}`
	up := newStub(t, overflowing(14000, answerStatus(400, atLeast)))
	g := newGateway(t, options{up: up, window: unruled})
	m := request(talk("least", 30), "model", "served")
	a := g.post(t, m)
	before, rest, _ := strings.Cut(a.header.Get("Foldgate-Tokens"), ",")
	if !strings.HasSuffix(rest, "window=4000, source=learned") {
		t.Errorf("Foldgate-Tokens: %s", a.header.Get("Foldgate-Tokens"))
	}
	// Counted as by a gateway to which nothing was ever reported.
	fresh := newGateway(t, options{window: window.BookConfig{Rules: []window.Rule{{Glob: "served", Total: 4000}}}})
	if want, _, _ := strings.Cut(fresh.post(t, m).header.Get("Foldgate-Tokens"), ","); before != want {
		t.Errorf("the request was counted with %s, want %s", before, want)
	}
	if again, _, _ := strings.Cut(g.post(t, m).header.Get("Foldgate-Tokens"), ","); before != again {
		t.Errorf("the second time it was counted with %s, want %s", again, before)
	}
}
