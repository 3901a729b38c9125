package middleware_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// deadlines is a ResponseWriter that notes the read deadlines that are set.
type deadlines struct {
	*httptest.ResponseRecorder
	set []time.Time
}

func (d *deadlines) SetReadDeadline(t time.Time) error {
	d.set = append(d.set, t)
	return nil
}

// A client that falls silent in the middle of its body must not keep its share
// of the memory budget: every read has a deadline, and the connection has none
// left when the body is through.
func TestEveryReadOfABodyHasADeadline(t *testing.T) {
	g := newGateway(t, options{})
	w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
	r := httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(`{"model":"gpt-test","messages":[]}`))
	g.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })).ServeHTTP(w, r)
	if w.Code != http.StatusNoContent {
		t.Fatalf("got %d", w.Code)
	}
	ahead := 0
	for _, at := range w.set {
		if !at.IsZero() {
			ahead++
		}
	}
	if ahead == 0 || !w.set[len(w.set)-1].IsZero() {
		t.Errorf("deadlines %v: want some ahead, and none at the end", w.set)
	}
}
