package middleware_test

import (
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/foldgate/foldgate/middleware"
)

// A head, or an error in a stream of status 200, does not prove a checkpoint.
func TestAnErrorInAStreamSettlesNothing(t *testing.T) {
	const limited = `{"error":{"message":"Rate limit reached","type":"requests","code":"rate_limit_exceeded"}}`
	for name, tc := range map[string]struct {
		hold    time.Duration
		answer  func(http.ResponseWriter, *http.Request, stubCall)
		settled bool
	}{
		"the first event is an error": {patience, inStream("data: " + limited + "\n\ndata: [DONE]\n\n"), false},
		"not held":                    {0, inStream(": ping\n\ndata: " + limited + "\n\n"), false},
		"an event named error":        {0, inStream("event: error\ndata: {\"message\":\"overloaded\"}\n\n"), false},
		"nothing but a head":          {0, inStream(""), false},
		"an object of status 200":     {patience, answerStatus(200, limited), false},
		"text, then an error":         {patience, inStream("data: {\"choices\":[]}\n\ndata: " + limited + "\n\n"), true},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGateway(t, options{up: newStub(t, tc.answer), config: func(c *middleware.Config) { c.Hold = tc.hold }})
			a := g.post(t, request(talk("s", 24), "stream", true))
			if a.status != 200 || a.fold() != "committed" {
				t.Fatalf("got %d %s", a.status, a.header.Get("Foldgate-Fold"))
			}
			g.Wait()
			v, err := g.store.Store.Read(t.Context(), a.key(), nil)
			if err != nil || len(v.State.Checkpoints) != 1 {
				t.Fatalf("got %+v, %v", v, err)
			}
			if got := v.State.Checkpoints[0].Settled; got != tc.settled {
				t.Errorf("settled: %v, want %v", got, tc.settled)
			}
		})
	}
}

// inStream answers with an event stream, its head first.
func inStream(events string) func(http.ResponseWriter, *http.Request, stubCall) {
	return func(w http.ResponseWriter, _ *http.Request, _ stubCall) {
		w.Header().Set("Content-Type", "text/event-stream")
		_ = http.NewResponseController(w).Flush()
		_, _ = io.WriteString(w, events)
	}
}

// The store counts retention from the last use, so a replica that goes on using
// a checkpoint says so, but not with every request.
func TestAReplicaSaysOnceThatACheckpointIsInUse(t *testing.T) {
	g1 := newGateway(t, options{})
	m := request(talk("use", 24))
	settled(t, g1, g1.post(t, m).key())
	g2 := newGateway(t, options{store: g1.store.Store})
	for range 3 {
		if a := g2.post(t, m); a.fold() != "reused" {
			t.Fatalf("Foldgate-Fold: %s", a.header.Get("Foldgate-Fold"))
		}
		g2.Wait()
	}
	if n := g2.store.settles.Load(); n != 1 {
		t.Errorf("%d settles, want 1", n)
	}
}
