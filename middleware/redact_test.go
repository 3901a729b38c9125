package middleware_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foldgate/foldgate/compression/window"
	"github.com/foldgate/foldgate/middleware"
	"github.com/foldgate/foldgate/ownership"
	"github.com/foldgate/foldgate/ownership/memstore"
)

// planted are secrets, by where they stand. They are put together here so that no
// scanner finds one in this file.
var planted = map[string]string{
	"user":      "ghp_" + strings.Repeat("aB3dE6", 6),
	"assistant": "sk-" + "proj-" + strings.Repeat("Zx9Yw8Vu7", 6),
	"argument":  "hunter2-Kq7Lm4",
	"result":    "wJa1rXUtnFEMI/K7MDENG/bPxRf1CYzzzzzzz1Ky",
	"result 2":  "pw0rd-Tr4verse",
	"key":       strings.Repeat("MIIEvQIBADANBgkqhkiG9w0BAQEFAASC", 2),
	"rule":      "xoxb-" + "123456789012-123456789012-" + strings.Repeat("AbCd12", 4),
	"summary":   "glpat-" + strings.Repeat("Qw3rTy", 4),
	"previous":  "npm_" + strings.Repeat("a1B2c3", 6),
}

// live are secrets of messages that stay: the gateway never changes those.
var live = map[string]string{
	"head":      "AKIA" + strings.Repeat("AB12CD34", 2),
	"tail":      "hvs." + strings.Repeat("CAESIJ8x", 6),
	"last user": "hf_" + strings.Repeat("AbCdEfGh", 4) + "XY",
}

// unrecalled turns recall off: passages that are quoted beside the handoff are the
// caller's own words, of the same request.
func unrecalled(c *middleware.Config) {
	c.Settings = window.Settings{Trigger: 0.8, KeepRecent: 0.25, ReserveOutput: 4096}
}

// leaky is a conversation with a secret in every kind of message. Its early part
// is long enough to be folded, and its last question asks for what was there.
func leaky(turns int) []msg {
	env := "DB_HOST=db.internal\nDB_PASSWORD=" + planted["result 2"] + "\nAWS_SECRET_ACCESS_KEY=" + planted["result"] + "\nLOG_LEVEL=debug\n" +
		"-----BEGIN PRIVATE KEY-----\n" + planted["key"] + "\n" + planted["key"] + "\n-----END PRIVATE KEY-----\n"
	arguments := fmt.Sprintf(`{"command":"deploy --host db.internal","password":%q,"order":"ORDER-77120"}`, planted["argument"])
	m := []msg{
		{"role": "system", "content": "You are careful. Your own key is " + live["head"] + "."},
		{"role": "user", "content": "Deploy to db.internal. My token is " + planted["user"] + ", the order is ORDER-77120."},
		{"role": "assistant", "content": "I will use " + planted["assistant"] + " and look at the configuration of db.internal.", "tool_calls": []msg{
			{"id": "call_leak", "type": "function", "function": msg{"name": "run", "arguments": arguments}},
		}},
		{"role": "tool", "tool_call_id": "call_leak", "content": "read config.env of db.internal:\n" + env},
		{"role": "system", "content": "Answer briefly. Slack: " + planted["rule"]},
	}
	m = append(m, talk("leak", turns)[1:]...)
	m[len(m)-1] = msg{"role": "user", "content": "look again"}
	return append(m,
		msg{"role": "assistant", "content": nil, "tool_calls": []msg{lookup("call_tail")}},
		msg{"role": "tool", "tool_call_id": "call_tail", "content": "VAULT_TOKEN=" + live["tail"]},
		msg{"role": "user", "content": "My new token is " + live["last user"] + ". What was the DB_PASSWORD in config.env of db.internal, and the order?"})
}

// leaks names what of the planted secrets a text holds.
func leaks(text string) (found []string) {
	for where, secret := range planted {
		if strings.Contains(text, secret) {
			found = append(found, where)
		}
	}
	slices.Sort(found)
	return found
}

// own is what the gateway wrote in a forwarded body: the messages, and the parts
// of messages, that are not the caller's.
func own(t *testing.T, original []msg, body []byte) string {
	t.Helper()
	var b strings.Builder
	for _, m := range sent(t, body) {
		raw, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		said := string(raw)
		for _, o := range original {
			if equal(m, o) {
				said = ""
			} else if text(o) != "" && m["role"] == o["role"] && strings.HasSuffix(text(m), text(o)) {
				said = strings.TrimSuffix(text(m), text(o))
			}
			if said == "" {
				break
			}
		}
		b.WriteString(said + "\n")
	}
	return b.String()
}

// keptLive checks that the caller's own live messages are as they came.
func keptLive(t *testing.T, original []msg, body []byte) {
	t.Helper()
	got := sent(t, body)
	if !equal(got[0], original[0]) {
		t.Errorf("the head became %v", got[0])
	}
	n, end := len(got), len(original)
	if !strings.HasSuffix(text(got[n-1]), text(original[end-1])) {
		t.Errorf("the last message became %q", text(got[n-1]))
	}
	for back := 2; back <= 3; back++ {
		if !equal(got[n-back], original[end-back]) {
			t.Errorf("the tail became %v, want %v", got[n-back], original[end-back])
		}
	}
	for where, secret := range live {
		if !strings.Contains(string(body), secret) {
			t.Errorf("the caller's own %s lost its secret", where)
		}
	}
}

// TestSecretsStayOut is case 26 of the agent that saw it happen: keys out of old
// tool results reached the summarizer, were stored, and came back with every
// summary made from the last.
func TestSecretsStayOut(t *testing.T) {
	m := leaky(24)
	t.Run("with a model", func(t *testing.T) {
		g := newGateway(t, options{config: unrecalled, sum: newStub(t, answerSummary(summaryText+" The token is "+planted["summary"]+" and ORDER-77120 stays."))})
		a := g.post(t, request(m))
		if a.fold() != "committed" {
			t.Fatalf("Foldgate-Fold: %s", a.header.Get("Foldgate-Fold"))
		}
		body := g.up.last(t).Body
		prompt := string(g.sum.last(t).Body)
		if found := leaks(prompt); found != nil {
			t.Errorf("the summarizer was told the secrets of %v", found)
		}
		for where, secret := range live {
			if where != "tail" && where != "last user" && strings.Contains(prompt, secret) {
				t.Errorf("the summarizer was told the secret of the %s", where)
			}
		}
		for _, name := range []string{"ORDER-77120", "db.internal", "LOG_LEVEL=debug"} {
			if !strings.Contains(prompt, name) {
				t.Errorf("%s did not reach the summarizer", name)
			}
		}
		if found := leaks(own(t, m, body)); found != nil {
			t.Errorf("the handoff holds the secrets of %v", found)
		}
		if !strings.Contains(own(t, m, body), "ORDER-77120") {
			t.Error("the handoff lost the order")
		}
		keptLive(t, m, body)
		storedLeaks(t, g, a.key())
	})
	t.Run("without a model", func(t *testing.T) {
		g := newGateway(t, options{config: unrecalled, sum: newStub(t, answerStatus(http.StatusInternalServerError, `{}`))})
		a := g.post(t, request(m))
		if a.fold() != "fallback" {
			t.Fatalf("Foldgate-Fold: %s", a.header.Get("Foldgate-Fold"))
		}
		body := g.up.last(t).Body
		if found := leaks(own(t, m, body)); found != nil {
			t.Errorf("the handoff holds the secrets of %v", found)
		}
		if !strings.Contains(own(t, m, body), "ORDER-77120") {
			t.Error("the handoff lost the order")
		}
		keptLive(t, m, body)
	})
}

// storedLeaks checks what the store holds.
func storedLeaks(t *testing.T, g *gateway, key ownership.Key) {
	t.Helper()
	v, err := g.store.Store.Read(t.Context(), key, nil)
	if err != nil || len(v.State.Checkpoints) == 0 {
		t.Fatalf("reading the store: %d checkpoints, %v", len(v.State.Checkpoints), err)
	}
	if found := leaks(string(v.State.Checkpoints[0].Handoff)); found != nil {
		t.Errorf("the store holds the secrets of %v", found)
	}
}

// TestSecretsOfThePreviousSummary: a checkpoint that was written before a shape
// was known is not handed on, neither to a model nor without one.
func TestSecretsOfThePreviousSummary(t *testing.T) {
	m := leaky(24)
	first := newGateway(t, options{config: unrecalled})
	a := first.post(t, request(m))
	v, err := first.store.Store.Read(t.Context(), a.key(), nil)
	if err != nil || len(v.State.Checkpoints) == 0 {
		t.Fatalf("reading the store: %v", err)
	}
	old := v.State.Checkpoints[0]
	old.Handoff = []byte(strings.Replace(string(old.Handoff), summaryText, summaryText+" NPM_TOKEN="+planted["previous"]+" for PACKAGE-9313.", 1))
	if found := leaks(string(old.Handoff)); found == nil {
		t.Fatal("nothing was planted")
	}

	tail := talk("later", 24)[1:]
	next := slices.Concat(m, []msg{{"role": "assistant", "content": "it is done."}}, tail)
	for name, sum := range map[string]func(http.ResponseWriter, *http.Request, stubCall){
		"with a model":    answerSummary(summaryText),
		"without a model": answerStatus(http.StatusInternalServerError, `{}`),
	} {
		t.Run(name, func(t *testing.T) {
			g := newGateway(t, options{config: unrecalled, store: storeWith(t, a.key(), old), sum: newStub(t, sum)})
			b := g.post(t, request(next))
			if b.fold() != "committed" && b.fold() != "fallback" {
				t.Fatalf("Foldgate-Fold: %s", b.header.Get("Foldgate-Fold"))
			}
			prompt := string(g.sum.last(t).Body)
			if !strings.Contains(prompt, "SUMMARY-ZEBRA") || !strings.Contains(prompt, "PACKAGE-9313") {
				t.Error("the previous summary did not reach the summarizer")
			}
			if found := leaks(prompt); found != nil {
				t.Errorf("the summarizer was told the secrets of %v", found)
			}
			if found := leaks(string(g.up.last(t).Body)); found != nil {
				t.Errorf("the forwarded request holds the secrets of %v", found)
			}
		})
	}
}

// storeWith is a store with one settled checkpoint.
func storeWith(t *testing.T, key ownership.Key, cp ownership.Checkpoint) ownership.Store {
	t.Helper()
	s := memstore.New(memstore.Options{})
	claimed, err := s.Claim(t.Context(), key, ownership.Claim{
		Attempt: "01890000-0000-7000-8000-000000000001", Target: cp.Target, Replica: "old", Lease: time.Minute, Ceiling: time.Minute,
	})
	if err != nil {
		t.Fatalf("claiming: %v", err)
	}
	if _, err := s.Commit(t.Context(), key, claimed.Fence, ownership.Commit{Checkpoint: cp}); err != nil {
		t.Fatalf("committing: %v", err)
	}
	if _, err := s.Settle(t.Context(), key, claimed.Fence); err != nil {
		t.Fatalf("settling: %v", err)
	}
	return s
}
