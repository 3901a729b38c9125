package middleware_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/foldgate/foldgate/compression/window"
	"github.com/foldgate/foldgate/middleware"
	"github.com/foldgate/foldgate/ownership"
	"github.com/foldgate/foldgate/ownership/memstore"
)

// patience bounds what a test waits for; it is never what a test measures.
const patience = time.Minute

// stub is an OpenAI-compatible server that a test controls.
type stub struct {
	*httptest.Server
	mu     sync.Mutex
	calls  []stubCall
	answer func(w http.ResponseWriter, r *http.Request, c stubCall)
	seen   chan struct{} // one element per call
}

type stubCall struct {
	Path   string
	Header http.Header
	Body   []byte
}

func newStub(t *testing.T, answer func(http.ResponseWriter, *http.Request, stubCall)) *stub {
	t.Helper()
	s := &stub{answer: answer, seen: make(chan struct{}, 1000)}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		c := stubCall{Path: r.URL.RequestURI(), Header: r.Header.Clone(), Body: body}
		s.mu.Lock()
		s.calls = append(s.calls, c)
		answer := s.answer
		s.mu.Unlock()
		s.seen <- struct{}{}
		answer(w, r, c)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *stub) setAnswer(f func(http.ResponseWriter, *http.Request, stubCall)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = f
}

func (s *stub) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.calls)
}

func (s *stub) last(t *testing.T) stubCall {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.calls) == 0 {
		t.Fatal("the stub was never called")
	}
	return s.calls[len(s.calls)-1]
}

// called waits for the next call.
func (s *stub) called(t *testing.T) {
	t.Helper()
	select {
	case <-s.seen:
	case <-time.After(patience):
		t.Fatal("the stub was not called")
	}
}

// answers of an upstream.
func answerOK(w http.ResponseWriter, _ *http.Request, c stubCall) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"id":"x","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}]}`)
}

func answerStatus(status int, body string) func(http.ResponseWriter, *http.Request, stubCall) {
	return func(w http.ResponseWriter, _ *http.Request, _ stubCall) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

// answerSummary streams a summary.
func answerSummary(text string) func(http.ResponseWriter, *http.Request, stubCall) {
	return func(w http.ResponseWriter, _ *http.Request, _ stubCall) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, word := range strings.SplitAfter(text, " ") {
			b, _ := json.Marshal(word)
			fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%s}}]}\n\n", b)
		}
		io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}
}

const summaryText = "SUMMARY-ZEBRA: the garden was discussed and look-ups were answered."

// gateway is one replica under test with its stubs.
type gateway struct {
	*middleware.Middleware
	url         string
	up, sum     *stub
	store       *countingStore
	coordinator *ownership.Coordinator
}

// options change a gateway before it is made.
type options struct {
	store   ownership.Store
	up, sum *stub
	config  func(*middleware.Config)
	window  window.BookConfig
	replica string
	traces  trace.TracerProvider
}

func newGateway(t *testing.T, o options) *gateway {
	t.Helper()
	g := &gateway{up: o.up, sum: o.sum}
	if g.up == nil {
		g.up = newStub(t, answerOK)
	}
	if g.sum == nil {
		g.sum = newStub(t, answerSummary(summaryText))
	}
	if o.store == nil {
		o.store = memstore.New(memstore.Options{})
	}
	g.store = &countingStore{Store: o.store}
	if o.window.Rules == nil && o.window.Default == 0 {
		o.window.Rules = []window.Rule{{Glob: "gpt-*", Total: 4000}}
	}
	book, err := window.NewBook(o.window)
	if err != nil {
		t.Fatalf("making the book: %v", err)
	}
	g.coordinator, err = ownership.NewCoordinator(ownership.Config{Store: g.store, Replica: o.replica, Idle: patience, Ceiling: 2 * patience, TracerProvider: o.traces})
	if err != nil {
		t.Fatalf("making the coordinator: %v", err)
	}
	upstream, err := url.Parse(g.up.URL)
	if err != nil {
		t.Fatal(err)
	}
	c := middleware.Config{
		Upstream: upstream, Store: g.store, Coordinator: g.coordinator, Book: book,
		Prepare: true, Wait: patience, Hold: patience,
		Routes: []middleware.SummarizerRoute{{Name: "sum", URL: g.sum.URL, Model: "sum-1"}},
		// A question to the upstream would be one more call of the stub.
		IgnoreAdvertised: true,
		TracerProvider:   o.traces,
	}
	if o.config != nil {
		o.config(&c)
	}
	if g.Middleware, err = middleware.New(c); err != nil {
		t.Fatalf("making the middleware: %v", err)
	}
	transport := middleware.NewTransport()
	server := httptest.NewServer(described.Data(t, g.Handler(middleware.NewProxy(middleware.ProxyConfig{Upstream: upstream, Transport: transport, TracerProvider: o.traces}))))
	g.url = server.URL
	t.Cleanup(func() {
		server.Close()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := g.coordinator.Shutdown(ctx); err != nil {
			t.Errorf("shutting the coordinator down: %v", err)
		}
		g.Wait()
		transport.CloseIdleConnections()
		if n := g.BytesInFlight(); n != 0 {
			t.Errorf("%d bytes of bodies are still accounted for", n)
		}
	})
	return g
}

// answer is what the client saw.
type answer struct {
	status int
	header http.Header
	body   []byte
	err    error

	trailer http.Header
}

func (a answer) fold() string {
	kind, _, _ := strings.Cut(a.header.Get("Foldgate-Fold"), ";")
	return kind
}

func (a answer) reason() string {
	_, rest, _ := strings.Cut(a.header.Get("Foldgate-Fold"), `reason="`)
	reason, _, _ := strings.Cut(rest, `"`)
	return reason
}

func (a answer) key() ownership.Key {
	return ownership.Key(strings.Trim(a.header.Get("Foldgate-Key"), `"`))
}

func (a answer) attempt(name string) string {
	for part := range strings.SplitSeq(a.header.Get("Foldgate-Attempt"), ",") {
		if n, v, _ := strings.Cut(strings.TrimSpace(part), "="); n == name {
			return strings.Trim(v, `"`)
		}
	}
	return ""
}

// post sends body (bytes, or a value to be marshalled) as a chat request.
func (g *gateway) post(t *testing.T, body any, header ...string) answer {
	t.Helper()
	a := g.try(t.Context(), body, header...)
	if a.err != nil {
		t.Fatalf("posting: %v", a.err)
	}
	return a
}

// try is post for goroutines and for requests that may fail.
func (g *gateway) try(ctx context.Context, body any, header ...string) answer {
	raw, ok := body.([]byte)
	if !ok {
		var err error
		if raw, err = json.Marshal(body); err != nil {
			return answer{err: err}
		}
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, g.url+"/v1/chat/completions", bytes.NewReader(raw))
	if err != nil {
		return answer{err: err}
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer sk-tenant-a")
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return answer{err: err}
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	return answer{status: res.StatusCode, header: res.Header, body: got, err: err, trailer: res.Trailer}
}

// countingStore counts calls and can be made to fail.
type countingStore struct {
	ownership.Store
	calls   atomic.Int64
	settles atomic.Int64
	down    atomic.Bool
}

func (s *countingStore) note() error {
	s.calls.Add(1)
	if s.down.Load() {
		return fmt.Errorf("stub: %w", ownership.ErrUnavailable)
	}
	return nil
}

func (s *countingStore) Read(ctx context.Context, k ownership.Key, known []ownership.Fence) (ownership.View, error) {
	if err := s.note(); err != nil {
		return ownership.View{}, err
	}
	return s.Store.Read(ctx, k, known)
}

func (s *countingStore) Claim(ctx context.Context, k ownership.Key, c ownership.Claim) (ownership.Claimed, error) {
	if err := s.note(); err != nil {
		return ownership.Claimed{}, err
	}
	return s.Store.Claim(ctx, k, c)
}

func (s *countingStore) Settle(ctx context.Context, k ownership.Key, f ownership.Fence) (ownership.Done, error) {
	if err := s.note(); err != nil {
		return 0, err
	}
	s.settles.Add(1)
	return s.Store.Settle(ctx, k, f)
}

// msg is a chat message.
type msg map[string]any

// talk is a conversation of the given number of turns that ends with a user;
// every third turn makes two look-ups.
func talk(tag string, turns int) []msg {
	m := []msg{{"role": "system", "content": "You are a careful assistant."}}
	for i := range turns {
		m = append(m, msg{"role": "user", "content": fmt.Sprintf("%s question %d: %s", tag, i, words(tag, i, 60))})
		if i%3 == 1 {
			a, b := fmt.Sprintf("call_%s_%d_a", tag, i), fmt.Sprintf("call_%s_%d_b", tag, i)
			m = append(m,
				msg{"role": "assistant", "content": nil, "tool_calls": []msg{lookup(a), lookup(b)}},
				msg{"role": "tool", "tool_call_id": a, "content": "result of " + a + ": " + words(a, i, 60)},
				msg{"role": "tool", "tool_call_id": b, "content": "result of " + b + ": " + words(b, i, 60)})
		}
		m = append(m, msg{"role": "assistant", "content": fmt.Sprintf("%s answer %d: %s", tag, i, words(tag, -i, 60))})
	}
	return append(m, msg{"role": "user", "content": tag + " final question: what did we decide?"})
}

func lookup(id string) msg {
	return msg{"id": id, "type": "function", "function": msg{"name": "lookup", "arguments": `{"q":"` + id + `"}`}}
}

var vocabulary = strings.Fields("alpha bravo charlie delta echo foxtrot golf hotel india juliet kilo lima mike november oscar papa")

func words(tag string, seed, n int) string {
	h := uint32(2166136261)
	for _, c := range fmt.Sprint(tag, seed) {
		h = (h ^ uint32(c)) * 16777619
	}
	out := make([]string, n)
	for i := range out {
		h = h*1664525 + 1013904223
		out[i] = vocabulary[h>>28]
	}
	return strings.Join(out, " ")
}

func request(messages []msg, more ...any) map[string]any {
	r := map[string]any{"model": "gpt-test", "messages": messages}
	for i := 0; i+1 < len(more); i += 2 {
		r[more[i].(string)] = more[i+1]
	}
	return r
}

// sent decodes the messages of a body.
func sent(t *testing.T, body []byte) []msg {
	t.Helper()
	var r struct{ Messages []msg }
	if err := json.Unmarshal(body, &r); err != nil {
		t.Fatalf("what was forwarded is no JSON: %v", err)
	}
	return r.Messages
}

func text(m msg) string {
	s, _ := m["content"].(string)
	return s
}
