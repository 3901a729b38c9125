package middleware_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/foldgate/foldgate/middleware"
)

// The gateway's own errors that no other test gets through a whole gateway. Their
// form, and that the fields of every chat response are there, is openapi.yaml's
// to say.
func TestOwnErrorsOfAWholeGateway(t *testing.T) {
	code := func(t *testing.T, a answer, status int, code, fold string) {
		t.Helper()
		if a.status != status || !strings.Contains(string(a.body), `"code":"`+code+`"`) || a.header.Get("Foldgate-Fold") != fold {
			t.Errorf("got %d %s with %s, want %d %s with %s", a.status, a.body, a.header.Get("Foldgate-Fold"), status, code, fold)
		}
	}
	t.Run("a body that ends early", func(t *testing.T) {
		g := newGateway(t, options{})
		conn, err := net.Dial("tcp", strings.TrimPrefix(g.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		io.WriteString(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\n{\"model\":")
		conn.(*net.TCPConn).CloseWrite()
		raw, err := io.ReadAll(conn)
		if err != nil || !strings.HasPrefix(string(raw), "HTTP/1.1 400 ") || !strings.Contains(string(raw), `"code":"request_body_broken"`) || g.up.count() != 0 {
			t.Errorf("got %s, %v after %d upstream calls", raw, err, g.up.count())
		}
	})
	t.Run("an upstream that is not there", func(t *testing.T) {
		g := newGateway(t, options{})
		g.up.Close()
		code(t, g.post(t, request(talk("u", 1))), 502, "upstream_unreachable", `none; reason="under"`)
		res, err := http.Get(g.url + "/v1/models")
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if body, err := io.ReadAll(res.Body); err != nil || res.StatusCode != 502 || !strings.Contains(string(body), `"upstream_unreachable"`) {
			t.Errorf("on what is no chat request: got %d %s, %v", res.StatusCode, body, err)
		}
	})
	t.Run("an upstream that says nothing", func(t *testing.T) {
		g := newGateway(t, options{up: newStub(t, func(_ http.ResponseWriter, r *http.Request, _ stubCall) { <-r.Context().Done() })})
		upstream, err := url.Parse(g.up.URL)
		if err != nil {
			t.Fatal(err)
		}
		transport := middleware.NewTransport()
		defer transport.CloseIdleConnections()
		impatient := httptest.NewServer(described.Data(t, g.Handler(middleware.NewProxy(middleware.ProxyConfig{
			Upstream: upstream, Transport: transport, Timeout: 10 * time.Millisecond,
		}))))
		defer impatient.Close()
		g.url = impatient.URL
		code(t, g.post(t, request(talk("u", 1))), 504, "upstream_timeout", `none; reason="under"`)
	})
}

// A replica that leaves hands its attempts over: who waits for one is folded
// without a model.
func TestWaitingForAnAttemptThatIsHandedOver(t *testing.T) {
	sum, release := heldSummary(t)
	defer close(release)
	g := newGateway(t, options{sum: sum})
	waiting := make(chan answer, 1)
	go func() { waiting <- g.try(t.Context(), request(talk("h", 24))) }()
	g.sum.called(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := g.coordinator.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
	a := <-waiting
	if a.status != 200 || a.fold() != "fallback" || a.reason() != "cancelled" || a.attempt("outcome") != "abandoned" {
		t.Errorf("got %d %s, %s", a.status, a.header.Get("Foldgate-Fold"), a.header.Get("Foldgate-Attempt"))
	}
}

// A summary that is not smaller than what it replaces is none.
func TestASummaryThatDoesNotHelp(t *testing.T) {
	g := newGateway(t, options{sum: newStub(t, answerSummary("The talk so far: "+words("long", 1, 300)))})
	a := g.post(t, request([]msg{
		{"role": "system", "content": words("head", 1, 1350)},
		{"role": "user", "content": "first: " + words("a", 1, 130)},
		{"role": "assistant", "content": "answer: " + words("a", 2, 130)},
		{"role": "user", "content": "last: " + words("c", 1, 600)},
	}))
	if a.status != 200 || a.fold() != "fallback" || a.reason() != "ineffective" || a.attempt("outcome") != "ineffective" {
		t.Errorf("got %d %s, %s, %s", a.status, a.header.Get("Foldgate-Fold"), a.header.Get("Foldgate-Attempt"), a.header.Get("Foldgate-Tokens"))
	}
}
