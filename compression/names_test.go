package compression_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/foldgate/foldgate/compression"
	"github.com/foldgate/foldgate/compression/chat"
	"github.com/foldgate/foldgate/compression/window"
)

// A call's name is the caller's text like any other, and may be of any length:
// it is told by its beginning, and costs no more than its bytes.
func TestLongCallNameIsCut(t *testing.T) {
	var name strings.Builder
	for i := range 400_000 { // words that are all different
		for range 4 {
			name.WriteByte(byte('a' + i%26))
			i /= 26
		}
		name.WriteByte(' ')
	}
	turn := `,{"role":"user","content":"` + strings.Repeat("alpha bravo ", 40) + `"},{"role":"assistant","content":"` + strings.Repeat("echo foxtrot ", 40) + `"}`
	body := []byte(`{"model":"m","messages":[{"role":"user","content":"go"},{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"` +
		name.String() + `","arguments":"{}"}}]},{"role":"tool","tool_call_id":"1","content":"x"}` + strings.Repeat(turn, 200) + `,{"role":"user","content":"and?"}]}`)
	e, err := chat.ReadEnvelope(body)
	if err != nil {
		t.Fatal(err)
	}
	r, err := chat.Parse(body, e)
	if err != nil {
		t.Fatal(err)
	}
	s := window.Settings{Trigger: 0.8, KeepRecent: 0.25, ReserveOutput: 4096}
	b := window.NewBudget(window.Limits{Total: 16384, Source: window.Config}, s, 0, 1, 1)
	h := compression.NewMemo(1000).View(r).Deterministic(b, s, nil)
	if !strings.Contains(h.Text, "aaaa baaa") {
		t.Errorf("the call is not told of:\n%.400s", h.Text)
	}
}

// What a client calls itself, its tools and its parts may be bytes that are no
// text. Where they are told of they are text, in notes, prompts and passages
// alike; where they are sent on they are the bytes that they were.
func TestNamesThatAreNoTextAreTold(t *testing.T) {
	for spelling, raw := range map[string]string{
		"invalid bytes":    "na\xff\xfeme",
		"half a character": "name\xc3",
		"a lone surrogate": `na\ud800me`,
	} {
		for place, odd := range map[string][]string{
			"a user's name":   {`{"role":"user","name":"` + raw + `","content":"the harbour gate opens at nine"}`},
			"a role":          {`{"role":"` + raw + `","content":"the harbour gate opens at nine"}`},
			"a tool's name":   {strings.Replace(called(`{"q":"harbour gate"}`, "c"), "lookup", raw, 1), result("c", "opens at nine")},
			"a call's type":   {`{"role":"assistant","tool_calls":[{"id":"c","type":"` + raw + `","function":{"arguments":"harbour gate"}}]}`, result("c", "opens at nine")},
			"a part's type":   {`{"role":"user","content":[{"type":"` + raw + `"},{"type":"text","text":"the harbour gate opens at nine"}]}`},
			"an id":           {strings.Replace(called(`{"q":"harbour gate"}`, "c"), `"c"`, `"`+raw+`"`, 1), strings.Replace(result("c", "opens at nine"), `"c"`, `"`+raw+`"`, 1)},
			"a function":      {`{"role":"assistant","content":null,"function_call":{"name":"` + raw + `","arguments":"{\"q\":\"harbour gate\"}"}}`, `{"role":"function","name":"` + raw + `","content":"opens at nine"}`},
			"a key of a call": {called(`{"`+strings.ReplaceAll(raw, `\`, `\\`)+`":"harbour gate"}`, "c"), result("c", "opens at nine")},
		} {
			t.Run(spelling+"/"+place, func(t *testing.T) {
				body := request(append(append([]string{said("user", words(1, 100))}, odd...),
					said("assistant", words(2, 300)), said("user", words(3, 40)), said("assistant", words(4, 60)), said("user", "when does the harbour gate open?"))...)
				b := budget(800)
				b.Recall = 100
				v := view(t, body)
				h := v.Deterministic(b, settings(), nil)
				if h.Covered < 1+len(odd) {
					t.Fatalf("only %d messages are covered", h.Covered)
				}
				if !utf8.ValidString(h.Text) {
					t.Errorf("the handoff is no text: %q", h.Text)
				}
				if p := v.Prompt(nil, h.Covered, b); !utf8.ValidString(p) {
					t.Errorf("the prompt is no text: %q", p)
				}
				f := mustFold(t, v, h, b)
				judge(t, body, f, h, b)
				if !utf8.Valid(f.Body) {
					t.Errorf("what is sent is no text: %q", f.Body)
				}
			})
		}
	}
}
