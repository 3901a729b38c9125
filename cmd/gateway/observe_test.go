package main

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/foldgate/foldgate/compression/window"
	"github.com/foldgate/foldgate/redisstore/redistest"
)

// mirror is an upstream that keeps whole chat requests. It knows one model whose
// window nobody was told. Its answers have usage added.
type mirror struct {
	*httptest.Server
	mu  sync.Mutex
	got []mirrored
}

type mirrored struct {
	url    string
	header http.Header
	body   []byte
}

func newMirror(t *testing.T, usage string) *mirror {
	t.Helper()
	m := &mirror{}
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || !strings.HasSuffix(r.URL.Path, "/chat/completions") {
			return
		}
		m.mu.Lock()
		m.got = append(m.got, mirrored{r.URL.String(), r.Header, body})
		m.mu.Unlock()
		if bytes.Contains(body, []byte(`"unheard-of"`)) {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"error":{"message":"This model's maximum context length is 5000 tokens. However, your messages resulted in 9000 tokens.","type":"invalid_request_error","code":"context_length_exceeded"}}`)
			return
		}
		fmt.Fprintf(w, `{"choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}]%s}`, usage)
	}))
	t.Cleanup(m.Close)
	return m
}

// last is the newest request.
func (m *mirror) last(t *testing.T) mirrored {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.got) == 0 {
		t.Fatal("the upstream was not asked")
	}
	return m.got[len(m.got)-1]
}

// straight is a request without a gateway.
func (m *mirror) straight(t *testing.T, body string) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, m.URL+"/v1/chat/completions?a=1;b", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	header := append([]string{"Content-Type", "application/json", "Authorization", "Bearer sk-tenant"}, clientHeader()...)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	transport := new(http.Transport)
	defer transport.CloseIdleConnections()
	res, err := (&http.Client{Timeout: patience, Transport: transport}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{res.StatusCode, res.Header, string(raw)}
}

// observable are requests of all sizes by name. The model's window is 4000 tokens.
func observable() map[string]string {
	all := map[string]string{"unheard-of": strings.Replace(longChat("unheard of", 60), "my-model", "unheard-of", 1)}
	for _, turns := range []int{1, 8, 14, 19, 22, 25, 30, 40, 60} {
		all[fmt.Sprintf("%d turns", turns)] = longChat(fmt.Sprintf("observed %d", turns), turns)
	}
	all["one that cannot fit"] = strings.Replace(longChat("huge", 4), ": and now?", ": and now? "+strings.Repeat("mike november ", 16_000), 1)
	return all
}

// clientHeader is what a client sends that minds how it is answered.
func clientHeader() []string {
	return []string{"Accept-Encoding", "gzip, br", "User-Agent", "client/1", "X-Anything", "kept"}
}

// Beside production, observing changes nothing: what leaves is what came, header
// and body, no summary is asked for, and nothing is written to the store.
func TestObserveChangesNothing(t *testing.T) {
	t.Parallel()
	redis, up, sum := redistest.Start(t), newMirror(t, `,"usage":{"prompt_tokens":6000,"completion_tokens":2}`), newUpstream(t, summary)
	args := []string{"--upstream", up.URL, "--redis-url", redis.URL, "--window", "my-*=4000", "--summarizer-url", sum.URL}
	production := start(t, []string{"FOLDGATE_TENANT_SECRET=s"}, args...)
	if got := production.chat(observable()["40 turns"]); !strings.HasPrefix(got.header.Get("Foldgate-Fold"), "committed") {
		t.Fatalf("production: %v", got.header)
	}
	if code := production.stop(); code != exitOK { // so that whatever is written from now on was written by who observes
		t.Fatalf("exit code %d", code)
	}
	before, summaries := changes(t, redis), len(sum.asked())

	g := start(t, []string{"FOLDGATE_TENANT_SECRET=s"}, append(args, "--mode", "observe")...)
	for name, body := range observable() {
		for range 2 {
			direct := up.straight(t, body)
			want := up.last(t)
			got := g.send(http.MethodPost, g.data+"/v1/chat/completions?a=1;b", body, append(clientHeader(), "Foldgate-Conversation", name[:1])...)
			if sent := up.last(t); sent.url != want.url || !maps.EqualFunc(sent.header, want.header, slices.Equal) || !bytes.Equal(sent.body, []byte(body)) {
				t.Errorf("%s left as %s %v with %d of %d bytes, want %s %v", name, sent.url, sent.header, len(sent.body), len(body), want.url, want.header)
			}
			if got.status != direct.status || got.body != direct.body {
				t.Errorf("%s: %d %s, without us %d %s", name, got.status, got.body, direct.status, direct.body)
			}
			if fold := got.header.Get("Foldgate-Fold"); !strings.HasPrefix(fold, "none") || got.header.Get("Foldgate-Attempt") != "" {
				t.Errorf("%s: %s", name, fold)
			}
		}
	}
	if list := g.send("GET", g.admin+"/v1/attempts", "").body; !strings.Contains(list, `"attempts":[]`) {
		t.Errorf("attempts were begun: %s", list)
	}
	if code := g.stop(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
	if asked := len(sum.asked()); asked != summaries {
		t.Errorf("%d summaries were asked for", asked-summaries)
	}
	if after := changes(t, redis); after != before {
		t.Errorf("%s in the store, before it were %s", after, before)
	}
}

// changes is how often the store was written to.
func changes(t *testing.T, s *redistest.Server) string {
	t.Helper()
	const name = "rdb_changes_since_last_save:"
	for line := range strings.Lines(fmt.Sprint(s.Do("INFO", "persistence"))) {
		if strings.HasPrefix(line, name) {
			return strings.TrimSpace(line)
		}
	}
	t.Fatalf("the store does not count its changes")
	return ""
}

// observed is what the header of an answer tells.
type observed struct {
	body                  string
	fold, source          string
	before, after, window int
}

func observedOf(body string, a answer) observed {
	o := observed{body: body, fold: a.header.Get("Foldgate-Fold")}
	for field := range strings.SplitSeq(a.header.Get("Foldgate-Tokens"), ", ") {
		name, value, _ := strings.Cut(field, "=")
		n, _ := strconv.Atoi(value)
		switch name {
		case "before":
			o.before = n
		case "after":
			o.after = n
		case "window":
			o.window = n
		case "source":
			o.source = value
		}
	}
	return o
}

// decided is what a window and a trigger would make of a request, by what was
// observed of it alone.
func (o observed) decided(total int, trigger float64) string {
	settings := window.Settings{Trigger: trigger, ReserveOutput: 4096}
	b := window.NewBudget(window.Limits{Total: window.Tokens(total)}, settings, 0, 1, 1)
	switch before := window.Tokens(o.before); {
	case before <= b.Trigger: // also what was too small to be counted
		return `none; reason="under"`
	case before <= b.Usable:
		return `none; reason="fits"`
	case window.Tokens(o.after) > window.Tokens(total):
		return "unfit"
	}
	return "fallback"
}

// What is observed suffices to choose windows and triggers: other ones decide about
// the same requests as the header lets one reckon, and the metrics are its sums.
func TestObserveSufficesToDecide(t *testing.T) {
	t.Parallel()
	up, sum := newMirror(t, ""), newUpstream(t, summary)
	sum.Close() // a summary that is there at once would be used also where nobody waits for one
	args := []string{"--upstream", up.URL, "--summarizer-url", sum.URL, "--advertised=false", "--wait", "0", "--prepare=false"}
	g := start(t, nil, append(args, "--window", "my-*=4000", "--mode", "observe")...)
	var seen []observed
	for name, body := range observable() {
		o := observedOf(body, g.chat(body))
		want := o.decided(4000, 0.8)
		switch {
		case name == "unheard-of":
			if o.fold != `none; reason="unknown-window"` || o.source != "unknown" || o.before < 5000 || o.window != 0 {
				t.Errorf("%s: %+v", name, o)
			}
			continue
		case o.before == 0 && len(body) > 2500, o.window != 4000, o.source != "config":
			t.Errorf("%s is not reported: %+v", name, o)
		case want == `none; reason="under"` && o.fold != want, want != `none; reason="under"` && o.fold != `none; reason="mode"`:
			t.Errorf("%s: %s, want %s to be reported", name, o.fold, want)
		case want == "fallback" && o.after >= o.before:
			t.Errorf("%s: nothing would be saved: %+v", name, o)
		}
		seen = append(seen, o)
	}
	g.sums(t, seen)

	for _, chosen := range []struct {
		window  int
		trigger float64
	}{{4000, 0.8}, {4000, 0.4}, {4000, 0.95}, {2500, 0.6}, {8000, 0.8}} {
		f := start(t, nil, append(args, "--window", fmt.Sprintf("my-*=%d", chosen.window), "--trigger", fmt.Sprint(chosen.trigger))...)
		kinds := map[string]int{}
		for _, o := range seen {
			got := observedOf(o.body, f.chat(o.body))
			want := o.decided(chosen.window, chosen.trigger)
			kinds[want]++
			if !strings.HasPrefix(got.fold, want) {
				t.Errorf("%v: a request of %d tokens is %s, by what was observed %s", chosen, o.before, got.fold, want)
			}
			if chosen.window == 4000 && chosen.trigger == 0.8 && want == "fallback" && got.after != o.after {
				t.Errorf("a request of %d tokens leaves with %d, observed was %d", o.before, got.after, o.after)
			}
		}
		if len(kinds) < 3 {
			t.Errorf("%v decides nothing: %v", chosen, kinds)
		}
	}
}

// atRest are the metrics once no request is under way: the last one is counted after
// its answer.
func (r *replica) atRest(t *testing.T) string {
	t.Helper()
	limit := time.After(patience)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		metrics := r.send(http.MethodGet, r.admin+"/metrics", "").body
		if strings.Contains(metrics, "\nfoldgate_requests_in_flight 0\n") {
			return metrics
		}
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("a request never ends:\n%s", ours(metrics))
		}
	}
}

// sums compares the metrics with what the headers told.
func (r *replica) sums(t *testing.T, seen []observed) {
	t.Helper()
	metrics := r.atRest(t)
	value := func(series string) int {
		found := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(series) + ` (\d+)$`).FindStringSubmatch(metrics)
		if found == nil {
			return 0
		}
		n, _ := strconv.Atoi(found[1])
		return n
	}
	reported, counted, savable := 0, 0, 0
	within := map[string]int{}
	for _, o := range seen {
		if o.before == 0 {
			continue
		}
		counted++
		for _, le := range []string{"0.25", "0.4", "0.5", "0.6", "0.7", "0.75", "0.8", "0.9", "1", "1.5", "4"} {
			bound, _ := strconv.ParseFloat(le, 64)
			if float64(o.before)/float64(o.window) <= bound {
				within[le]++
			}
		}
		if strings.Contains(o.fold, `"mode"`) {
			reported++
			savable += o.before - o.after
		}
	}
	want := map[string]int{
		`foldgate_folds_total{kind="none",reason="mode"}`:           reported,
		`foldgate_folds_total{kind="none",reason="under"}`:          len(seen) - reported,
		`foldgate_folds_total{kind="none",reason="unknown-window"}`: 1,
		`foldgate_tokens_savable_total`:                             savable,
		`foldgate_tokens_saved_total`:                               0,
		`foldgate_window_share_count`:                               counted,
	}
	for le, n := range within {
		want[`foldgate_window_share_bucket{le="`+le+`"}`] = n
	}
	for series, n := range want {
		if got := value(series); got != n {
			t.Errorf("%s is %d, want %d:\n%s", series, got, n, ours(metrics))
		}
	}
}
