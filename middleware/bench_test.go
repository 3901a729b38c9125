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
	"time"

	"github.com/foldgate/foldgate/compression/window"
	"github.com/foldgate/foldgate/middleware"
	"github.com/foldgate/foldgate/ownership"
	"github.com/foldgate/foldgate/ownership/memstore"
)

// Bounds what the gateway adds to a request, without a network: one that passes
// under the length gate, one that is counted and stays as it is, and one that is
// forwarded with a handoff that this replica holds.
func BenchmarkRequest(b *testing.B) {
	long := talk("bench", 200)
	for _, way := range []struct {
		name   string
		m      []msg
		window window.Tokens
		fold   string
	}{
		{"pass", talk("bench", 10), 200_000, "none"},
		{"counted", long, 60_000, "none"},
		{"reused", long, 24_000, "reused"},
	} {
		b.Run(way.name, func(b *testing.B) {
			h := inProcess(b, memstore.New(memstore.Options{}), "", way.window, promptModel{}, patience)
			body, err := json.Marshal(request(way.m))
			if err != nil {
				b.Fatal(err)
			}
			do := func() string {
				w := httptest.NewRecorder()
				h.ServeHTTP(w, httptest.NewRequestWithContext(b.Context(), http.MethodPost, "/v1/chat/completions", bytes.NewReader(body)))
				kind, _, _ := strings.Cut(w.Header().Get("Foldgate-Fold"), ";")
				return kind
			}
			do() // counts every message for the first time, and makes the handoff
			if over := len(body) > int(way.window); over != (way.name != "pass") {
				b.Fatalf("over the length gate: %v", over)
			}
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if kind := do(); kind != way.fold {
					b.Fatalf("folded %q, want %q", kind, way.fold)
				}
			}
		})
	}
}

// promptModel writes a summary at once.
type promptModel struct{}

func (promptModel) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	answerSummary(summaryText)(w, r, stubCall{})
	return w.Result(), nil
}

// inProcess is a gateway in front of an upstream in the same process, which takes
// everything. model is asked for summaries.
func inProcess(tb testing.TB, store ownership.Store, replica string, total window.Tokens, model http.RoundTripper, wait time.Duration) http.Handler {
	tb.Helper()
	book, err := window.NewBook(window.BookConfig{Rules: []window.Rule{{Glob: "gpt-*", Total: total}}})
	if err != nil {
		tb.Fatal(err)
	}
	coordinator, err := ownership.NewCoordinator(ownership.Config{Store: store, Replica: replica})
	if err != nil {
		tb.Fatal(err)
	}
	m, err := middleware.New(middleware.Config{
		Upstream: &url.URL{Scheme: "http", Host: "upstream"}, Store: store, Coordinator: coordinator, Book: book,
		Wait: wait, Transport: model, IgnoreAdvertised: true,
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := coordinator.Shutdown(context.WithoutCancel(tb.Context())); err != nil {
			tb.Errorf("shutting the coordinator down: %v", err)
		}
		m.Wait()
	})
	return m.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		answerOK(w, r, stubCall{})
	}))
}
