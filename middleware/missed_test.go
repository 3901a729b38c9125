package middleware_test

import (
	"net/http"
	"testing"

	"github.com/foldgate/foldgate/compression/window"
	"github.com/foldgate/foldgate/middleware"
)

// With nothing held there is no second try, but the next request must not run
// into the same limit.
func TestAnOverflowThatWasNotHeldIsLearned(t *testing.T) {
	const over = `{"error":{"message":"This model's maximum context length is 4000 tokens. However, your messages resulted in 9000 tokens.",` +
		`"type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`
	for name, answer := range map[string]func(http.ResponseWriter, *http.Request, stubCall){
		"a status":  answerStatus(400, over),
		"in stream": inStream(": hi\n\ndata: " + over + "\n\n"),
	} {
		t.Run(name, func(t *testing.T) {
			up := newStub(t, answer)
			g := newGateway(t, options{
				up: up, window: window.BookConfig{Rules: []window.Rule{{Glob: "none", Total: 4000}}},
				config: func(c *middleware.Config) { c.Hold = 0 },
			})
			m := request(talk("h", 24), "model", "unheard-of", "stream", true)
			if a := g.post(t, m); a.fold() != "none" || a.reason() != "unknown-window" {
				t.Fatalf("Foldgate-Fold: %s", a.header.Get("Foldgate-Fold"))
			}
			up.setAnswer(answerOK)
			if a := g.post(t, m); a.fold() != "committed" {
				t.Errorf("the next request: %s %s", a.header.Get("Foldgate-Fold"), a.header.Get("Foldgate-Tokens"))
			}
		})
	}
}

// A bypassed request is not looked into: its error names no model to learn for.
func TestABypassedOverflowTeachesNothing(t *testing.T) {
	up := newStub(t, answerStatus(400, openaiOverflow))
	g := newGateway(t, options{up: up, window: window.BookConfig{Rules: []window.Rule{{Glob: "none", Total: 4000}}}})
	if a := g.post(t, request(talk("b", 24), "model", "unheard-of"), "Foldgate-Bypass", "?1"); a.status != 400 || a.fold() != "bypassed" {
		t.Fatalf("got %d %s", a.status, a.header.Get("Foldgate-Fold"))
	}
	up.setAnswer(answerOK)
	for _, model := range []string{"", "unheard-of"} {
		if a := g.post(t, request(talk("b", 24), "model", model)); a.reason() != "unknown-window" {
			t.Errorf("model %q: %s", model, a.header.Get("Foldgate-Fold"))
		}
	}
}
