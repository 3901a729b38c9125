package middleware

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// Holding errors only costs no answer anything, and keeps a refusal back all the
// same.
func TestHoldingErrorsOnly(t *testing.T) {
	t.Run("an answer goes straight through", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			for _, contentType := range []string{"text/event-stream", "application/json"} {
				o := holdingFor(discard)
				o.ErrorsOnly = true
				began := time.Now()
				var seen int
				o.Observe = func(b []byte, _ bool) { seen += len(b) }
				w, h := run(o, func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", contentType)
					_, _ = w.Write([]byte("data: 1\n\n"))
					if seen == 0 {
						t.Errorf("%s: the first piece is held", contentType)
					}
					_, _ = w.Write([]byte("data: 2\n\n"))
				})
				if h.Discarded() || w.Body.String() != "data: 1\n\ndata: 2\n\n" || w.Code != 200 || time.Since(began) != 0 {
					t.Errorf("%s: discarded %v, %d %q after %v", contentType, h.Discarded(), w.Code, w.Body, time.Since(began))
				}
			}
		})
	})
	t.Run("an error is kept back", func(t *testing.T) {
		o := holdingFor(discard)
		o.ErrorsOnly = true
		w, h := run(o, answerWith(413, "text/html", "<html>", "</html>"))
		if !h.Discarded() || w.Body.Len() != 0 {
			t.Errorf("discarded %v, %q was sent", h.Discarded(), w.Body)
		}
		h.Replay()
		if w.Code != 413 || w.Body.String() != "<html></html>" {
			t.Errorf("replayed as %d %q", w.Code, w.Body)
		}
	})
}
