//go:build unix

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/foldgate/foldgate/cmd/gateway/internal/telemetry/otlptest"
	"github.com/foldgate/foldgate/redisstore/redistest"
)

// Everything that a caller, an upstream, a summarizer and an operator may keep to
// themselves is planted, the program goes through everything that it can, at its
// most talkative, and nothing of it is found in what it tells about itself: its log,
// its output, its telemetry, its answers, and the names in the store.
func TestNothingPlantedIsTold(t *testing.T) {
	t.Parallel()
	for name, environ := range map[string][]string{
		"OTLP":    nil,
		"console": {"OTEL_TRACES_EXPORTER=console", "OTEL_METRICS_EXPORTER=console", "OTEL_METRIC_EXPORT_INTERVAL=1000"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newTalkative(t, environ)
			g.folds()
			g.failures()
			g.refusals()
			g.others()
			g.withoutStore()
			g.operators()
			g.reloads()
			g.leaves()
			g.nothingIsTold(name)
		})
	}
}

// talkative is a gateway that tells all it can.
type talkative struct {
	*process
	world    *plantedWorld
	redis    *redistest.Server
	link     *link
	otlp     *otlptest.Collector
	file     string
	surfaces []surface
}

func newTalkative(t *testing.T, environ []string) *talkative {
	t.Helper()
	g := &talkative{
		world: newPlantedWorld(t), redis: redistest.Start(t, redistest.WithPassword(plant("redispassword"))), otlp: otlptest.HTTP(t),
		file: filepath.Join(t.TempDir(), "foldgate.yaml"),
	}
	g.link = newLink(t, g.redis.Addr)
	replaceFile(t, filepath.Join(filepath.Dir(g.file), "key"), plant("routekey"))
	replaceFile(t, g.file, g.config("hold: 5s"))
	environ = append(append(g.otlp.Environ(),
		"FOLDGATE_REDIS_URL=redis://:"+plant("redispassword")+"@"+g.link.addr, "FOLDGATE_TENANT_SECRET="+plant("tenantsecret"),
		"FOLDGATE_ADMIN_TOKEN="+plant("admintoken"), "FALLBACK_KEY="+plant("fallbackkey"), "FOLDGATE_UNKNOWN="+plant("environment"),
		"OTEL_EXPORTER_OTLP_HEADERS=x-key="+plant("collectorkey"),
	), environ...)
	g.process = spawnIn(t, environ, "a", "--config", g.file, "--log-level", "debug", "--log-format", "json")
	g.listens()
	return g
}

// config is the configuration with one line more.
func (g *talkative) config(more string) string {
	return fmt.Sprintf(`
upstream: %s
windows: {"known-*": 4000}
tenant_header: X-Team
upstream_timeout: 4s
body_limit: 1MiB
%s
summarizer:
  routes:
    - {name: primary, url: "%s/primary", api_key_file: "%s"}
    - {name: fallback, url: "%s/fallback", api_key_env: FALLBACK_KEY, model: quick-1}
`, g.world.URL, more, g.world.URL, filepath.Join(filepath.Dir(g.file), "key"), g.world.URL)
}

func (g *talkative) tells(name, text string, belongs ...string) {
	g.surfaces = append(g.surfaces, surface{name, text, belongs})
}

const knownModel, unknownModel = "known-" + stem + "model-tn4lp", stem + "unknownmodel-tn4lp"

// chats sends a planted request and wants that status and a Foldgate-Fold with that
// in it. What the gateway adds to an answer is its own.
func (g *talkative) chats(name, model string, turns, status int, fold string) answer {
	g.t.Helper()
	return g.posts(name, plantedChat(name, model, turns), status, fold)
}

func (g *talkative) posts(name, body string, status int, fold string, header ...string) answer {
	g.t.Helper()
	header = append(append(plantedHeader(), "Foldgate-Conversation", plant("conversation")+name), header...)
	a, err := try(g.t.Context(), http.MethodPost, g.data+"/v1/chat/completions?key="+plant("query"), body, header...)
	if err != nil {
		g.t.Fatalf("%s: %v", name, err)
	}
	if got := a.header.Get("Foldgate-Fold"); a.status != status || !strings.Contains(got, fold) {
		g.t.Errorf("%s: %d %q, want %d %q: %.300s", name, a.status, got, status, fold, a.body)
	}
	for field, values := range a.header {
		if strings.HasPrefix(field, "Foldgate-") {
			g.tells("the field "+field, strings.Join(values, ", "))
		}
	}
	g.keys(name)
	return a
}

// own is an error of the gateway's own.
func (g *talkative) own(a answer, code string) {
	g.t.Helper()
	if !strings.Contains(a.body, `"`+code+`"`) {
		g.t.Errorf("%.300s, want %s", a.body, code)
	}
	g.tells("the error "+code, fmt.Sprint(a.header)+a.body)
}

// keys are what the store is keyed by, and what it holds but for the handoffs.
func (g *talkative) keys(when string) {
	g.t.Helper()
	client := g.redis.Client()
	for _, key := range client.Keys(g.t.Context(), "*").Val() {
		g.tells("a key of the store, "+when, key)
		for field, value := range client.HGetAll(g.t.Context(), key).Val() {
			switch {
			case strings.HasPrefix(field, "handoff:"):
				g.tells("a field of the store, "+when, field)
			case strings.HasPrefix(key, "foldgate:1:learned:"):
				g.tells("what was learned, "+when, field+value, "model", "unknownmodel")
			default:
				g.tells("a field of the store, "+when, field+value, "cancelreason")
			}
		}
	}
}

// folds are requests that go well.
func (g *talkative) folds() {
	g.chats("case-small", knownModel, 0, 200, `none; reason="under"`)
	g.chats("case-fold", knownModel, overTurns, 200, "committed")
	g.chats("case-fold", knownModel, overTurns, 200, "reused")
	g.chats("case-ladder", knownModel, overTurns, 200, "committed")
	g.chats("case-overflow", unknownModel, 90, 200, "retried")
	g.chats("case-structure", knownModel, overTurns, 200, "retried")
	g.posts("case-bypass", plantedChat("case-bypass", knownModel, overTurns), 200, "bypassed", "Foldgate-Bypass", "?1")
}

// failures are requests that an upstream or a summarizer fails.
func (g *talkative) failures() {
	g.otlp.Refuse(true)
	g.chats("case-failed", knownModel, overTurns, 200, `fallback; reason="routes"`)
	g.chats("case-nonsense", knownModel, overTurns, 200, `fallback; reason="routes"`)
	g.chats("case-refused", knownModel, overTurns, 401, "committed")
	for _, name := range []string{"case-garbage", "case-badheader"} {
		g.own(g.chats(name, knownModel, 0, 502, "none"), "upstream_unreachable")
	}
	g.chats("case-unasked", knownModel, 0, 200, "none")
	g.otlp.Refuse(false)
	a, err := try(g.t.Context(), http.MethodPost, g.data+"/v1/chat/completions", plantedChat("case-badchunk", knownModel, 0), plantedHeader()...)
	if err == nil {
		g.t.Errorf("a broken answer came whole: %v", a)
	}
	g.own(g.chats("case-hang", knownModel, 0, 504, "none"), "upstream_timeout")
	take(g.t, g.world.held, "the request that hangs")
}

// refusals are requests that the gateway refuses.
func (g *talkative) refusals() {
	huge := strings.Replace(plantedChat("case-unfit", knownModel, 0), "and now?", "and now? "+strings.Repeat(plant("lasttext")+" mike november ", 3000), 1)
	g.own(g.posts("case-unfit", huge, 400, "unfit"), "context_length_exceeded")
	g.own(g.begins("Content-Length: 2000000", plant("largebody")), "request_too_large")
	g.own(g.begins("Transfer-Encoding: chunked", plant("chunksize")+"\r\n\r\n"), "request_body_broken")
}

// begins sends the head of a chat request with one field more, and some of its body.
func (g *talkative) begins(field, body string) answer {
	g.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(g.data, "http://"))
	if err != nil {
		g.t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n%s\r\n\r\n%s", plant("authorization"), field, body)
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		g.t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		g.t.Fatal(err)
	}
	return answer{res.StatusCode, res.Header, string(raw)}
}

// others are requests that are passed on as they are.
func (g *talkative) others() {
	g.posts("case-nochat", plant("nochat"), 200, `reason="not-chat"`)
	g.posts("case-double", `{"messages":[],"messages":["`+plant("doubled")+`"]}`, 200, `reason="duplicate-key"`)
	g.posts("case-encoding", plant("encoded"), 200, `reason="encoding"`, "Content-Encoding", "gzip")
	for _, method := range []string{"GET", "PROPFIND"} {
		if a, err := try(g.t.Context(), method, g.data+"/v1/models?key="+plant("query"), plant("otherbody"), plantedHeader()...); err != nil || a.status != 200 {
			g.t.Errorf("%s: %d %v", method, a.status, err)
		}
	}
}

func (g *talkative) withoutStore() {
	g.link.cut()
	g.chats("case-nostore", knownModel, overTurns, 200, "unfenced")
	g.link.mend()
	store := func(v map[string]any) any { return v["parts"].(map[string]any)["store"] }
	g.until("/readyz", func(v map[string]any) bool { return store(v) != "down" })
	g.chats("case-mended", knownModel, overTurns, 200, "") // finds out that it is back
	g.until("/readyz", func(v map[string]any) bool { return store(v) == "ok" })
}

// asks is a call of the admin plane. What it answers is the gateway's own, but for
// what an operator wrote: a reason, which others may see, and a window, which only
// the one who wrote it does.
func (g *talkative) asks(method, path, body string, status int, header ...string) answer {
	g.t.Helper()
	header = append([]string{"Authorization", "Bearer " + plant("admintoken")}, header...)
	a, err := try(g.t.Context(), method, g.admin+path, body, header...)
	if err != nil || a.status != status {
		g.t.Errorf("%s %s: %d %.300s (%v), want %d", method, path, a.status, a.body, err, status)
	}
	switch {
	case strings.Contains(path, "handoff=1"):
		return a
	case strings.HasPrefix(path, "/v1/fold") && status == 200: // is the body, folded
		return a
	}
	g.tells(method+" "+path, fmt.Sprint(a.header)+a.body, "cancelreason", "drywindow")
	return a
}

// operators look at everything, and change everything.
func (g *talkative) operators() {
	done := g.ask(plantedChat("case-cancel", knownModel, overTurns), plantedHeader()...)
	take(g.t, g.world.held, "the summary call that is cancelled")
	var list struct {
		Attempts []struct{ Conversation, Phase string }
	}
	g.decode(g.asks("GET", "/v1/attempts", "", 200), &list)
	running := "/v1/conversations/" + list.Attempts[0].Conversation
	g.asks("POST", running+"/cancel", `{"reason":"`+plant("cancelreason")+`"}`, 202)
	g.got(done, `fallback; reason="cancelled"`)
	g.keys("cancelled")
	fold := g.chats("case-fold", knownModel, overTurns, 200, "reused")
	path := "/v1/conversations/" + strings.Trim(fold.header.Get("Foldgate-Key"), `"`)
	for _, read := range []string{"/", "/livez", "/readyz", "/metrics", "/openapi.yaml", "/v1/conversations", "/v1/attempts", path, running} {
		g.asks("GET", read, "", 200)
	}
	if a := g.asks("GET", path+"?handoff=1", "", 200); !strings.Contains(a.body, plant("summarytext")) {
		g.t.Errorf("the handoff is not shown: %.300s", a.body)
	}
	g.asks("POST", path+"/restore", "{}", 200)
	g.asks("DELETE", path, "", 204)
	g.asks("POST", "/v1/fold?window=4000", plantedChat("case-dry", knownModel, overTurns), 200)
	g.asks("POST", "/v1/fold", plant("drybody"), 400)
	g.asks("POST", "/v1/fold?window="+plant("drywindow"), "{}", 400)
	g.asks("POST", path+"/cancel", `{"`+plant("unknownfield")+`":1}`, 400)
	g.asks("GET", "/v1/conversations/"+plant("nokey")+"?x="+plant("query"), "", 400)
	g.asks("GET", "/v1/attempts", "", 401, "Authorization", "Bearer "+plant("wrongtoken"))
	g.asks("POST", path+"/cancel", "{}", 403, "Origin", "http://"+plant("origin"))
}

// reloads read a configuration that is wrong in all ways, and one that is right.
func (g *talkative) reloads() {
	replaceFile(g.t, g.file, g.config("")+fmt.Sprintf(`
admin_token: "%s"
tenant_secret: ["%s"]
redis_url: "redis://:%s@[nonsense"
keepalive: "%s"
`, plant("newtoken"), plant("newsecret"), plant("newpassword"), "-1s"))
	g.signal(syscall.SIGHUP)
	if line := g.log.wait(g.t, "configuration not reloaded", g.ended); len(texts(line, "problems")) < 2 {
		g.t.Errorf("a wrong configuration is refused for %v", line)
	}
	replaceFile(g.t, g.file, g.config("hold: 2s"))
	replaceFile(g.t, filepath.Join(filepath.Dir(g.file), "key"), plant("nextkey"))
	g.signal(syscall.SIGHUP)
	g.log.wait(g.t, "configuration reloaded", g.ended)
	g.chats("case-reloaded", knownModel, overTurns, 200, "committed")
}

func (g *talkative) leaves() {
	slow := g.ask(plantedChat("case-slow", knownModel, 0), plantedHeader()...)
	release := take(g.t, g.world.held, "the request that is drained")
	g.cancel()
	g.log.wait(g.t, "refusing new requests", g.ended)
	// It may be refused, or not even be taken.
	if a, err := try(g.t.Context(), http.MethodPost, g.data+"/v1/chat/completions", plantedChat("case-late", knownModel, 0), plantedHeader()...); err == nil {
		g.own(a, "draining")
	}
	close(release)
	take(g.t, slow, "the answer that was drained")
	if code := g.exits(); code != exitOK {
		g.t.Errorf("exit code %d", code)
	}
}

// nothingIsTold searches all of it, and wants all of it to be worth a search.
func (g *talkative) nothingIsTold(exporter string) {
	g.t.Helper()
	g.tells("the log", g.log.String())
	metrics, traces := "", ""
	if exporter == "console" {
		traces = g.out.String()
		g.tells("stdout", traces, "model", "unknownmodel", "responsemodel")
	} else {
		g.tells("stdout", g.out.String())
		if !strings.Contains(g.log.String(), "telemetry could not be exported") {
			g.t.Error("the collector refused nothing")
		}
		traces, metrics = string(bytes.Join(g.otlp.Raw(otlptest.Traces), nil)), string(bytes.Join(g.otlp.Raw(otlptest.Metrics), nil))
		g.tells("metrics over OTLP", metrics)
		g.tells("traces over OTLP", traces+g.otlp.Spans().String(), "model", "unknownmodel", "responsemodel")
		traces += metrics
	}
	for _, want := range []string{"foldgate.folds", "compression.attempt", "ownership.commit", "chat " + knownModel, "gen_ai.client.inference.duration"} {
		if !strings.Contains(traces, want) {
			g.t.Errorf("what is exported lacks %s", want)
		}
	}
	for _, want := range []string{"upstream unreachable", "upstream timed out", "summary failed", "admin audit", "redis breaker changed", "asked the upstream", "Unsolicited response"} {
		if !strings.Contains(g.log.String(), want) {
			g.t.Errorf("the log lacks %q", want)
		}
	}
	told := map[string]bool{}
	for _, s := range g.surfaces {
		for _, leak := range s.leaks() {
			if !told[s.name+leak] {
				told[s.name+leak] = true
				g.t.Errorf("%s tells: %s: %s", s.name, leak, around(strings.ToLower(s.text), strings.ToLower(stem + leak)[:min(len(stem+leak), 40)]))
			}
		}
	}
	g.reached()
}

// reached wants what a caller planted to have gone where it was meant to go: else
// it was not planted.
func (g *talkative) reached() {
	g.t.Helper()
	got := g.world.received()
	sent := planted.FindAllString(plantedChat("", knownModel, overTurns)+fmt.Sprint(plantedHeader()), -1)
	for _, text := range append(sent, plant("query"), plant("routekey"), plant("fallbackkey"), plant("nextkey"), plant("nochat")) {
		if text != plant("forwardedfor") && !strings.Contains(got, text) {
			g.t.Errorf("%s was never sent on", text)
		}
	}
}

func (g *talkative) decode(a answer, into any) {
	g.t.Helper()
	if err := json.Unmarshal([]byte(a.body), into); err != nil {
		g.t.Fatalf("%s: %v", a.body, err)
	}
}
