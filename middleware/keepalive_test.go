package middleware

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func pendingHead(h http.Header) { h.Set(headerFold, "pending") }

func TestKeepaliveFrames(t *testing.T) {
	w := httptest.NewRecorder()
	w.Header().Set("X-Outer", "stays")
	k := startKeepalive(w, pendingHead)
	k.Beat()
	k.Beat()
	if want := strings.Repeat(keepaliveFrame, 3); w.Body.String() != want || w.Code != 200 || !w.Flushed {
		t.Errorf("got %d %q, flushed %v; want 200 %q", w.Code, w.Body, w.Flushed, want)
	}
	want := http.Header{
		"Content-Type": {"text/event-stream"}, "Cache-Control": {"no-cache"}, "X-Accel-Buffering": {"no"},
		"X-Outer": {"stays"}, "Foldgate-Fold": {"pending"},
		"Trailer": {"Foldgate-Fold", "Foldgate-Tokens", "Foldgate-Attempt", "Foldgate-Key"},
	}
	if diff := cmp.Diff(want, w.Result().Header); diff != "" {
		t.Errorf("head (-want +got):\n%s", diff)
	}
}

func TestKeepaliveAnswers(t *testing.T) {
	const (
		late   = ": Foldgate-Fold: committed\n: Foldgate-Tokens: source=config\n\n"
		failed = `data: {"error":{"message":"The upstream gave no answer that fits into the stream.","type":"server_error","param":null,"code":"upstream_unreachable"}}` + "\n\ndata: [DONE]\n\n"
	)
	coded := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.WriteHeader(400)
		_, _ = w.Write(packers["gzip"]([]byte(`{"error":{"code":"x"}}`)))
	}
	tests := []struct {
		name   string
		answer http.HandlerFunc
		want   string
	}{
		{"stream", answer200("text/event-stream", ": c\n\n", "data: 1\r\n\r\n", "data: [DONE]\n\n"), ": c\n\ndata: 1\r\n\r\ndata: [DONE]\n\n"},
		{"error", answerWith(400, "application/json", "{\n \"error\":\r\n{\"code\":", "\"a\\nb\"}}\n"), "data: {  \"error\":  {\"code\":\"a\\nb\"}}\n\ndata: [DONE]\n\n"},
		{"coded error", coded, "data: {\"error\":{\"code\":\"x\"}}\n\ndata: [DONE]\n\n"},
		{"error of another form", answerWith(500, "application/json", `{"detail":"no"}`), failed},
		{"null error", answerWith(500, "application/json", `{"error":null}`), failed},
		{"page", answerWith(502, "text/html", "<html>"), failed},
		{"empty", answerWith(500, ""), failed},
		{"huge", answerWith(500, "application/json", `{"error":"`, strings.Repeat("x", maxLateBody), `"}`), failed},
		{"object without stream", answer200("application/json", `{"choices":[]}`), "data: {\"choices\":[]}\n\ndata: [DONE]\n\n"},
		{"own error", func(w http.ResponseWriter, r *http.Request) {
			writeError(w, r, codeUpstreamTimeout, "late", "")
		}, `data: {"error":{"message":"late","type":"server_error","param":null,"code":"upstream_timeout"}}` + "\n\ndata: [DONE]\n\n"},
	}
	for _, tt := range tests {
		for _, hold := range []string{"straight", "held", "replayed"} {
			t.Run(tt.name+", "+hold, func(t *testing.T) {
				s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					k := startKeepalive(w, pendingHead)
					o := holdingFor(release)
					o.Hold = hold != "straight"
					if hold == "replayed" {
						o = holdingFor(discard)
					}
					o.Head = func(_ int, h http.Header) {
						h.Set(headerFold, "committed")
						h.Set(headerTokens, "source=config")
					}
					a := k.Answer()
					h := newHolder(a, o)
					h.serve(tt.answer, r)
					a.Finish()
					h.Replay()
					a.Finish()
				}))
				defer s.Close()
				res, err := s.Client().Get(s.URL)
				if err != nil {
					t.Fatal(err)
				}
				defer res.Body.Close()
				body, err := io.ReadAll(res.Body)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(keepaliveFrame+late+tt.want, string(body)); diff != "" {
					t.Errorf("stream (-want +got):\n%s", diff)
				}
				if got := res.Header.Get(headerFold); got != "pending" || res.StatusCode != 200 {
					t.Errorf("head: got %d, %q; want 200, pending", res.StatusCode, got)
				}
				if got := fmt.Sprint(res.Trailer[headerFold], res.Trailer[headerTokens], res.Trailer[headerKey]); got != "[committed] [source=config] []" {
					t.Errorf("trailers: got %s", got)
				}
			})
		}
	}
}

func TestKeepaliveFails(t *testing.T) {
	w := httptest.NewRecorder()
	k := startKeepalive(w, pendingHead)
	k.Fail(http.Header{headerFold: {"unfit"}}, codeContextLength, "too long", "messages")
	want := keepaliveFrame + ": Foldgate-Fold: unfit\n\n" +
		`data: {"error":{"message":"too long","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}` + "\n\ndata: [DONE]\n\n"
	if diff := cmp.Diff(want, w.Body.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
