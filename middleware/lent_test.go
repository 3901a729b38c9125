package middleware_test

import (
	"net/http"
	"testing"
)

// A body counts for as long as its request lasts, also where an attempt has read
// it: what is sent on is the same memory.
func TestALentBodyCountsUntilTheAnswerEnds(t *testing.T) {
	g := newGateway(t, options{})
	var during int64
	g.up.setAnswer(func(w http.ResponseWriter, r *http.Request, c stubCall) {
		during = g.BytesInFlight()
		answerOK(w, r, c)
	})
	raw := request(talk("lent", 24), "tools", []msg{})
	if a := g.post(t, raw); a.fold() != "committed" {
		t.Fatalf("Foldgate-Fold: %s", a.header.Get("Foldgate-Fold"))
	}
	if during == 0 {
		t.Error("nothing counts while the request is under way")
	}
}
