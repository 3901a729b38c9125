package main

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// An upstream or a route that cannot prove its name is told nothing: neither one that
// nobody vouches for, nor one that is vouched for under other names. The system's
// roots are those of SSL_CERT_FILE here, in a program of its own.
func TestTLSOfAnUpstreamIsVerified(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	up := newUpstream(t, "SUMMARY: the questions were answered, nothing is open.")
	secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		up.Config.Handler.ServeHTTP(w, r)
	}))
	t.Cleanup(secure.Close)
	secure.Config.ErrorLog = nil
	roots := filepath.Join(t.TempDir(), "roots.pem")
	replaceFile(t, roots, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})))
	_, port, _ := strings.Cut(strings.TrimPrefix(secure.URL, "https://"), ":")
	wrongName := "https://localhost:" + port // the certificate is for 127.0.0.1 and example.com
	trusting := []string{"SSL_CERT_FILE=" + roots}
	for _, tc := range []struct {
		name, url string
		environ   []string
		trusted   bool
	}{
		{"vouched for", secure.URL, trusting, true},
		{"vouched for by nobody", secure.URL, nil, false},
		{"under another name", wrongName, trusting, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			asked.Store(0)
			g := spawnIn(t, tc.environ, "a", "--upstream", tc.url)
			g.listens()
			if got := g.chat(longChat("tls", 1)); (got.status == http.StatusOK) != tc.trusted || !tc.trusted && !strings.Contains(got.body, "upstream_unreachable") {
				t.Errorf("upstream: %d %s", got.status, got.body)
			}
			route := spawnIn(t, tc.environ, "b", "--upstream", up.URL, "--window", "4000", "--summarizer-url", tc.url)
			route.listens()
			want := map[bool]string{true: "committed", false: `fallback; reason="routes"`}[tc.trusted]
			if got := foldOf(route.chat(longChat("tls", overTurns))); !strings.HasPrefix(got, want) {
				t.Errorf("route: %s, want %s", got, want)
			}
			if (asked.Load() > 0) != tc.trusted {
				t.Errorf("it was told %d requests", asked.Load())
			}
		})
	}
}
