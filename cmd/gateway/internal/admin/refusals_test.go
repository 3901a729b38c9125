package admin_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foldgate/foldgate/cmd/gateway/internal/admin"
	"github.com/foldgate/foldgate/ownership"
	"github.com/foldgate/foldgate/ownership/memstore"
)

const showPath = "/v1/conversations/" + string(key)

// bodied are the calls that take a body.
func bodied() []call {
	return []call{
		{method: "POST", path: cancelPath}, {method: "POST", path: restorePath}, {method: "POST", path: "/v1/fold", body: "{}"},
	}
}

// guarded are all calls but those that anybody may make.
func guarded() []call {
	return append(bodied(),
		call{method: "DELETE", path: showPath}, call{path: showPath},
		call{path: "/v1/conversations"}, call{path: "/v1/attempts"}, call{path: "/v1/replica"}, call{path: "/v1/tokens"}, call{path: "/metrics"}, call{path: "/openapi.yaml"},
	)
}

// Each rule is asked for each call it is about, and in this order.
func TestEveryCallKeepsItsRules(t *testing.T) {
	t.Parallel()
	p := newPlane(t, withToken)
	p.committed(first)
	refused := func(why string, c call, status int, code string) {
		t.Helper()
		if got := p.do(c); got.status != status || got.code() != code {
			t.Errorf("%s: %s %s: got %d %s, want %d %s", why, c.method, c.path, got.status, got.body, status, code)
		}
	}
	for _, c := range append(guarded(), call{path: "/"}, call{path: "/assets/app.js"}) {
		c.host = "evil.example"
		c.header = map[string]string{"Origin": "https://evil.example", "Content-Type": "text/plain"}
		refused("a foreign host", c, 403, "host_not_allowed")
	}
	for _, c := range guarded() {
		c.header = map[string]string{"Origin": "https://evil.example", "Content-Type": "text/plain"}
		refused("no token", c, 401, "invalid_token")
	}
	for _, c := range append(bodied(), call{method: "DELETE", path: showPath}) {
		c.header = bearer(map[string]string{"Origin": "https://evil.example", "Content-Type": "text/plain"})
		refused("a foreign origin", c, 403, "origin_not_allowed")
	}
	for _, c := range bodied() {
		c.header = bearer(map[string]string{"Content-Type": "text/plain"})
		refused("a form", c, 415, "unsupported_media_type")
		c.header = bearer(nil)
		c.body = `{"reason":"` + strings.Repeat("x", 70<<10) + `"}`
		refused("a body that is too large", c, 413, "request_too_large")
	}
	for _, end := range []string{"", "/cancel", "/restore"} {
		c := call{method: "POST", path: "/v1/conversations/" + strings.ToUpper(string(key)) + end, header: bearer(nil)}
		if end == "" {
			c.method = "DELETE"
		}
		refused("a key that is none", c, 400, "invalid_key")
	}
	for _, path := range []string{cancelPath, restorePath} {
		refused("no change", call{method: "POST", path: path, body: "[]", header: bearer(nil)}, 400, "invalid_body")
	}
	for _, query := range []string{"handoff=2", "handoff=", "handoff=true", "handoff=1&handoff=1", "handoff=1;", "handoff=%zz", "handoff=01"} {
		refused("a query that is none", call{path: showPath + "?" + query, header: bearer(nil)}, 400, "invalid_query")
	}
	for _, query := range []string{"window=%zz", "window=1&window=2"} {
		refused("a query that is none", call{method: "POST", path: "/v1/fold?" + query, body: "{}", header: bearer(nil)}, 400, "invalid_query")
	}
	if v := p.view(); v.Generation != 1 || v.Cancel != nil || len(v.State.Checkpoints) != 1 || len(p.dropped) != 0 {
		t.Errorf("the conversation changed: %+v", v)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	for i := range 1200 {
		p.recent = append(p.recent, admin.Touched{Conversation: key, Kind: "none"})
		p.attempts = append(p.attempts, ownership.Info{
			Fence: ownership.Fence{Generation: ownership.Generation(i), Attempt: first}, Conversation: key, Phase: ownership.Working,
		})
	}
	for list, path := range map[string]string{"conversations": "/v1/conversations", "attempts": "/v1/attempts"} {
		for query, want := range map[string]int{"": 50, "?limit=1": 1, "?limit=1000": 1000, "?other=1": 50} {
			if got := p.do(call{path: path + query}); len(got.fields[list].([]any)) != want {
				t.Errorf("%s%s: got %d, want %d", path, query, len(got.fields[list].([]any)), want)
			}
		}
		for _, query := range []string{
			"limit=0", "limit=-1", "limit=1001", "limit=99999999999999999999", "limit=1e3", "limit=0x10", "limit=1.0", "limit=%2B5", "limit=+5",
			"limit=", "limit=x", "limit=%D9%A1", "limit=1&limit=2", "limit=%zz", "limit=1;limit=2",
		} {
			if got := p.do(call{path: path + "?" + query}); got.status != http.StatusBadRequest || got.code() != "invalid_limit" {
				t.Errorf("%s?%s: got %d %s", path, query, got.status, got.body)
			}
		}
	}
}

// A method that a path does not take is refused, and Allow says which ones it does.
func TestMethods(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	for path, want := range map[string]string{
		"/": "GET, HEAD", "/assets/app.js": "GET, HEAD", "/v1/replica": "GET, HEAD", "/v1/tokens": "GET, HEAD", "/livez": "GET, HEAD", "/readyz": "GET, HEAD", "/metrics": "GET, HEAD", "/openapi.yaml": "GET, HEAD",
		"/v1/conversations": "GET, HEAD", "/v1/attempts": "GET, HEAD", showPath: "GET, HEAD, DELETE",
		cancelPath: "POST", restorePath: "POST", "/v1/fold": "POST",
	} {
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"} {
			if strings.Contains(want, method) {
				continue
			}
			got := p.do(call{method: method, path: path})
			if got.status != http.StatusMethodNotAllowed || strings.Join(got.header["Allow"], ", ") != want {
				t.Errorf("%s %s: got %d, Allow %q", method, path, got.status, got.header["Allow"])
			}
		}
	}
}

// What fails inside is told as such, and its text stays inside.
func TestFailuresInside(t *testing.T) {
	t.Parallel()
	p := newPlane(t, withToken, func(c *admin.Config) { c.Store = brokenStore{errors.New("secret-host")} })
	p.foldError = errors.New("secret-host")
	for _, c := range append(bodied(), call{method: "DELETE", path: showPath}, call{path: showPath}) {
		c.header = bearer(nil)
		if got := p.do(c); got.status != http.StatusInternalServerError || got.code() != "internal_error" || strings.Contains(got.body, "secret") {
			t.Errorf("%s %s: got %d %s", c.method, c.path, got.status, got.body)
		}
	}
}

// door is a listener within the process.
type door struct {
	conns chan net.Conn
	shut  chan struct{}
}

func (d door) Accept() (net.Conn, error) {
	select {
	case c := <-d.conns:
		return c, nil
	case <-d.shut:
		return nil, net.ErrClosed
	}
}

func (d door) Close() error   { close(d.shut); return nil }
func (d door) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 9090} }

// A body that does not come keeps nobody for long, in whatever server the plane
// is.
func TestABodyThatDoesNotCome(t *testing.T) {
	t.Parallel()
	for _, c := range bodied() {
		t.Run(c.path, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := &plane{t: t, store: memstore.New(memstore.Options{})}
				h, err := admin.New(p.config(withToken))
				if err != nil {
					t.Fatal(err)
				}
				d := door{make(chan net.Conn), make(chan struct{})}
				server := &http.Server{Handler: described.Admin(t, h), ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0)}
				ended := make(chan error)
				go func() { ended <- server.Serve(d) }()
				mine, theirs := net.Pipe()
				d.conns <- theirs
				began := time.Now()
				fmt.Fprintf(mine, "%s %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{", c.method, c.path, token)
				got := readReply(t, mine)
				if got.status != http.StatusRequestTimeout || got.code() != "request_timeout" || time.Since(began) != 30*time.Second {
					t.Errorf("got %d %s after %v", got.status, got.body, time.Since(began))
				}
				if _, err := bufio.NewReader(mine).ReadByte(); err != io.EOF {
					t.Errorf("the connection stays: %v", err)
				}
				mine.Close()
				server.Close()
				<-ended
			})
		})
	}
}
