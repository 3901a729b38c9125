package middleware_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/png"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foldgate/foldgate/compression/window"
	"github.com/foldgate/foldgate/middleware"
	"github.com/foldgate/foldgate/ownership/memstore"
)

// paddedImage is a data URI of about size bytes with an image of w by h pixels.
func paddedImage(t *testing.T, w, h, size int) string {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, w, h))); err != nil {
		t.Fatal(err)
	}
	const head = "data:image/png;base64,"
	if short := (size-len(head))/4*3 - b.Len(); short > 0 {
		b.Write(make([]byte, short)) // behind the image's end, where no reader looks
	}
	return head + base64.StdEncoding.EncodeToString(b.Bytes())
}

// screenshots is an agent's work of n tool results with an image of so many bytes
// each, marked so that they can be told apart.
func screenshots(t *testing.T, n, size int) []msg {
	t.Helper()
	m := []msg{{"role": "system", "content": "You operate a browser."}, {"role": "user", "content": "Book the flight."}}
	for i := range n {
		id := fmt.Sprintf("call_%d", i)
		m = append(m,
			msg{"role": "assistant", "content": nil, "tool_calls": []msg{lookup(id)}},
			msg{"role": "tool", "tool_call_id": id, "content": []msg{
				{"type": "text", "text": fmt.Sprintf("screen %d", i)},
				{"type": "image_url", "image_url": msg{"url": paddedImage(t, 640, 400+i, size)}},
			}})
	}
	return m
}

// imagesIn says which of the screens of a forwarded body still have their image.
func imagesIn(t *testing.T, body []byte) string {
	t.Helper()
	var out []string
	for _, m := range sent(t, body) {
		if m["role"] == "tool" {
			out = append(out, fmt.Sprint(strings.Contains(fmt.Sprint(m["content"]), "base64,")))
		}
	}
	return strings.Join(out, " ")
}

// chatCalls is how many chat requests the upstream got.
func chatCalls(s *stub) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, c := range s.calls {
		if strings.HasSuffix(c.Path, "/chat/completions") {
			n++
		}
	}
	return n
}

// forwarded is the body of the last one.
func forwarded(t *testing.T, s *stub) []byte {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range slices.Backward(s.calls) {
		if strings.HasSuffix(c.Path, "/chat/completions") {
			return c.Body
		}
	}
	t.Fatal("the stub was never asked")
	return nil
}

// refusingBytes refuses bodies over limit as answer does.
func refusingBytes(limit int, status int, body string) func(http.ResponseWriter, *http.Request, stubCall) {
	return func(w http.ResponseWriter, r *http.Request, c stubCall) {
		if len(c.Body) > limit {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(status)
			io.WriteString(w, body)
			return
		}
		answerOK(w, r, c)
	}
}

const nginxPage = "<html>\r\n<head><title>413 Request Entity Too Large</title></head>\r\n<body></body>\r\n</html>\r\n"

// Hermes 27: four results with 300 KB of image each, few tokens, and a server that
// takes 500 KB. Text cannot be blamed, and no summary can help.
func TestCase27TooManyBytesWhileTokensAreFew(t *testing.T) {
	for name, tt := range map[string]struct {
		status int
		body   string
		window window.BookConfig
	}{
		"a page":         {413, nginxPage, window.BookConfig{Rules: []window.Rule{{Glob: "*", Total: 128_000}}}},
		"a named limit":  {400, `{"error":{"message":"Request payload size exceeds the limit: 500000 bytes."}}`, window.BookConfig{Rules: []window.Rule{{Glob: "*", Total: 128_000}}}},
		"unknown window": {413, `{"error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`, window.BookConfig{Rules: []window.Rule{{Glob: "other", Total: 9999}}}},
	} {
		t.Run(name, func(t *testing.T) {
			limit := 500_000
			if name != "a named limit" {
				limit = 950_000 // three quarters of what is sent are below it
			}
			up := newStub(t, refusingBytes(limit, tt.status, tt.body))
			g := newGateway(t, options{up: up, window: tt.window})
			m := screenshots(t, 4, 300_000)
			a := g.post(t, request(m))
			if a.status != 200 || a.fold() != "fallback" || a.reason() != "too-large" || !strings.Contains(a.header.Get("Foldgate-Fold"), "retried") {
				t.Fatalf("got %d %s", a.status, a.header.Get("Foldgate-Fold"))
			}
			got := forwarded(t, g.up)
			want := "false false true true"
			if name == "a named limit" {
				want = "false false false true"
			}
			if images := imagesIn(t, got); images != want || len(got) > limit {
				t.Errorf("images kept: %s, want %s; %d bytes", images, want, len(got))
			}
			if bad := brokenRules(mustJSON(t, request(m)), got); len(bad) > 0 {
				t.Errorf("broken rules: %v", bad)
			}
			if g.sum.count() != 0 || chatCalls(g.up) != 2 {
				t.Errorf("%d summary calls and %d upstream calls, want 0 and 2", g.sum.count(), chatCalls(g.up))
			}

			// The next turn is made smaller beforehand.
			m = append(m, msg{"role": "assistant", "content": "done"}, msg{"role": "user", "content": "thanks"})
			a = g.post(t, request(m))
			if a.status != 200 || a.fold() != "fallback" || a.reason() != "too-large" || strings.Contains(a.header.Get("Foldgate-Fold"), "retried") || chatCalls(g.up) != 3 {
				t.Errorf("the next turn: %d %s after %d upstream calls", a.status, a.header.Get("Foldgate-Fold"), chatCalls(g.up))
			}
			if images := imagesIn(t, forwarded(t, g.up)); images != want {
				t.Errorf("the next turn's images: %s, want %s", images, want)
			}
			if g.sum.count() != 0 {
				t.Errorf("%d summary calls", g.sum.count())
			}
		})
	}
}

// Where nothing can be made small enough, the caller gets the upstream's own
// answer, untouched, and the upstream is not asked in vain.
func TestBytesThatNothingHelpsReachTheCaller(t *testing.T) {
	up := newStub(t, refusingBytes(200_000, 413, nginxPage))
	g := newGateway(t, options{up: up, window: window.BookConfig{Rules: []window.Rule{{Glob: "*", Total: 1_000_000}}}})
	a := g.post(t, request([]msg{{"role": "user", "content": strings.Repeat("all of it matters; ", 20_000)}}))
	if a.status != 413 || string(a.body) != nginxPage || a.fold() != "none" || a.header.Get("Content-Type") != "text/html" {
		t.Errorf("got %d %s %.80s", a.status, a.header.Get("Foldgate-Fold"), a.body)
	}
	if chatCalls(g.up) != 1 || g.sum.count() != 0 {
		t.Errorf("%d upstream calls, %d summary calls", chatCalls(g.up), g.sum.count())
	}
}

// A conversation of text that is too long in bytes alone is folded without a
// model.
func TestTextThatIsTooManyBytesIsFolded(t *testing.T) {
	up := newStub(t, refusingBytes(100_000, 413, `{"error":{"message":"Maximum request body size 100000 exceeded, actual body size 1"}}`))
	g := newGateway(t, options{up: up, window: window.BookConfig{Rules: []window.Rule{{Glob: "*", Total: 1_000_000}}}})
	var m []msg
	for i := range 60 {
		m = append(m, msg{"role": "user", "content": words("u", i, 400)}, msg{"role": "assistant", "content": words("a", i, 400)})
	}
	m = append(m, msg{"role": "user", "content": "and now?"})
	a := g.post(t, request(m))
	if a.status != 200 || a.reason() != "too-large" || g.sum.count() != 0 {
		t.Fatalf("got %d %s, %d summary calls", a.status, a.header.Get("Foldgate-Fold"), g.sum.count())
	}
	got := forwarded(t, g.up)
	if bad := brokenRules(mustJSON(t, request(m)), got); len(bad) > 0 || len(got) > 100_000 {
		t.Errorf("%d bytes, broken rules: %v", len(got), bad)
	}
}

// Groq speaks of a request that is too large, and means its rate limit: no retry,
// nothing learned.
func TestARateLimitIsNotTooManyBytes(t *testing.T) {
	const tpm = `{"error":{"message":"Request too large for model x on tokens per minute (TPM): Limit 6000, Requested 14810, please reduce your message size and try again.","type":"tokens","code":"rate_limit_exceeded"}}`
	up := newStub(t, answerStatus(413, tpm))
	g := newGateway(t, options{up: up, window: window.BookConfig{Rules: []window.Rule{{Glob: "*", Total: 128_000}}}})
	m := request(screenshots(t, 4, 300_000))
	if a := g.post(t, m); a.status != 413 || string(a.body) != tpm || chatCalls(g.up) != 1 {
		t.Errorf("got %d after %d calls", a.status, chatCalls(g.up))
	}
	up.setAnswer(answerOK)
	if a := g.post(t, m); a.fold() != "none" || len(forwarded(t, g.up)) != len(mustJSON(t, m)) {
		t.Errorf("afterwards: %s", a.header.Get("Foldgate-Fold"))
	}
}

// movingClock moves when it is told to.
type movingClock struct{ passed atomic.Int64 }

func (c *movingClock) Now() time.Time       { return time.Unix(1_700_000_000, c.passed.Load()) }
func (c *movingClock) Pass(d time.Duration) { c.passed.Add(int64(d)) }

// Hermes 28: system messages and tools alone are over the trigger. Whatever is
// summarized, the next request is over it again.
func TestCase28AHeadOverTheTriggerDoesNotFoldForever(t *testing.T) {
	clock := &movingClock{}
	g := newGateway(t, options{
		store:  memstore.New(memstore.Options{Now: clock.Now}),
		window: window.BookConfig{Rules: []window.Rule{{Glob: "*", Total: 8000}}},
	})
	// usable is 5,760 and the trigger 4,608
	tools := []msg{{"type": "function", "function": msg{"name": "lookup", "description": words("tools", 1, 2200)}}}
	m := append([]msg{{"role": "system", "content": words("head", 1, 2000)}}, talk("t", 4)[1:]...)
	for i := range 10 {
		a := g.post(t, request(m, "tools", tools))
		if a.status != 200 {
			t.Fatalf("request %d: %d %s", i, a.status, a.body)
		}
		if i >= 4 && a.reason() == "" {
			t.Errorf("request %d: %s gives no reason", i, a.header.Get("Foldgate-Fold"))
		}
		g.settle(t)
		m = next(m, words("t", 100+i, 30), words("t", 200+i, 60))
	}
	calls := g.sum.count()
	if calls > 3 {
		t.Errorf("%d summary calls in 10 requests, want at most 3", calls)
	}
	clock.Pass(301 * time.Second)
	for range 4 {
		m = next(m, words("t", 300, 30), words("t", 400, 60))
		g.post(t, request(m, "tools", tools))
		g.settle(t)
	}
	if got := g.sum.count() - calls; calls == 0 || got != 1 {
		t.Errorf("%d summary calls at first and %d after 300 s, want some and one probe", calls, got)
	}
}

// settle waits until no attempt of this replica works any more.
func (g *gateway) settle(t *testing.T) {
	t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		working := false
		for _, i := range g.coordinator.Attempts(0) {
			working = working || i.Ended.IsZero()
		}
		if !working {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("an attempt goes on and on")
		}
	}
}

// Hermes 29: the trigger leaves room for the output that the request asks for, and
// is never the window itself.
func TestCase29TheTriggerLeavesRoomForTheAnswer(t *testing.T) {
	s := middleware.DefaultSettings()
	if b := window.NewBudget(window.Limits{Total: 64_000}, s, 20_000, 1, 1); b.Trigger >= 44_000 || b.Usable > 44_000 {
		t.Errorf("64,000 with 20,000 for the answer: trigger %d, usable %d", b.Trigger, b.Usable)
	}
	if b := window.NewBudget(window.Limits{Total: 8000}, s, 0, 1, 1); b.Trigger > 8000*85/100 {
		t.Errorf("8,000: trigger %d", b.Trigger)
	}
	g := newGateway(t, options{window: window.BookConfig{Rules: []window.Rule{{Glob: "*", Total: 8000}}}})
	m := talk("r", 18) // about 4,400 tokens
	if a := g.post(t, request(m)); a.fold() != "none" || a.reason() != "under" {
		t.Fatalf("without a named output: %s %s", a.header.Get("Foldgate-Fold"), a.header.Get("Foldgate-Tokens"))
	}
	if a := g.post(t, request(m, "max_tokens", 5000)); a.fold() != "committed" {
		t.Errorf("with 5,000 for the answer: %s %s", a.header.Get("Foldgate-Fold"), a.header.Get("Foldgate-Tokens"))
	}
}

// Hermes 30: what is easily counted wrong. The figures are those of o200k_base for
// the texts alone, and the published price of the image.
func TestCase30EstimatesOfWhatIsEasilyMiscounted(t *testing.T) {
	chinese := strings.Repeat("我们昨天讨论了数据库的迁移方案,决定先在测试环境里运行两周。", 35) // 3 KB
	g := newGateway(t, options{window: window.BookConfig{Rules: []window.Rule{{Glob: "*", Total: 1100}}}, config: func(c *middleware.Config) {
		c.Mode = middleware.ModeObserve // counted and reported, whatever is made of it
	}})
	for name, tt := range map[string]struct {
		messages []msg
		want     int
	}{
		"reasoning is not counted twice": {[]msg{
			{"role": "user", "content": words("u", 1, 600)},
			{"role": "assistant", "content": "yes", "reasoning_content": words("r", 1, 300)},
			{"role": "user", "content": "go on"},
		}, 1000},
		"Chinese":          {[]msg{{"role": "user", "content": chinese}}, 735},
		"an image of 1 MB": {[]msg{{"role": "user", "content": []msg{{"type": "text", "text": words("u", 1, 300)}, {"type": "image_url", "image_url": msg{"url": paddedImage(t, 1024, 1024, 1_000_000)}}}}}, 500 + 765},
	} {
		t.Run(name, func(t *testing.T) {
			a := g.post(t, request(tt.messages))
			got := a.tokensField("before")
			if got < tt.want*3/4 || got > tt.want*5/4 {
				t.Errorf("estimated %d, want %d within a quarter (%s)", got, tt.want, a.header.Get("Foldgate-Fold"))
			}
		})
	}
}

// Peers 24: a window that is wrong by far (4,000 learned from nowhere) must not
// come of an unknown model.
func TestPeer24AnUnknownWindowStaysUnknown(t *testing.T) {
	g := newGateway(t, options{window: window.BookConfig{Rules: []window.Rule{{Glob: "other", Total: 4000}}}})
	for range 3 {
		a := g.post(t, request(talk("z", 30), "model", "unheard-of"))
		if a.fold() != "none" || a.reason() != "unknown-window" || !strings.Contains(a.header.Get("Foldgate-Tokens"), "source=unknown") {
			t.Errorf("%s, %s", a.header.Get("Foldgate-Fold"), a.header.Get("Foldgate-Tokens"))
		}
	}
	if g.sum.count() != 0 {
		t.Errorf("%d summary calls", g.sum.count())
	}
}

// Peers 25: what decides after the fold is the size of the folded request, not of
// the original, so no request that fits is refused.
func TestPeer25TheFoldedRequestIsWhatIsChecked(t *testing.T) {
	g := newGateway(t, options{config: func(c *middleware.Config) { c.Wait = 0 }})
	a := g.post(t, request(talk("y", 120)))
	if a.status != 200 || a.tokensField("before") < 4*4000 || a.tokensField("after") > 4000 {
		t.Errorf("got %d %s", a.status, a.header.Get("Foldgate-Tokens"))
	}
}

// Peers 26: input and the output that is asked for together are over the window,
// and it is the output's fault. Folding cures nothing, so nothing is folded, and
// the limit is not learned.
func TestPeer26AnOutputOverTheWindowIsNoReasonToFold(t *testing.T) {
	const refused = `{"error":{"message":"This endpoint's maximum context length is 131072 tokens. However, you requested about 141607 tokens (10535 of text input, 131072 in the output).","code":400}}`
	up := newStub(t, answerStatus(400, refused))
	g := newGateway(t, options{up: up, window: window.BookConfig{Rules: []window.Rule{{Glob: "other", Total: 4000}}}})
	m := request(talk("o", 24), "model", "unheard-of", "max_tokens", 131_072)
	for range 2 {
		a := g.post(t, m)
		if a.status != 400 || string(a.body) != refused || a.fold() != "none" || a.reason() != "unknown-window" {
			t.Errorf("got %d %s %s", a.status, a.header.Get("Foldgate-Fold"), a.body)
		}
	}
	if chatCalls(g.up) != 2 || g.sum.count() != 0 {
		t.Errorf("%d upstream calls, %d summary calls, want 2 and 0", chatCalls(g.up), g.sum.count())
	}
}

// Peers 28, 29 and 36: the overflow errors of SGLang and llama.cpp are known, and
// the caller sees none of them.
func TestPeers28And29And36OverflowsOfLocalServers(t *testing.T) {
	for name, body := range map[string]string{
		"SGLang":           `{"object":"error","message":"The input (7001 tokens) is longer than the model's context length (4000 tokens).","type":"BadRequest","param":null,"code":400}`,
		"SGLang, total":    `{"error":{"message":"Requested token count exceeds the model's maximum context length of 4000 tokens. You requested a total of 7001 tokens: 6001 tokens from the input messages and 1000 tokens for the completion."}}`,
		"llama.cpp":        `{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":7001,"n_ctx":4000}}`,
		"llama-cpp-python": `{"error":{"message":"Requested tokens (7001) exceed context window of 4000","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			g := newGateway(t, options{
				up:     newStub(t, overflowing(15_000, answerStatus(400, body))),
				window: window.BookConfig{Rules: []window.Rule{{Glob: "other", Total: 9999}}},
			})
			a := g.post(t, request(talk("l", 30), "model", "local"))
			if a.status != 200 || a.fold() != "committed" || a.tokensField("window") != 4000 {
				t.Errorf("got %d %s %s", a.status, a.header.Get("Foldgate-Fold"), a.header.Get("Foldgate-Tokens"))
			}
		})
	}
}

// A server may add an output of its own choice to a request that names none. Its
// error says how much, and the second try leaves room for that.
func TestAnOverflowTellsWhatTheAnswerTakes(t *testing.T) {
	const over = `{"error":{"message":"This model's maximum context length is 4000 tokens. However, you requested 5600 tokens (2600 in the messages, 3000 in the completion). Please reduce the length of the messages or completion.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`
	up := newStub(t, overflowing(8000, answerStatus(400, over)))
	g := newGateway(t, options{up: up, sum: newStub(t, answerStatus(500, `{}`)), window: unruled})
	a := g.post(t, request(talk("out", 12), "model", "unheard-of"))
	if a.status != 200 || !strings.Contains(a.header.Get("Foldgate-Fold"), "retried") {
		t.Fatalf("got %d %s", a.status, a.header.Get("Foldgate-Fold"))
	}
	if n := countOf(t, up.last(t).Body); n > 1000 {
		t.Errorf("%d tokens were sent, which leaves no 3000 of 4000", n)
	}
}

// An overflow error that names no limit teaches none: what is guessed for the
// second try is not told as the window, nor kept.
func TestAGuessedWindowIsNotTold(t *testing.T) {
	const over = `{"error":{"message":"Your input exceeds the context window of this model. Please adjust your input and try again.","type":"invalid_request_error","code":"context_length_exceeded"}}`
	up := newStub(t, overflowing(12_000, answerStatus(400, over)))
	g := newGateway(t, options{up: up, sum: newStub(t, answerStatus(500, `{}`)), window: unruled})
	m := request(talk("guess", 16), "model", "unheard-of")
	for range 2 {
		a := g.post(t, m)
		tokens := a.header.Get("Foldgate-Tokens")
		if a.status != 200 || !strings.Contains(a.header.Get("Foldgate-Fold"), "retried") || strings.Contains(tokens, "window=") || !strings.Contains(tokens, "source=unknown") {
			t.Errorf("got %d %s, %s", a.status, a.header.Get("Foldgate-Fold"), tokens)
		}
	}
}

// A limit of the table may be wrong. The first request that it would refuse goes on
// as it came, and the upstream's answer decides about those after it, also where it
// tells no usage.
func TestALimitThatRefusesIsChecked(t *testing.T) {
	m := request([]msg{{"role": "user", "content": words("big", 1, 24_000)}}, "model", "gpt-4")
	for name, tc := range map[string]struct {
		answer        func(http.ResponseWriter, *http.Request, stubCall)
		first, second int
		calls         int
	}{
		"it is wrong": {answerOK, 200, 200, 2},
		"it is right": {answerStatus(400, openaiOverflow), 400, 400, 1},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGateway(t, options{up: newStub(t, tc.answer), window: unruled})
			first := g.post(t, m)
			if got := g.up.last(t).Body; first.status != tc.first || !bytes.Equal(got, mustJSON(t, m)) {
				t.Errorf("the first: %d %s, %d bytes were sent", first.status, first.header.Get("Foldgate-Fold"), len(got))
			}
			if second := g.post(t, m); second.status != tc.second || chatCalls(g.up) != tc.calls {
				t.Errorf("the second: %d %s after %d calls", second.status, second.header.Get("Foldgate-Fold"), chatCalls(g.up))
			}
		})
	}
}

// Peers 30: the overflow comes inside a stream of status 200, under a name of its
// own or after comments, before the caller saw a byte.
func TestPeer30AnOverflowInsideAStream(t *testing.T) {
	for name, events := range map[string]string{
		"error object":   "data: " + openaiOverflow + "\n\n",
		"after comments": ": OPENROUTER PROCESSING\n\n: again\n\ndata: " + openaiOverflow + "\n\n",
		"named event":    "event: error\ndata: {\"message\":\"The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 6000>= n_ctx: 4000).\"}\n\n",
		"plain words":    "event: error\ndata: Trying to keep the first 6000 tokens when context the overflows. However, the model is loaded with context length of only 4000 tokens\n\n",
		"ended by it":    "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"finish_reason\":\"model_context_window_exceeded\"}]}\n\ndata: [DONE]\n\n",
	} {
		t.Run(name, func(t *testing.T) {
			refuse := func(w http.ResponseWriter, _ *http.Request, _ stubCall) {
				w.Header().Set("Content-Type", "text/event-stream")
				io.WriteString(w, events)
			}
			g := newGateway(t, options{
				up:     newStub(t, overflowing(15_000, refuse)),
				window: window.BookConfig{Rules: []window.Rule{{Glob: "other", Total: 9999}}},
			})
			a := g.post(t, request(talk("i", 30), "model", "local", "stream", true))
			if a.status != 200 || !strings.Contains(string(a.body), `"ok"`) || !strings.Contains(a.header.Get("Foldgate-Fold"), "retried") {
				t.Errorf("got %d %s %.100s", a.status, a.header.Get("Foldgate-Fold"), a.body)
			}
		})
	}
}

// Peers 32 and 33: base64 is not text. A request with a large image and few words
// is not over anything.
func TestPeers32And33AnImageIsNotCountedAsText(t *testing.T) {
	g := newGateway(t, options{window: window.BookConfig{Rules: []window.Rule{{Glob: "*", Total: 8000}}}})
	raw := mustJSON(t, request(screenshots(t, 3, 400_000)))
	a := g.post(t, raw)
	if a.status != 200 || a.fold() != "none" || a.reason() != "under" {
		t.Errorf("got %d %s %s", a.status, a.header.Get("Foldgate-Fold"), a.header.Get("Foldgate-Tokens"))
	}
	if !bytes.Equal(forwarded(t, g.up), raw) {
		t.Error("the forwarded bytes differ")
	}
}

// Peers 34: of several images the older ones go, the newest stays, and each that
// goes leaves a note.
func TestPeer34TheNewestImageStays(t *testing.T) {
	g := newGateway(t, options{window: window.BookConfig{Rules: []window.Rule{{Glob: "*", Total: 4500}}}, config: func(c *middleware.Config) { c.Wait, c.Prepare = 0, false }})
	a := g.post(t, request(screenshots(t, 8, 20_000)))
	if a.status != 200 || a.fold() != "fallback" {
		t.Fatalf("got %d %s %s", a.status, a.header.Get("Foldgate-Fold"), a.header.Get("Foldgate-Tokens"))
	}
	if images := imagesIn(t, forwarded(t, g.up)); !strings.HasSuffix(images, "true") || images == strings.Repeat("true ", 7)+"true" {
		t.Errorf("images kept: %s", images)
	}
}

// In a family whose images are dear, few of them are over the window that many
// would fit by the reference price.
func TestImagesCountAtTheModelsPrice(t *testing.T) {
	g := newGateway(t, options{window: window.BookConfig{Rules: []window.Rule{{Glob: "*", Total: 64_000}}}, config: func(c *middleware.Config) { c.Wait, c.Prepare = 0, false }})
	m := screenshots(t, 8, 20_000)
	if a := g.post(t, request(m, "model", "gpt-4o")); a.fold() != "none" {
		t.Errorf("gpt-4o: %s %s", a.header.Get("Foldgate-Fold"), a.header.Get("Foldgate-Tokens"))
	}
	a := g.post(t, request(m, "model", "gpt-4o-mini")) // 8 x 14,167
	if a.fold() != "fallback" || a.tokensField("before") < 8*14_167 || a.tokensField("after") > 64_000 {
		t.Errorf("gpt-4o-mini: %s %s", a.header.Get("Foldgate-Fold"), a.header.Get("Foldgate-Tokens"))
	}
	if images := imagesIn(t, forwarded(t, g.up)); !strings.HasSuffix(images, "true") {
		t.Errorf("images kept: %s", images)
	}
}

// Peers 74, 75 and 76: counting is linear, whatever the text looks like. A body of
// 744 KB without a single space took another gateway over 30 s.
func TestPeers74To76CountingIsNeverSlow(t *testing.T) {
	g := newGateway(t, options{window: window.BookConfig{Rules: []window.Rule{{Glob: "*", Total: 100_000}}}, config: func(c *middleware.Config) { c.Mode = middleware.ModeObserve }})
	for name, text := range map[string]string{
		"one letter":    strings.Repeat("a", 200_000),
		"no spaces":     strings.Repeat("abcdefghij0123456789", 37_200),
		"one character": strings.Repeat("的", 70_000),
		"spaces":        strings.Repeat(" ", 200_000),
		"line feeds":    strings.Repeat("\n", 200_000),
		"words":         words("w", 1, 40_000),
	} {
		t.Run(name, func(t *testing.T) { // the test binary's own limit ends what is not linear
			a := g.post(t, request([]msg{{"role": "user", "content": text}, {"role": "assistant", "content": "x"}, {"role": "user", "content": "y"}}))
			if a.status != 200 || a.reason() == "not-chat" {
				t.Errorf("got %d %s", a.status, a.header.Get("Foldgate-Fold"))
			}
		})
	}
}

// What passes by in observe mode teaches the window and the correction all the
// same, so that the next request is reported rightly.
func TestObserveLearnsFromWhatPassesBy(t *testing.T) {
	for name, answer := range map[string]func(http.ResponseWriter, *http.Request, stubCall){
		"a status":  answerStatus(400, openaiOverflow),
		"in stream": inStream("data: " + openaiOverflow + "\n\n"),
	} {
		t.Run(name, func(t *testing.T) {
			up := newStub(t, answer)
			g := newGateway(t, options{up: up, window: window.BookConfig{Rules: []window.Rule{{Glob: "other", Total: 9999}}}, config: func(c *middleware.Config) { c.Mode = middleware.ModeObserve }})
			m := mustJSON(t, request(talk("v", 24), "model", "unheard-of", "stream", true))
			if a := g.post(t, m); a.reason() != "unknown-window" || chatCalls(g.up) != 1 {
				t.Fatalf("the first: %s", a.header.Get("Foldgate-Fold"))
			}
			up.setAnswer(answerOK)
			a := g.post(t, m)
			if a.fold() != "none" || a.reason() != "mode" || a.tokensField("window") != 4000 || !strings.Contains(a.header.Get("Foldgate-Tokens"), "source=learned") {
				t.Errorf("the second: %s %s", a.header.Get("Foldgate-Fold"), a.header.Get("Foldgate-Tokens"))
			}
			if !bytes.Equal(forwarded(t, g.up), m) {
				t.Error("the forwarded bytes differ")
			}
		})
	}
	t.Run("bytes", func(t *testing.T) {
		up := newStub(t, refusingBytes(500_000, 400, `{"error":{"message":"Request payload size exceeds the limit: 500000 bytes."}}`))
		g := newGateway(t, options{up: up, window: window.BookConfig{Rules: []window.Rule{{Glob: "*", Total: 128_000}}}, config: func(c *middleware.Config) { c.Mode = middleware.ModeObserve }})
		m := mustJSON(t, request(screenshots(t, 4, 300_000)))
		for range 2 {
			if a := g.post(t, m); a.status != 400 || a.fold() != "none" || !bytes.Equal(forwarded(t, g.up), m) {
				t.Errorf("got %d %s", a.status, a.header.Get("Foldgate-Fold"))
			}
		}
	})
}

// An error may quote what was sent, or speak of something else that is too large.
// A limit that the request does not break teaches nothing.
func TestALimitThatIsNotBrokenIsNotLearned(t *testing.T) {
	for name, said := range map[string]string{
		"bytes":  `{"error":{"message":"could not fetch image_url: payload size exceeds the limit: 20000 bytes"}}`,
		"tokens": `{"error":{"message":"Invalid value: 'maximum context length is 8192 tokens' in messages[1].name"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			up := newStub(t, answerStatus(400, said))
			g := newGateway(t, options{up: up, window: window.BookConfig{Default: 128_000}})
			if a := g.post(t, request([]msg{{"role": "user", "content": "What is in the picture?"}})); a.status != 400 || string(a.body) != said {
				t.Fatalf("got %d %s", a.status, a.body)
			}
			up.setAnswer(answerOK)
			m := []msg{{"role": "user", "content": "Start."}}
			for range 10 {
				m = append(m, msg{"role": "assistant", "content": strings.Repeat("lantern quartz ", 400)}, msg{"role": "user", "content": "Go on."})
			}
			body := mustJSON(t, request(m))
			if a := g.post(t, body); a.fold() != "none" || !bytes.Equal(forwarded(t, up), body) {
				t.Errorf("got %s, %s, %d of %d bytes", a.header.Get("Foldgate-Fold"), a.header.Get("Foldgate-Tokens"), len(forwarded(t, up)), len(body))
			}
		})
	}
}
