package middleware_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foldgate/foldgate/compression/window"
	"github.com/foldgate/foldgate/middleware"
	"github.com/foldgate/foldgate/ownership"
	"github.com/foldgate/foldgate/ownership/memstore"
)

// silentModel takes every summary call and never answers.
type silentModel struct{}

func (silentModel) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// drained is a middleware whose summarizer never answers, on the clock of a
// synctest bubble. forwarded gets what reached the upstream.
func drained(t *testing.T, wait, keepalive time.Duration) (m *middleware.Middleware, h http.Handler, forwarded chan []byte) {
	t.Helper()
	store := memstore.New(memstore.Options{})
	book, err := window.NewBook(window.BookConfig{Rules: []window.Rule{{Glob: "gpt-*", Total: 4000}}})
	if err != nil {
		t.Fatal(err)
	}
	coordinator, err := ownership.NewCoordinator(ownership.Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	m, err = middleware.New(middleware.Config{
		Upstream: &url.URL{Scheme: "http", Host: "upstream"}, Store: store, Coordinator: coordinator, Book: book,
		Wait: wait, Keepalive: keepalive, Transport: silentModel{}, IgnoreAdvertised: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := coordinator.Shutdown(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("shutting the coordinator down: %v", err)
		}
		m.Wait()
	})
	forwarded = make(chan []byte, 1)
	next := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("the upstream cannot read: %v", err)
		}
		forwarded <- body
		if bytes.Contains(body, []byte(`"stream":true`)) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"ok\"}}]}\n\ndata: [DONE]\n\n")
			return
		}
		_, _ = io.WriteString(w, `{"choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}]}`)
	})
	return m, m.Handler(next), forwarded
}

// A request that waits for a summary while its replica leaves is folded without
// a model while there is time for an answer.
func TestDrainBoundsTheWait(t *testing.T) {
	tests := []struct {
		name               string
		wait, drain        time.Duration
		keepalive, callers time.Duration
		want               time.Duration // of the whole request, drained after a second of it
	}{
		{name: "the drain is shorter", wait: time.Hour, drain: 15 * time.Second, want: 16 * time.Second},
		{name: "the wait is shorter", wait: 10 * time.Second, drain: 15 * time.Second, want: 10 * time.Second},
		{name: "the caller is less patient", wait: time.Hour, callers: 10 * time.Second, drain: 15 * time.Second, want: 8 * time.Second},
		{name: "kept alive", wait: time.Hour, keepalive: 4 * time.Second, drain: 15 * time.Second, want: 16 * time.Second},
		{name: "no drain at all", wait: time.Hour, drain: 0, want: time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, h, forwarded := drained(t, tt.wait, tt.keepalive)
				body := map[string]any{"model": "gpt-test", "messages": talk("d", 24)}
				if tt.keepalive > 0 {
					body["stream"] = true
				}
				raw, err := json.Marshal(body)
				if err != nil {
					t.Fatal(err)
				}
				r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/chat/completions", bytes.NewReader(raw))
				if tt.callers > 0 {
					r.Header.Set("X-Stainless-Timeout", "10")
				}
				w, began := httptest.NewRecorder(), time.Now()
				ended := make(chan time.Duration)
				go func() {
					h.ServeHTTP(w, r)
					ended <- time.Since(began)
				}()
				<-time.After(time.Second)
				m.Drain(tt.drain)
				m.Drain(time.Hour) // the first call counts
				if took := <-ended; took != tt.want {
					t.Errorf("it took %v, want %v", took, tt.want)
				}
				fold := w.Result().Header.Get("Foldgate-Fold")
				if tt.keepalive > 0 {
					fold = w.Result().Trailer.Get("Foldgate-Fold")
				}
				if w.Code != http.StatusOK || fold != `fallback; reason="timeout"` || !strings.Contains(w.Body.String(), `"ok"`) {
					t.Errorf("got %d, Foldgate-Fold: %s, %.300s", w.Code, fold, w.Body)
				}
				if got := <-forwarded; len(got) >= len(raw) {
					t.Errorf("%d bytes were forwarded of %d", len(got), len(raw))
				}
			})
		})
	}
}

// A request that came before the drain and is still being sent waits no longer
// than those that waited already.
func TestDrainWhileTheBodyComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, h, _ := drained(t, time.Hour, 0)
		raw, err := json.Marshal(map[string]any{"model": "gpt-test", "messages": talk("d", 24)})
		if err != nil {
			t.Fatal(err)
		}
		body, send := io.Pipe()
		w, began := httptest.NewRecorder(), time.Now()
		ended := make(chan time.Duration)
		go func() {
			h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/chat/completions", body))
			ended <- time.Since(began)
		}()
		_, _ = send.Write(raw[:100])
		m.Drain(15 * time.Second)
		<-time.After(5 * time.Second)
		_, _ = send.Write(raw[100:])
		_ = send.Close()
		if took := <-ended; took != 15*time.Second {
			t.Errorf("it took %v", took)
		}
		if fold := w.Result().Header.Get("Foldgate-Fold"); w.Code != http.StatusOK || fold != `fallback; reason="timeout"` {
			t.Errorf("got %d, Foldgate-Fold: %s", w.Code, fold)
		}
	})
}
