package middleware_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/foldgate/foldgate/compression/window"
	"github.com/foldgate/foldgate/middleware"
)

// foreignTokens is what an upstream counts that has a vocabulary of its own: it
// needs a token for every two characters of the texts that scarce names, and for
// every six of all others.
func foreignTokens(body []byte, scarce string) int {
	var r struct{ Messages []msg }
	if err := json.Unmarshal(body, &r); err != nil {
		return 0
	}
	n := 3
	for _, m := range r.Messages {
		s := contentText(m)
		per := 6
		if scarce != "" && strings.Contains(s, scarce) {
			per = 2
		}
		n += 5 + len(s)/per
		if calls, ok := m["tool_calls"]; ok {
			raw, _ := json.Marshal(calls)
			n += len(raw) / 4
		}
	}
	return n
}

// answerCounted answers with the usage that count gives.
func answerCounted(count func(body []byte) int) func(http.ResponseWriter, *http.Request, stubCall) {
	return func(w http.ResponseWriter, _ *http.Request, c stubCall) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":"x","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}],"usage":{"prompt_tokens":%d,"completion_tokens":1}}`, count(c.Body))
	}
}

// streamCounted streams an answer whose last chunk has the usage that count gives.
func streamCounted(count func(body []byte) int) func(http.ResponseWriter, *http.Request, stubCall) {
	return func(w http.ResponseWriter, _ *http.Request, c stubCall) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"ok\"}}]}\n\ndata: {\"choices\":[],\"usage\":{\"prompt_tokens\":%d,\"completion_tokens\":1}}\n\ndata: [DONE]\n\n", count(c.Body))
	}
}

// tokensField is a number of Foldgate-Tokens, -1 if it is not there.
func (a answer) tokensField(name string) int {
	for part := range strings.SplitSeq(a.header.Get("Foldgate-Tokens"), ",") {
		if n, v, _ := strings.Cut(strings.TrimSpace(part), "="); n == name {
			i, err := strconv.Atoi(v)
			if err != nil {
				return -1
			}
			return i
		}
	}
	return -1
}

// off is how far an estimate lies from what the upstream counts, as a share.
func off(estimate, real int) float64 { return math.Abs(float64(estimate-real)) / float64(real) }

// next is the conversation one turn later.
func next(m []msg, answer, question string) []msg {
	return append(append([]msg{}, m...), msg{"role": "assistant", "content": answer}, msg{"role": "user", "content": question})
}

// The next turn is estimated from what the upstream counted for this one. The
// history is such that no single correction fits both its halves.
func TestTheNextTurnIsCountedFromWhatTheUpstreamSaid(t *testing.T) {
	count := func(b []byte) int { return foreignTokens(b, "question") }
	for name, answer := range map[string]func(http.ResponseWriter, *http.Request, stubCall){
		"whole": answerCounted(count), "streamed": streamCounted(count),
	} {
		t.Run(name, func(t *testing.T) {
			g := newGateway(t, options{up: newStub(t, answer), window: window.BookConfig{Rules: []window.Rule{{Glob: "*", Total: 12_000}}}})
			m := talk("k", 20) // between 0.9 of the trigger and the trigger, by our count
			first := g.post(t, request(m))
			real := count(forwarded(t, g.up))
			if first.tokensField("before") < 0 || off(first.tokensField("before"), real) < 0.1 {
				t.Fatalf("the first estimate, %s, is so near %d that this test shows nothing", first.header.Get("Foldgate-Tokens"), real)
			}
			m = next(m, words("more", 1, 300), "k question: "+words("more", 2, 100))
			second := g.post(t, request(m))
			if real := count(mustJSON(t, request(m))); off(second.tokensField("before"), real) > 0.05 {
				t.Errorf("estimated %s, the upstream counts %d", second.header.Get("Foldgate-Tokens"), real)
			}
		})
	}
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// What is known of the original says nothing about the folded request, and the
// other way round; each is counted from its own past.
func TestAFoldedConversationIsCountedFromItsOwnPast(t *testing.T) {
	count := func(b []byte) int { return foreignTokens(b, "SUMMARY-ZEBRA") }
	g := newGateway(t, options{up: newStub(t, answerCounted(count))})
	m := talk("f", 24)
	if a := g.post(t, request(m)); a.fold() != "committed" {
		t.Fatalf("the first: %s", a.header.Get("Foldgate-Fold"))
	}
	for i := range 3 {
		m = next(m, words("a", i, 40), words("q", i, 30))
		a := g.post(t, request(m))
		real := count(forwarded(t, g.up))
		if a.fold() != "reused" || off(a.tokensField("after"), real) > 0.05 {
			t.Errorf("turn %d: %s, %s, the upstream counts %d", i, a.fold(), a.header.Get("Foldgate-Tokens"), real)
		}
	}
}

// What is known belongs to one tenant, model, head and list of tools, and to
// nothing that was changed since.
func TestWhatIsKnownBelongsToExactlyOnePrefix(t *testing.T) {
	const known = 7777
	up := newStub(t, answerCounted(func([]byte) int { return known }))
	g := newGateway(t, options{up: up, window: window.BookConfig{Rules: []window.Rule{{Glob: "*", Total: 9000}}}})
	m := talk("w", 24)
	post := func(body map[string]any, header ...string) answer { return g.post(t, body, header...) }
	post(request(m)) // about 6,000 by our count
	up.setAnswer(answerOK)
	if got := post(request(m)).tokensField("before"); got != known {
		t.Fatalf("the same again: before=%d, want %d", got, known)
	}
	edited := append([]msg{}, m...)
	edited[1] = msg{"role": "user", "content": "edited: " + words("w", 0, 60)}
	head := append([]msg{{"role": "system", "content": "You are another assistant."}}, m[1:]...)
	for name, got := range map[string]answer{
		"another tenant": post(request(m), "Authorization", "Bearer sk-tenant-b"),
		"another model":  post(request(m, "model", "gpt-other")),
		"another head":   post(request(head)),
		"tools":          post(request(m, "tools", []msg{{"type": "function", "function": msg{"name": "look"}}})),
		"an edit":        post(request(edited)),
		"a shorter one":  post(request(m[:len(m)-2])),
	} {
		if before := got.tokensField("before"); before == known {
			t.Errorf("%s: counted as %d", name, before)
		}
	}
}

// What is known of a request folded with one handoff says nothing of the same
// request folded with another that covers as much.
func TestWhatIsKnownBelongsToOneHandoff(t *testing.T) {
	const more = 5 // than our count: too few to correct anything by
	up := newStub(t, answerCounted(func(b []byte) int { return int(countOf(t, b)) + more }))
	g := newGateway(t, options{up: up})
	m := request(talk("h", 24))
	a := g.post(t, m)
	up.setAnswer(answerOK)
	again := g.post(t, m)
	if got, want := again.tokensField("after"), int(countOf(t, forwarded(t, up)))+more; a.fold() != "committed" || again.fold() != "reused" || got != want {
		t.Fatalf("%s, then %s with after=%d, want %d", a.fold(), again.fold(), got, want)
	}
	old := stored(t, g, a).Checkpoints[0]
	if _, err := g.store.RestoreOperator(t.Context(), a.key(), old.Fence, "01890a5d-ac96-774b-bcce-b302099a8057"); err != nil {
		t.Fatal(err)
	}
	g.Drop(a.key())
	g.sum.setAnswer(answerSummary("Other notes. " + words("notes", 1, 60)))
	b := g.post(t, m)
	if now := stored(t, g, b).Checkpoints; b.fold() != "committed" || len(now) != 1 || now[0].Target != old.Target {
		t.Fatalf("the second time: %s, %d checkpoints", b.header.Get("Foldgate-Fold"), len(now))
	}
	if got, want := b.tokensField("after"), int(countOf(t, forwarded(t, up))); got != want {
		t.Errorf("folded with other notes: after=%d, want %d", got, want)
	}
}

// Counts that no vocabulary gives, and those of answers that were cut off or
// turned into errors, are not taken.
func TestCountsThatSayNothingAreNotKept(t *testing.T) {
	chunk := func(n int) string {
		return fmt.Sprintf("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"}}],\"usage\":{\"prompt_tokens\":%d,\"completion_tokens\":1}}\n\n", n)
	}
	for name, answer := range map[string]func(http.ResponseWriter, *http.Request, stubCall){
		"ten times as many": answerCounted(func([]byte) int { return 60_000 }),
		"a tenth":           answerCounted(func([]byte) int { return 600 }),
		"cut silently":      answerCounted(func([]byte) int { return 4096 }),
		"an error after it": func(w http.ResponseWriter, _ *http.Request, _ stubCall) {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, chunk(7777)+"data: {\"error\":{\"message\":\"prompt is too long\",\"code\":400}}\n\n")
		},
		"refused": answerStatus(500, `{"error":{"message":"no"},"usage":{"prompt_tokens":7777}}`),
	} {
		t.Run(name, func(t *testing.T) {
			up := newStub(t, answer)
			g := newGateway(t, options{up: up, window: window.BookConfig{Rules: []window.Rule{{Glob: "*", Total: 9000}}}})
			m := request(talk("w", 24), "stream", true)
			want := g.post(t, m).tokensField("before")
			up.setAnswer(answerOK)
			if got := g.post(t, m).tokensField("before"); got != want || want < 0 {
				t.Errorf("before=%d, and %d the second time", want, got)
			}
		})
	}
}

// An overflow error that names the exact size is as good as usage.
func TestAnExactOverflowIsKnownToo(t *testing.T) {
	over := answerStatus(400, `{"error":{"message":"This model's maximum context length is 9000 tokens. However, your messages resulted in 9999 tokens.","code":"context_length_exceeded"}}`)
	g := newGateway(t, options{
		up:     newStub(t, overflowing(15_000, over)),
		window: window.BookConfig{Rules: []window.Rule{{Glob: "*", Total: 10_000}}},
		config: func(c *middleware.Config) { c.Wait, c.Prepare = 0, false },
	})
	a := g.post(t, request(talk("x", 26)))
	if a.status != 200 || a.fold() != "fallback" || a.tokensField("before") != 9999 {
		t.Errorf("got %d %s %s", a.status, a.header.Get("Foldgate-Fold"), a.header.Get("Foldgate-Tokens"))
	}
}

// What images cost is known from the turn before as well, but says nothing about
// the vocabulary. With tokens that stand nowhere in the request, nothing is known.
func TestImagesAreKnownWithTheirTurn(t *testing.T) {
	const dear = 9000 // than any published price
	up := newStub(t, answerCounted(func(b []byte) int { return dear + foreignTokens(b, "") }))
	g := newGateway(t, options{up: up, window: window.BookConfig{Rules: []window.Rule{{Glob: "*", Total: 16_000}}}})
	m := append(screenshots(t, 2, 20_000), talk("p", 30)[1:]...)
	first := g.post(t, request(m))
	m = next(m, "yes", "and now?")
	second := g.post(t, request(m))
	real := dear + foreignTokens(mustJSON(t, request(m)), "")
	if off(first.tokensField("before"), real) < 0.2 || off(second.tokensField("before"), real) > 0.05 {
		t.Errorf("estimated %d, then %d; the upstream counts %d", first.tokensField("before"), second.tokensField("before"), real)
	}
	hidden := request(m, "previous_response_id", "resp_1")
	g.post(t, hidden)
	if got := g.post(t, hidden).tokensField("before"); off(got, real) < 0.2 {
		t.Errorf("with a stored conversation: estimated as %d", got)
	}
	texts := request(talk("q", 44))
	want := newGateway(t, options{window: window.BookConfig{Rules: []window.Rule{{Glob: "*", Total: 16_000}}}}).post(t, texts).tokensField("before")
	if got := g.post(t, texts).tokensField("before"); got != want || want < 0 {
		t.Errorf("texts are estimated as %d after it, want %d", got, want)
	}
}
