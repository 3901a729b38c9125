package telemetry_test

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foldgate/foldgate/cmd/gateway/internal/telemetry"
	"github.com/foldgate/foldgate/middleware"
	"github.com/foldgate/foldgate/ownership"
)

// busy makes every instrument count something, with labels that a caller, an
// upstream or a store might try.
func busy(t *testing.T, tel *telemetry.Telemetry, upstream string) {
	t.Helper()
	for i := range 2000 {
		text := fmt.Sprintf("gpt-%d", i)
		tel.ChatDone(middleware.Report{Kind: "none", Reason: "mode", Before: 9000, After: 3000, Window: 8000})
		tel.ChatDone(middleware.Report{Kind: text, Reason: text, Wait: time.Second, Retried: true})
		tel.ChatDone(middleware.Report{Kind: "fallback", Before: 9000, After: 3000, Window: 8000})
		tel.Refused(text, errors.New(text))
		tel.StoreError(text, errors.New(text))
		tel.AttemptStarted(ownership.Attempt{Conversation: ownership.Key(text)})
		tel.AttemptEnded(ownership.Attempt{Conversation: ownership.Key(text)}, ownership.Phase(text), false, 0, nil)
		tel.SummaryDone(middleware.SummaryReport{Address: "sum.example", Port: 443, Model: "configured", Duration: time.Second, FirstText: time.Second, Input: i, Reported: i%2 == 0, ErrorType: text})
	}
	tel.Reloaded(telemetry.ReloadChanged)
	err := errors.Join(
		tel.WatchBreaker(func() telemetry.BreakerState { return telemetry.BreakerOpen }),
		tel.WatchBodies(func() int64 { return 1 }),
		tel.WatchUnopened(func() telemetry.Unopened { return telemetry.Unopened{Key: 1, Plain: 2} }),
		tel.WatchParts(map[string]func() bool{"upstream": func() bool { return true }, "summarizer": func() bool { return false }}),
	)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: tel.Transport(http.DefaultTransport), CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	h := tel.Requests(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out, err := http.NewRequestWithContext(r.Context(), r.Method, upstream+r.URL.Path, nil)
		if err != nil {
			t.Error(err)
			return
		}
		res, err := client.Do(out)
		if err != nil {
			t.Error(err)
			return
		}
		defer res.Body.Close()
		w.WriteHeader(res.StatusCode)
		_, _ = io.Copy(w, res.Body)
	}))
	for i := 200; i < 600; i++ {
		for _, method := range []string{http.MethodGet, fmt.Sprintf("BREW%d", i)} {
			h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(method, fmt.Sprintf("/%d", i), nil))
		}
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, fmt.Sprintf("/%d/chat/completions", i), nil))
	}
}

// series are the labels of each series on /metrics, by the instrument's name there.
func series(text string, names []string) map[string][]string {
	line := regexp.MustCompile(`(?m)^([a-z_]+)(?:\{(.*)\})? \S+$`)
	out := map[string][]string{}
	for _, m := range line.FindAllStringSubmatch(text, -1) {
		for _, suffix := range []string{"", "_bucket", "_sum", "_count"} {
			if name, ok := strings.CutSuffix(m[1], suffix); ok && slices.Contains(names, name) {
				out[name] = append(out[name], m[2])
				break
			}
		}
	}
	return out
}

// The catalog is what the documentation tells: every metric is in it under the name
// that /metrics shows, with its labels, and there are no more series than it says,
// whatever callers, upstreams and stores try.
func TestCatalogIsWhatIsEmitted(t *testing.T) {
	t.Parallel()
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var status int
		if _, err := fmt.Sscanf(r.URL.Path, "/%d", &status); err != nil {
			t.Error(err)
		}
		w.WriteHeader(status)
	}))
	defer upstream.Close()
	tel := newTelemetry(t)
	busy(t, tel, upstream.URL)
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	got := scrape(t, tel)

	catalog := map[string]telemetry.Instrument{}
	for _, i := range telemetry.Instruments() {
		catalog[i.Prometheus()] = i
		if i.About == "" || i.Series() < 1 {
			t.Errorf("%s: %+v", i.Name, i)
		}
	}
	found := series(got, slices.Collect(maps.Keys(catalog)))
	for name, i := range catalog {
		if n := len(found[name]); n == 0 || n > i.Series() {
			t.Errorf("%s has %d series, want 1 to %d", name, n, i.Series())
		}
		for _, labels := range found[name] {
			for _, label := range regexp.MustCompile(`([a-z_]+)="`).FindAllStringSubmatch(labels, -1) {
				if !describes(i, label[1]) && label[1] != "le" {
					t.Errorf("%s has a label %s that is not described", name, label[1])
				}
			}
		}
	}
	for _, line := range strings.Split(got, "\n") {
		name, _, _ := strings.Cut(strings.TrimPrefix(line, "# TYPE "), " ")
		if strings.HasPrefix(line, "# TYPE ") && !strings.HasPrefix(name, "go_") && !strings.HasPrefix(name, "process_") && !strings.HasPrefix(name, "promhttp_") {
			if _, ok := catalog[name]; !ok {
				t.Errorf("%s is not described", name)
			}
		}
	}
	if strings.Contains(got, "gpt-") || strings.Contains(got, "BREW") {
		t.Error("a label takes its value from a request")
	}
}

func describes(i telemetry.Instrument, label string) bool {
	return slices.ContainsFunc(i.Labels, func(l telemetry.Label) bool {
		return strings.ReplaceAll(string(l.Key), ".", "_") == label
	})
}
