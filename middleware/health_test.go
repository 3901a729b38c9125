package middleware_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/foldgate/foldgate/middleware"
)

func TestHealthOfTheUpstream(t *testing.T) {
	up := httptest.NewServer(http.NotFoundHandler())
	target, err := url.Parse(up.URL)
	if err != nil {
		t.Fatal(err)
	}
	var health middleware.Health
	transport := middleware.NewTransport()
	defer transport.CloseIdleConnections()
	proxy := middleware.NewProxy(middleware.ProxyConfig{Upstream: target, Transport: transport, Health: &health})
	ask := func() {
		proxy.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/v1/models", nil))
	}
	if health.String() != "unknown" || health.Down() {
		t.Errorf("at first: %s", &health)
	}
	ask()
	if health.String() != "ok" || health.Down() { // an error status is an answer
		t.Errorf("after an answer: %s", &health)
	}
	up.Close()
	ask()
	if !strings.HasPrefix(health.String(), "down since 2") || !health.Down() {
		t.Errorf("without an upstream: %s", &health)
	}
}

func TestHealthOfTheSummarizer(t *testing.T) {
	g := newGateway(t, options{sum: newStub(t, answerStatus(500, "{}"))})
	g.post(t, request(talk("d", 24)))
	if !g.Summarizer().Down() {
		t.Errorf("after a failed call: %s", g.Summarizer())
	}
	g.sum.setAnswer(answerSummary(summaryText))
	g.post(t, request(talk("e", 24)))
	if g.Summarizer().String() != "ok" {
		t.Errorf("after a good call: %s", g.Summarizer())
	}
}
