package middleware_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/foldgate/foldgate/compression/window"
	"github.com/foldgate/foldgate/middleware"
	"github.com/foldgate/foldgate/ownership"
)

// The tests of this file replay complaints about other gateways; behind a test's
// name stand the issues and pull requests. Those that need no gateway stand in
// package compression.

// tagged summarizes by saying which conversation it was given.
func tagged(tags ...string) func(http.ResponseWriter, *http.Request, stubCall) {
	return func(w http.ResponseWriter, r *http.Request, c stubCall) {
		var found []string
		for _, tag := range tags {
			if bytes.Contains(c.Body, []byte(tag+" question")) {
				found = append(found, "SUMMARY-OF-"+tag)
			}
		}
		answerSummary("The look-ups were answered. "+strings.Join(found, " and "))(w, r, c)
	}
}

// headroom#1808: an id came from the start of the system prompt, and chats were
// mixed; headroom#2070: all sessions of a model shared one; billion-context#91: all
// that begin with the same preamble; headroom PR#1250: a short "continue" got
// another conversation's reply.
func TestPeersConversationsStayApart(t *testing.T) {
	preamble := msg{"role": "user", "content": "These are the house rules. " + words("rules", 1, 700)} // longer than what makes a key
	for name, begin := range map[string][]msg{
		"the same system prompt": {{"role": "system", "content": words("prompt", 1, 200)}},
		"the same preamble":      {{"role": "system", "content": "s"}, preamble, {"role": "assistant", "content": "Understood."}},
	} {
		t.Run(name, func(t *testing.T) {
			tags := []string{"red", "green", "blue"}
			g := newGateway(t, options{sum: newStub(t, tagged(tags...))})
			for round := range 2 {
				for _, tag := range tags {
					m := append(append([]msg{}, begin...), talk(tag, 24)[1:]...)
					m[len(m)-1]["content"] = "continue"
					a := g.post(t, request(m))
					if a.status != 200 || a.fold() == "none" {
						t.Fatalf("%s: %d %s", tag, a.status, a.header.Get("Foldgate-Fold"))
					}
					got := string(g.up.last(t).Body)
					for _, other := range tags {
						if other != tag && (strings.Contains(got, "SUMMARY-OF-"+other) || strings.Contains(got, other+" question")) {
							t.Errorf("round %d: %s is told of %s", round, tag, other)
						}
					}
					if round == 0 && !strings.Contains(got, "SUMMARY-OF-"+tag) && a.fold() != "fallback" {
						t.Errorf("%s lacks its own summary: %s", tag, a.header.Get("Foldgate-Fold"))
					}
				}
			}
		})
	}
}

// headroom#1949: of two streams at once the second got another answer than its
// own.
func TestPeersTwoStreamsAtOnce(t *testing.T) {
	g := newGateway(t, options{up: newStub(t, func(w http.ResponseWriter, _ *http.Request, c stubCall) {
		var r struct{ User string }
		_ = json.Unmarshal(c.Body, &r)
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"choices\":[{\"delta\":{\"content\":%q}}]}\n\ndata: [DONE]\n\n", r.User)
	})})
	answers := make(chan string)
	for i := range 8 {
		go func() {
			who := fmt.Sprint("user-", i)
			a := g.try(t.Context(), request(talk("same", 24), "stream", true, "user", who))
			if a.err != nil || a.status != 200 || !strings.Contains(string(a.body), fmt.Sprintf("%q", who)) || !strings.HasSuffix(string(a.body), "data: [DONE]\n\n") {
				answers <- fmt.Sprintf("%s got %d %s, %v", who, a.status, a.body, a.err)
				return
			}
			answers <- ""
		}()
	}
	for range 8 {
		if bad := <-answers; bad != "" {
			t.Error(bad)
		}
	}
}

// hermes#117574, #53008, PR#71003: over a hundred compactions in a row; headroom
// PR#2942: one on every turn near the window; headroom#327, #2438: what that
// costs; slimcontext#11: each began from nothing.
func TestPeersFewSummariesEachFromTheLast(t *testing.T) {
	g := newGateway(t, options{})
	m := talk("cost", 20)
	turns := 0
	for turn := range 40 {
		m = append(m, msg{"role": "assistant", "content": words("a", turn, 40)}, msg{"role": "user", "content": fmt.Sprint("go on ", turn, " ", words("u", turn, 40))})
		a := g.post(t, request(m))
		if a.status != 200 || a.fold() == "none" {
			t.Fatalf("turn %d: %d %s", turn, a.status, a.header.Get("Foldgate-Fold"))
		}
		turns++
		for _, i := range g.coordinator.Attempts(1) { // the next turn comes when all is quiet
			waitFor(t, g, a.key(), "end of the attempt", func(v ownership.View) bool {
				return v.Owner == nil || v.Owner.Phase != ownership.Working || v.Owner.Fence != i.Fence
			})
		}
	}
	if n := g.sum.count(); n < 2 || n > turns/4 {
		t.Errorf("%d summaries in %d turns", n, turns)
	}
	for i, c := range g.sum.calls {
		first := bytes.Contains(c.Body, []byte("cost question 0"))
		if had := bytes.Contains(c.Body, []byte("SUMMARY-ZEBRA")); had != (i > 0) || first != (i == 0) {
			t.Errorf("summary %d begins from the one before: %v, from the beginning: %v", i, had, first)
		}
	}
}

// headroom#718: while one conversation was compressed nothing else went on;
// headroom#1025: when too many were, callers got 503.
func TestPeersACompressionHoldsNobodyUp(t *testing.T) {
	sum, release := heldSummary(t)
	g := newGateway(t, options{sum: sum, config: func(c *middleware.Config) {
		one, err := ownership.NewCoordinator(ownership.Config{Store: c.Store, Replica: "narrow", MaxAttempts: 1, Idle: patience, Ceiling: 2 * patience})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			if err := one.Shutdown(ctx); err != nil {
				t.Error(err)
			}
		})
		c.Coordinator = one
	}})
	waiting := make(chan answer, 1)
	go func() { waiting <- g.try(t.Context(), request(talk("slow", 24))) }()
	sum.called(t)
	if a := g.post(t, request(talk("small", 1))); a.status != 200 || a.reason() != "under" {
		t.Errorf("a small request: %d %s", a.status, a.header.Get("Foldgate-Fold"))
	}
	if a := g.post(t, request(talk("other", 24))); a.status != 200 || a.fold() != "fallback" || a.reason() != "full" {
		t.Errorf("another conversation: %d %s", a.status, a.header.Get("Foldgate-Fold"))
	}
	close(release)
	if a := <-waiting; a.fold() != "committed" {
		t.Errorf("the slow one: %s", a.header.Get("Foldgate-Fold"))
	}
}

// headroom#1054: a request was refused for its size and the client never got out
// of it; context-guru#278: nor could it ask for a compaction, which was as large.
func TestPeersALargeSessionIsNotStuck(t *testing.T) {
	g := newGateway(t, options{config: func(c *middleware.Config) { c.BodyLimit = 4 << 20 }})
	m := talk("large", 24)
	m[2]["content"] = words("large", 2, 400_000) // over two megabytes
	for range 2 {
		if a := g.post(t, request(m)); a.status != 200 {
			t.Fatalf("got %d %s: %.200s", a.status, a.header.Get("Foldgate-Fold"), a.body)
		}
		m = append(m, msg{"role": "assistant", "content": "yes"}, msg{"role": "user", "content": "and now?"})
	}
	m[4]["content"] = words("large", 4, 800_000)
	a := g.post(t, request(m))
	if a.status != http.StatusRequestEntityTooLarge || !bytes.Contains(a.body, []byte(`"request_too_large"`)) {
		t.Errorf("beyond the limit: %d %.200s", a.status, a.body)
	}
	m[2]["content"], m[4]["content"] = "short now", "as well"
	if a := g.post(t, request(m)); a.status != 200 {
		t.Errorf("afterwards: %d", a.status)
	}
}

// headroom#1261, context-guru#26: streams were buffered whole, and broke after a
// while; headroom#3019: what was buffered came out empty.
func TestPeersAFoldedStreamFlowsAsItComes(t *testing.T) {
	step := make(chan struct{})
	g := newGateway(t, options{up: newStub(t, func(w http.ResponseWriter, _ *http.Request, _ stubCall) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 3 {
			fmt.Fprintf(w, "data: {\"choices\":[{\"delta\":{\"content\":\"%d\"}}]}\n\n", i)
			_ = http.NewResponseController(w).Flush()
			<-step
		}
		io.WriteString(w, "data: [DONE]\n\n")
	})})
	raw, err := json.Marshal(request(talk("flow", 24), "stream", true))
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.url+"/v1/chat/completions", bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if !strings.HasPrefix(res.Header.Get("Foldgate-Fold"), "committed") {
		t.Fatalf("Foldgate-Fold: %s", res.Header.Get("Foldgate-Fold"))
	}
	for i := range 3 { // each is read before the next is written
		want := fmt.Sprintf("data: {\"choices\":[{\"delta\":{\"content\":\"%d\"}}]}\n\n", i)
		got := make([]byte, len(want))
		if _, err := io.ReadFull(res.Body, got); err != nil || string(got) != want {
			t.Fatalf("piece %d: %q, %v", i, got, err)
		}
		step <- struct{}{}
	}
	if rest, err := io.ReadAll(res.Body); err != nil || string(rest) != "data: [DONE]\n\n" {
		t.Errorf("the end: %q, %v", rest, err)
	}
}

// headroom#1006, #1077, #2924; litellm#38558: a gateway's own tool stood in what
// was sent, or its calls in what came back. home-ops PR#9725: no usage in streams
// unless the client asked for it, and clients that need it broke. OmniRoute#10524:
// comments in a stream broke strict clients. headroom#70: a stream that was
// converted lost its calls.
func TestPeersNothingOfTheGatewaysOwn(t *testing.T) {
	const stream = "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"call_x\",\"function\":{\"name\":\"lookup\",\"arguments\":\"{}\"}}]}}]}\n\n" +
		"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":2000,\"completion_tokens\":5,\"total_tokens\":2005}}\n\ndata: [DONE]\n\n"
	g := newGateway(t, options{up: newStub(t, inStream(stream))})
	tools := `[{"type":"function","function":{"name":"lookup","parameters":{"type":"object"},"x":1.0}}]`
	messages, err := json.Marshal(talk("own", 24))
	if err != nil {
		t.Fatal(err)
	}
	const before, after = `{ "stream" : true, "model":"gpt-test","tools":`, `, "seed": 9007199254740993 }`
	body := before + tools + `,"messages":` + string(messages) + after
	a := g.post(t, []byte(body))
	if a.fold() != "committed" || string(a.body) != stream {
		t.Errorf("%s: got %q", a.header.Get("Foldgate-Fold"), a.body)
	}
	got := string(g.up.last(t).Body)
	if !strings.HasPrefix(got, before+tools+`,"messages":[`) || !strings.HasSuffix(got, `]`+after) || strings.Contains(got, "stream_options") {
		t.Errorf("fields changed: %.200s", got)
	}
}

// OmniRoute PR#2291: a content encoding of what was rewritten was left in place.
// OmniRoute#6422: a header that was promised was missing.
func TestPeersHeadersTellWhatIs(t *testing.T) {
	g := newGateway(t, options{up: newStub(t, func(w http.ResponseWriter, r *http.Request, c stubCall) {
		w.Header().Set("X-Request-Id", "upstream's")
		answerOK(w, r, c)
	})})
	for name, tc := range map[string]struct {
		body   any
		header []string
		fold   string
	}{
		"under":       {request(talk("h", 1)), nil, "none"},
		"no chat":     {[]byte(`{}`), nil, "none"},
		"folded":      {request(talk("h", 24)), nil, "committed"},
		"bypassed":    {request(talk("h", 24)), []string{"Foldgate-Bypass", "?1"}, "bypassed"},
		"cannot fit":  {request([]msg{{"role": "user", "content": words("big", 1, 9000)}}), nil, "unfit"},
		"other model": {request(talk("h", 24), "model", "unheard-of"), nil, "none"},
	} {
		a := g.post(t, tc.body, tc.header...)
		if a.fold() != tc.fold || a.header.Get("Foldgate-Tokens") == "" {
			t.Errorf("%s: Foldgate-Fold %q, Foldgate-Tokens %q", name, a.header.Get("Foldgate-Fold"), a.header.Get("Foldgate-Tokens"))
		}
		if a.header.Get("Content-Encoding") != "" || a.status == 200 && a.header.Get("X-Request-Id") != "upstream's" {
			t.Errorf("%s: %v", name, a.header)
		}
	}
}

// OmniRoute#1329: an overflow is where a fallback should start. SillyTavern#3033:
// that something was left out has to be seen, and can be declined.
func TestPeersAnOverflowStartsAFold(t *testing.T) {
	raw, err := json.Marshal(request(talk("over", 30), "model", "unheard-of"))
	if err != nil {
		t.Fatal(err)
	}
	g := newGateway(t, options{
		up:     newStub(t, overflowing(len(raw)*9/10, answerStatus(400, openaiOverflow))),
		sum:    newStub(t, answerStatus(500, `{}`)),
		window: window.BookConfig{Rules: []window.Rule{{Glob: "other", Total: 9999}}},
	})
	if a := g.post(t, raw, "Foldgate-Bypass", "?1"); a.status != 400 || string(a.body) != openaiOverflow {
		t.Errorf("declined: %d %s", a.status, a.body)
	}
	a := g.post(t, raw)
	if a.status != 200 || a.fold() != "fallback" || !strings.Contains(a.header.Get("Foldgate-Fold"), "retried") {
		t.Errorf("got %d %s", a.status, a.header.Get("Foldgate-Fold"))
	}
	if tokens := a.header.Get("Foldgate-Tokens"); !strings.Contains(tokens, "before=") || !strings.Contains(tokens, "after=") {
		t.Errorf("Foldgate-Tokens: %s", tokens)
	}
}

// headroom PR#3122: an operator's secret was sent to an upstream that the client
// chose. Here no header or field chooses one.
func TestPeersNobodyElseChoosesTheUpstream(t *testing.T) {
	elsewhere := newStub(t, answerOK)
	g := newGateway(t, options{config: func(c *middleware.Config) { c.Routes[0].Key = "operators-secret" }})
	a := g.post(t, request(talk("ssrf", 24), "base_url", elsewhere.URL, "api_base", elsewhere.URL, "summarizer_url", elsewhere.URL),
		"X-Upstream", elsewhere.URL, "X-Forwarded-Host", strings.TrimPrefix(elsewhere.URL, "http://"), "Foldgate-Upstream", elsewhere.URL)
	if a.status != 200 || elsewhere.count() != 0 {
		t.Errorf("got %d, %d calls elsewhere", a.status, elsewhere.count())
	}
	for _, c := range g.up.calls {
		for name, values := range c.Header {
			if strings.Contains(strings.Join(values, ""), "operators-secret") {
				t.Errorf("the upstream got the secret in %s", name)
			}
		}
	}
}

// thane-ai-agent#1168: the same summary was made three times; claude-code-proxy
// PR#94: a late attempt overwrote a newer one. The races themselves are tested in
// package ownership; this is what a caller sees of them.
func TestPeersALateSummaryChangesNothing(t *testing.T) {
	sum, release := heldSummary(t)
	g := newGateway(t, options{sum: sum, config: func(c *middleware.Config) { c.Wait = time.Millisecond }})
	m := talk("late", 24)
	a := g.post(t, request(m))
	sum.called(t)
	for range 2 { // equal requests join it
		if b := g.post(t, request(m)); b.fold() != "fallback" || sum.count() != 1 {
			t.Errorf("%s after %d summary calls", b.header.Get("Foldgate-Fold"), sum.count())
		}
	}
	old := g.coordinator.Attempts(1)[0].Fence
	if _, err := g.store.RestoreOperator(t.Context(), a.key(), old, "01890a5d-ac96-774b-bcce-b302099a8057"); err != nil {
		t.Fatal(err)
	}
	close(release)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := g.coordinator.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
	v, err := g.store.Read(t.Context(), a.key(), nil)
	if err != nil || len(v.State.Checkpoints) != 0 {
		t.Errorf("the late summary was kept: %+v, %v", v.State.Checkpoints, err)
	}
}
