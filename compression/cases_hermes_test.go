package compression_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/foldgate/foldgate/compression"
	"github.com/foldgate/foldgate/compression/foldtest"
	"github.com/foldgate/foldgate/compression/window"
)

// The tests of this file replay faults that users of hermes-agent reported; the
// numbers behind a test's name are those of its issues and pull requests. Those
// that need a gateway stand in package middleware.

// leftOut is what stands where a text was cut, behind the counts.
const leftOut = " bytes left out here to fit the window"

// seen is a message as it was sent, for tests that look into it.
type seen struct {
	Role    string `json:"role"`
	Content any    `json:"content"`
	CallID  string `json:"tool_call_id"`
	Calls   []struct {
		ID       string `json:"id"`
		Function struct {
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

func seenIn(t *testing.T, f compression.Folded) []seen {
	t.Helper()
	var r struct {
		Messages []seen `json:"messages"`
	}
	if err := json.Unmarshal(f.Body, &r); err != nil {
		t.Fatalf("reading what was sent: %v", err)
	}
	return r.Messages
}

func (s seen) text() string { text, _ := s.Content.(string); return text }

// foldedAt folds a request without a model and judges it.
func foldedAt(t *testing.T, body string, b window.Budget) (compression.Folded, compression.Handoff) {
	t.Helper()
	f, h, err := foldWithout(t, body, b)
	allowed(t, err)
	judgeAll(t, "without a model", body, f, h, b)
	return f, h
}

// hermes-agent#13574, #12731, #12242, #11617: arguments were cut as
// plain text, and every later request was refused.
func TestCase13ArgumentsStayJSON(t *testing.T) {
	arguments := `{"path":"a","content":` + quote(words(1, 700)) + `}`
	m := []string{
		said("system", "s"), said("user", "write it"), called(arguments, "c1"), result("c1", "written"),
		called(`{"path":"b","content":`+quote(words(2, 700))+`,"deep":[{"k":`+quote(words(3, 300))+`}]}`, "c2"), result("c2", "written"),
		said("user", "is it good?"),
	}
	body := request(m...)
	for total := 600; total < 6000; total += 300 {
		b := budget(total)
		f, err := view(t, body).Unfolded(b)
		allowed(t, err)
		judgeAll(t, "unfolded", body, f, compression.Handoff{}, b)
		folded, _ := foldedAt(t, body, b)
		for _, sent := range [][]seen{seenIn(t, f), seenIn(t, folded)} {
			for _, m := range sent {
				for _, c := range m.Calls {
					var args struct{ Path string }
					if err := json.Unmarshal([]byte(c.Function.Arguments), &args); err != nil || args.Path != map[string]string{"c1": "a", "c2": "b"}[c.ID] {
						t.Errorf("window %d, call %s: path %q, %v", total, c.ID, args.Path, err)
					}
				}
			}
		}
	}
}

// hermes-agent#105574: arguments of calls that were not carried out
// yet were shortened.
func TestCase14CallsInFlightStay(t *testing.T) {
	last := called(`{"order":`+quote(words(5, 500))+`}`, "c9")
	for name, end := range map[string][]string{
		"nothing is answered": {last},
		"one of two is":       {strings.Replace(last, `"tool_calls":[`, `"tool_calls":[{"id":"c8","type":"function","function":{"name":"lookup","arguments":"{}"}},`, 1), result("c8", words(6, 400))},
	} {
		t.Run(name, func(t *testing.T) {
			body := request(append([]string{said("user", "go on"), called(`{"q":`+quote(words(1, 600))+`}`, "c1"), result("c1", words(2, 2000))}, end...)...)
			for total := 400; total < 4000; total += 300 {
				f, _ := foldedAt(t, body, budget(total))
				if !strings.Contains(string(f.Body), end[0]) {
					t.Errorf("window %d: the calls in flight changed: %.200s", total, f.Body[len(f.Body)-200:])
				}
			}
		})
	}
}

// hermes-agent#83714: what stood for a cut was imitated by the model
// and written to disk.
func TestCase15TheNoteTellsAndIsNotRepeated(t *testing.T) {
	quoting := "[12 of 34" + leftOut + "]\nis what the log says. "
	log := quoting + words(1, 9000)
	m := []string{said("user", "read it"), called(`{}`, "1"), result("1", log), said("user", "what is in it?")}
	body := request(m...)
	b := budget(12_000)
	for round := range 3 {
		f, err := view(t, body).Unfolded(b)
		if err != nil || !f.Fits || f.Shrunk != 1 {
			t.Fatalf("round %d: %v, fits %v, shrunk %d", round, err, f.Fits, f.Shrunk)
		}
		judgeAll(t, "unfolded", body, f, compression.Handoff{}, b)
		got := seenIn(t, f)[2].text()
		if !strings.HasPrefix(got, quoting) {
			t.Fatalf("round %d: the quotation is gone: %.100s", round, got)
		}
		if n := strings.Count(got[len(quoting):], fmt.Sprint(" of ", len(log), leftOut)); n != 1 {
			t.Errorf("round %d: %d notes tell the size that it had, want one", round, n)
		}
		body, b = string(f.Body), budget(int(b.Total)/3)
	}
}

// hermes-agent#51218, #58287, #55845, #20886, #44394, #18650: results
// without calls and calls without results after a compaction.
func TestCase16NoOrphans(t *testing.T) {
	long := words(3, 250)
	for name, m := range map[string][]string{
		"two calls, two results":   {called(`{}`, "c1", "c2"), result("c1", long), result("c2", long)},
		"white space in a result":  {called(`{}`, "c1"), result(" c1 ", long)},
		"white space in a call":    {called(`{}`, " c1 ", "c2"), result("c2", long), result(" c1 ", long)},
		"an empty id":              {called(`{}`, "c1"), result("", long), result("c1", long)},
		"no id":                    {called(`{}`, "c1"), `{"role":"tool","content":` + quote(long) + `}`},
		"a result first":           {result("c0", long), called(`{}`, "c1"), result("c1", long)},
		"one call in flight":       {called(`{}`, "c1", "c2"), result("c1", long)},
		"an id used again":         {called(`{}`, "c1"), result("c1", long), called(`{}`, "c1"), result("c1", long)},
		"a user between the two":   {called(`{}`, "c1"), said("user", "wait"), result("c1", long)},
		"answered twice":           {called(`{}`, "c1"), result("c1", long), result("c1", long)},
		"results of two calls mix": {called(`{}`, "c1"), called(`{}`, "c2"), result("c1", long), result("c2", long)},
	} {
		t.Run(name, func(t *testing.T) {
			all := []string{said("system", "s"), said("user", "look it up")}
			for i := range 6 {
				all = append(all, m...)
				all = append(all, said("assistant", fmt.Sprint("so it is ", i)))
			}
			all = append(all, m...)
			body := request(all...)
			covered := 0
			for total := 400; total < 6000; total += either(97, 5*97) {
				f, _ := foldedAt(t, body, budget(total))
				covered += f.Covered
			}
			if covered == 0 {
				t.Error("nothing was ever folded")
			}
		})
	}
}

// hermes-agent#74086, #1720, #58753, #52160: the summary's place made
// two users in a row as strict templates count them, left none, or put an
// assistant first.
func TestCase17TurnsAlternateAsTemplatesCountThem(t *testing.T) {
	long := words(3, 150)
	call := func(i int) []string {
		id := fmt.Sprintf("c%d", i)
		return []string{called(`{}`, id), result(id, long)}
	}
	rounds := func(n int) (out []string) {
		for i := range n {
			out = append(out, call(i)...)
		}
		return out
	}
	join := func(parts ...[]string) (out []string) {
		for _, p := range parts {
			out = append(out, p...)
		}
		return out
	}
	s, u, a := []string{said("system", "s")}, []string{said("user", "ask")}, []string{said("assistant", "so: "+long)}
	for name, m := range map[string][]string{
		"talk and calls":                   join(s, u, call(0), a, u, a, u, call(1), call(2), a, u),
		"a user right after calls":         join(s, u, rounds(8), u, rounds(6)),
		"calls after an answer":            join(s, u, a, rounds(6), u, a, rounds(5), u),
		"calls before any turn":            join(s, rounds(6), u, a, u),
		"a user's message, then only work": join(s, u, rounds(14)),
		"no user at all":                   join(s, a, rounds(14)),
		"no system message":                join(u, rounds(3), a, u, rounds(6)),
	} {
		t.Run(name, func(t *testing.T) {
			body := request(m...)
			folds := 0
			for total := 400; total < 4500; total += either(97, 3*97) {
				f, _ := foldedAt(t, body, budget(total)) // refused by no template that took it before
				if f.Covered == 0 {
					continue
				}
				folds++
				sent := seenIn(t, f)
				for len(sent) > 0 && sent[0].Role == "system" {
					sent = sent[1:]
				}
				if sent[0].Role != "user" {
					t.Errorf("window %d: the first turn is of role %s", total, sent[0].Role)
				}
			}
			if folds == 0 {
				t.Error("nothing was ever folded")
			}
		})
	}
}

// hermes-agent#10896, #41607, #35344, #26290, #17344: the model did
// what the summary named and not what the newest message asked. Here the place;
// what a summary may say is judged elsewhere.
func TestCase19TheNewestMessageHasTheLastWord(t *testing.T) {
	const newest = "Task B: rename the harbour file, nothing else."
	m := garden(30, 60)
	m[1], m[len(m)-1] = said("user", "Task A: delete the meadow file."), said("user", newest)
	body := request(m...)
	b := budget(4000)
	const frame = "[Summary of the earlier conversation]"
	for round := range 3 {
		f, h := foldedAt(t, body, b)
		sent := seenIn(t, f)
		last := sent[len(sent)-1]
		if last.Role != "user" || !strings.HasSuffix(last.text(), newest) {
			t.Fatalf("round %d: the last message is %s: %.200s", round, last.Role, last.text())
		}
		first := sent[1]
		if f.Covered == 0 || !strings.HasPrefix(first.text(), frame) || !strings.Contains(first.text(), "the newest user message wins") {
			t.Fatalf("round %d: covered %d, the first is %.200s", round, f.Covered, first.text())
		}
		// What an earlier gateway wrote around its handoff is not told as if the
		// user had said it, nor kept beside the new frame.
		if n := strings.Count(h.Text, frame); n != 1 {
			t.Errorf("round %d: the frame stands %d times:\n%s", round, n, h.Text)
		}
		body, b = string(f.Body), budget(int(b.Total)*2/3)
	}
}

// hermes-agent#100818, #80622: the only user message was swallowed,
// or stood before the handoff; or a task that was done was started again.
func TestCase20TheTaskStandsOnceAfterTheHandoff(t *testing.T) {
	const task = "TASK: count the lanterns of the harbour and report."
	b := budget(3000)
	m := []string{said("system", "s"), said("user", task)}
	var previous *compression.Handoff
	for round := range 3 {
		for i := range 20 {
			id := fmt.Sprintf("c%d_%d", round, i)
			m = append(m, called(fmt.Sprintf(`{"q":"lantern %s"}`, id), id), result(id, words(round*100+i, 120)))
		}
		body := request(m...)
		v := view(t, body)
		h := v.Deterministic(b, settings(), previous)
		f := mustFold(t, v, h, b)
		judgeAll(t, "from the one before", body, f, h, b)
		first := seenIn(t, f)[1]
		if first.Role != "user" || !strings.HasSuffix(first.text(), "\n\n"+task) || !strings.HasPrefix(first.text(), h.Text) {
			t.Fatalf("round %d: the first message after the head is %.300s", round, first.text())
		}
		users := 0
		for _, s := range seenIn(t, f) {
			if s.Role == "user" {
				users++
			}
		}
		if users != 1 {
			t.Errorf("round %d: %d messages of the user, want the one", round, users)
		}
		previous = &h
	}
	// A conversation that ends with the answer still ends with it: the task comes
	// before its answer, and asks for nothing anew.
	m = append(m, said("assistant", "There are 41 lanterns."))
	f, _ := foldedAt(t, request(m...), b)
	sent := seenIn(t, f)
	if last := sent[len(sent)-1]; last.Role != "assistant" || last.text() != "There are 41 lanterns." {
		t.Errorf("the last message is %s: %s", last.Role, last.text())
	}
}

// hermes-agent#89286, #47339, #89938, #92699: too many bytes while
// there are few tokens; text cannot make up for pictures.
func TestCase27PicturesGiveWayToALimitOfBytes(t *testing.T) {
	m := []string{said("system", "s"), said("user", "look at the four of them")}
	for i := range 4 {
		id := fmt.Sprintf("c%d", i)
		m = append(m, called(`{}`, id), fmt.Sprintf(`{"role":"tool","tool_call_id":%q,"content":[{"type":"text","text":"picture %d"},{"type":"image_url","image_url":{"url":"data:image/png;base64,%s"}}]}`,
			id, i, strings.Repeat(string(rune('A'+i)), 300<<10)))
	}
	body := request(append(m, said("user", "which is the best?"))...)
	b := budget(200_000)
	b.Bytes = 500_000
	v := view(t, body)
	f, err := v.Unfolded(b)
	if err != nil || !f.Fits {
		t.Fatalf("%v, fits %v with %d bytes", err, f.Fits, len(f.Body))
	}
	judgeAll(t, "unfolded", body, f, compression.Handoff{}, b)
	for i, want := range []bool{false, false, false, true} {
		if got := strings.Contains(string(f.Body), strings.Repeat(string(rune('A'+i)), 300<<10)); got != want {
			t.Errorf("picture %d is there: %v", i, got)
		}
		if !strings.Contains(string(f.Body), fmt.Sprintf("picture %d", i)) {
			t.Errorf("the text beside picture %d is gone", i)
		}
	}
}

// hermes-agent#51800, #92690, #58784, #20946, #108320: echoes of
// reasoning were left out of the walk for the tail, so that nothing was folded,
// or counted twice. How much things count is judged with the counting.
func TestCase30ReasoningDoesNotStopAFold(t *testing.T) {
	m := []string{said("user", "start")}
	for i := range 30 {
		id := fmt.Sprintf("c%d", i)
		m = append(m, set([]string{called(`{}`, id)}, 0, "reasoning_content", quote(words(i, 300)))[0], result(id, words(i, 40)))
	}
	body := request(append(m, said("user", "and now?"))...)
	total := int(view(t, body).Total())
	f, _ := foldedAt(t, body, budget(total/2))
	if !f.Fits || f.Covered == 0 {
		t.Fatalf("covered %d, fits %v", f.Covered, f.Fits)
	}
	if kept := strings.Count(string(f.Body), `"reasoning_content"`); kept == 0 || kept == 30 {
		t.Errorf("%d echoes of reasoning are sent, want those of the tail", kept)
	}
}

// hermes-agent#61932, #36624, #80449, #108647: what is protected is
// larger than the window.
func TestCase31TheTailAloneIsTooLarge(t *testing.T) {
	const ask = "Find the fault in the log."
	body := request(said("system", "s"), said("user", ask), called(`{"path":"log"}`, "c"), result("c", words(4, 12_000)))
	if n := len(body); n < 60<<10 {
		t.Fatalf("the body has %d bytes", n)
	}
	b := budget(10_000)
	f, _ := foldedAt(t, body, b)
	if !f.Fits || len(foldtest.Validate(f.Body, foldtest.OpenAI)) > 0 || !strings.Contains(string(f.Body), said("user", ask)) {
		t.Errorf("fits %v, refused %v", f.Fits, foldtest.Validate(f.Body, foldtest.OpenAI))
	}
}

// hermes-agent#91830, #100336, #112420: early bytes were written anew
// on every turn, and the provider's cache was lost. Across replicas: package
// middleware.
func TestCase32EarlyBytesStay(t *testing.T) {
	m := garden(40, 60)
	b := budget(4000)
	b.Recall = 200
	_, h := foldedAt(t, request(m...), b)
	last := ""
	for turn := range 5 {
		body := request(m...)
		var sent [2]string
		for replica := range sent {
			v := view(t, body)
			again := v.Deterministic(b, settings(), &h)
			f := mustFold(t, v, again, b)
			judgeAll(t, "reused", body, f, again, b)
			sent[replica] = string(f.Body)
		}
		if sent[0] != sent[1] {
			t.Fatalf("turn %d: two replicas send other bytes", turn)
		}
		if !strings.HasPrefix(sent[0], last) {
			t.Fatalf("turn %d: some of the first %d bytes changed", turn, len(last))
		}
		// What recall puts before the last user message goes with it.
		last = sent[0][:strings.LastIndex(sent[0], `{"role":"user"`)]
		m = append(m, said("assistant", words(turn, 5)), said("user", fmt.Sprintf("go on with %d", turn)))
	}
	if len(last) < 2000 {
		t.Errorf("only %d bytes stayed", len(last))
	}
}
