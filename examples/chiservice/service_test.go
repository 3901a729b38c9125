package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// model answers chat requests, and writes a summary where it is asked for a
// stream, as summaries are.
func model(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if !strings.Contains(string(body), `"stream":true`) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"choices":[{"index":0,"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}]}`)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, `data: {"choices":[{"index":0,"delta":{"content":"A garden is planned: pond, shed, paths."}}]}`+"\n\n"+
		`data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
}

// running is a service that serves until end is called.
type running struct {
	*service
	url string
	end func() error
}

func start(t *testing.T, change func(*settings)) running {
	t.Helper()
	upstream := httptest.NewServer(http.HandlerFunc(model))
	t.Cleanup(upstream.Close)
	target, err := url.Parse(upstream.URL)
	if err != nil {
		t.Fatal(err)
	}
	s := settings{Upstream: target, TenantSecret: []byte("secret"), Window: "4000", Logger: slog.New(slog.DiscardHandler)}
	change(&s)
	v, err := newService(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- v.serve(ctx, l) }()
	return running{service: v, url: "http://" + l.Addr().String(), end: func() error {
		stop()
		return <-ended
	}}
}

// ask sends a conversation of so many turns and returns what was done with it.
func (r running) ask(t *testing.T, turns int) (fold string) {
	t.Helper()
	var messages []string
	for i := range turns {
		messages = append(messages,
			fmt.Sprintf(`{"role":"user","content":"question %d: what about step %d of the plan for the garden, the pond and the shed?"}`, i, i),
			fmt.Sprintf(`{"role":"assistant","content":"answer %d: step %d comes after step %d, and the pond waits for the spring."}`, i, i, i-1))
	}
	messages = append(messages, `{"role":"user","content":"what did we decide?"}`)
	res := r.do(t, http.MethodPost, "/v1/chat/completions", `{"model":"my-model","messages":[`+strings.Join(messages, ",")+`]}`)
	if res.StatusCode != http.StatusOK {
		t.Errorf("%d turns: status %d", turns, res.StatusCode)
	}
	return res.Header.Get("Foldgate-Fold")
}

func (r running) do(t *testing.T, method, path, body string) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, r.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Close = true
	res, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	return res
}

// The service folds, with either store, tells its observers and makes spans, and
// ends without an error and without a goroutine.
func TestServiceFolds(t *testing.T) {
	for _, store := range []string{"in process", "redis"} {
		t.Run(store, func(t *testing.T) {
			spans := tracetest.NewInMemoryExporter()
			traces := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
			r := start(t, func(s *settings) {
				s.Traces = traces
				if store == "redis" {
					s.RedisURL = "redis://" + miniredis.RunT(t).Addr()
				}
			})
			for turns, want := range map[int]string{1: `none; reason="under"`, 120: "committed"} {
				if got := r.ask(t, turns); got != want {
					t.Errorf("%d turns: got %q, want %q", turns, got, want)
				}
			}
			if got := r.ask(t, 121); got != "reused" {
				t.Errorf("the next turn: got %q", got)
			}
			var shown struct {
				Folds, Attempts map[string]int
				Saved           int
			}
			if err := json.NewDecoder(r.do(t, http.MethodGet, "/counts", "").Body).Decode(&shown); err != nil {
				t.Fatal(err)
			}
			if shown.Folds["reused"] != 1 || shown.Attempts["committed"] != 1 || shown.Saved <= 0 {
				t.Errorf("counted %+v", shown)
			}
			if err := r.end(); err != nil {
				t.Error(err)
			}
			names := map[string]bool{}
			for _, s := range spans.GetSpans() {
				names[s.Name] = true
			}
			if !names["compression.attempt"] || !names["POST /v1/chat/completions"] {
				t.Errorf("spans: %v", names)
			}
		})
	}
}

// Its own routes are its own, a window can be changed while it runs, and a wrong
// one changes nothing.
func TestServiceIsReconfigured(t *testing.T) {
	r := start(t, func(s *settings) { s.Window = "1000000" })
	if got := r.ask(t, 120); got != `none; reason="under"` {
		t.Errorf("got %q", got)
	}
	if err := r.reconfigure("nonsense"); err == nil {
		t.Error("nonsense is no window")
	}
	if got := r.ask(t, 120); got != `none; reason="under"` {
		t.Errorf("after a change that was refused: got %q", got)
	}
	if err := r.reconfigure("my-*=4000"); err != nil {
		t.Fatal(err)
	}
	if got := r.ask(t, 120); got != "committed" {
		t.Errorf("with a smaller window: got %q", got)
	}
	if res := r.do(t, http.MethodGet, "/healthz", ""); res.StatusCode != http.StatusOK {
		t.Errorf("its own route: %d", res.StatusCode)
	}
	if err := r.end(); err != nil {
		t.Error(err)
	}
}

func TestWrongSettingsAreRefused(t *testing.T) {
	for name, change := range map[string]func(*settings){
		"window":   func(s *settings) { s.Window = "nonsense" },
		"redis":    func(s *settings) { s.RedisURL = "http://nowhere" },
		"upstream": func(s *settings) { s.Upstream = &url.URL{Path: "nowhere"} },
	} {
		s := settings{Upstream: &url.URL{Scheme: "http", Host: "127.0.0.1:1"}, Logger: slog.New(slog.DiscardHandler)}
		change(&s)
		if _, err := newService(t.Context(), s); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
