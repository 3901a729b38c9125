package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

const smallChat = `{"model":"m","messages":[{"role":"user","content":"hi"}]}`

// keeping is a client that keeps its connections. A response says in Close
// whether the gateway has it come by another one.
func keeping(t *testing.T) *http.Client {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Timeout: patience, Transport: transport}
}

// passed is a response read to its end.
type passed struct {
	*http.Response

	text string
	err  error
}

// over sends a request through c.
func (r *replica) over(c *http.Client, method, path, body string) passed {
	r.t.Helper()
	p := r.pass(c, method, path, body)
	if p.err != nil {
		r.t.Fatalf("%s %s: %v\n%s", method, path, p.err, r.log)
	}
	return p
}

// pass is over for goroutines and for requests that may fail.
func (r *replica) pass(c *http.Client, method, path, body string) passed {
	req, err := http.NewRequestWithContext(context.WithoutCancel(r.t.Context()), method, r.data+path, strings.NewReader(body))
	if err != nil {
		return passed{err: err}
	}
	res, err := c.Do(req)
	if err != nil {
		return passed{err: err}
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	return passed{res, string(raw), err}
}

// holdOne sends a request that the upstream answers when release is called.
func holdOne(t *testing.T, up *upstream, r *replica, c *http.Client) (answer <-chan passed, release func()) {
	t.Helper()
	entered, held := make(chan struct{}), make(chan struct{})
	release = sync.OnceFunc(func() { close(held) })
	t.Cleanup(release) // the upstream could not end
	up.onRequest(func(*http.Request) { close(entered); <-held })
	out := make(chan passed, 1)
	go func() { out <- r.pass(c, http.MethodPost, "/v1/chat/completions", smallChat) }()
	take(t, entered, "a request at the upstream")
	up.onRequest(nil)
	return out, release
}

// until503 waits until /readyz fails.
func (r *replica) until503(t *testing.T) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for limit := time.After(patience); ; {
		if a := r.send("GET", r.admin+"/readyz", ""); a.status == http.StatusServiceUnavailable {
			return
		}
		select {
		case <-tick.C:
		case <-limit:
			t.Fatal("readyz stays ready")
		}
	}
}

// While a replica drains it is alive and not ready, says so, ends what runs and
// sends everybody else away.
func TestDrainRefusesAndFinishes(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, "late answer")
	g := start(t, nil, "--upstream", up.URL)
	c := keeping(t)
	if g.over(c, http.MethodPost, "/v1/chat/completions", smallChat).Close {
		t.Error("a connection is closed before anything drains")
	}
	running, release := holdOne(t, up, g, c)
	g.cancel()
	line := g.log.wait(t, "draining", g.ended)
	if line["requests"] != 1.0 || line["drain"] != "30s" || line["drain_delay"] != "0s" {
		t.Errorf("it says %v", line)
	}
	g.until503(t)
	g.log.wait(t, "refusing new requests", g.ended)
	ready, live := g.send(http.MethodGet, g.admin+"/readyz", ""), g.send(http.MethodGet, g.admin+"/livez", "")
	if ready.status != http.StatusServiceUnavailable || ready.json(t)["status"] != "draining" || live.status != http.StatusOK {
		t.Errorf("readyz %d %s, livez %d", ready.status, ready.body, live.status)
	}
	for _, tt := range []struct{ name, method, path, body string }{
		{"chat", http.MethodPost, "/v1/chat/completions", smallChat},
		{"no chat", http.MethodGet, "/v1/models", ""},
		// The client is still sending when it is refused, and must be able to read why.
		{"large", http.MethodPost, "/v1/chat/completions", strings.Repeat("x", 16<<20)},
	} {
		r := g.over(keeping(t), tt.method, tt.path, tt.body)
		if r.StatusCode != http.StatusServiceUnavailable || !strings.Contains(r.text, `"draining"`) || r.Header.Get("Retry-After") != "1" || !r.Close {
			t.Errorf("%s: %d %v %s, closes %t", tt.name, r.StatusCode, r.Header, r.text, r.Close)
		}
	}
	release()
	if r := take(t, running, "the answer of the request that ran"); r.err != nil || r.StatusCode != http.StatusOK || !strings.Contains(r.text, "late answer") || !r.Close {
		t.Errorf("the request that ran: %+v", r)
	}
	if code := g.stop(); code != exitOK {
		t.Errorf("exit code %d:\n%s", code, g.log)
	}
	if line, _ := g.log.find("stopped"); line == nil || line["refused"] != 3.0 || line["cut"] != 0.0 {
		t.Errorf("it ended with %v", line)
	}
}

// The drain begins when drain_delay is over: requests that came before it are
// waited for, those that come after it are refused.
func TestDrainDelayEnds(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, "late answer")
	g := start(t, nil, "--upstream", up.URL, "--drain-delay", "50ms")
	running, release := holdOne(t, up, g, keeping(t))
	g.cancel()
	if line := g.log.wait(t, "refusing new requests", g.ended); line["requests"] != 1.0 {
		t.Errorf("it says %v", line)
	}
	if r := g.over(keeping(t), http.MethodPost, "/v1/chat/completions", smallChat); r.StatusCode != http.StatusServiceUnavailable || !r.Close {
		t.Errorf("after the delay: %d %s", r.StatusCode, r.text)
	}
	release()
	if r := take(t, running, "the answer of the request that ran"); r.err != nil || r.StatusCode != http.StatusOK || !strings.Contains(r.text, "late answer") {
		t.Errorf("the request that ran: %+v", r)
	}
	if code := g.stop(); code != exitOK {
		t.Errorf("exit code %d:\n%s", code, g.log)
	}
}

// A stream that has begun goes on to its end while the replica drains, and one
// that is longer than the drain is cut, never ended.
func TestDrainAndStreams(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, drain string
		whole       bool
	}{{"ends in time", "10m", true}, {"too long", "100ms", false}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			more := make(chan struct{})
			up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"one\"}}]}\n\n")
				_ = http.NewResponseController(w).Flush()
				select {
				case <-more:
					fmt.Fprint(w, "data: [DONE]\n\n")
				case <-r.Context().Done():
				}
			}))
			t.Cleanup(up.Close)
			g := start(t, nil, "--upstream", up.URL, "--drain", tt.drain)
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.data+"/v1/chat/completions", strings.NewReader(`{"stream":true,`+smallChat[1:]))
			if err != nil {
				t.Fatal(err)
			}
			res, err := keeping(t).Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			body := bufio.NewReader(res.Body)
			if _, err := body.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
			g.cancel()
			g.log.wait(t, "draining", g.ended)
			if tt.whole {
				close(more)
			}
			rest, err := io.ReadAll(body)
			if whole := err == nil && strings.HasSuffix(string(rest), "data: [DONE]\n\n"); whole != tt.whole {
				t.Errorf("got %q, %v", rest, err)
			}
			if code := g.stop(); code != exitOK {
				t.Errorf("exit code %d:\n%s", code, g.log)
			}
			line, _ := g.log.find("drain is over, requests are cut")
			if said := line != nil && line["requests"] == 1.0; said == tt.whole {
				t.Errorf("it says of cut requests: %v", line)
			}
		})
	}
}

// A request that has no answer yet is cut like a stream.
func TestDrainHasAnEnd(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, "never")
	entered := make(chan struct{})
	up.onRequest(func(r *http.Request) { close(entered); <-r.Context().Done() })
	g := start(t, nil, "--upstream", up.URL, "--drain", "50ms")
	cut := make(chan error, 1)
	go func() {
		_, err := try(t.Context(), "POST", g.data+"/v1/chat/completions", `{"model":"m","messages":[]}`)
		cut <- err
	}()
	<-entered
	if code := g.stop(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
	if err := <-cut; err == nil {
		t.Error("a cut request looks complete")
	}
	if !strings.Contains(g.log.String(), "drain is over") {
		t.Errorf("nothing is said of cut requests:\n%s", g.log)
	}
}

// Who waits for a summary is answered before the drain is over.
func TestDrainAnswersWhoWaits(t *testing.T) {
	t.Parallel()
	up, sum := newUpstream(t, "ok"), newUpstream(t, summary)
	entered := make(chan struct{})
	gone := make(chan struct{})
	sum.onRequest(func(r *http.Request) { close(entered); <-r.Context().Done(); close(gone) })
	g := start(t, nil, "--upstream", up.URL, "--window", "my-*=4000", "--summarizer-url", sum.URL, "--summarizer-model", "s", "--wait", "1h", "--drain", "6s")
	waiting := make(chan passed, 1)
	go func() {
		waiting <- g.pass(keeping(t), http.MethodPost, "/v1/chat/completions", longChat("drained", 40))
	}()
	<-entered
	if code := g.stop(); code != exitOK {
		t.Errorf("exit code %d:\n%s", code, g.log)
	}
	r := take(t, waiting, "the answer")
	if r.err != nil || r.StatusCode != http.StatusOK || r.Header.Get("Foldgate-Fold") != `fallback; reason="timeout"` || !strings.Contains(r.text, `"ok"`) {
		t.Errorf("got %+v", r)
	}
	take(t, gone, "the end of the attempt") // it ended with its replica
	if line, _ := g.log.find("drain is over, requests are cut"); line != nil {
		t.Errorf("it says %v", line)
	}
}

// Balancers open connections before they need them. They keep no replica from
// leaving, and one that is in use is let be.
func TestTrackerClosesUnusedConnections(t *testing.T) {
	t.Parallel()
	tracked, seen := newTracker(), make(chan http.ConnState, 8)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	s.Config.ConnState = func(c net.Conn, state http.ConnState) {
		tracked.connState(c, state)
		seen <- state
	}
	s.Start()
	t.Cleanup(s.Close)
	dial := func() (net.Conn, *bufio.Reader) {
		var dialer net.Dialer
		c, err := dialer.DialContext(t.Context(), "tcp", s.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		_ = c.SetDeadline(time.Now().Add(patience))
		return c, bufio.NewReader(c)
	}
	ask := func(c net.Conn, answers *bufio.Reader) {
		t.Helper()
		_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		res, err := http.ReadResponse(answers, nil)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
	}
	used, answers := dial()
	ask(used, answers)
	for <-seen != http.StateIdle {
	}
	_, unused := dial()
	for <-seen != http.StateNew {
	}
	tracked.closeUnused()
	if _, err := unused.ReadByte(); !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the unused connection: %v", err)
	}
	ask(used, answers)
	for <-seen != http.StateClosed {
	}
	tracked.mu.Lock()
	defer tracked.mu.Unlock()
	if len(tracked.unused) != 0 {
		t.Errorf("%d connections are still tracked", len(tracked.unused))
	}
}

// The head decides whether a connection is kept, not the moment that its request
// came.
func TestPartingResponses(t *testing.T) {
	t.Parallel()
	flush := func(w http.ResponseWriter) { _ = http.NewResponseController(w).Flush() }
	tests := []struct {
		name   string
		leave  bool
		answer func(http.ResponseWriter)
		closes bool
	}{
		{name: "stays", answer: func(w http.ResponseWriter) { w.WriteHeader(http.StatusOK) }},
		{name: "head", leave: true, answer: func(w http.ResponseWriter) { w.WriteHeader(http.StatusTeapot) }, closes: true},
		{name: "body without a head", leave: true, answer: func(w http.ResponseWriter) { _, _ = io.WriteString(w, "x") }, closes: true},
		{name: "flush without a head", leave: true, answer: flush, closes: true},
		{name: "informational first", leave: true, answer: func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusEarlyHints)
			w.WriteHeader(http.StatusOK)
		}, closes: true},
		{name: "switching protocols", leave: true, answer: func(w http.ResponseWriter) {
			w.Header().Set("Connection", "Upgrade")
			w.WriteHeader(http.StatusSwitchingProtocols)
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var leaving atomic.Bool
			leaving.Store(tt.leave)
			w := httptest.NewRecorder()
			tt.answer(&parting{ResponseWriter: w, leaving: &leaving})
			if got := w.Header().Get("Connection"); (got == "close") != tt.closes {
				t.Errorf("Connection: %q", got)
			}
		})
	}
	t.Run("left after the head", func(t *testing.T) {
		t.Parallel()
		var leaving atomic.Bool
		w := httptest.NewRecorder()
		p := &parting{ResponseWriter: w, leaving: &leaving}
		p.WriteHeader(http.StatusOK)
		leaving.Store(true)
		_, _ = io.WriteString(p, "x")
		flush(p)
		if got := p.Header().Get("Connection"); got != "" {
			t.Errorf("Connection: %q", got)
		}
	})
}
