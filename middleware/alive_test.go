package middleware_test

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/foldgate/foldgate/middleware"
)

// A streaming caller that hangs up while it is kept alive takes its writer with
// it: a frame that came later would go into a buffer of somebody else's answer,
// or panic in a goroutine that nobody recovers.
func TestKeepaliveEndsWithTheRequest(t *testing.T) {
	hold := make(chan struct{})
	sum := newStub(t, func(http.ResponseWriter, *http.Request, stubCall) { <-hold })
	g := newGateway(t, options{sum: sum, config: func(c *middleware.Config) { c.Keepalive = 5 * time.Millisecond }})
	t.Cleanup(func() { close(hold) })
	var body strings.Builder
	body.WriteString(`{"model":"gpt-test","stream":true,"messages":[{"role":"user","content":"go"}`)
	for range 100 {
		body.WriteString(`,{"role":"assistant","content":"` + words("a", 1, 60) + `"},{"role":"user","content":"` + words("u", 2, 60) + `"}`)
	}
	body.WriteString("]}")
	for range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, g.url+"/v1/chat/completions", strings.NewReader(body.String()))
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := bufio.NewReader(res.Body).ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		cancel()
		res.Body.Close()
	}
	// Requests go on being answered, by writers that nobody else writes to.
	for range 20 {
		if a := g.post(t, []byte(`{"model":"gpt-test","messages":[{"role":"user","content":"hi"}]}`)); a.status != 200 || strings.Contains(string(a.body), ": foldgate") {
			t.Fatalf("got %d %s", a.status, a.body)
		}
	}
}
