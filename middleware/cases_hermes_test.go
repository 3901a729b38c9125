package middleware_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foldgate/foldgate/compression/foldtest"
	"github.com/foldgate/foldgate/compression/window"
	"github.com/foldgate/foldgate/middleware"
)

// The tests of this file replay faults that users of hermes-agent reported; the
// numbers behind a test's name are those of its issues and pull requests. Those
// that need no gateway stand in package compression.

// strictUpstream answers as the strictest backend there is: what any validator
// or chat template refuses that knows tools, it refuses.
func strictUpstream(t *testing.T) *stub {
	t.Helper()
	return newStub(t, func(w http.ResponseWriter, r *http.Request, c stubCall) {
		for _, s := range foldtest.Stricts() {
			if bad := foldtest.Validate(c.Body, s); len(bad) > 0 && s != foldtest.PlainAlternating {
				answerStatus(400, fmt.Sprintf(`{"error":{"message":%q,"type":"invalid_request_error"}}`, s.String()+": "+bad[0]))(w, r, c)
				return
			}
		}
		answerOK(w, r, c)
	})
}

// hermes-agent#13574, #105574, #51218, #74086 (cases 13, 14, 16, 17): what was
// forwarded after a compaction was refused by strict backends. Here by way of the
// gateway; each rule by itself is tested in package compression.
func TestCase16StrictBackendsTakeWhatIsForwarded(t *testing.T) {
	for name, sum := range map[string]*stub{
		"with a model":    newStub(t, answerSummary(summaryText)),
		"without a model": newStub(t, answerStatus(500, `{}`)),
	} {
		t.Run(name, func(t *testing.T) {
			g := newGateway(t, options{up: strictUpstream(t), sum: sum})
			for turns := 20; turns < 29; turns++ {
				m := talk("strict", turns)
				for i := range m { // a strict backend takes no content that is null
					if m[i]["content"] == nil {
						m[i]["content"] = "looking it up"
					}
				}
				if a := g.post(t, request(m)); a.status != 200 || a.fold() == "none" {
					t.Errorf("%d turns: got %d %s: %s", turns, a.status, a.header.Get("Foldgate-Fold"), a.body)
				}
			}
		})
	}
}

// hermes-agent#111512, #98371, #108325: nothing was heard during a compression,
// the client hung up, the work was lost, and its next try began again.
func TestCase18WaitingIsHeardAndNotLost(t *testing.T) {
	sum, release := heldSummary(t)
	g := newGateway(t, options{sum: sum, config: func(c *middleware.Config) { c.Keepalive = time.Millisecond }})
	body, err := json.Marshal(request(talk("wait", 24), "stream", true))
	if err != nil {
		t.Fatal(err)
	}
	ctx, hangUp := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, g.url+"/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer sk-tenant-a")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if line, err := bufio.NewReader(res.Body).ReadString('\n'); err != nil || !strings.HasPrefix(line, ":") {
		t.Fatalf("heard %q, %v, want a comment", line, err)
	}
	hangUp()
	close(release)
	again := g.post(t, body)
	if again.status != 200 || sum.count() != 1 || !strings.Contains(string(g.up.last(t).Body), "SUMMARY-ZEBRA") {
		t.Errorf("the next try: %d after %d summary calls", again.status, sum.count())
	}
}

// hermes-agent#10896, #41607, #35344: the model carried out what the summary
// named. The user's newest message is the last word, whatever the summary says.
func TestCase19TheNewestMessageIsTheLastWord(t *testing.T) {
	g := newGateway(t, options{sum: newStub(t, answerSummary("## Open\n- Task A: delete the papa file. Resume exactly from here."))})
	m := talk("order", 24)
	m[1]["content"], m[len(m)-1]["content"] = "Task A: delete the papa file.", "Task B: rename the oscar file, nothing else."
	if a := g.post(t, request(m)); a.fold() != "committed" {
		t.Fatalf("Foldgate-Fold: %s", a.header.Get("Foldgate-Fold"))
	}
	got := sent(t, g.up.last(t).Body)
	last, summary := got[len(got)-1], slices.IndexFunc(got, func(m msg) bool { return strings.Contains(text(m), "Resume exactly") })
	if last["role"] != "user" || !strings.HasSuffix(text(last), text(m[len(m)-1])) || summary < 0 {
		t.Fatalf("the summary is in message %d, the last is %v", summary, last)
	}
	if got[summary]["role"] != "user" || !strings.Contains(text(got[summary]), "the newest user message wins") {
		t.Errorf("the summary has authority: %v", got[summary])
	}
}

// hermes-agent#61932, #36624, #80449, #108647: a result larger than the window
// ended the conversation.
func TestCase31AResultLargerThanTheWindow(t *testing.T) {
	g := newGateway(t, options{up: strictUpstream(t), window: window.BookConfig{Rules: []window.Rule{{Total: 10_000}}}})
	raw, err := json.Marshal(request([]msg{
		{"role": "system", "content": "s"},
		{"role": "user", "content": "Find the fault in the log."},
		{"role": "assistant", "content": "reading", "tool_calls": []msg{lookup("call_1")}},
		{"role": "tool", "tool_call_id": "call_1", "content": words("log", 1, 12_000)},
	}))
	if err != nil {
		t.Fatal(err)
	}
	if a := g.post(t, raw); len(raw) < 60<<10 || a.status != 200 {
		t.Fatalf("%d bytes: got %d %s", len(raw), a.status, a.body)
	}
	got := g.up.last(t).Body
	if n := countOf(t, got); n > 10_000 {
		t.Errorf("%d tokens were forwarded", n)
	}
	if s := sent(t, got); len(s) != 4 || text(s[1]) != "Find the fault in the log." {
		t.Errorf("forwarded: %.300s", got)
	}
}

// hermes-agent#91830, #100336, #112420: early bytes were written anew on every
// turn. Five growing requests after a compaction, through two replicas in turn.
func TestCase32EarlyBytesStayAcrossReplicas(t *testing.T) {
	up, sum := newStub(t, answerOK), newStub(t, answerSummary(summaryText))
	one := newGateway(t, options{up: up, sum: sum, replica: "one"})
	two := newGateway(t, options{up: up, sum: sum, replica: "two", store: one.store.Store})
	m := talk("grow", 24)
	if a := one.post(t, request(m)); a.fold() != "committed" {
		t.Fatalf("Foldgate-Fold: %s", a.header.Get("Foldgate-Fold"))
	}
	stays := func(body []byte) string { // up to the last user message, which recall leads
		_, rest, _ := strings.Cut(string(body), `"messages":`)
		return rest[:strings.LastIndex(rest, `{"content"`)]
	}
	last := stays(up.last(t).Body)
	for turn := range 5 {
		m = append(m, msg{"role": "assistant", "content": words("a", turn, 8)}, msg{"role": "user", "content": fmt.Sprint("and then, ", turn, "?")})
		var bodies [2]string
		for i, g := range []*gateway{one, two} {
			if a := g.post(t, request(m)); a.status != 200 || a.fold() != "reused" {
				t.Fatalf("turn %d: %d %s", turn, a.status, a.header.Get("Foldgate-Fold"))
			}
			bodies[i] = string(up.last(t).Body)
		}
		if bodies[0] != bodies[1] {
			t.Errorf("turn %d: the replicas forward other bytes", turn)
		}
		now := stays([]byte(bodies[0]))
		if !strings.HasPrefix(now, last) || !strings.Contains(last, "SUMMARY-ZEBRA") {
			t.Fatalf("turn %d: early bytes changed", turn)
		}
		last = now
	}
	if sum.count() != 1 {
		t.Errorf("%d summary calls, want 1", sum.count())
	}
}
