package middleware_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/foldgate/foldgate/compression/window"
	"github.com/foldgate/foldgate/middleware"
	"github.com/foldgate/foldgate/ownership"
)

func TestUnderTheTriggerBytesAndStoreStayUntouched(t *testing.T) {
	g := newGateway(t, options{})
	raw := []byte(`{"model":"gpt-test", "messages":[ {"role":"user","content":"hi \u00e9 é <&> \ud83d"} ],` + "\n" +
		` "seed": 9007199254740993, "x": {"a" : 1.0e5, "b":[ ]}, "temperature":0.10}`)
	a := g.post(t, raw, "Foldgate-Conversation", "mine")
	if got := g.up.last(t); !bytes.Equal(got.Body, raw) {
		t.Errorf("forwarded %s, want %s", got.Body, raw)
	}
	if a.fold() != "none" || a.reason() != "under" {
		t.Errorf("Foldgate-Fold: %s", a.header.Get("Foldgate-Fold"))
	}
	for name := range g.up.last(t).Header {
		if strings.HasPrefix(name, "Foldgate") {
			t.Errorf("%s reached the upstream", name)
		}
	}
	if n := g.store.calls.Load(); n != 0 {
		t.Errorf("%d store calls, want none", n)
	}
}

func TestFoldCommitSettleReuse(t *testing.T) {
	g := newGateway(t, options{})
	m := talk("c", 24)
	a := g.post(t, request(m, "tools", []msg{}))
	if a.status != 200 || a.fold() != "committed" {
		t.Fatalf("got %d %s, want a commit: %s", a.status, a.header.Get("Foldgate-Fold"), a.body)
	}
	if a.attempt("generation") != "1" || a.attempt("outcome") != "committed" {
		t.Errorf("Foldgate-Attempt: %s", a.header.Get("Foldgate-Attempt"))
	}
	first := sent(t, g.up.last(t).Body)
	if len(first) >= len(m) || !strings.Contains(text(first[1]), summaryText) {
		t.Fatalf("the forwarded request does not hold the summary: %v", first[1])
	}
	settled(t, g, a.key())

	next := append(append([]msg{}, m...), msg{"role": "assistant", "content": "we decided."}, msg{"role": "user", "content": "and then?"})
	calls := g.store.calls.Load()
	b := g.post(t, request(next, "tools", []msg{}))
	if b.fold() != "reused" || g.sum.count() != 1 {
		t.Fatalf("next turn: %s after %d summary calls", b.header.Get("Foldgate-Fold"), g.sum.count())
	}
	if got := g.store.calls.Load(); got != calls {
		t.Errorf("the next turn made %d store calls, want none: this replica holds the checkpoint", got-calls)
	}
	second := sent(t, g.up.last(t).Body)
	for i := range first {
		if !equal(first[i], second[i]) {
			t.Errorf("message %d of the forwarded prefix changed", i)
		}
	}

	if c := g.post(t, request(m, "tools", []msg{}), "Authorization", "Bearer sk-tenant-b"); c.fold() != "committed" || g.sum.count() != 2 {
		t.Errorf("another tenant: %s after %d summary calls", c.fold(), g.sum.count())
	}
	edited := append([]msg{}, next...)
	edited[3] = msg{"role": "assistant", "content": "an edited early answer"}
	if c := g.post(t, request(edited)); c.fold() != "committed" || g.sum.count() != 3 {
		t.Errorf("an edited history: %s after %d summary calls", c.fold(), g.sum.count())
	}
}

// settled waits until the newest checkpoint is settled.
func settled(t *testing.T, g *gateway, key ownership.Key) {
	t.Helper()
	waitFor(t, g, key, "a settled checkpoint", func(v ownership.View) bool {
		return len(v.State.Checkpoints) > 0 && v.State.Checkpoints[0].Settled
	})
}

// waitFor reads the conversation until it is as wanted.
func waitFor(t *testing.T, g *gateway, key ownership.Key, what string, ok func(ownership.View) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		v, err := g.store.Store.Read(ctx, key, nil)
		if err == nil && ok(v) {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("no %s came: %+v, %v", what, v, err)
		}
	}
}

func equal(a, b msg) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return bytes.Equal(x, y)
}

func TestFallbackKeepsAnswering(t *testing.T) {
	g := newGateway(t, options{sum: newStub(t, answerStatus(500, `{"error":{"message":"down"}}`))})
	a := g.post(t, request(talk("d", 24)))
	if a.status != 200 || a.fold() != "fallback" || a.reason() != "routes" {
		t.Fatalf("got %d %s", a.status, a.header.Get("Foldgate-Fold"))
	}
	if a.attempt("outcome") != "failed" {
		t.Errorf("Foldgate-Attempt: %s", a.header.Get("Foldgate-Attempt"))
	}
	n := g.sum.count()
	b := g.post(t, request(talk("d", 25)))
	if b.fold() != "fallback" || b.reason() != "cooling" || g.sum.count() != n {
		t.Errorf("in the cooldown: %s after %d more summary calls", b.header.Get("Foldgate-Fold"), g.sum.count()-n)
	}
}

func TestUnfitIsOnePreciseError(t *testing.T) {
	g := newGateway(t, options{})
	a := g.post(t, request([]msg{{"role": "user", "content": words("big", 1, 9000)}}))
	var e struct {
		Error struct{ Message, Code, Param string }
	}
	if err := json.Unmarshal(a.body, &e); err != nil {
		t.Fatalf("reading %s: %v", a.body, err)
	}
	if a.status != 400 || e.Error.Code != "context_length_exceeded" || a.fold() != "unfit" {
		t.Errorf("got %d %s %s", a.status, a.fold(), a.body)
	}
	if !strings.Contains(e.Error.Message, "the last user message") || !strings.Contains(e.Error.Message, "4000") {
		t.Errorf("the message names neither the part nor the limit: %s", e.Error.Message)
	}
	if g.up.count() != 0 {
		t.Error("it was forwarded")
	}
}

func TestBypassAndModesForwardUnchanged(t *testing.T) {
	raw, _ := json.Marshal(request(talk("b", 24)))
	for name, tc := range map[string]struct {
		mode   middleware.Mode
		header []string
		fold   string
		reason string
	}{
		"bypass":  {header: []string{"Foldgate-Bypass", "?1"}, fold: "bypassed", reason: "caller"},
		"observe": {mode: middleware.ModeObserve, fold: "none", reason: "mode"},
		"off":     {mode: middleware.ModeOff, fold: "none", reason: "mode"},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGateway(t, options{config: func(c *middleware.Config) { c.Mode = tc.mode }})
			a := g.post(t, raw, tc.header...)
			if !bytes.Equal(g.up.last(t).Body, raw) {
				t.Error("the forwarded bytes differ")
			}
			if a.fold() != tc.fold || a.reason() != tc.reason {
				t.Errorf("Foldgate-Fold: %s", a.header.Get("Foldgate-Fold"))
			}
			if g.sum.count() != 0 {
				t.Error("a summary was asked for")
			}
			if name == "observe" && !strings.Contains(a.header.Get("Foldgate-Tokens"), "before=") {
				t.Errorf("observe does not report: %s", a.header.Get("Foldgate-Tokens"))
			}
		})
	}
}

const openaiOverflow = `{"error":{"message":"This model's maximum context length is 4000 tokens. However, your messages resulted in 4735 tokens. Please reduce the length of the messages.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`

// overflowing refuses bodies over size with an overflow error.
func overflowing(size int, refuse func(http.ResponseWriter, *http.Request, stubCall)) func(http.ResponseWriter, *http.Request, stubCall) {
	return func(w http.ResponseWriter, r *http.Request, c stubCall) {
		if len(c.Body) > size {
			refuse(w, r, c)
			return
		}
		answerOK(w, r, c)
	}
}

func TestUnknownWindowIsLearnedFromTheError(t *testing.T) {
	inStream := func(w http.ResponseWriter, _ *http.Request, _ stubCall) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Write([]byte(": hello\n\ndata: " + openaiOverflow + "\n\ndata: [DONE]\n\n"))
	}
	for name, refuse := range map[string]func(http.ResponseWriter, *http.Request, stubCall){
		"status 400":       answerStatus(400, openaiOverflow),
		"inside a stream":  inStream,
		"vLLM, at least":   answerStatus(400, `{"error":{"message":"This model's maximum context length is 4000 tokens. However, you requested 100 output tokens and your prompt contains at least 3901 input tokens, for a total of at least 4001 tokens.","type":"BadRequestError","param":"input_tokens","code":400}}`),
		"without a number": answerStatus(400, `{"error":{"message":"too long","type":"invalid_request_error","code":"context_length_exceeded"}}`),
	} {
		t.Run(name, func(t *testing.T) {
			raw, _ := json.Marshal(request(talk("u", 30), "model", "nobody-knows-me"))
			g := newGateway(t, options{up: newStub(t, overflowing(len(raw)*9/10, refuse)), window: window.BookConfig{Rules: []window.Rule{{Glob: "other", Total: 9999}}}})
			a := g.post(t, raw)
			if a.status != 200 || !strings.Contains(string(a.body), `"ok"`) {
				t.Fatalf("got %d %s", a.status, a.body)
			}
			want := "committed"
			if name == "without a number" {
				want = "fallback" // a guess is no ground for a checkpoint
			}
			if a.fold() != want || !strings.Contains(a.header.Get("Foldgate-Fold"), "retried") {
				t.Errorf("Foldgate-Fold: %s", a.header.Get("Foldgate-Fold"))
			}
			if g.up.count() != 2 {
				t.Errorf("the upstream was asked %d times, want 2", g.up.count())
			}
			if name == "without a number" {
				return // nothing to learn
			}
			if b := g.post(t, raw); b.fold() != "reused" || g.up.count() != 3 {
				t.Errorf("the second time: %s, %d upstream calls in all", b.header.Get("Foldgate-Fold"), g.up.count())
			}
		})
	}
}

func TestOverflowThatNothingHelpsReachesTheCaller(t *testing.T) {
	g := newGateway(t, options{up: newStub(t, answerStatus(400, openaiOverflow)), window: window.BookConfig{Rules: []window.Rule{{Glob: "other", Total: 9999}}}})
	a := g.post(t, request(talk("n", 30), "model", "nobody-knows-me"))
	if a.status != 400 || string(a.body) != openaiOverflow {
		t.Errorf("got %d %s, want the upstream's own answer", a.status, a.body)
	}
}

const structureError = `{"error":{"message":"Conversation roles must alternate user/assistant/user/assistant/...","type":"BadRequestError","param":null,"code":400}}`

func TestStructureErrorBlamesTheCheckpointOnlyIfTheRetryIsTaken(t *testing.T) {
	refuseSummaries := func(w http.ResponseWriter, r *http.Request, c stubCall) {
		if bytes.Contains(c.Body, []byte("SUMMARY-ZEBRA")) {
			answerStatus(400, structureError)(w, r, c)
			return
		}
		answerOK(w, r, c)
	}
	t.Run("taken", func(t *testing.T) {
		g := newGateway(t, options{up: newStub(t, refuseSummaries)})
		a := g.post(t, request(talk("s", 24)))
		if a.status != 200 || a.fold() != "fallback" || g.up.count() != 2 {
			t.Fatalf("got %d %s after %d calls", a.status, a.header.Get("Foldgate-Fold"), g.up.count())
		}
		waitFor(t, g, a.key(), "restore", func(v ownership.View) bool {
			return len(v.State.Checkpoints) == 0 && v.Owner != nil && v.Owner.Phase == ownership.Restored
		})
	})
	t.Run("refused again", func(t *testing.T) {
		g := newGateway(t, options{up: newStub(t, answerStatus(400, structureError))})
		a := g.post(t, request(talk("s", 24)))
		if a.status != 400 || string(a.body) != structureError || a.fold() != "committed" {
			t.Fatalf("got %d %s %s, want the first answer", a.status, a.fold(), a.body)
		}
		v, err := g.store.Store.Read(t.Context(), a.key(), nil)
		if err != nil || len(v.State.Checkpoints) != 1 || v.State.Checkpoints[0].Settled {
			t.Errorf("the checkpoint changed: %+v, %v", v.State, err)
		}
	})
}

func TestPreparedBeforeItIsNeeded(t *testing.T) {
	g := newGateway(t, options{})
	m := talk("p", 10) // over the trigger, within usable
	a := g.post(t, request(m))
	if a.fold() != "none" || a.reason() != "fits" {
		t.Fatalf("Foldgate-Fold: %s, %s", a.header.Get("Foldgate-Fold"), a.header.Get("Foldgate-Tokens"))
	}
	waitFor(t, g, a.key(), "commit", func(v ownership.View) bool { return len(v.State.Checkpoints) == 1 })
	if b := g.post(t, request(append(append([]msg{}, m...), msg{"role": "assistant", "content": "yes"}, msg{"role": "user", "content": "go on"}))); b.fold() != "reused" {
		t.Errorf("the next turn: %s", b.header.Get("Foldgate-Fold"))
	}
}

func TestStoreDownIsServedUnfenced(t *testing.T) {
	g := newGateway(t, options{})
	g.store.down.Store(true)
	a := g.post(t, request(talk("f", 24)))
	if a.status != 200 || a.fold() != "unfenced" || a.attempt("generation") != "0" {
		t.Errorf("got %d %s %s", a.status, a.header.Get("Foldgate-Fold"), a.header.Get("Foldgate-Attempt"))
	}
	g.sum.setAnswer(answerStatus(500, "{}"))
	if b := g.post(t, request(talk("f2", 24))); b.status != 200 || b.fold() != "fallback" || b.reason() != "store" {
		t.Errorf("got %d %s", b.status, b.header.Get("Foldgate-Fold"))
	}
}

func TestHangUpDoesNotKillTheAttempt(t *testing.T) {
	release := make(chan struct{})
	g := newGateway(t, options{sum: newStub(t, func(w http.ResponseWriter, r *http.Request, c stubCall) {
		<-release
		answerSummary(summaryText)(w, r, c)
	})})
	ctx, hangUp := context.WithCancel(t.Context())
	m := request(talk("h", 24))
	gone := make(chan answer, 1)
	go func() { gone <- g.try(ctx, m) }()
	g.sum.called(t)
	hangUp()
	if a := <-gone; a.err == nil {
		t.Error("the caller that hung up got an answer")
	}
	close(release)
	if a := g.post(t, m); a.status != 200 || (a.fold() != "committed" && a.fold() != "reused") || g.sum.count() != 1 {
		t.Errorf("the second caller: %d %s after %d summary calls", a.status, a.fold(), g.sum.count())
	}
}

func TestTimeoutFallsBackAndTheAttemptGoesOn(t *testing.T) {
	release := make(chan struct{})
	g := newGateway(t, options{
		sum: newStub(t, func(w http.ResponseWriter, r *http.Request, c stubCall) {
			<-release
			answerSummary(summaryText)(w, r, c)
		}),
		config: func(c *middleware.Config) { c.Wait = time.Millisecond },
	})
	m := request(talk("t", 24))
	a := g.post(t, m)
	if a.fold() != "fallback" || a.reason() != "timeout" {
		t.Errorf("Foldgate-Fold: %s", a.header.Get("Foldgate-Fold"))
	}
	close(release)
	waitFor(t, g, a.key(), "commit", func(v ownership.View) bool { return len(v.State.Checkpoints) == 1 })
	if b := g.post(t, m); b.fold() != "reused" {
		t.Errorf("afterwards: %s", b.header.Get("Foldgate-Fold"))
	}
}

func TestTwoReplicasManyRequestsOneSummary(t *testing.T) {
	up, sum := newStub(t, answerOK), newStub(t, answerSummary(summaryText))
	release := make(chan struct{})
	sum.setAnswer(func(w http.ResponseWriter, r *http.Request, c stubCall) {
		<-release
		answerSummary(summaryText)(w, r, c)
	})
	g1 := newGateway(t, options{up: up, sum: sum, replica: "one"})
	g2 := newGateway(t, options{up: up, sum: sum, replica: "two", store: g1.store.Store})
	m := request(talk("herd", 24))
	answers := make(chan answer)
	for i := range 20 {
		go func() { answers <- [...]*gateway{g1, g2}[i%2].try(t.Context(), m) }()
	}
	sum.called(t)
	close(release)
	for range 20 {
		a := <-answers
		if a.err != nil || a.status != 200 || (a.fold() != "committed" && a.fold() != "reused") {
			t.Errorf("got %d %s, %v", a.status, a.header.Get("Foldgate-Fold"), a.err)
		}
		if gen := a.attempt("generation"); gen != "" && gen != "1" {
			t.Errorf("waiting took a generation: %s", gen)
		}
	}
	if sum.count() != 1 {
		t.Errorf("%d summary calls, want 1", sum.count())
	}
	bodies := map[string]bool{}
	for _, c := range up.calls {
		bodies[string(c.Body)] = true
	}
	if len(bodies) != 1 || len(up.calls) != 20 {
		t.Errorf("%d kinds of bodies in %d calls, want 1 in 20", len(bodies), len(up.calls))
	}
}
