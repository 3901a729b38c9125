package middleware_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
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

// What a client says under our names reaches no upstream, on any path, in any
// mode, in the head or behind the body. All else of it does.
func TestOwnNamesOfAClientAreDropped(t *testing.T) {
	chat, err := json.Marshal(request(talk("own", 24)))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name, target, body string
		mode               middleware.Mode
	}{
		{"a chat", "POST /v1/chat/completions", string(chat), middleware.ModeFold},
		{"a chat in observe", "POST /v1/chat/completions", string(chat), middleware.ModeObserve},
		{"a chat through a plain proxy", "POST /v1/chat/completions", string(chat), middleware.ModeOff},
		{"embeddings", "POST /v1/embeddings", `{"input":"x"}`, middleware.ModeFold},
		{"a stored chat", "POST /v1/chat/completions/1", `{"metadata":{}}`, middleware.ModeFold},
		{"embeddings through a plain proxy", "POST /v1/embeddings", `{"input":"x"}`, middleware.ModeOff},
	} {
		t.Run(tc.name, func(t *testing.T) {
			type got struct{ header, trailer http.Header }
			seen := make(chan got, 1)
			g := newGateway(t, options{
				config: func(c *middleware.Config) { c.Mode = tc.mode },
				up: newStub(t, func(w http.ResponseWriter, r *http.Request, c stubCall) {
					seen <- got{r.Header, r.Trailer}
					answerOK(w, r, c)
				}),
			})
			conn, r := dialGateway(t, g)
			_, err := fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: x\r\nX-Other: kept\r\nFoldgate-Conversation: planted\r\nfoldgate-bypass: ?1\r\nFoldgate-Nothing: planted\r\n"+
				"Trailer: X-Sum, Foldgate-Conversation\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\nX-Sum: 7\r\nFoldgate-Conversation: planted\r\nFoldgate-Late: planted\r\n\r\n",
				tc.target, len(tc.body), tc.body)
			if err != nil {
				t.Fatal(err)
			}
			if res, err := http.ReadResponse(r, nil); err != nil || res.StatusCode != http.StatusOK {
				t.Fatalf("got %v, %v", res, err)
			}
			at := <-seen
			for where, h := range map[string]http.Header{"header": at.header, "trailer": at.trailer} {
				for name := range h {
					if strings.HasPrefix(name, "Foldgate-") {
						t.Errorf("%s %s reached the upstream", where, name)
					}
				}
			}
			if at.header.Get("X-Other") != "kept" || at.trailer.Get("X-Sum") != "7" {
				t.Errorf("the client's own fields: %v, trailers %v", at.header, at.trailer)
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
