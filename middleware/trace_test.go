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
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/foldgate/foldgate/compression/window"
	"github.com/foldgate/foldgate/internal/semconv"
	"github.com/foldgate/foldgate/middleware"
	"github.com/foldgate/foldgate/ownership"
	"github.com/foldgate/foldgate/ownership/memstore"
)

const (
	callersTrace  = "4bf92f3577b34da6a3ce929d0e0e4736"
	callersSpan   = "00f067aa0ba902b7"
	callersParent = "00-" + callersTrace + "-" + callersSpan + "-01"
	unsampled     = "00-" + callersTrace + "-" + callersSpan + "-00"
	chatSpan      = "POST /v1/chat/completions"
)

// recorder collects spans as they end: a request's own after its answer.
type recorder struct {
	*sdktrace.TracerProvider

	mu      sync.Mutex
	ended   []sdktrace.ReadOnlySpan
	changed chan struct{}
}

func newRecorder() *recorder {
	r := &recorder{changed: make(chan struct{})}
	r.TracerProvider = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(r))
	return r
}

func (r *recorder) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (r *recorder) Shutdown(context.Context) error                  { return nil }
func (r *recorder) ForceFlush(context.Context) error                { return nil }

func (r *recorder) OnEnd(s sdktrace.ReadOnlySpan) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = append(r.ended, s)
	close(r.changed)
	r.changed = make(chan struct{})
}

func (r *recorder) named(name string) (found []sdktrace.ReadOnlySpan, changed <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.ended {
		if s.Name() == name {
			found = append(found, s)
		}
	}
	return found, r.changed
}

// wait returns the spans of a name once there are n of them.
func (r *recorder) wait(t *testing.T, name string, n int) []sdktrace.ReadOnlySpan {
	t.Helper()
	limit := time.After(patience)
	for {
		found, changed := r.named(name)
		if len(found) >= n {
			return found
		}
		select {
		case <-changed:
		case <-limit:
			t.Fatalf("%d spans %q ended, want %d, among %v", len(found), name, n, r.names())
		}
	}
}

func (r *recorder) one(t *testing.T, name string) sdktrace.ReadOnlySpan {
	t.Helper()
	return r.wait(t, name, 1)[0]
}

func (r *recorder) names() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var names []string
	for _, s := range r.ended {
		names = append(names, s.Name())
	}
	return names
}

func attributeOf(s sdktrace.ReadOnlySpan, key attribute.Key) string {
	for _, a := range s.Attributes() {
		if a.Key == key {
			return a.Value.String()
		}
	}
	return ""
}

func wantAttributes(t *testing.T, s sdktrace.ReadOnlySpan, want map[attribute.Key]string) {
	t.Helper()
	for key, value := range want {
		if got := attributeOf(s, key); got != value {
			t.Errorf("%s: %s is %q, want %q", s.Name(), key, got, value)
		}
	}
}

func wantChild(t *testing.T, child, parent sdktrace.ReadOnlySpan) {
	t.Helper()
	if child.Parent().SpanID() != parent.SpanContext().SpanID() || child.SpanContext().TraceID() != parent.SpanContext().TraceID() {
		t.Errorf("%s is not under %s", child.Name(), parent.Name())
	}
}

// parentOf is the traceparent that names a span.
func parentOf(s sdktrace.ReadOnlySpan) string {
	return fmt.Sprintf("00-%s-%s-01", s.SpanContext().TraceID(), s.SpanContext().SpanID())
}

// One request that had to wait: everything that was done for it is in the
// caller's trace, and both upstreams were told of it.
func TestTraceOfAFold(t *testing.T) {
	t.Parallel()
	spans := newRecorder()
	g := newGateway(t, options{traces: spans, sum: newStub(t, func(w http.ResponseWriter, _ *http.Request, _ stubCall) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"model":"sum-1-2026","choices":[{"index":0,"message":{"role":"assistant","content":%q},"finish_reason":"stop"}],"usage":{"prompt_tokens":700,"completion_tokens":50}}`, summaryText)
	})})
	a := g.post(t, request(talk("t", 24)), "Traceparent", callersParent, "Tracestate", "vendor=1")
	if a.fold() != "committed" {
		t.Fatalf("Foldgate-Fold: %s", a.header.Get("Foldgate-Fold"))
	}
	server, fold := spans.one(t, chatSpan), spans.one(t, semconv.SpanFold)
	attempt, summary := spans.one(t, semconv.SpanAttempt), spans.one(t, "chat sum-1")
	forwarded := spans.one(t, "POST")

	if server.Parent().SpanID().String() != callersSpan || server.SpanContext().TraceID().String() != callersTrace {
		t.Errorf("the request's span is under %v, want the caller's", server.Parent())
	}
	wantChild(t, fold, server)
	wantChild(t, attempt, fold)
	wantChild(t, summary, attempt)
	wantChild(t, forwarded, server)
	wantChild(t, spans.one(t, "ownership.read"), fold)
	wantChild(t, spans.one(t, "ownership.claim"), attempt)
	wantChild(t, spans.one(t, "ownership.settle"), server)
	for kind, s := range map[trace.SpanKind]sdktrace.ReadOnlySpan{trace.SpanKindServer: server, trace.SpanKindInternal: fold, trace.SpanKindClient: summary} {
		if s.SpanKind() != kind {
			t.Errorf("%s is of kind %v", s.Name(), s.SpanKind())
		}
	}
	for s, got := range map[sdktrace.ReadOnlySpan]http.Header{summary: g.sum.last(t).Header, forwarded: g.up.last(t).Header} {
		if got := got.Get("Traceparent"); got != parentOf(s) {
			t.Errorf("the server of %s was told %q, want %q", s.Name(), got, parentOf(s))
		}
		if got.Get("Tracestate") != "vendor=1" {
			t.Errorf("the server of %s was told tracestate %q", s.Name(), got.Get("Tracestate"))
		}
	}
	tokens := map[attribute.Key]string{
		semconv.KeyFoldKind: "committed", semconv.KeyConversation: string(a.key()),
		semconv.KeyTokensWindow: "4000", semconv.KeyTokensSource: "config",
	}
	wantAttributes(t, fold, tokens)
	wantAttributes(t, server, tokens)
	wantAttributes(t, server, map[attribute.Key]string{
		semconv.KeyHTTPRequestMethod: "POST", semconv.KeyHTTPRoute: "/v1/chat/completions", semconv.KeyURLPath: "/v1/chat/completions",
		semconv.KeyURLScheme: "http", semconv.KeyServerAddress: "127.0.0.1", semconv.KeyHTTPResponseStatusCode: "200",
		semconv.KeyAttemptID: a.attempt("id"), semconv.KeyGeneration: "1", semconv.KeyOutcome: "committed", semconv.KeyErrorType: "",
	})
	wantAttributes(t, summary, map[attribute.Key]string{
		semconv.KeyGenAIOperation: "chat", semconv.KeyGenAIProvider: "openai", semconv.KeyGenAIRequestModel: "sum-1",
		semconv.KeyGenAIResponseModel: "sum-1-2026", semconv.KeyGenAIFinishReasons: `["stop"]`, semconv.KeyGenAIRequestStream: "true",
		semconv.KeyGenAIInputTokens: "700", semconv.KeyGenAIOutputTokens: "50", semconv.KeyServerAddress: "127.0.0.1", semconv.KeyRoute: "sum",
	})
	wantAttributes(t, forwarded, map[attribute.Key]string{semconv.KeyURLFull: g.up.URL + "/v1/chat/completions", semconv.KeyHTTPResponseStatusCode: "200"})
	for _, key := range []attribute.Key{semconv.KeyTokensBefore, semconv.KeyTokensAfter} {
		if attributeOf(fold, key) == "" || attributeOf(attempt, key) == "" {
			t.Errorf("%s is missing", key)
		}
	}
	if len(server.Links()) != 0 {
		t.Error("a request links to its own attempt")
	}
}

// Without a provider nothing of a trace changes on its way, whatever it is.
func TestUntracedHeadersAreUntouched(t *testing.T) {
	t.Parallel()
	g := newGateway(t, options{config: func(c *middleware.Config) { c.Routes = nil }})
	g.up.setAnswer(func(w http.ResponseWriter, r *http.Request, c stubCall) {
		if strings.Contains(string(c.Body), "final question") && !strings.Contains(string(c.Body), `"stream":true`) {
			answerOK(w, r, c)
			return
		}
		answerSummary(summaryText)(w, r, c)
	})
	for _, turns := range []int{1, 24} {
		for _, parent := range []string{callersParent, "nonsense"} {
			g.post(t, request(talk("u"+parent[:2], turns)), "Traceparent", parent, "Tracestate", "a=1,b=2", "Baggage", "secret=1")
			g.up.mu.Lock()
			for _, c := range g.up.calls {
				if h := c.Header; h.Get("Traceparent") != parent || h.Get("Tracestate") != "a=1,b=2" || h.Get("Baggage") != "secret=1" {
					t.Errorf("%d turns: the upstream got %q %q %q", turns, h.Get("Traceparent"), h.Get("Tracestate"), h.Get("Baggage"))
				}
			}
			g.up.calls = nil
			g.up.mu.Unlock()
		}
	}
}

// Not sampled, a request leaves no span, and says so to both upstreams.
func TestUnsampledRequest(t *testing.T) {
	t.Parallel()
	spans := newRecorder()
	g := newGateway(t, options{traces: spans})
	g.post(t, request(talk("t", 24)), "Traceparent", unsampled)
	for name, h := range map[string]http.Header{"upstream": g.up.last(t).Header, "summarizer": g.sum.last(t).Header} {
		got := h.Get("Traceparent")
		if !strings.HasPrefix(got, "00-"+callersTrace) || !strings.HasSuffix(got, "-00") || got == unsampled {
			t.Errorf("the %s was told %q", name, got)
		}
	}
	if names := spans.names(); len(names) != 0 {
		t.Errorf("spans %v", names)
	}
}

// A request that joins an attempt links to that attempt's span, on this replica
// and on another one.
func TestJoinedRequestsLink(t *testing.T) {
	t.Parallel()
	store := memstore.New(memstore.Options{})
	release := make(chan struct{})
	sum := newStub(t, func(w http.ResponseWriter, r *http.Request, c stubCall) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
		answerSummary(summaryText)(w, r, c)
	})
	spansA, spansB := newRecorder(), newRecorder()
	a := newGateway(t, options{store: store, sum: sum, traces: spansA, replica: "a", config: func(c *middleware.Config) { c.Keepalive = time.Millisecond }})
	b := newGateway(t, options{store: store, sum: sum, traces: spansB, replica: "b"})

	body := request(talk("j", 24))
	answers := make(chan answer, 2)
	send := func(g *gateway) { go func() { answers <- g.try(t.Context(), body) }() }
	send(a)
	sum.called(t)
	// A stream gets its head as soon as it waits, so it has joined by then.
	joined := openStream(t, a, request(talk("j", 24), "stream", true))
	send(b)
	spansB.one(t, semconv.SpanClaim) // b was told who works
	close(release)
	if _, err := io.Copy(io.Discard, joined.Body); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got := <-answers; got.err != nil || got.fold() != "committed" {
			t.Fatalf("%v %s", got.err, got.header.Get("Foldgate-Fold"))
		}
	}
	attempt := spansA.one(t, semconv.SpanAttempt)
	requests := append(spansA.wait(t, chatSpan, 2), spansB.one(t, chatSpan))
	links := 0
	for _, s := range requests {
		for _, l := range s.Links() {
			links++
			if !l.SpanContext.Equal(attempt.SpanContext().WithRemote(true)) {
				t.Errorf("linked to %v, want the attempt's span", l.SpanContext)
			}
		}
		if joined := attributeOf(s, semconv.KeyJoined); (joined == "true") != (len(s.Links()) == 1) {
			t.Errorf("joined is %s with %d links", joined, len(s.Links()))
		}
	}
	if links != 2 {
		t.Errorf("%d links, want one from each request that joined", links)
	}
}

// openStream posts body and returns once the head is there.
func openStream(t *testing.T, g *gateway, body map[string]any) *http.Response {
	t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.url+"/v1/chat/completions", bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer sk-tenant-a")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	return res
}

// Whatever is no chat request has a span too, with a name of few values and
// nothing of its query.
func TestTraceOfOtherRequests(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		method, path string
		status       int
		name         string
		want         map[attribute.Key]string
		failed       bool
	}{
		{http.MethodGet, "/v1/models?key=sk-secret", 200, "GET", map[attribute.Key]string{semconv.KeyURLPath: "/v1/models", semconv.KeyHTTPRoute: ""}, false},
		{http.MethodGet, "/v1/models", 404, "GET", map[attribute.Key]string{semconv.KeyHTTPResponseStatusCode: "404", semconv.KeyErrorType: ""}, false},
		{http.MethodGet, "/v1/models", 503, "GET", map[attribute.Key]string{semconv.KeyErrorType: "503"}, true},
		{"BREW", "/pot", 200, "HTTP", map[attribute.Key]string{semconv.KeyHTTPRequestMethod: "_OTHER", semconv.KeyHTTPRequestMethodOrig: "BREW"}, false},
		{
			http.MethodPost, "/openai/deployments/mine/chat/completions?api-version=1", 200, "POST {prefix}/chat/completions",
			map[attribute.Key]string{semconv.KeyFoldKind: "none", semconv.KeyFoldReason: "not-chat"},
			false,
		},
	} {
		spans := newRecorder()
		g := newGateway(t, options{traces: spans, up: newStub(t, answerStatus(tc.status, "{}"))})
		r, err := http.NewRequestWithContext(t.Context(), tc.method, g.url+tc.path, strings.NewReader("x"))
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		var server sdktrace.ReadOnlySpan
		for _, s := range spans.wait(t, tc.name, 1) {
			server = s
		}
		for server.SpanKind() != trace.SpanKindServer { // the forwarded call has the same name
			both := spans.wait(t, tc.name, 2)
			server = both[slices.IndexFunc(both, func(s sdktrace.ReadOnlySpan) bool { return s.SpanKind() == trace.SpanKindServer })]
		}
		wantAttributes(t, server, tc.want)
		if (server.Status().Code == codes.Error) != tc.failed {
			t.Errorf("%s %d: status %v", tc.path, tc.status, server.Status())
		}
		for _, s := range spans.ended {
			for _, a := range s.Attributes() {
				if strings.Contains(a.Value.String(), "secret") || strings.Contains(a.Value.String(), "api-version") {
					t.Errorf("%s: %s is %s", s.Name(), a.Key, a.Value.String())
				}
			}
		}
	}
}

// A response that breaks off is told from one that ended.
func TestTraceOfABrokenResponse(t *testing.T) {
	t.Parallel()
	spans := newRecorder()
	g := newGateway(t, options{traces: spans, up: newStub(t, func(w http.ResponseWriter, _ *http.Request, _ stubCall) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, "half")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})})
	g.try(t.Context(), request(talk("b", 1)))
	server, forwarded := spans.one(t, chatSpan), spans.one(t, "POST")
	wantAttributes(t, server, map[attribute.Key]string{semconv.KeyErrorType: "response_broke_off", semconv.KeyHTTPResponseStatusCode: "200"})
	wantAttributes(t, forwarded, map[attribute.Key]string{semconv.KeyErrorType: "connection_error"})
}

// Spans wait in memory for their collector: what a caller can make long is cut.
func TestTraceOfALongHead(t *testing.T) {
	t.Parallel()
	spans := newRecorder()
	g := newGateway(t, options{traces: spans})
	long := strings.Repeat("a", 100_000)
	r, err := http.NewRequestWithContext(t.Context(), long, g.url+"/"+long, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = long
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	for _, s := range spans.wait(t, "HTTP", 2) {
		for _, a := range s.Attributes() {
			if n := len(a.Value.String()); n > 1024 {
				t.Errorf("%v: %s has %d bytes", s.SpanKind(), a.Key, n)
			}
		}
	}
}

// A caller who is gone has either left, or closed the connection behind the whole
// answer: then the request ended well.
func TestTraceOfACallerWhoIsGone(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		next   http.HandlerFunc // with a context that has ended
		status string
		want   string
	}{
		{name: "after the last byte", next: func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }, status: "200"},
		{name: "after a refusal", next: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }, status: "503", want: "503"},
		{name: "before the answer", next: func(http.ResponseWriter, *http.Request) {}, want: "canceled"},
		{name: "in the middle", next: func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "o")
			panic(http.ErrAbortHandler)
		}, status: "200", want: "canceled"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			spans := newRecorder()
			g := newGateway(t, options{traces: spans})
			ctx, leave := context.WithCancel(t.Context())
			h := g.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				leave()
				tc.next(w, r)
			}))
			func() {
				defer func() { _ = recover() }()
				h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, "/v1/models", nil))
			}()
			wantAttributes(t, spans.one(t, "GET"), map[attribute.Key]string{semconv.KeyHTTPResponseStatusCode: tc.status, semconv.KeyErrorType: tc.want})
		})
	}
}

// A summary call that fails says how.
func TestTraceOfAFailedSummary(t *testing.T) {
	t.Parallel()
	for want, answer := range map[string]func(http.ResponseWriter, *http.Request, stubCall){
		"500":             answerStatus(500, "{}"),
		"error_in_answer": answerStatus(200, `{"error":{"message":"no","type":"server_error"}}`),
		"malformed":       answerStatus(200, "<html>"),
	} {
		spans := newRecorder()
		g := newGateway(t, options{traces: spans, sum: newStub(t, answer)})
		g.post(t, request(talk("f", 24)))
		s := spans.one(t, "chat sum-1")
		if got := attributeOf(s, semconv.KeyErrorType); got != want || s.Status().Code != codes.Error {
			t.Errorf("error.type is %q, want %q", got, want)
		}
	}
}

// A checkpoint that is taken back is an event of the request that found out.
func TestTraceOfARestore(t *testing.T) {
	t.Parallel()
	spans := newRecorder()
	g := newGateway(t, options{traces: spans})
	g.up.setAnswer(func(w http.ResponseWriter, r *http.Request, c stubCall) {
		if strings.Contains(string(c.Body), "SUMMARY-ZEBRA") {
			answerStatus(400, `{"error":{"message":"messages: roles must alternate between user and assistant","type":"invalid_request_error"}}`)(w, r, c)
			return
		}
		answerOK(w, r, c)
	})
	a := g.post(t, request(talk("r", 24)))
	server := spans.one(t, chatSpan)
	i := slices.IndexFunc(server.Events(), func(e sdktrace.Event) bool { return e.Name == semconv.EventRestore })
	if i < 0 {
		t.Fatalf("%s: no event among %v", a.header.Get("Foldgate-Fold"), server.Events())
	}
	wantChild(t, spans.one(t, "ownership.restore"), server)
	wantAttributes(t, server, map[attribute.Key]string{semconv.KeyFoldRetried: "true"})
}

// In a service that has a server's span already, ours goes below it.
func TestTraceBelowSomebodysServer(t *testing.T) {
	t.Parallel()
	spans := newRecorder()
	m := bareMiddleware(t, spans)
	ctx, outer := spans.Tracer("theirs").Start(t.Context(), "theirs", trace.WithSpanKind(trace.SpanKindServer))
	r := httptest.NewRequest(http.MethodGet, "/v1/models", nil).WithContext(ctx)
	r.Header.Set("Traceparent", callersParent)
	var told string
	m.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { told = r.Header.Get("Traceparent") })).ServeHTTP(httptest.NewRecorder(), r)
	outer.End()
	ours, theirs := spans.one(t, "GET"), spans.one(t, "theirs")
	wantChild(t, ours, theirs)
	if ours.SpanKind() != trace.SpanKindInternal || told != parentOf(ours) {
		t.Errorf("kind %v, the next handler was told %q", ours.SpanKind(), told)
	}
	if r.Header.Get("Traceparent") != callersParent {
		t.Error("the caller's own header was changed")
	}
}

func bareMiddleware(tb testing.TB, traces trace.TracerProvider) *middleware.Middleware {
	tb.Helper()
	store := memstore.New(memstore.Options{})
	coordinator, err := ownership.NewCoordinator(ownership.Config{Store: store, TracerProvider: traces})
	if err != nil {
		tb.Fatal(err)
	}
	book, err := window.NewBook(window.BookConfig{Default: 128_000})
	if err != nil {
		tb.Fatal(err)
	}
	m, err := middleware.New(middleware.Config{
		Upstream: &url.URL{Scheme: "http", Host: "upstream"}, Store: store, Coordinator: coordinator, Book: book,
		IgnoreAdvertised: true, TracerProvider: traces,
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(m.Wait)
	return m
}

// BenchmarkTracing bounds what tracing costs a small chat request: nothing when it
// is off, next to nothing when the request is not sampled.
func BenchmarkTracing(b *testing.B) {
	const body = `{"model":"m","messages":[{"role":"user","content":"hello"}]}`
	for _, bc := range []struct {
		name   string
		traces trace.TracerProvider
		parent string
	}{
		{"off", nil, callersParent},
		{"unsampled", sdktrace.NewTracerProvider(), unsampled},
		{"sampled", sdktrace.NewTracerProvider(), callersParent},
	} {
		b.Run(bc.name, func(b *testing.B) {
			h := bareMiddleware(b, bc.traces).Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(http.StatusOK)
			}))
			b.ReportAllocs()
			for b.Loop() {
				r := httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(body))
				r.Header.Set("Traceparent", bc.parent)
				h.ServeHTTP(httptest.NewRecorder(), r)
			}
		})
	}
}
