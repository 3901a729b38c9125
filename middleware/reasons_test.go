package middleware_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/foldgate/foldgate/compression/window"
	"github.com/foldgate/foldgate/middleware"
	"github.com/foldgate/foldgate/ownership"
)

// heldSummary is a summarizer that answers once release is closed.
func heldSummary(t *testing.T) (sum *stub, release chan struct{}) {
	t.Helper()
	release = make(chan struct{})
	return newStub(t, func(w http.ResponseWriter, r *http.Request, c stubCall) {
		<-release
		answerSummary(summaryText)(w, r, c)
	}), release
}

func TestARefusedFoldWithoutAModelIsNotSentAgain(t *testing.T) {
	g := newGateway(t, options{up: newStub(t, answerStatus(400, structureError)), sum: newStub(t, answerStatus(500, `{}`))})
	a := g.post(t, request(talk("s", 24)))
	if a.status != 400 || string(a.body) != structureError || a.fold() != "fallback" {
		t.Errorf("got %d %s %s", a.status, a.header.Get("Foldgate-Fold"), a.body)
	}
	if g.up.count() != 1 {
		t.Errorf("the upstream was asked %d times, want once: there is no other form", g.up.count())
	}
}

func TestADefaultWindowRefusesNobody(t *testing.T) {
	raw, err := json.Marshal(request(append(talk("q", 24), msg{"role": "assistant", "content": "go on"}, msg{"role": "user", "content": words("big", 1, 9000)})))
	if err != nil {
		t.Fatal(err)
	}
	g := newGateway(t, options{window: window.BookConfig{Default: 4000}})
	a := g.post(t, raw)
	sent := g.up.last(t).Body
	if a.status != 200 || a.fold() == "none" || len(sent) >= len(raw) {
		t.Errorf("got %d %s, %d of %d bytes forwarded, want the smallest form", a.status, a.header.Get("Foldgate-Fold"), len(sent), len(raw))
	}
	for _, breach := range brokenRules(raw, sent) {
		t.Error(breach)
	}
}

func TestALimitOfTheTableIsCheckedOnce(t *testing.T) {
	raw, err := json.Marshal(request([]msg{{"role": "user", "content": words("big", 1, 30000)}}, "model", "gpt-4"))
	if err != nil {
		t.Fatal(err)
	}
	refuse := strings.ReplaceAll(openaiOverflow, "4000", "8192")
	g := newGateway(t, options{up: newStub(t, answerStatus(400, refuse)), window: window.BookConfig{Rules: []window.Rule{{Glob: "other", Total: 9999}}}})
	if a := g.post(t, raw); a.status != 400 || string(a.body) != refuse || !bytes.Equal(g.up.last(t).Body, raw) {
		t.Errorf("the first: got %d %s, want the upstream's own answer to the original", a.status, a.body)
	}
	if a := g.post(t, raw); a.status != 400 || a.fold() != "unfit" || g.up.count() != 1 {
		t.Errorf("the second: got %d %s after %d upstream calls", a.status, a.header.Get("Foldgate-Fold"), g.up.count())
	}
}

func TestAnEndlessTraceContextCostsNothing(t *testing.T) {
	g := newGateway(t, options{})
	if a := g.post(t, request(talk("tr", 24)), "Traceparent", strings.Repeat("0", 4000)); a.fold() != "committed" {
		t.Errorf("Foldgate-Fold: %s", a.header.Get("Foldgate-Fold"))
	}
}

func TestPrepare(t *testing.T) {
	t.Run("an equal request joins", func(t *testing.T) {
		sum, release := heldSummary(t)
		defer close(release)
		g := newGateway(t, options{sum: sum})
		m := request(talk("p", 10))
		first := g.post(t, m)
		g.sum.called(t)
		second := g.post(t, m)
		if first.reason() != "fits" || strings.Contains(first.header.Get("Foldgate-Attempt"), "joined") {
			t.Errorf("the first: %v", first.header)
		}
		if second.attempt("outcome") != "running" || !strings.HasSuffix(second.header.Get("Foldgate-Attempt"), ", joined") {
			t.Errorf("the second: %v", second.header)
		}
	})
	t.Run("off", func(t *testing.T) {
		g := newGateway(t, options{config: func(c *middleware.Config) { c.Prepare = false }})
		a := g.post(t, request(talk("p", 10)))
		if a.fold() != "none" || a.reason() != "fits" || len(g.coordinator.Attempts(1)) != 0 {
			t.Errorf("got %v", a.header)
		}
	})
}

func TestNoWaitAsksAllTheSame(t *testing.T) {
	sum, release := heldSummary(t)
	g := newGateway(t, options{sum: sum, config: func(c *middleware.Config) { c.Wait = 0 }})
	a := g.post(t, request(talk("w", 24)))
	if a.fold() != "fallback" || a.reason() != "timeout" {
		t.Errorf("Foldgate-Fold: %s", a.header.Get("Foldgate-Fold"))
	}
	close(release)
	waitFor(t, g, a.key(), "commit", func(v ownership.View) bool { return len(v.State.Checkpoints) == 1 })
}

// What happens to an attempt while a request waits for it, and what the request
// then says.
func TestWaitingForAnAttemptThatEnds(t *testing.T) {
	for reason, end := range map[string]func(s ownership.Store, i ownership.Info) error{
		"cancelled": func(s ownership.Store, i ownership.Info) error {
			return s.Raise(context.Background(), i.Conversation, i.Fence, "test")
		},
		"lost": func(s ownership.Store, i ownership.Info) error {
			_, err := s.Forget(context.Background(), i.Conversation)
			return err
		},
		"superseded": func(s ownership.Store, i ownership.Info) error {
			_, err := s.RestoreOperator(context.Background(), i.Conversation, i.Fence, "01890a5d-ac96-774b-bcce-b302099a8057")
			return err
		},
	} {
		t.Run(reason, func(t *testing.T) {
			sum, release := heldSummary(t)
			defer close(release)
			g := newGateway(t, options{sum: sum})
			waiting := make(chan answer, 1)
			go func() { waiting <- g.try(t.Context(), request(talk("e", 24))) }()
			g.sum.called(t)
			if err := end(g.store.Store, g.coordinator.Attempts(1)[0]); err != nil {
				t.Fatal(err)
			}
			a := <-waiting
			if a.status != 200 || a.fold() != "fallback" || a.reason() != reason || a.attempt("outcome") != reason {
				t.Errorf("got %d %s, %s", a.status, a.header.Get("Foldgate-Fold"), a.header.Get("Foldgate-Attempt"))
			}
		})
	}
}

func TestAnotherTargetIsBusy(t *testing.T) {
	sum, release := heldSummary(t)
	g := newGateway(t, options{sum: sum})
	waiting := make(chan answer, 1)
	go func() { waiting <- g.try(t.Context(), request(talk("one", 24)), "Foldgate-Conversation", "x") }()
	g.sum.called(t)
	a := g.post(t, request(talk("two", 24)), "Foldgate-Conversation", "x")
	if a.status != 200 || a.fold() != "fallback" || a.reason() != "busy" {
		t.Errorf("got %d %s", a.status, a.header.Get("Foldgate-Fold"))
	}
	close(release)
	if a := <-waiting; a.fold() != "committed" {
		t.Errorf("the first: %s", a.header.Get("Foldgate-Fold"))
	}
}

// A waiting stream gets its head, comment frames, the final fields, the answer.
func TestKeepaliveOfAWaitingStream(t *testing.T) {
	const events = "data: {\"choices\":[]}\n\ndata: [DONE]\n\n"
	sum, release := heldSummary(t)
	g := newGateway(t, options{
		sum: sum, up: newStub(t, inStream(events)),
		config: func(c *middleware.Config) { c.Keepalive = time.Millisecond },
	})
	raw, err := json.Marshal(request(talk("k", 24), "stream", true))
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
	if res.StatusCode != 200 || res.Header.Get("Foldgate-Fold") != "pending" {
		t.Errorf("got %d %v", res.StatusCode, res.Header)
	}
	body := bufio.NewReader(res.Body)
	if frame, err := body.ReadString('\n'); err != nil || frame != ": foldgate\n" {
		t.Fatalf("got %q, %v", frame, err)
	}
	close(release)
	rest, err := io.ReadAll(body)
	if err != nil || !strings.HasSuffix(string(rest), events) || !strings.Contains(string(rest), "\n: Foldgate-Fold: committed\n") {
		t.Errorf("got %q, %v", rest, err)
	}
	if got := res.Trailer.Get("Foldgate-Fold"); got != "committed" {
		t.Errorf("the trailer says %q", got)
	}
}

// A transcript that a route cannot hold is given to the next one.
func TestARouteThatIsTooSmallIsPassedOver(t *testing.T) {
	small := newStub(t, answerSummary("from the small one"))
	g := newGateway(t, options{config: func(c *middleware.Config) {
		c.Routes = append([]middleware.SummarizerRoute{{Name: "small", URL: small.URL, Model: "s", Window: 1000}}, c.Routes...)
	}})
	a := g.post(t, request(talk("small", 24)))
	if a.fold() != "committed" || a.attempt("generation") != "2" || small.count() != 0 || g.sum.count() != 1 {
		t.Errorf("got %s, %s, %d calls of the small one and %d of the other", a.fold(), a.header.Get("Foldgate-Attempt"), small.count(), g.sum.count())
	}
}
