package clients

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// The means of these tests, held against what they have to notice.

func TestRequestsAreComparedByWhatMatters(t *testing.T) {
	of := func(head, body string) string {
		t.Helper()
		r := request{raw: []byte(head + "\r\n\r\n" + body), body: []byte(body)}
		s, err := r.comparable()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	one := of("POST /v1/x HTTP/1.1\r\nHost: a\r\nx-b: 1\r\nx-b: 2\r\nX-A: 3\r\nConnection: keep-alive", "{}")
	if same := of("POST /v1/x HTTP/1.1\r\nX-A: 3\r\nX-B: 1\r\nX-B: 2\r\nHost: a", "{}"); one != same {
		t.Errorf("case and order of names make a difference:\n%s\n%s", one, same)
	}
	for what, other := range map[string]string{
		"a path":            of("POST /v1/y HTTP/1.1\r\nHost: a\r\nx-b: 1\r\nx-b: 2\r\nX-A: 3", "{}"),
		"a value":           of("POST /v1/x HTTP/1.1\r\nHost: a\r\nx-b: 1\r\nx-b: 2\r\nX-A: 4", "{}"),
		"the values' order": of("POST /v1/x HTTP/1.1\r\nHost: a\r\nx-b: 2\r\nx-b: 1\r\nX-A: 3", "{}"),
		"a field more":      of("POST /v1/x HTTP/1.1\r\nHost: a\r\nx-b: 1\r\nx-b: 2\r\nX-A: 3\r\nX-Forwarded-For: b", "{}"),
		"the body":          of("POST /v1/x HTTP/1.1\r\nHost: a\r\nx-b: 1\r\nx-b: 2\r\nX-A: 3", "{ }"),
	} {
		if one == other {
			t.Errorf("%s makes no difference", what)
		}
	}
}

// folding makes a pair of an agent's request and its fold; change may break it.
func folding(t *testing.T, change func(messages []string) []string) *pair {
	t.Helper()
	was := []string{`{"role":"system","content":"s"}`, `{"role":"user","content":"the task"}`}
	for i := range 6 {
		was = append(was,
			fmt.Sprintf(`{"role":"assistant","content":null,"tool_calls":[{"id":"c%d","type":"function","function":{"name":"read","arguments":"{\"path\":\"f%d\"}"}}]}`, i, i),
			fmt.Sprintf(`{"role":"tool","tool_call_id":"c%d","content":"what f%d holds"}`, i, i))
	}
	carrier, err := json.Marshal(handoffBegin + "\nnotes\n\n" + handoffEnd + "\n\nthe task")
	if err != nil {
		t.Fatal(err)
	}
	sent := append([]string{was[0], `{"role":"user","content":` + string(carrier) + `}`}, was[8:]...)
	body := func(messages []string) []byte {
		return []byte(`{"model":"small","messages":[` + strings.Join(messages, ",") + `],"max_tokens":2048}`)
	}
	return &pair{
		original: body(was), forwarded: [][]byte{body(change(sent))}, fold: "committed",
		tokens: "before=14000, after=9000, window=16000, source=config", status: 200,
	}
}

func TestHandoffsAreFoundInEveryFrame(t *testing.T) {
	for _, end := range []string{handoffEnd, shortEnd} {
		want := handoffBegin + "\nnotes\n\n" + end
		if got, err := handoffOf(want + "\n\nthe task"); err != nil || got != want {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	if got, err := handoffOf("the task"); err == nil {
		t.Errorf("no handoff, and %q is found", got)
	}
}

func TestTheJudgeOfARunJudges(t *testing.T) {
	good := recorder{pairs: []*pair{folding(t, func(m []string) []string { return m })}}
	if v := good.judge(16_000); len(v.bad) > 0 || v.folded != 1 || len(v.handoff) != 1 {
		t.Fatalf("a good fold: %+v", v)
	}
	for rule, change := range map[string]func([]string) []string{
		"pairing": func(m []string) []string { return append(m[:2:2], m[3:]...) }, // a result without its call
		"user": func(m []string) []string {
			m[1] = strings.Replace(m[1], "the task", "a task", 1)
			return m
		},
		"head": func(m []string) []string {
			m[0] = `{"role":"system","content":"t"}`
			return m
		},
		"ids": func(m []string) []string {
			m[2], m[3] = strings.Replace(m[2], `"c3"`, `"x3"`, 1), strings.Replace(m[3], `"c3"`, `"x3"`, 1)
			return m
		},
	} {
		bad := recorder{pairs: []*pair{folding(t, change)}}
		if v := bad.judge(16_000); len(v.bad) == 0 {
			t.Errorf("%s is broken, and nothing is said", rule)
		}
	}
	twice := recorder{pairs: []*pair{{original: []byte(`{}`), forwarded: [][]byte{[]byte(`{}`), []byte(`{}`)}}}}
	if v := twice.judge(16_000); len(v.bad) == 0 {
		t.Error("a request that reached the model twice is not noticed")
	}
}
