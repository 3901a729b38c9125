package telemetry_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/foldgate/foldgate/cmd/gateway/internal/telemetry"
	"github.com/foldgate/foldgate/middleware"
	"github.com/foldgate/foldgate/ownership"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newTelemetry(t *testing.T) *telemetry.Telemetry {
	t.Helper()
	tel, err := telemetry.New(t.Context(), telemetry.Options{Version: "v1.2.3"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tel.Shutdown(t.Context()); err != nil && !errors.Is(err, t.Context().Err()) {
			t.Error(err)
		}
	})
	return tel
}

func scrape(t *testing.T, tel *telemetry.Telemetry) string {
	t.Helper()
	w := httptest.NewRecorder()
	tel.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("scrape: %d %s", w.Code, w.Body)
	}
	return w.Body.String()
}

func TestWhatHappensIsCounted(t *testing.T) {
	t.Parallel()
	tel := newTelemetry(t)
	tel.ChatDone(middleware.Report{Kind: "committed", Before: 9000, After: 3000, Wait: 2 * time.Second, Added: time.Millisecond, Retried: true})
	tel.ChatDone(middleware.Report{Kind: "none", Reason: "under"})
	tel.ChatDone(middleware.Report{Kind: "none", Reason: "fits", Before: 100, After: 50}) // nothing was folded, nothing saved
	tel.SummaryDone(middleware.SummaryReport{Input: 700, Output: 50})
	tel.AttemptStarted(ownership.Attempt{})
	tel.AttemptStarted(ownership.Attempt{})
	tel.AttemptEnded(ownership.Attempt{}, ownership.Committed, false, 3*time.Second, nil)
	tel.AttemptEnded(ownership.Attempt{}, ownership.Committed, true, time.Second, nil)
	tel.Refused("commit", fmt.Errorf("commit: %w", ownership.ErrSuperseded))
	tel.Refused("settle", &ownership.EndedError{Phase: ownership.Restored})
	tel.StoreError("claim", fmt.Errorf("claim: %w", ownership.ErrUnavailable))
	if err := tel.WatchBreaker(func() telemetry.BreakerState { return telemetry.BreakerOpen }); err != nil {
		t.Fatal(err)
	}
	if err := tel.WatchBodies(func() int64 { return 4096 }); err != nil {
		t.Fatal(err)
	}
	got := scrape(t, tel)
	for _, line := range []string{
		`foldgate_folds_total{kind="committed",reason="none"} 1`,
		`foldgate_folds_total{kind="none",reason="under"} 1`,
		`foldgate_retries_total 1`,
		`foldgate_wait_seconds_count 1`,
		`foldgate_wait_seconds_sum 2`,
		`foldgate_added_seconds_count 3`,
		`foldgate_tokens_saved_total 6000`,
		`foldgate_summary_tokens_total{direction="input"} 700`,
		`foldgate_summary_tokens_total{direction="output"} 50`,
		`foldgate_attempts_total{outcome="committed"} 1`,
		`foldgate_attempts_total{outcome="unfenced"} 1`,
		`foldgate_attempts_running 0`,
		`foldgate_attempt_duration_seconds_count{outcome="committed"} 1`,
		`foldgate_fence_refusals_total{answer="superseded",operation="commit"} 1`,
		`foldgate_fence_refusals_total{answer="ended",operation="settle"} 1`,
		`foldgate_store_errors_total{kind="unavailable",operation="claim"} 1`,
		`foldgate_breaker_state 2`,
		`foldgate_bodies_in_flight_bytes 4096`,
		`foldgate_build{version="v1.2.3"} 1`,
	} {
		if !strings.Contains(got, line+"\n") {
			t.Errorf("no line %q", line)
		}
	}
	if !strings.Contains(got, "go_goroutines") {
		t.Error("nothing of the runtime")
	}
	if t.Failed() {
		t.Log(got)
	}
}

// Whatever a caller sends, the number of series stays what the comments say.
func TestLabelsComeFromLists(t *testing.T) {
	t.Parallel()
	tel := newTelemetry(t)
	for i := range 3000 {
		text := fmt.Sprintf("gpt-%d", i)
		tel.ChatDone(middleware.Report{Kind: text, Reason: text})
		tel.Refused(text, errors.New(text))
		tel.StoreError(text, errors.New(text))
		tel.AttemptEnded(ownership.Attempt{Conversation: ownership.Key(text)}, ownership.Phase(text), false, 0, nil)
	}
	got := scrape(t, tel)
	if strings.Contains(got, "gpt-") {
		t.Error("a label takes its value from outside")
	}
	if n := strings.Count(got, "foldgate_"); n > 200 {
		t.Errorf("got %d mentions of foldgate_", n)
	}
	if !strings.Contains(got, `foldgate_folds_total{kind="other",reason="other"} 3000`) {
		t.Error("what is not on the list is not counted as other")
	}
}

func TestRequestsInFlight(t *testing.T) {
	t.Parallel()
	tel := newTelemetry(t)
	h := tel.Requests(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if got := scrape(t, tel); !strings.Contains(got, "foldgate_requests_in_flight 1\n") {
			t.Errorf("while it runs: %s", got)
		}
		panic(http.ErrAbortHandler)
	}))
	func() {
		defer func() { _ = recover() }()
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
	}()
	if got := scrape(t, tel); !strings.Contains(got, "foldgate_requests_in_flight 0\n") {
		t.Errorf("after it broke off: %s", got)
	}
}

// Many clients close the connection as soon as they have the whole answer: that
// is no request whose caller left.
func TestACallerWhoIsGone(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		next http.HandlerFunc // with a context that has ended
		want string
	}{
		{"after the last byte", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }, `http_response_status_code="200"`},
		{"before the answer", func(http.ResponseWriter, *http.Request) {}, `error_type="canceled"`},
		{"in the middle", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "o")
			panic(http.ErrAbortHandler)
		}, `error_type="canceled"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			tel := newTelemetry(t)
			ctx, leave := context.WithCancel(t.Context())
			h := tel.Requests(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				leave()
				tc.next(w, r)
			}))
			func() {
				defer func() { _ = recover() }()
				h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil))
			}()
			got := scrape(t, tel)
			for line := range strings.Lines(got) {
				if strings.HasPrefix(line, "http_server_request_duration_seconds_count") && !strings.Contains(line, tc.want) {
					t.Errorf("got %s, want %s", line, tc.want)
				}
			}
			if !strings.Contains(got, "http_server_request_duration_seconds_count") {
				t.Error("the request is not counted")
			}
		})
	}
}

func TestLogger(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name   string
		format telemetry.Format
		want   string
	}{
		{"no terminal is JSON", telemetry.Auto, `"msg":"hello"`},
		{"JSON", telemetry.JSON, `"msg":"hello"`},
		{"text", telemetry.Text, `msg=hello`},
	}
	for _, tc := range cases {
		var out bytes.Buffer
		l := telemetry.NewLogger(&out, tc.format, slog.LevelInfo)
		l.Debug("quiet")
		l.Info("hello")
		if !strings.Contains(out.String(), tc.want) || strings.Contains(out.String(), "quiet") {
			t.Errorf("%s: got %s", tc.name, out.String())
		}
	}
}

func BenchmarkChatDone(b *testing.B) {
	tel, err := telemetry.New(b.Context(), telemetry.Options{Version: "v"})
	if err != nil {
		b.Fatal(err)
	}
	r := middleware.Report{Kind: "none", Reason: "under", Added: time.Millisecond}
	b.ReportAllocs()
	for b.Loop() {
		tel.ChatDone(r)
	}
}
