package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foldgate/foldgate/compression"
	"github.com/foldgate/foldgate/compression/window"
)

// said and called are messages as an SDK writes them.
func said(role, text string) string {
	return fmt.Sprintf(`{"role":%q,"content":%s}`, role, quote(text))
}

func called(id, arguments string) string {
	return fmt.Sprintf(`{"role":"assistant","content":null,"tool_calls":[{"id":%q,"type":"function","function":{"name":"lookup","arguments":%s}}]}`, id, quote(arguments))
}

func answered(id, text string) string {
	return fmt.Sprintf(`{"role":"tool","tool_call_id":%q,"content":%s}`, id, quote(text))
}

func quote(s string) string {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

func request(messages ...string) []byte {
	return []byte(`{"model":"m","messages":[` + strings.Join(messages, ",") + `],"temperature":0.70}`)
}

// words is text that differs with its seed.
func words(seed, n int) string {
	vocabulary := strings.Fields("river stone harbor lantern copper meadow signal timber anchor violet marble orchard canyon ledger")
	var b strings.Builder
	x := uint32(seed)*2654435761 + 1
	for range n {
		x = x*1664525 + 1013904223
		b.WriteString(vocabulary[x>>16%uint32(len(vocabulary))] + " ")
	}
	return strings.TrimSpace(b.String()) + "."
}

// garden is a conversation of so many turns, each of a question, a call that
// finds a file, and an answer; it ends with a question.
func garden(turns int) []string {
	m := []string{said("system", "You keep a garden.")}
	for i := range turns {
		id := fmt.Sprintf("call_%d", i)
		m = append(m,
			said("user", fmt.Sprintf("Question %d about bed-%d: %s", i, i, words(i, 40))),
			called(id, fmt.Sprintf(`{"path":"plots/bed_%d.txt","note":"%s"}`, i, words(i+1000, 12))),
			answered(id, fmt.Sprintf("plots/bed_%d.txt holds seed-%d.\n%s", i, 7000+i, words(i+2000, 40))),
			said("assistant", fmt.Sprintf("Bed %d has seed-%d. %s", i, 7000+i, words(i+3000, 30))))
	}
	return append(m, said("user", "And which bed is the sunniest?"))
}

func conversationOf(t testing.TB, body []byte) conversation {
	t.Helper()
	c, err := newConversation(body, compression.NewMemo(1000))
	if err != nil {
		t.Fatalf("reading %.100s: %v", body, err)
	}
	return c
}

// recordings is a folder with one conversation and facts of every kind.
func recordings(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	facts := `{"facts":[
		{"value":"seed-7001","seen":[3,4]},
		{"value":"plots/bed_2.txt","first":10,"seen":[10,11],"reused_in_tool_call_at":[90]},
		{"question":"Which seed has bed 3?","match":"all","answers":["seed-7003"],"evidence":[15,16]},
		{"question":"Which bed is on the moon?","match":"none","answers":[],"evidence":[]}],
		"recorded_token_counts":[{"before_message":20,"prompt_tokens":900},{"before_message":40,"prompt_tokens":1800}]}`
	if err := os.MkdirAll(filepath.Join(dir, "requests"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"garden.json": request(garden(30)...), "garden.facts.json": []byte(facts)} {
		if err := os.WriteFile(filepath.Join(dir, "requests", name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func gardenFile(t *testing.T) (*file, *compression.Memo) {
	t.Helper()
	memo := compression.NewMemo(1000)
	files, err := load(recordings(t), memo)
	if err != nil {
		t.Fatal(err)
	}
	return files[0], memo
}

func oneSetting() *shares {
	return &shares{keep: 0.2, deterministic: 0.5, recall: 0.2, besideRecall: 0.3}
}

func TestUntilAndAsking(t *testing.T) {
	t.Parallel()
	memo := compression.NewMemo(100)
	c := conversationOf(t, request(said("system", "s"), said("user", "one"), said("assistant", "two"), said("user", "three")))
	for name, tc := range map[string]struct {
		n    int
		want string
	}{
		"beginning": {2, string(request(said("system", "s"), said("user", "one")))},
		"all":       {4, string(c.body)},
	} {
		got, err := c.until(tc.n, memo)
		if err != nil || string(got.body) != tc.want {
			t.Errorf("%s: got %s, %v, want %s", name, got.body, err, tc.want)
		}
	}
	for name, tc := range map[string]struct {
		n    int
		want []byte
	}{
		"in the place of a user's":  {4, request(said("system", "s"), said("user", "one"), said("assistant", "two"), said("user", "new"))},
		"after an assistant's":      {3, request(said("system", "s"), said("user", "one"), said("assistant", "two"), said("user", "new"))},
		"in the place of the first": {2, request(said("system", "s"), said("user", "new"))},
	} {
		at, err := c.until(tc.n, memo)
		if err != nil {
			t.Fatal(err)
		}
		got, err := at.asking("new", "", memo)
		if err != nil || string(got.body) != string(tc.want) {
			t.Errorf("%s: got %s, %v, want %s", name, got.body, err, tc.want)
		}
	}
}

func TestBetween(t *testing.T) {
	t.Parallel()
	c := conversationOf(t, request(said("user", "one"), said("assistant", "two"), said("user", "three")))
	got, err := c.between(1, 3, compression.NewMemo(100))
	if want := request(said("assistant", "two"), said("user", "three")); err != nil || string(got.body) != string(want) {
		t.Errorf("got %s, %v, want %s", got.body, err, want)
	}
}

func TestTextOfHoldsCalls(t *testing.T) {
	t.Parallel()
	c := conversationOf(t, request(called("a", `{"path":"x\ty"}`), answered("a", "done")))
	if want := "\nlookup\n" + `{"path":"x\ty"}`; c.texts[0] != want {
		t.Errorf("got %q, want %q", c.texts[0], want)
	}
}

func TestShippedWindowIsTheSmallest(t *testing.T) {
	t.Parallel()
	c := conversationOf(t, request(garden(2)...))
	for _, n := range []window.Tokens{100, 1000, 31_234, 400_000} {
		p := shipped(c, n, true)
		if p.budget.Trigger < n {
			t.Errorf("%d: the trigger is %d", n, p.budget.Trigger)
		}
		smaller := window.NewBudget(window.Limits{Total: p.budget.Total - 1, Source: window.Config}, p.settings, 0, 1, 1)
		if smaller.Trigger >= n {
			t.Errorf("%d: a window of %d would do", n, smaller.Total)
		}
		if shipped(c, n, false).budget.Recall != 0 {
			t.Errorf("%d: recalls without recall", n)
		}
	}
}
