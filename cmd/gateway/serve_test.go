package main

import (
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/foldgate/foldgate/redisstore/redistest"
)

const summary = "SUMMARY-ZEBRA: questions were asked and answered, nothing is open."

func TestPassThrough(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, "ok")
	g := start(t, nil, "--upstream", up.URL, "--default-window", "8000")

	small := `{"model":"m", "messages":[ {"role":"user","content":"hi <&> é"} ],` + "\n" + ` "seed": 9007199254740993}`
	got := g.chat(small)
	if got.status != http.StatusOK || !strings.HasPrefix(got.header.Get("Foldgate-Fold"), "none") {
		t.Errorf("got %d %v", got.status, got.header)
	}
	if bodies := up.asked(); len(bodies) != 1 || bodies[0] != small {
		t.Errorf("the upstream got %q", bodies)
	}
	for _, method := range []string{"GET", "PUT", "DELETE", "PROPFIND"} {
		if got := g.send(method, g.data+"/v1/models//x?a=1;b", ""); got.status != http.StatusOK || got.header.Get("Foldgate-Fold") != "" {
			t.Errorf("%s: got %d %v", method, got.status, got.header)
		}
	}
	if ready := g.send("GET", g.admin+"/readyz", ""); ready.status != http.StatusOK || !strings.Contains(ready.body, "in process") {
		t.Errorf("readyz: got %d %s", ready.status, ready.body)
	}
	if metrics := g.send("GET", g.admin+"/metrics", "").body; !strings.Contains(metrics, `foldgate_folds_total{kind="none",reason="under"} 1`+"\n") {
		t.Errorf("metrics lack the request:\n%s", ours(metrics))
	}
	if code := g.stop(); code != exitOK {
		t.Errorf("exit code %d:\n%s", code, g.log)
	}
	if strings.Contains(g.log.String(), "sk-tenant") || strings.Contains(g.log.String(), "hi <&>") {
		t.Errorf("the log holds what it must not:\n%s", g.log)
	}
}

// ours are the lines of a scrape that are not the runtime's.
func ours(metrics string) string {
	var lines []string
	for line := range strings.Lines(metrics) {
		if strings.HasPrefix(line, "foldgate_") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

func TestAnOversizedChatIsFolded(t *testing.T) {
	t.Parallel()
	up, sum := newUpstream(t, "ok"), newUpstream(t, summary)
	g := start(t, nil, "--upstream", up.URL, "--window", "my-*=4000", "--summarizer-url", sum.URL, "--summarizer-model", "s")

	got := g.chat(longChat("one", 40))
	if got.status != http.StatusOK || !strings.HasPrefix(got.header.Get("Foldgate-Fold"), "committed") {
		t.Fatalf("got %d %v %s\n%s", got.status, got.header, got.body, g.log)
	}
	if sent := up.asked(); len(sent) != 1 || !strings.Contains(sent[0], "SUMMARY-ZEBRA") || !strings.Contains(sent[0], "one: and now?") {
		t.Errorf("the upstream got %d requests: %.600q", len(sent), sent)
	}
	key := strings.Trim(got.header.Get("Foldgate-Key"), `"`)
	v := g.until("/v1/conversations/"+key, func(v map[string]any) bool {
		checkpoints := v["checkpoints"].([]any)
		return len(checkpoints) == 1 && checkpoints[0].(map[string]any)["settled"] == true
	})
	if v["generation"] != 1.0 || v["cancel"] != nil {
		t.Errorf("got %v", v)
	}
	if list := g.send("GET", g.admin+"/v1/conversations?limit=5", "").body; !strings.Contains(list, key) {
		t.Errorf("the conversation is not listed: %s", list)
	}
	if attempts := g.send("GET", g.admin+"/v1/attempts", "").body; !strings.Contains(attempts, `"outcome":"committed"`) {
		t.Errorf("the attempt is not listed: %s", attempts)
	}
	metrics := g.send("GET", g.admin+"/metrics", "").body
	for _, name := range []string{`foldgate_folds_total{kind="committed"`, `foldgate_attempts_total{outcome="committed"} 1`, "foldgate_tokens_saved_total", "foldgate_bodies_in_flight_bytes 0"} {
		if !strings.Contains(metrics, name) {
			t.Errorf("metrics lack %s:\n%s", name, ours(metrics))
		}
	}
	if again := g.chat(longChat("one", 40)); !strings.HasPrefix(again.header.Get("Foldgate-Fold"), "reused") || len(sum.asked()) != 1 {
		t.Errorf("the second time: %v, %d summary calls", again.header, len(sum.asked()))
	}
}

func TestTwoReplicasShareAStore(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	up, sum := newUpstream(t, "ok"), newUpstream(t, summary)
	env := []string{"FOLDGATE_REDIS_URL=" + redis.URL, "FOLDGATE_TENANT_SECRET=s", "FOLDGATE_UPSTREAM=" + up.URL}
	args := []string{"--window", "4000", "--summarizer-url", sum.URL}
	a, b := start(t, env, args...), start(t, env, args...)

	first := a.chat(longChat("two", 40))
	second := b.chat(longChat("two", 40))
	if !strings.HasPrefix(first.header.Get("Foldgate-Fold"), "committed") || !strings.HasPrefix(second.header.Get("Foldgate-Fold"), "reused") {
		t.Errorf("got %q, then %q\n%s", first.header.Get("Foldgate-Fold"), second.header.Get("Foldgate-Fold"), b.log)
	}
	if sent := up.asked(); len(sent) != 2 || sent[0] != sent[1] || len(sum.asked()) != 1 {
		t.Errorf("%d requests, %d summary calls, the same bytes: %t", len(sent), len(sum.asked()), sent[0] == sent[1])
	}
	if ready := b.send("GET", b.admin+"/readyz", "").body; !strings.Contains(ready, `"store":"ok"`) {
		t.Errorf("readyz: %s", ready)
	}
}

func TestAStoreThatIsDownDoesNotStopIt(t *testing.T) {
	t.Parallel()
	up, sum := newUpstream(t, "ok"), newUpstream(t, summary)
	g := start(t, nil, "--upstream", up.URL, "--window", "4000", "--summarizer-url", sum.URL, "--redis-url", "redis://127.0.0.1:1")
	got := g.chat(longChat("three", 40))
	if got.status != http.StatusOK || len(up.asked()) != 1 || len(up.asked()[0]) > 16000 {
		t.Errorf("got %d %v", got.status, got.header)
	}
	if ready := g.send("GET", g.admin+"/readyz", ""); ready.status != http.StatusOK {
		t.Errorf("readyz: %d %s", ready.status, ready.body)
	}
	if !strings.Contains(g.log.String(), "tenant_secret is not set") {
		t.Errorf("a shared store without a tenant secret is worth a warning:\n%s", g.log)
	}
	if metrics := g.send("GET", g.admin+"/metrics", "").body; !strings.Contains(metrics, "foldgate_breaker_state") || !strings.Contains(metrics, "foldgate_store_errors_total") {
		t.Error("metrics do not show the store")
	}
}

func TestAnAddressInUse(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, args := range [][]string{
		{"--listen", l.Addr().String(), "--admin-listen", "127.0.0.1:0"},
		{"--listen", "127.0.0.1:0", "--admin-listen", l.Addr().String()},
	} {
		g := launch(t, nil, append([]string{"serve", "--upstream", "http://127.0.0.1:1"}, args...)...)
		<-g.ended
		if g.code != exitFailed || !strings.Contains(g.log.String(), "address already in use") {
			t.Errorf("exit code %d:\n%s", g.code, g.log)
		}
	}
}

func TestHealthcheckAsksReadyz(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, "ok")
	g := start(t, nil, "--upstream", up.URL)
	h := launch(t, nil, "healthcheck", "--admin-listen", strings.TrimPrefix(g.admin, "http://"))
	<-h.ended
	if h.code != exitOK {
		t.Errorf("exit code %d: %s", h.code, h.log)
	}
}

func TestDryRunOverTheAdminPlane(t *testing.T) {
	t.Parallel()
	g := start(t, nil, "--upstream", "http://127.0.0.1:1")
	body := longChat("four", 40)
	if got := g.send("POST", g.admin+"/v1/fold", body); got.status != http.StatusBadRequest || !strings.Contains(got.body, `"param":"window"`) {
		t.Errorf("without a window: %d %s", got.status, got.body)
	}
	got := g.send("POST", g.admin+"/v1/fold?window=4000", body)
	if v := got.json(t); got.status != http.StatusOK || v["kind"] != "fallback" || !strings.Contains(v["body"].(string), "four: and now?") {
		t.Errorf("got %d %.400s", got.status, got.body)
	}
	for _, bad := range []string{"window=x", "window=1", "window=4000/5000"} {
		if got := g.send("POST", g.admin+"/v1/fold?"+bad, body); got.status != http.StatusBadRequest {
			t.Errorf("%s: got %d %s", bad, got.status, got.body)
		}
	}
	if got := g.send("POST", g.admin+"/v1/fold?window=4000", "no JSON"); got.status != http.StatusBadRequest {
		t.Errorf("no JSON: got %d %s", got.status, got.body)
	}
}

func TestAFailedSummaryIsLogged(t *testing.T) {
	t.Parallel()
	up, sum := newUpstream(t, "ok"), newUpstream(t, "")
	sum.Close()
	g := start(t, nil, "--upstream", up.URL, "--window", "my-*=4000", "--summarizer-url", sum.URL, "--summarizer-model", "s")
	if got := g.chat(longChat("one", 40)); got.status != http.StatusOK {
		t.Fatalf("got %d %s", got.status, got.body)
	}
	if code := g.stop(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
	if log := g.log.String(); !strings.Contains(log, "summary failed") || !strings.Contains(log, "network") {
		t.Errorf("the log does not say why there was no summary:\n%s", log)
	}
}
