package statuswriter_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/foldgate/foldgate/internal/statuswriter"
)

func TestStatus(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		do   func(w http.ResponseWriter)
		want int
	}{
		{"nothing", func(http.ResponseWriter) {}, 0},
		{"a status", func(w http.ResponseWriter) { w.WriteHeader(404) }, 404},
		{"hints first", func(w http.ResponseWriter) { w.WriteHeader(103); w.WriteHeader(201) }, 201},
		{"hints only", func(w http.ResponseWriter) { w.WriteHeader(100) }, 0},
		{"a body only", func(w http.ResponseWriter) { _, _ = io.WriteString(w, "x") }, 200},
		{"flushed only", func(w http.ResponseWriter) { _ = http.NewResponseController(w).Flush() }, 200},
		{"a second status", func(w http.ResponseWriter) { w.WriteHeader(500); w.WriteHeader(200) }, 500},
	} {
		below := httptest.NewRecorder()
		w := statuswriter.New(below)
		tc.do(w)
		if w.Status() != tc.want {
			t.Errorf("%s: got %d, want %d", tc.name, w.Status(), tc.want)
		}
		if tc.want != 0 && below.Code != tc.want && tc.want != 201 {
			t.Errorf("%s: %d reached the client", tc.name, below.Code)
		}
	}
}

// An upgraded connection is handed over whole.
func TestHijack(t *testing.T) {
	t.Parallel()
	status := make(chan int, 1)
	server := httptest.NewServer(http.HandlerFunc(func(below http.ResponseWriter, _ *http.Request) {
		w := statuswriter.New(below)
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
		_ = conn.Close()
		status <- w.Status()
	}))
	defer server.Close()
	res, err := http.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if got := <-status; got != http.StatusSwitchingProtocols {
		t.Errorf("got %d", got)
	}
}
