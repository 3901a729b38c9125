package middleware_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/foldgate/foldgate/compression/window"
	"github.com/foldgate/foldgate/middleware"
)

// reconfigurable is a gateway whose configuration a test changes.
type reconfigurable struct {
	*gateway
	config middleware.Config
}

func newReconfigurable(t *testing.T) *reconfigurable {
	t.Helper()
	r := &reconfigurable{}
	r.gateway = newGateway(t, options{config: func(c *middleware.Config) { r.config = *c }})
	return r
}

// with is the gateway with a changed configuration, at an address of its own.
func (r *reconfigurable) with(t *testing.T, change func(*middleware.Config)) *gateway {
	t.Helper()
	return r.after(t, r.gateway, change)
}

// after is with for a gateway that was changed before.
func (r *reconfigurable) after(t *testing.T, before *gateway, change func(*middleware.Config)) *gateway {
	t.Helper()
	c := r.config
	change(&c)
	m, err := before.With(c)
	if err != nil {
		t.Fatalf("changing the configuration: %v", err)
	}
	upstream, err := url.Parse(r.up.URL)
	if err != nil {
		t.Fatal(err)
	}
	transport := middleware.NewTransport()
	server := httptest.NewServer(m.Handler(middleware.NewProxy(middleware.ProxyConfig{Upstream: upstream, Transport: transport})))
	t.Cleanup(func() { server.Close(); transport.CloseIdleConnections() })
	other := *r.gateway
	other.Middleware, other.url = m, server.URL
	return &other
}

// A request and its attempt end as they began; the next one goes by the new
// configuration, and finds what was made before.
func TestWithLeavesWhatRunsAlone(t *testing.T) {
	g := newReconfigurable(t)
	entered, release := make(chan struct{}), make(chan struct{})
	g.sum.setAnswer(func(w http.ResponseWriter, r *http.Request, c stubCall) {
		close(entered)
		<-release
		answerSummary(summaryText)(w, r, c)
	})
	running := make(chan answer, 1)
	go func() { running <- g.try(t.Context(), request(talk("c", 24))) }()
	<-entered

	other := newStub(t, answerSummary("SUMMARY-YAK: another summarizer wrote this, and nothing is open."))
	after := g.with(t, func(c *middleware.Config) {
		c.Wait = 0
		c.Routes = []middleware.SummarizerRoute{{Name: "sum", URL: other.URL, Model: "sum-2", Key: "sk-new"}}
	})
	off := g.with(t, func(c *middleware.Config) { c.Mode = middleware.ModeOff })
	if a := off.post(t, request(talk("c", 24))); a.fold() != "none" || a.reason() != "mode" {
		t.Errorf("with mode off: %s", a.header.Get("Foldgate-Fold"))
	}
	if a := after.post(t, request(talk("c", 24))); a.fold() != "fallback" || a.reason() != "timeout" {
		t.Errorf("without a wait: %s", a.header.Get("Foldgate-Fold"))
	}
	close(release)
	if a := <-running; a.err != nil || a.fold() != "committed" || !strings.Contains(string(g.up.last(t).Body), "SUMMARY-ZEBRA") {
		t.Errorf("the request that ran: %v %s", a.err, a.header.Get("Foldgate-Fold"))
	}
	if a := after.post(t, request(talk("c", 24))); a.fold() != "reused" || other.count() != 0 {
		t.Errorf("what was held before is not held after: %s, %d new summaries", a.header.Get("Foldgate-Fold"), other.count())
	}

	patient := g.with(t, func(c *middleware.Config) {
		c.Routes = []middleware.SummarizerRoute{{Name: "sum", URL: other.URL, Model: "sum-2", Key: "sk-new"}}
	})
	if a := patient.post(t, request(talk("d", 24))); a.fold() != "committed" {
		t.Fatalf("another conversation: %s", a.header.Get("Foldgate-Fold"))
	}
	if call := other.last(t); call.Header.Get("Authorization") != "Bearer sk-new" || !strings.Contains(string(call.Body), `"sum-2"`) {
		t.Errorf("the new route was asked with %v", call.Header)
	}
}

func TestWithOtherWindowsAndShares(t *testing.T) {
	g := newReconfigurable(t)
	book, err := g.config.Book.With(window.BookConfig{Rules: []window.Rule{{Glob: "gpt-*", Total: 64000}}})
	if err != nil {
		t.Fatal(err)
	}
	wide := g.with(t, func(c *middleware.Config) { c.Book = book })
	if a := wide.post(t, request(talk("c", 24))); a.fold() != "none" || a.tokensField("window") != 64000 {
		t.Errorf("a wide window: %v", a.header)
	}
	if a := g.post(t, request(talk("c", 24))); a.fold() != "committed" || a.tokensField("window") != 4000 {
		t.Errorf("the old one: %v", a.header)
	}
	// What one learns the other knows.
	g.up.setAnswer(func(w http.ResponseWriter, r *http.Request, c stubCall) {
		if strings.Contains(string(c.Body), `"other-1"`) && len(c.Body) > 4000 {
			answerStatus(400, `{"error":{"message":"This model's maximum context length is 2000 tokens. However, your messages resulted in 4000 tokens.","type":"invalid_request_error","code":"context_length_exceeded"}}`)(w, r, c)
			return
		}
		answerOK(w, r, c)
	})
	wide.post(t, request(talk("e", 24), "model", "other-1"))
	if a := g.post(t, request(talk("e", 2), "model", "other-1")); a.tokensField("window") != 2000 {
		t.Errorf("what was learned after the change is not known before it: %v", a.header)
	}
}

// A route that failed rests through every change, but for one of its own.
func TestWithAsksAChangedRouteAgain(t *testing.T) {
	g := newReconfigurable(t)
	down, good := newStub(t, answerStatus(http.StatusInternalServerError, "{}")), newStub(t, answerSummary(summaryText))
	routes := func(key string) func(*middleware.Config) {
		return func(c *middleware.Config) {
			c.Routes = []middleware.SummarizerRoute{{Name: "down", URL: down.URL, Model: "s", Key: key}, {Name: "good", URL: good.URL, Model: "s"}}
		}
	}
	now := g.with(t, routes("sk-1"))
	for _, step := range []struct {
		name, key string
		asked     int // calls of the route that is down, in all
	}{
		{"it fails", "sk-1", 1},
		{"it fails again", "sk-1", 2},
		{"it rests", "sk-1", 2},
		{"it has another key", "sk-2", 3},
		{"which fails again", "sk-2", 4},
		{"it rests once more", "sk-2", 4},
	} {
		now = g.after(t, now, routes(step.key))
		if a := now.post(t, request(talk(step.name, 24))); a.fold() != "committed" || down.count() != step.asked {
			t.Errorf("%s: %s, asked %d times, want %d", step.name, a.header.Get("Foldgate-Fold"), down.count(), step.asked)
		}
	}
}

func TestWithReportsAllProblems(t *testing.T) {
	g := newReconfigurable(t)
	c := g.config
	c.Mode, c.Wait, c.Routes = "on", -1, []middleware.SummarizerRoute{{Name: ""}}
	m, err := g.With(c)
	if m != nil || err == nil {
		t.Fatalf("got %v, %v", m, err)
	}
	for _, part := range []string{"mode", "wait", "routes[0]"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("nothing is said of %s: %v", part, err)
		}
	}
	if a := g.post(t, request(talk("c", 24))); a.fold() != "committed" {
		t.Errorf("afterwards: %s", a.header.Get("Foldgate-Fold"))
	}
}

// One budget counts the bodies of all configurations; each bounds it for itself.
func TestWithCountsBytesTogether(t *testing.T) {
	g := newReconfigurable(t)
	entered, release := make(chan struct{}), make(chan struct{})
	g.up.setAnswer(func(w http.ResponseWriter, r *http.Request, c stubCall) {
		close(entered)
		<-release
		answerOK(w, r, c)
	})
	running := make(chan answer, 1)
	go func() { running <- g.try(t.Context(), request(talk("c", 2))) }()
	<-entered
	narrow := g.with(t, func(c *middleware.Config) { c.Memory = 100 })
	if g.BytesInFlight() == 0 || narrow.BytesInFlight() != g.BytesInFlight() {
		t.Errorf("in flight: %d before, %d after", g.BytesInFlight(), narrow.BytesInFlight())
	}
	if a := narrow.post(t, request(talk("d", 2))); a.status != http.StatusServiceUnavailable {
		t.Errorf("over the new bound: %d", a.status)
	}
	close(release)
	if a := <-running; a.err != nil || a.status != http.StatusOK {
		t.Errorf("the request that ran: %d %v", a.status, a.err)
	}
	narrow.Drain(0)
	if a := g.post(t, request(talk("d", 2))); a.status != http.StatusServiceUnavailable {
		t.Errorf("a drain is of the replica, whatever its configuration: %d", a.status)
	}
}

// Conversations go on, committed and reused, while the configuration changes all
// the time.
func TestWithUnderLoad(t *testing.T) {
	g := newReconfigurable(t)
	var (
		mu      sync.Mutex
		current = g.Middleware
	)
	upstream, err := url.Parse(g.up.URL)
	if err != nil {
		t.Fatal(err)
	}
	transport := middleware.NewTransport()
	proxy := middleware.NewProxy(middleware.ProxyConfig{Upstream: upstream, Transport: transport})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		m := current
		mu.Unlock()
		m.Handler(proxy).ServeHTTP(w, r)
	}))
	t.Cleanup(func() { server.Close(); transport.CloseIdleConnections() })
	front := *g.gateway
	front.url = server.URL

	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	var load sync.WaitGroup
	for _, tag := range []string{"a", "b", "c", "d"} {
		load.Go(func() {
			for i := range 25 {
				a := front.try(ctx, request(talk(tag, 24)))
				if a.err != nil || a.status != http.StatusOK || i > 0 && a.fold() != "reused" {
					t.Errorf("%s, request %d: %d %s %v", tag, i, a.status, a.header.Get("Foldgate-Fold"), a.err)
					return
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { defer close(done); load.Wait() }()
	changes := 0
	for running := true; running; changes++ {
		c := g.config
		c.Hold = time.Duration(changes) * time.Millisecond
		m, err := current.With(c)
		if err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		current = m
		mu.Unlock()
		select {
		case <-done:
			running = false
		default:
		}
	}
	if g.sum.count() != 4 {
		t.Errorf("%d summaries for 4 conversations, over %d changes", g.sum.count(), changes)
	}
}
