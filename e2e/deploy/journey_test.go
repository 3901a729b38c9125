package deploy

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// TestCompose runs docker-compose.yml and goes through what docs/deploying.md says of
// it, one thing after another on the same services.
func TestCompose(t *testing.T) {
	t.Parallel()
	top := newTopology(t)
	top.collector = collector(t)
	for _, name := range []string{"balancer", "prometheus"} {
		top.start(t, name)
		top.healthy(t, name)
	}
	for name := range top.Services {
		if (top.running[name] == nil) != (name == "grafana") {
			t.Errorf("%s: it runs, or does not, and should not", name)
		}
	}
	for _, part := range []struct {
		name string
		run  func(*testing.T, *topology)
	}{
		{"gateway check takes the configuration", testCheck},
		{"a conversation folded by one replica is reused by the other", testFold},
		{"a stream is seen before it ends", testStream},
		{"the admin planes want the token, under their names", testAdmin},
		{"spans reach the collector", testSpans},
		{"Prometheus scrapes both replicas and itself takes the rules", testScrape},
		{"every metric that is asked for is exported", testMetrics},
		{"every panel has an answer", testPanels},
		{"a replica that is killed costs no new request", testKill},
		{"a replica that is asked to stop leaves", testStop},
	} {
		if !t.Run(part.name, func(t *testing.T) { part.run(t, top) }) {
			return // what follows stands on it
		}
	}
}

// collector builds the collector of e2e/deploy/collector.
func collector(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "collector")
	output(t, exec.Command("go", "build", "-o", name, "./collector"))
	return name
}

// conversation is a chat request of so many turns.
func conversation(t *testing.T, topic string, turns int, stream bool) []byte {
	t.Helper()
	raw, err := exec.Command(programsOf(t).standin, "request", "-topic", topic, "-turns", fmt.Sprint(turns), fmt.Sprintf("-stream=%v", stream)).Output()
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// answer is what a caller gets.
type answer struct {
	status int
	fold   string
	body   string
}

// chat sends a chat request to the balancer.
func (top *topology) chat(t *testing.T, body []byte) answer {
	t.Helper()
	return top.chatAt(t, top.at("balancer", 8080, ""), body)
}

func (top *topology) chatAt(t *testing.T, url string, body []byte) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer a-key")
	res, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{res.StatusCode, res.Header.Get("Foldgate-Fold"), string(raw)}
}

func testCheck(t *testing.T, top *topology) {
	for _, name := range replicas(top.Project) {
		if err := answers(t.Context(), top.env(name), programsOf(t).gateway, "check"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func testFold(t *testing.T, top *topology) {
	if a := top.chat(t, conversation(t, "garden", 5, false)); a.status != http.StatusOK || !strings.HasPrefix(a.fold, "none") {
		t.Fatalf("a small request: %+v", a)
	}
	a := top.chat(t, conversation(t, "garden", 100, false))
	if a.status != http.StatusOK || !strings.HasPrefix(a.fold, "committed") {
		t.Fatalf("a conversation that does not fit: %+v", a)
	}
	made := top.counts(t, `foldgate_attempts_total{[^}]*outcome="committed"`)
	reused := func() map[string]float64 { return top.counts(t, `foldgate_folds_total{[^}]*kind="reused"`) }
	for turns := 101; ; turns++ {
		if a := top.chat(t, conversation(t, "garden", turns, false)); a.status != http.StatusOK || !strings.HasPrefix(a.fold, "reused") {
			t.Fatalf("the conversation, %d turns: %+v", turns, a)
		}
		for name, n := range reused() {
			if n > 0 && made[name] == 0 {
				return // the other one used it
			}
		}
		if turns > 110 {
			t.Fatalf("made by %v, reused by %v: the balancer sends all to one", made, reused())
		}
	}
}

// counts sums what matches on each replica's /metrics.
func (top *topology) counts(t *testing.T, pattern string) map[string]float64 {
	t.Helper()
	line := regexp.MustCompile(`(?m)^` + pattern + `[^}]*} (\S+)$`)
	sums := map[string]float64{}
	for _, name := range replicas(top.Project) {
		for _, m := range line.FindAllStringSubmatch(top.metrics(t, name), -1) {
			var n float64
			if _, err := fmt.Sscan(m[1], &n); err != nil {
				t.Fatal(err)
			}
			sums[name] += n
		}
	}
	return sums
}

func (top *topology) metrics(t *testing.T, replica string) string {
	t.Helper()
	text, err := get(t, top.at(replica, 9090, "/metrics"), top.secret(t, "admin-token"))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// The stand-in's model "slow" says a word a second; when its first word is here, the
// request is still being answered.
func testStream(t *testing.T, top *topology) {
	body := bytes.Replace(conversation(t, "stream", 1, true), []byte(`"stand-in"`), []byte(`"slow"`), 1)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, top.at("balancer", 8080, "/v1/chat/completions"), bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	res, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(res.Body)
	first, err := lines.ReadString('\n')
	if err != nil || !strings.HasPrefix(first, "data: ") {
		t.Fatalf("%q %v", first, err)
	}
	busy := func() (n float64) {
		for _, name := range replicas(top.Project) {
			for line := range strings.SplitSeq(top.metrics(t, name), "\n") {
				if strings.HasPrefix(line, "foldgate_requests_in_flight") {
					var m float64
					if _, err := fmt.Sscan(line[strings.LastIndexByte(line, ' ')+1:], &m); err != nil {
						t.Fatal(err)
					}
					n += m
				}
			}
		}
		return n
	}
	if n := busy(); n != 1 {
		t.Errorf("%v requests are being answered when the first word is here, want this one", n)
	}
	// The caller leaves, and the replica is told.
	_ = res.Body.Close()
	until(t, func() string {
		if n := busy(); n != 0 {
			return fmt.Sprintf("%v requests are still being answered", n)
		}
		return ""
	})
}

func testAdmin(t *testing.T, top *topology) {
	for _, name := range replicas(top.Project) {
		ask := func(path, host, token string) int {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, top.at(name, 9090, path), nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Host = host
			if token != "" {
				r.Header.Set("Authorization", "Bearer "+token)
			}
			res, err := client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			_ = res.Body.Close()
			return res.StatusCode
		}
		token, own := top.secret(t, "admin-token"), name+":9090"
		for _, tc := range []struct {
			path, host, token string
			want              bool
		}{
			{"/metrics", own, token, true},
			{"/metrics", own, "", false},
			{"/metrics", own, token + "x", false},
			{"/metrics", "elsewhere:9090", token, false},
			{"/readyz", "elsewhere:9090", "", true},
			{"/livez", own, "", true},
		} {
			if got := ask(tc.path, tc.host, tc.token); (got == http.StatusOK) != tc.want {
				t.Errorf("%s: %s as %s: %d", name, tc.path, tc.host, got)
			}
		}
	}
}

func testSpans(t *testing.T, top *topology) {
	until(t, func() string {
		said := top.running["otel-collector"].said.String()
		for _, span := range []string{"compression.fold", "compression.attempt", "ownership.commit"} {
			if !strings.Contains(said, span) {
				return "the collector printed no span " + span + ":\n" + tail(said)
			}
		}
		return ""
	})
}

// result is what Prometheus answers a query with.
type result struct {
	Metric map[string]string `json:"metric"`
	Value  [2]any            `json:"value"`
}

func (top *topology) query(t *testing.T, expr string) []result {
	t.Helper()
	text, err := get(t, top.at("prometheus", 9090, "/api/v1/query?query="+url.QueryEscape(expr)), "")
	if err != nil {
		t.Fatalf("%s: %v", expr, err)
	}
	var said struct {
		Status string `json:"status"`
		Data   struct {
			Result []result `json:"result"`
		} `json:"data"`
	}
	if err := json.Unmarshal([]byte(text), &said); err != nil || said.Status != "success" {
		t.Fatalf("%s: %s", expr, text)
	}
	return said.Data.Result
}

func testScrape(t *testing.T, top *topology) {
	until(t, func() string {
		if up := top.query(t, `up == 1`); len(up) != 3 {
			return fmt.Sprintf("up are %v, want both replicas and the collector", up)
		}
		return ""
	})
	rules, err := get(t, top.at("prometheus", 9090, "/api/v1/rules?type=alert"), "")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(rules, `"type":"alerting"`); n != len(alerts(t)) {
		t.Errorf("%d rules are loaded, docs/alerts.yaml has %d", n, len(alerts(t)))
	}
	until(t, func() string { // they were evaluated, and none failed
		rules, err = get(t, top.at("prometheus", 9090, "/api/v1/rules?type=alert"), "")
		if err != nil {
			return err.Error()
		}
		if n := strings.Count(rules, `"health":"ok"`); n != len(alerts(t)) {
			return fmt.Sprintf("%d rules are well: %s", n, rules)
		}
		return ""
	})
}

func testKill(t *testing.T, top *topology) {
	killed := replicas(top.Project)[0]
	top.running[killed].stop(syscall.SIGKILL)
	for turns := range 20 {
		if a := top.chat(t, conversation(t, "garden", 100+turns, false)); a.status != http.StatusOK || !strings.HasPrefix(a.fold, "reused") {
			t.Fatalf("request %d after the kill: %+v", turns, a)
		}
	}
	until(t, func() string {
		if down := top.query(t, `up{job="foldgate"} == 0`); len(down) != 1 {
			return fmt.Sprintf("Prometheus misses %v", down)
		}
		return ""
	})
	top.start(t, killed)
	top.healthy(t, killed)
	until(t, func() string { // the balancer sends to it again
		top.chat(t, conversation(t, "garden", 100, false))
		if n := top.counts(t, `foldgate_folds_total{`)[killed]; n == 0 {
			return killed + " is sent nothing"
		}
		return ""
	})
}

// From SIGTERM on /readyz fails, requests are served for drain_delay, and then the
// process leaves with 0: long before stop_grace_period.
func testStop(t *testing.T, top *topology) {
	name := replicas(top.Project)[1]
	p := top.running[name]
	p.signal(syscall.SIGTERM)
	until(t, func() string {
		if p.gone() == "" && top.check(t, name) == nil {
			return name + " is still ready"
		}
		return ""
	})
	for p.gone() == "" { // in drain_delay, and while it leaves
		if a := top.chat(t, conversation(t, "garden", 5, false)); a.status != http.StatusOK && !(a.status == http.StatusServiceUnavailable && strings.Contains(a.body, "draining")) {
			t.Errorf("while it leaves: %+v", a)
		}
	}
	if p.err != nil {
		t.Errorf("%s: %v", name, p.err)
	}
	for range 10 {
		if a := top.chat(t, conversation(t, "garden", 5, false)); a.status != http.StatusOK {
			t.Errorf("after it left: %+v", a)
		}
	}
}
