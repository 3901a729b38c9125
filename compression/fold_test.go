package compression_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/foldgate/foldgate/compression"
	"github.com/foldgate/foldgate/compression/window"
)

// judge fails the test for every breach.
func judge(t fataler, body string, f compression.Folded, h compression.Handoff, b window.Budget) {
	t.Helper()
	if bad := breaches([]byte(body), f, h.Text, b); len(bad) > 0 {
		t.Fatalf("covered %d, shrunk %d, fits %v: %s\nsent: %.3000s", f.Covered, f.Shrunk, f.Fits, strings.Join(bad, "; "), f.Body)
	}
	sent := view(t, string(f.Body))
	want := sent.Total()
	if b.Correction != 1 {
		return
	}
	if f.Tokens != want {
		t.Fatalf("Tokens is %d, the body has %d", f.Tokens, want)
	}
}

func TestDeterministicGarden(t *testing.T) {
	body := request(garden(40, 60)...)
	b := budget(4000)
	f, h, err := foldWithout(t, body, b)
	if err != nil {
		t.Fatal(err)
	}
	judge(t, body, f, h, b)
	if !f.Fits || f.Covered == 0 || f.Shrunk != 0 {
		t.Fatalf("covered %d, shrunk %d, fits %v (%d tokens)", f.Covered, f.Shrunk, f.Fits, f.Tokens)
	}
	if !strings.Contains(h.Text, "question 0") {
		t.Errorf("the first request is not in the handoff:\n%s", h.Text)
	}
}

// handoffAt makes a handoff that covers n messages, as a model's would.
func handoffAt(v *compression.View, n int, text string) compression.Handoff {
	return compression.Handoff{Covered: n, Digest: v.Chain(n), Text: text, Step: 1, Model: true}
}

func TestCarrier(t *testing.T) {
	const text = "NOTES \"quoted\"\nsecond line"
	const marker = `"cache_control":{"type": "ephemeral", "ttl":"1h"}`
	cases := []struct {
		name     string
		messages []string
		covered  int
		want     string // the message that carries
	}{
		{
			"string content of the first kept message",
			[]string{
				said("system", "s"), said("user", "a"), said("assistant", "b"), `{"role":"user", "content" : "c\u0041" }`,
			},
			2, `{"role":"user", "content" : "NOTES \"quoted\"\nsecond line\n\nc\u0041" }`,
		},
		{
			"parts of the first kept message",
			[]string{
				said("user", "a"), said("assistant", "b"), `{"role":"user","content":[ {"type":"text","text":"c"}]}`,
			},
			2, `{"role":"user","content":[{"type":"text","text":"NOTES \"quoted\"\nsecond line"}, {"type":"text","text":"c"}]}`,
		},
		{
			"no parts at all",
			[]string{
				said("user", "a"), said("assistant", "b"), `{"role":"user","content":[]}`,
			},
			2, `{"role":"user","content":[{"type":"text","text":"NOTES \"quoted\"\nsecond line"}]}`,
		},
		{
			"a copy of the last covered user message",
			[]string{
				said("user", "first"), said("assistant", "b"), `{"content":"do it", "role":"user","name":"ann"}`, said("assistant", "c"), called(`{}`, "1"), result("1", "r"),
			},
			4, `{"content":"NOTES \"quoted\"\nsecond line\n\ndo it", "role":"user","name":"ann"}`,
		},
		{
			"no user at all",
			[]string{
				said("assistant", "a"), said("assistant", "b"), said("assistant", "c"),
			},
			2, `{"role":"user","content":"NOTES \"quoted\"\nsecond line"}`,
		},
		{
			"a system message in the middle of the rest",
			[]string{
				said("user", "a"), said("assistant", "b"), said("system", "be brief"), said("user", "c"),
			},
			2, `{"role":"user","content":"NOTES \"quoted\"\nsecond line\n\na"}`,
		},
		{
			"a marker into a string",
			[]string{
				`{"role":"user","content":[{"type":"text","text":"a",` + marker + `}]}`, said("assistant", "b"), said("user", "c\\d"),
			},
			2, `{"role":"user","content":[{"type":"text","text":"NOTES \"quoted\"\nsecond line",` + marker + `},{"type":"text","text":"c\\d"}]}`,
		},
		{
			"a marker into parts",
			[]string{
				`{"role":"user","content":"a",` + marker + `}`, said("assistant", "b"), `{"role":"user","content":[{"type":"text","text":"c"}]}`,
			},
			2, `{"role":"user","content":[{"type":"text","text":"NOTES \"quoted\"\nsecond line",` + marker + `},{"type":"text","text":"c"}]}`,
		},
		{
			"a marker into a message of its own",
			[]string{
				`{"role":"assistant","content":"a",` + marker + `}`, said("assistant", "b"), said("assistant", "c"),
			},
			2, `{"role":"user","content":[{"type":"text","text":"NOTES \"quoted\"\nsecond line",` + marker + `}]}`,
		},
		{
			"the copy keeps its own marker",
			[]string{
				`{"role":"user","content":[{"type":"text","text":"a",` + marker + `}]}`, said("assistant", "b"), said("assistant", "c"),
			},
			2, `{"role":"user","content":[{"type":"text","text":"NOTES \"quoted\"\nsecond line"},{"type":"text","text":"a",` + marker + `}]}`,
		},
		{
			"content that cannot be led is passed over",
			[]string{
				said("user", "a"), `{"role":"user","content":null}`, said("assistant", "b"), said("assistant", "c"),
			},
			3, `{"role":"user","content":"NOTES \"quoted\"\nsecond line\n\na"}`,
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			body := request(c.messages...)
			v := view(t, body)
			h := handoffAt(v, c.covered, text)
			b := budget(100_000)
			f := mustFold(t, v, h, b)
			judge(t, body, f, h, b)
			_, _, sent, err := judged(f.Body)
			if err != nil {
				t.Fatal(err)
			}
			if got := string(sent[v.Head].raw); got != c.want {
				t.Errorf("carrier\n got %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestFoldRefusesForeignHandoffs(t *testing.T) {
	v := view(t, request(said("user", "a"), called(`{}`, "1"), result("1", "r"), said("user", "b"), `{"role":"user","content":null}`, said("user", "c")))
	good := handoffAt(v, 3, "notes")
	other := good
	other.Digest[0]++
	for name, h := range map[string]compression.Handoff{
		"another digest":        other,
		"in a group":            handoffAt(v, 2, "notes"),
		"everything":            handoffAt(v, v.Len(), "notes"),
		"more than there is":    handoffAt(v, 99, "notes"),
		"before unusable users": handoffAt(v, 4, "notes"),
		"negative":              {Covered: -1},
	} {
		if _, err := v.Fold(h, budget(10_000)); !errors.Is(err, compression.ErrForeign) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := v.Fold(good, budget(10_000)); err != nil {
		t.Errorf("a good one: %v", err)
	}
}

func TestUnfoldedFitsIsTheSameBytes(t *testing.T) {
	body := request(garden(3, 10)...)
	v := view(t, body)
	f, err := v.Unfolded(budget(100_000))
	if err != nil || !bytes.Equal(f.Body, []byte(body)) || !f.Fits || f.Tokens != v.Total() {
		t.Fatalf("%v, fits %v, tokens %d of %d", err, f.Fits, f.Tokens, v.Total())
	}
	if h := v.Deterministic(budget(100_000), settings(), nil); h.Covered != v.Deterministic(budget(100_000), settings(), nil).Covered {
		t.Fatal("not the same twice")
	}
}

func TestUnfit(t *testing.T) {
	big := words(1, 9000)
	cases := []struct {
		name string
		body string
		part string // empty: forwarded all the same
	}{
		{"one user message", request(said("user", big)), "the last user message"},
		{"a user message behind a head", request(said("system", "s"), said("user", "a"), said("assistant", "b"), said("user", big)), "the last user message"},
		{"system messages", request(said("system", big), said("user", "a")), "system messages"},
		{"tools", `{"tools":[` + quote(big) + `],"messages":[` + said("user", "a") + `]}`, "tools"},
		{"together", request(said("system", words(1, 5000)), said("user", words(2, 5000))), "messages"},
		{"over usable, but perhaps not over the limit", request(said("user", words(3, 3500))), ""},
		{"many small things", request(append(garden(60, 60), said("assistant", "x"), said("user", "y"))...), ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f, h, err := foldWithout(t, c.body, budget(4000))
			var unfit *compression.UnfitError
			if got := errors.As(err, &unfit); got != (c.part != "") || err != nil && unfit == nil {
				t.Fatalf("got %v, want part %q", err, c.part)
			}
			judge(t, c.body, f, h, budget(4000))
			if unfit == nil {
				return
			}
			if unfit.Part != c.part || unfit.Least <= unfit.Limit || unfit.Limit != 4000 {
				t.Errorf("got %+v, want part %q", unfit, c.part)
			}
		})
	}
	// A window that is not known refuses nothing.
	v := view(t, request(said("user", big)))
	if f, err := v.Unfolded(window.Budget{}); err != nil || !f.Fits {
		t.Errorf("unknown window: %v, fits %v", err, f.Fits)
	}
}

func TestGateShrinksInOrder(t *testing.T) {
	long := words(5, 1500)
	args := fmt.Sprintf(`{"path":"a.go","body":%s,"n":12345678901234567890}`, quote(long))
	image := `{"type":"image_url","image_url":{"url":"https://example.com/a.png"}}`
	messages := []string{
		said("user", "start"),
		called(args, "1"), result("1", long),
		`{"role":"user","content":[{"type":"text","text":"look"},` + image + `]}`,
		said("assistant", long),
		called(args, "2"), result("2", long),
		said("user", "now go on"),
		called(args, "3", "4"),
	}
	body := request(messages...)
	v := view(t, body)
	total := int(v.Total())
	seen := map[string]bool{}
	last := ""
	for usable := total; usable > 200; usable -= 200 {
		b := window.Budget{Limits: window.Limits{Total: 1 << 20}, Usable: window.Tokens(usable), Correction: 1, Step: 1}
		f, err := v.Unfolded(b)
		if err != nil {
			t.Fatal(err)
		}
		judge(t, body, f, compression.Handoff{}, b)
		_, _, sent, _ := judged(f.Body)
		if got := string(sent[8].raw); got != messages[8] {
			t.Fatalf("calls in flight changed: %s", got)
		}
		if got := string(sent[7].raw); got != messages[7] {
			t.Fatalf("the last user message changed: %s", got)
		}
		state := ""
		for i, m := range sent {
			if string(m.raw) != messages[i] {
				state += fmt.Sprint(i)
			}
		}
		seen[state] = true
		if len(state) < len(last) {
			t.Fatalf("with less room fewer messages are shrunk: %s, then %s", last, state)
		}
		last = state
	}
	for _, want := range []string{"", "2", "26", "126", "1256", "12356", "123456"} {
		if !seen[want] {
			t.Errorf("never shrunk exactly %q; saw %v", want, seen)
		}
	}
}

func TestGateHonoursCorrection(t *testing.T) {
	body := request(garden(30, 60)...)
	for _, correction := range []float64{0.8, 1, 1.3, 2.4} {
		b := budgetOf(6000, correction, max(1, correction))
		f, h, err := foldWithout(t, body, b)
		if err != nil {
			t.Fatal(err)
		}
		judge(t, body, f, h, b)
		real := float64(view(t, string(f.Body)).Total()) * correction
		if !f.Fits || float64(f.Tokens) < real || float64(f.Tokens) > real+1 {
			t.Errorf("correction %v: %d tokens, fits %v, real %v", correction, f.Tokens, f.Fits, real)
		}
	}
}

func TestJSONWordStays(t *testing.T) {
	make := func(first, format string) string {
		m := garden(30, 60)
		m[1] = said("user", first)
		return `{"response_format":{"type":"` + format + `"},"messages":[` + strings.Join(m, ",") + `]}`
	}
	b := budget(4000)
	for name, c := range map[string]struct {
		first, format string
		want          bool
	}{
		"asked for and said":     {"answer in Json please", "json_object", true},
		"asked for, never said":  {"answer please", "json_object", false},
		"said, not asked for":    {"answer in JSON please, " + words(9, 4000), "text", false},
		"said in a long request": {words(9, 400) + " json " + words(8, 400), "json_object", true},
	} {
		t.Run(name, func(t *testing.T) {
			body := make(c.first, c.format)
			f, h, err := foldWithout(t, body, b)
			if err != nil {
				t.Fatal(err)
			}
			judge(t, body, f, h, b)
			if c.format == "json_object" && strings.Contains(strings.ToLower(string(f.Body[40:])), "json") != c.want {
				t.Errorf("the word is there: %v", !c.want)
			}
		})
	}
}

// The only place of the word is the middle of a result that the gate has to cut.
func TestJSONWordStaysWhereItIsCut(t *testing.T) {
	body := `{"response_format":{"type":"json_object"},"messages":[` + strings.Join([]string{
		said("user", "go"), called(`{}`, "1"), result("1", words(1, 2000)+" as JSON "+words(2, 2000)), said("user", "and now?"),
	}, ",") + `]}`
	b := budget(3000)
	f, err := view(t, body).Unfolded(b)
	if err != nil || !f.Fits || f.Shrunk != 1 {
		t.Fatalf("%v, fits %v, shrunk %d", err, f.Fits, f.Shrunk)
	}
	judge(t, body, f, compression.Handoff{}, b)
}

func TestInstructionsInTheMiddleStay(t *testing.T) {
	m := garden(30, 60)
	m[4] = said("developer", "Never mention the word cabbage.")
	m[6] = said("system", "Answer in rhymes. "+words(1, 2000))
	body := request(m...)
	b := budget(6000)
	f, h, err := foldWithout(t, body, b)
	if err != nil {
		t.Fatal(err)
	}
	judge(t, body, f, h, b)
	for _, want := range []string{"Never mention the word cabbage.", "Answer in rhymes."} {
		if !strings.Contains(h.Text, want) {
			t.Errorf("%q is not in the handoff:\n%s", want, h.Text)
		}
	}
	if text, ok := compression.Body(h.Text); !ok || strings.Contains(text, "cabbage") {
		t.Errorf("the body without frame holds the instructions, or has no frame (%v)", ok)
	}
}

func TestFoldedBodyIsJSON(t *testing.T) {
	// Lone surrogates, invalid UTF-8, 64-bit integers and doubled keys that do
	// not matter survive in what is kept.
	odd := `{"role":"user","content":"odd \ud800 \u0000 ` + "\xff" + ` end","seed":123456789012345678901,"x":1,"x":2}`
	m := append(garden(30, 60), said("assistant", "so"), odd)
	body := request(m...)
	b := budget(4000)
	f, h, err := foldWithout(t, body, b)
	if err != nil {
		t.Fatal(err)
	}
	if f.Covered == 0 || !bytes.Contains(f.Body, []byte(odd[1:])) || !json.Valid(f.Body) {
		t.Fatalf("covered %d, valid %v", f.Covered, json.Valid(f.Body))
	}
	_ = h
}

// A message may have calls whatever its role, and answer one of its own.
func TestCallsOfAnyRole(t *testing.T) {
	const call = `"tool_calls":[{"id":"own","type":"function","function":{"name":"lookup","arguments":"{}"}}]`
	before := view(t, request(said("user", words(1, 400)), said("assistant", "x"), said("user", "y")))
	framed := quote(before.Deterministic(budget(400), settings(), nil).Text)
	for name, odd := range map[string]string{
		"a result of its own call":        `{"role":"tool","tool_call_id":"own","content":"done",` + call + `}`,
		"a user's, behind another's fold": `{"role":"user","content":` + framed + `,` + call + `}`,
		"of a role unknown here":          `{"role":"critic","content":"done",` + call + `}`,
	} {
		t.Run(name, func(t *testing.T) {
			body := request(said("user", words(1, 60)), odd, result("own", words(2, 60)), said("assistant", words(3, 200)), said("user", "go on"), said("assistant", "ok"), said("user", "go on"))
			b := budget(400)
			v := view(t, body)
			h := v.Deterministic(b, settings(), nil)
			f, err := v.Fold(h, b)
			allowed(t, err)
			judge(t, body, f, h, b)
			if h.Covered < 3 {
				t.Errorf("only %d messages are covered", h.Covered)
			}
		})
	}
}

// What stands as a call in a user's message is no call to any API. It is the
// client's own, and stays as it came: in a copy behind the handoff, in the tail,
// and at the end, where it waits for no result.
func TestAUsersCallsStayAsTheyCame(t *testing.T) {
	calls := `"tool_calls":[{"id":"own","type":"function","function":{"name":"lookup","arguments":` + quote(`{"q":`+quote(words(5, 200))+`}`) + `}}]`
	odd := `{"role":"user","content":"mine",` + calls + `}`
	long := result("a", words(1, 300))
	for name, messages := range map[string][]string{
		"in a copy":   {odd, said("assistant", words(2, 200)), called(`{}`, "a"), long},
		"in the tail": {said("user", words(2, 200)), odd, called(`{}`, "a"), long, said("user", "go on")},
		"at the end":  {said("user", words(2, 200)), called(`{}`, "a"), long, odd},
	} {
		t.Run(name, func(t *testing.T) {
			body := request(messages...)
			for _, total := range []int{300, 500, 700} {
				b := budget(total)
				v := view(t, body)
				for covered := range len(messages) {
					if !v.Legal(covered) {
						continue
					}
					h := handoffAt(v, covered, "NOTES")
					f, err := v.Fold(h, b)
					allowed(t, err)
					judge(t, body, f, h, b)
					if name != "in the tail" || covered < 2 {
						if !bytes.Contains(f.Body, []byte(calls)) {
							t.Errorf("covered %d in %d: the calls changed: %.600s", covered, total, f.Body)
						}
					}
				}
			}
		})
	}
}

// A role by another name may call for the assistant, also under an id that was
// used before: its result is its own.
func TestCallsUnderAnotherRole(t *testing.T) {
	const again = `{"role":"observer","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"lookup","arguments":"{}"}}]}`
	body := request(said("user", words(1, 60)), called(`{}`, "a"), result("a", words(2, 60)), again, result("a", "done"))
	v := view(t, body)
	h := handoffAt(v, 3, "NOTES")
	f := mustFold(t, v, h, budget(4000))
	judge(t, body, f, h, budget(4000))
}
