//go:build unix

package main

import (
	"net/http"
	"strings"
	"syscall"
	"testing"
)

// During drain_delay everything is served as before, but over connections that
// are not kept. A second signal does not wait for what the first one waits for.
func TestDrainDelayAndASecondSignal(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, "ok")
	p := spawn(t, "a", "--upstream", up.URL, "--drain-delay", "10m", "--drain", "10m")
	p.listens()
	p.signal(syscall.SIGTERM)
	if line := p.log.wait(t, "draining", p.ended); line["drain_delay"] != "10m0s" {
		t.Errorf("it says %v", line)
	}
	p.until503(t)
	if live := p.send(http.MethodGet, p.admin+"/livez", ""); live.status != http.StatusOK {
		t.Errorf("livez: %d", live.status)
	}
	for _, tt := range []struct{ method, path, body string }{
		{http.MethodPost, "/v1/chat/completions", smallChat},
		{http.MethodPost, "/v1/chat/completions", `{"stream":true,` + smallChat[1:]},
		{http.MethodGet, "/v1/models", ""},
	} {
		if r := p.over(keeping(t), tt.method, tt.path, tt.body); r.StatusCode != http.StatusOK || !r.Close || !strings.Contains(r.text, "ok") {
			t.Errorf("%s %s: %d %s, closes %t", tt.method, tt.path, r.StatusCode, r.text, r.Close)
		}
	}

	entered := make(chan struct{})
	up.onRequest(func(r *http.Request) { close(entered); <-r.Context().Done() })
	running := p.ask(smallChat)
	<-entered
	p.signal(syscall.SIGINT)
	if code := p.exits(); code != exitFailed || !strings.Contains(p.log.String(), "second signal") {
		t.Errorf("exit code %d:\n%s", code, p.log)
	}
	if r := take(t, running, "the request that was cut"); r.err == nil {
		t.Errorf("the request that was cut looks complete: %d", r.status)
	}
}
