package admin_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/foldgate/foldgate/cmd/gateway/internal/admin"
	"github.com/foldgate/foldgate/ownership/memstore"
)

// Whatever bytes come, the plane answers with what it documents: a status, JSON
// where it is an error, and nothing without the token.
func FuzzRequest(f *testing.F) {
	for _, seed := range []string{
		"GET /v1/conversations?limit=2 HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"GET /v1/conversations/%00?handoff=1 HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"POST /v1/conversations/5d41402abc4b2a76b9719d911017c592ae8f5c12/cancel HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 29\r\n\r\n{\"generation\":1,\"attempt\":\"\"}",
		"POST /v1/fold?window=1 HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json; charset=\"\r\nContent-Length: 2\r\n\r\n{}",
		"DELETE /v1/conversations/a HTTP/1.1\r\nHost: [::1%25a]:9\r\nOrigin: null\r\n\r\n",
		"GET /assets/../admin.go HTTP/1.1\r\nHost: localhost:99999\r\nIf-None-Match: \"\r\n\r\n",
		"GET //v1/attempts?conversation=%&limit=-1 HTTP/1.1\r\nHost: gate.internal.\r\n\r\n",
	} {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	f.Fuzz(func(t *testing.T, raw string, named bool) {
		r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(raw)))
		if err != nil {
			return // net/http answers that itself
		}
		p := &plane{t: t, store: memstore.New(memstore.Options{})}
		h, err := admin.New(p.config(withToken))
		if err != nil {
			t.Fatal(err)
		}
		authorized := r.Header.Get("Authorization") != ""
		if named { // as whoever may ask
			r.Host = "localhost"
			r.Header.Set("Authorization", "Bearer "+token)
			authorized = true
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		body, _ := io.ReadAll(w.Result().Body)
		open := w.Code == http.StatusNotModified || r.URL.Path == "/" || r.URL.Path == "/livez" || r.URL.Path == "/readyz" || strings.HasPrefix(r.URL.Path, "/assets/")
		if !authorized && !open && w.Code < 400 && (w.Code < 300 || w.Code > 399) {
			t.Errorf("%d %q without a token: %.200s", w.Code, raw, body)
		}
		if w.Code >= 400 && r.Method != http.MethodHead && !json.Valid(body) {
			t.Errorf("%d %.200q to %q", w.Code, body, raw)
		}
		if w.Code >= 500 {
			t.Errorf("%d %.200s to %q", w.Code, body, raw)
		}
	})
}
