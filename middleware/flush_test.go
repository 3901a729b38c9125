package middleware_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// flushes notes what had been written whenever somebody flushed.
type flushes struct {
	*httptest.ResponseRecorder
	at []string
}

func (f *flushes) FlushError() error {
	f.at = append(f.at, f.Body.String())
	return nil
}

// A short answer of known length leaves whole. One whose rest is late does not wait
// for it.
func TestProxyFlushesWhatWaits(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		length int64
		pauses []time.Duration
		want   []string
	}{
		{"all at once", 2, []time.Duration{0, 0}, nil},
		{"a late begin", 1, []time.Duration{time.Second}, []string{""}},
		{"a late rest", 2, []time.Duration{0, time.Second}, []string{"x"}},
		{"no length", -1, []time.Duration{time.Second, 0}, []string{"", "x", "xx"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := silentProxy(0, func(r *http.Request) (*http.Response, error) {
					return &http.Response{StatusCode: 200, ContentLength: tt.length, Header: http.Header{}, Body: &pausing{r.Context(), tt.pauses}}, nil
				})
				w := &flushes{ResponseRecorder: httptest.NewRecorder()}
				p.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
				if got := strings.Join(w.at, ","); got != strings.Join(tt.want, ",") || len(w.at) != len(tt.want) {
					t.Errorf("flushed at %q, want %q", w.at, tt.want)
				}
				if want := strings.Repeat("x", len(tt.pauses)); w.Body.String() != want {
					t.Errorf("got %q, want %q", w.Body, want)
				}
			})
		})
	}
}
