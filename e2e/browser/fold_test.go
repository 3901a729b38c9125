package browser_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// hard is a request with something for each part of a fold: a head, an old question
// that comes again at the end, and a tool result that is too large to be kept whole.
func hard() map[string]any {
	said := func(role, text string) map[string]any { return map[string]any{"role": role, "content": text} }
	messages := []map[string]any{said("system", "You help the harbour office of a small town. Answer in one paragraph.")}
	for i := range 24 {
		messages = append(messages,
			said("user", fmt.Sprintf("Berth %d: who lies there, until when, and what is owed?", i)),
			said("assistant", fmt.Sprintf("Berth %d: the ship Marigold-%02d lies there until day %d of May; %d crowns are owed for water and a crane.", i, i*7%24, i+2, 120+17*i)))
	}
	var lines strings.Builder
	for i := range 120 {
		fmt.Fprintf(&lines, "2026-05-%02d gauge %02d water level %d cm, wind %d m/s, gate %s\n", 1+i/5, i%5, 180+i*3%40, 3+i%9, []string{"open", "shut"}[i%2])
	}
	return map[string]any{"model": "stand-in", "messages": append(messages,
		said("user", "Look at the gauges of May, please."),
		map[string]any{"role": "assistant", "content": nil, "tool_calls": []map[string]any{
			{"id": "call_1", "type": "function", "function": map[string]any{"name": "read_gauges", "arguments": `{"month":"May"}`}},
		}},
		map[string]any{"role": "tool", "tool_call_id": "call_1", "content": lines.String()},
		said("assistant", "The levels were steady all month; the gate was shut on every second reading."),
		said("user", "How many crowns does the ship Marigold-11 owe, and for what?"),
	)}
}

func encoded(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// fill sets a field's value as a paste does.
func (p *page) fill(selector, text string) {
	p.t.Helper()
	p.js(`(() => { const f = document.querySelector(`+quote(selector)+`); f.focus(); f.value = `+quote(text)+`; f.dispatchEvent(new Event('input', {bubbles: true})); })()`, nil)
}

// A fold side by side: what was kept, folded, shrunk and recalled is what the API
// says, and the texts are those of the two bodies.
func TestFold(t *testing.T) {
	w := newWorld(t)
	a := w.start(quick)
	p := a.signedIn("#/fold", desk)
	p.fill("#request", encoded(t, hard()))
	p.fill("#window", "1600")
	p.button(".ask", "Fold it")
	p.until("a fold", `document.querySelector('.bands')`)
	p.says("#outcome", "tokens before")
	p.says(".outcome .tiles", "reason: mode")
	p.says(".outcome .tiles", "recalled passage")
	p.says(".card.handoff", "[Summary of the earlier conversation]")
	p.says(".card.recalled", "Marigold-11")
	var counts map[string]int
	p.js(`fetch('v1/fold?window=1600', {method: 'POST', body: document.getElementById('request').value,
		headers: {'Content-Type': 'application/json', Authorization: 'Bearer `+adminToken+`'}}).then((r) => r.json())
		.then((r) => Object.fromEntries(['head', 'folded', 'kept', 'shrunk'].map((f) => [f, r.outline.messages.filter((m) => m.fate === f).length])))`, &counts)
	if counts["head"] != 1 || counts["folded"] == 0 || counts["kept"] == 0 {
		t.Errorf("the fold shows too little: %v", counts)
	}
	for fate, n := range counts {
		sides := 2
		if fate == "folded" {
			sides = 1
			n = min(n, 30) // at first
		}
		var shown int
		p.js(`document.querySelectorAll('.card.`+fate+`').length`, &shown)
		if shown != sides*n {
			t.Errorf("%d cards of %s, want %d", shown, fate, sides*n)
		}
	}
	if counts["folded"] > 30 {
		p.button(".bands", "more of")
		p.until("the others", fmt.Sprintf(`document.querySelectorAll('.card.folded').length === %d`, counts["folded"]))
	}
	p.js(`document.querySelector('.card.handoff button')?.click()`, nil) // where it is not shown whole
	p.says(".card.handoff", "[End of the summary")
}

// What the exit gate shrank is told on both sides, with its sizes.
func TestFoldThatShrinks(t *testing.T) {
	w := newWorld(t)
	a := w.start(quick)
	p := a.signedIn("#/fold", desk)
	request := hard()
	messages := request["messages"].([]map[string]any)
	request["messages"] = messages[:len(messages)-2] // the large result is the last message
	p.fill("#request", encoded(t, request))
	p.fill("#window", "1600")
	p.button(".ask", "Fold it")
	p.until("both sides", `document.querySelectorAll('.card.shrunk').length === 2`)
	p.says(".stack .card.shrunk", "of text before")
	p.says(".card.shrunk", "tool")
}

// A request that is not folded, and ones that cannot be.
func TestFoldThatIsNone(t *testing.T) {
	w := newWorld(t)
	a := w.start(quick)
	p := a.signedIn("#/fold", desk)
	for _, tc := range []struct{ body, window, told string }{
		{`{"model":"m","messages":[{"role":"user","content":"Hello"}]}`, "", "not over the trigger"},
		{`nonsense`, "", "(400 invalid_request)"},
		{``, "", "(400 invalid_request)"},
		{encoded(t, hard()), "many", "(400 invalid_request)"},
		{encoded(t, hard()), "70", "(400 invalid_request)"},
	} {
		p.fill("#request", tc.body)
		p.fill("#window", tc.window)
		p.button(".ask", "Fold it")
		p.says(".view.fold", tc.told)
	}
	p.expect("400")
}

// Texts are texts, whatever they say.
func TestHostileTexts(t *testing.T) {
	w := newWorld(t)
	a := w.start(quick)
	p := a.signedIn("#/fold", desk)
	p.fill("#request", encoded(t, hostile()))
	p.fill("#window", "3000")
	p.button(".ask", "Fold it")
	p.until("a fold", `document.querySelector('.bands')`)
	for _, text := range []string{"<script>alert(1)</script>", "<svg onload=alert(3)>", "{{7*7}} ${7*7}", "</p></article>"} {
		p.says(".outcome", text)
	}
	if p.is(`document.querySelector('main script, main img, main style, main svg[onload], main b')`) {
		t.Error("a text became an element")
	}
	// Every text opened, the longest too.
	p.js(`document.querySelectorAll('.card button').forEach((b) => b.click())`, nil)
	p.says(".outcome", strings.Repeat("long ", 1990))
}
