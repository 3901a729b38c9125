package middleware_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/foldgate/foldgate/middleware"
)

// tooLong bounds every wait that should not happen.
const tooLong = time.Minute

// upstreamOf starts an upstream that answers with f.
func upstreamOf(t testing.TB, f http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	return s
}

// gatewayTo starts a pass-through in front of upstream, a URL.
func gatewayTo(t testing.TB, upstream string, change ...func(*middleware.ProxyConfig)) *httptest.Server {
	t.Helper()
	base, err := url.Parse(upstream)
	if err != nil {
		t.Fatal(err)
	}
	transport := middleware.NewTransport()
	c := middleware.ProxyConfig{Upstream: base, Transport: transport}
	for _, f := range change {
		f(&c)
	}
	s := httptest.NewServer(middleware.NewProxy(c))
	t.Cleanup(func() {
		s.Close()
		transport.CloseIdleConnections()
	})
	return s
}

// plainClient asks exactly what it is told to.
func plainClient(t testing.TB) *http.Client {
	t.Helper()
	transport := &http.Transport{DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: tooLong}
}

// rawUpstream answers every connection by f and hands on the heads that it saw.
func rawUpstream(t testing.TB, f func(head string, c net.Conn, r *bufio.Reader)) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	conns := make(chan net.Conn, 1024)
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			conns <- c
			go func() {
				defer c.Close()
				r := bufio.NewReader(c)
				head, err := readHead(r)
				if err == nil {
					f(head, c, r)
				}
			}()
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-done
		close(conns)
		for c := range conns {
			c.Close()
		}
	})
	return "http://" + l.Addr().String()
}

// readHead reads up to and including the blank line.
func readHead(r *bufio.Reader) (string, error) {
	var head strings.Builder
	for {
		line, err := r.ReadString('\n')
		head.WriteString(line)
		if err != nil || line == "\r\n" {
			return head.String(), err
		}
	}
}

// rawRequest sends bytes and gives a reader of what comes back.
func rawRequest(t testing.TB, s *httptest.Server, request string) (net.Conn, *bufio.Reader) {
	t.Helper()
	c, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(tooLong)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	return c, bufio.NewReader(c)
}

// waitClosed ends the test if ch does not close in time.
func waitClosed(t testing.TB, ch <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-ch:
	case <-time.After(tooLong):
		t.Fatalf("%s: still waiting", what)
	}
}

// ownStreams are event streams of every shape that the recorded ones have.
var ownStreams = map[string]string{
	"plain":          "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: [DONE]\n\n",
	"no space, crlf": "data:{\"a\":1}\r\n\r\ndata:[DONE]\r\n\r\n",
	"cr":             "data: 1\r\rdata: [DONE]\r\r",
	"comments":       ": OPENROUTER PROCESSING\n\n:\n\n\ndata: {\"x\":\"ä\"}\n\n: ping\n\ndata: [DONE]\n\n",
	"event names":    "event: ping\ndata: {}\n\nevent: error\ndata: {\"error\":{\"message\":\"no\"}}\n\n",
	"no end":         "data: {\"a\":",
	"long line":      "data: " + strings.Repeat("x", 200_000) + "\n\ndata: [DONE]\n\n",
	"empty":          "",
	"bytes":          "data: \xff\xfe\x00\n\n",
}

// recordedStreams reads FOLDGATE_TESTDATA/sse; ok is false where it is not set.
func recordedStreams(t testing.TB) (streams map[string]string, ok bool) {
	t.Helper()
	dir := os.Getenv("FOLDGATE_TESTDATA")
	if dir == "" {
		return nil, false
	}
	files, err := filepath.Glob(filepath.Join(dir, "sse", "*.sse"))
	if err != nil || len(files) == 0 {
		t.Fatalf("FOLDGATE_TESTDATA is set, but %s/sse holds no streams (%v)", dir, err)
	}
	streams = make(map[string]string)
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		streams[filepath.Base(f)] = string(b)
	}
	return streams, true
}
