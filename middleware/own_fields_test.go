package middleware_test

import (
	"net/http"
	"testing"

	"github.com/foldgate/foldgate/middleware"
)

// What an upstream says under our names never reaches the client, announced or
// not, held or not.
func TestOwnNamesOfAnUpstreamAreDropped(t *testing.T) {
	for name, mode := range map[string]middleware.Mode{"held": middleware.ModeFold, "straight": middleware.ModeOff} {
		t.Run(name, func(t *testing.T) {
			g := newGateway(t, options{
				config: func(c *middleware.Config) { c.Mode = mode },
				up: newStub(t, func(w http.ResponseWriter, r *http.Request, c stubCall) {
					w.Header().Set("Foldgate-Key", "evil")
					w.Header().Set("Trailer", "Foldgate-Fold, X-Sum")
					answerOK(w, r, c)
					w.Header().Set("Foldgate-Fold", "evil")
					w.Header().Set("X-Sum", "7")
					w.Header().Set(http.TrailerPrefix+"Foldgate-Attempt", "evil")
					w.Header().Set(http.TrailerPrefix+"X-Late", "8")
				}),
			})
			a := g.post(t, request(talk("own", 24)))
			for _, field := range []string{"Foldgate-Fold", "Foldgate-Attempt", "Foldgate-Key"} {
				if a.header.Get(field) == "evil" || a.trailer.Get(field) != "" {
					t.Errorf("%s: header %q, trailer %q", field, a.header.Get(field), a.trailer.Get(field))
				}
			}
			if a.trailer.Get("X-Sum") != "7" || a.trailer.Get("X-Late") != "8" {
				t.Errorf("the upstream's own trailers: %v", a.trailer)
			}
		})
	}
}

// An informational response before a head without a Content-Type must not make
// net/http guess one.
func TestNoContentTypeIsGuessedAfterEarlyHints(t *testing.T) {
	g := newGateway(t, options{up: newStub(t, func(w http.ResponseWriter, _ *http.Request, _ stubCall) {
		w.Header().Set("Link", "</a>; rel=preload")
		w.WriteHeader(http.StatusEarlyHints)
		w.Header()["Content-Type"] = nil
		_, _ = w.Write([]byte("<html>"))
	})})
	a := g.post(t, request(talk("hints", 24)))
	if got := a.header.Values("Content-Type"); len(got) != 0 {
		t.Errorf("Content-Type: %q", got)
	}
}
