package compression_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/foldgate/foldgate/compression"
)

// messy draws histories as clients really send them: parallel calls, ids used
// again, calls that never got a result, parts, cache markers, system messages in
// the middle, two users in a row, an assistant first, deprecated calls.
func messy(t *rapid.T) []string {
	var m []string
	if rapid.Bool().Draw(t, "system") {
		m = append(m, said("system", words(1, rapid.IntRange(1, 60).Draw(t, "system words"))))
	}
	if rapid.IntRange(0, 4).Draw(t, "assistant first") == 0 {
		m = append(m, said("assistant", "Hello, how can I help?"))
	}
	for range rapid.IntRange(1, 25).Draw(t, "turns") {
		m = append(m, turn(t)...)
	}
	switch rapid.IntRange(0, 3).Draw(t, "end") {
	case 0:
		m = append(m, said("user", "final: "+text(t)))
	case 1:
		m = append(m, said("user", "go"), called(arguments(t), "in", "flight"))
	case 2:
		m = append(m, said("user", "go on"), called(arguments(t), "x"), result("x", text(t)))
	}
	return m
}

func text(t *rapid.T) string {
	n := rapid.SampledFrom([]int{0, 1, 5, 30, 120, 400}).Draw(t, "words")
	s := words(rapid.IntRange(0, 1000).Draw(t, "seed"), n)
	switch rapid.IntRange(0, 9).Draw(t, "script") {
	case 0:
		s += "これはテストです。設定ファイルはどこですか"
	case 1:
		s += " \u0000\"\\ \u2028 😀 </script> json"
	case 2:
		s = strings.Repeat("字", n)
	}
	return s
}

func arguments(t *rapid.T) string {
	switch rapid.IntRange(0, 5).Draw(t, "arguments") {
	case 0:
		return ""
	case 1:
		return `{"broken": `
	case 2:
		return fmt.Sprintf(`{"path":"src/a.go","content":%s,"n":1e400,"list":[%s,{"x":%s}]}`, quote(text(t)), quote(text(t)), quote(text(t)))
	}
	return fmt.Sprintf(`{"q":%s}`, quote(text(t)))
}

const marker = `"cache_control":{"type":"ephemeral"}`

// turn draws one exchange.
func turn(t *rapid.T) []string {
	id := rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f", "g", "h"}).Draw(t, "id")
	switch rapid.IntRange(0, 12).Draw(t, "turn") {
	case 0, 1, 2:
		return []string{said("user", text(t)), said("assistant", text(t))}
	case 3, 4:
		return []string{called(arguments(t), id, id+"2"), result(id, text(t)), result(id+"2", text(t)), said("assistant", text(t))}
	case 5:
		return []string{said("user", text(t)), called(arguments(t), id), result(id, text(t)), called(arguments(t), id), result(id, text(t))}
	case 6:
		return []string{called(arguments(t), id)} // never answered
	case 7:
		return []string{fmt.Sprintf(`{"role":"user","content":[{"type":"text","text":%s,%s},{"type":"image_url","image_url":{"url":"https://example.com/%s.png","detail":"low"}}]}`, quote(text(t)), marker, id), said("assistant", text(t))}
	case 8:
		return []string{said(rapid.SampledFrom([]string{"system", "developer"}).Draw(t, "mid"), text(t))}
	case 9:
		return []string{said("user", text(t)), said("user", text(t))}
	case 10:
		return []string{fmt.Sprintf(`{"role":"assistant","content":null,"function_call":{"name":"old","arguments":%s}}`, quote(arguments(t))), `{"role":"function","name":"old","content":` + quote(text(t)) + `}`}
	case 11:
		return []string{`{"role":"user","content":null}`, fmt.Sprintf(`{"content":%s,"reasoning_content":"hm","role":"assistant",%s}`, quote(text(t)), marker)}
	}
	return []string{result(id, text(t)), said("assistant", text(t)), fmt.Sprintf(`{"role":"tool","tool_call_id":%q,"content":[{"type":"text","text":%s},{"type":"text","text":"b"}]}`, id, quote(text(t)))}
}

func TestRulesHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		body := `{"model":"m","messages":[` + strings.Join(messy(t), " , ") + `],"response_format":{"type":"json_object"},"seed":9007199254740993}`
		correction := rapid.SampledFrom([]float64{0.7, 1, 1, 1.2, 1.9}).Draw(t, "correction")
		b := budgetOf(rapid.SampledFrom([]int{300, 800, 2000, 5000, 20_000}).Draw(t, "window"), correction, max(1, correction))
		v := view(t, body)
		low, high := v.Bounds()
		if total := v.Total(); low > total || total > high {
			t.Fatalf("bounds %d..%d, total %d", low, high, total)
		}

		h := v.Deterministic(b, settings(), nil)
		f, err := v.Fold(h, b)
		allowed(t, err)
		judge(t, body, f, h, b)
		again, _ := view(t, body).Fold(view(t, body).Deterministic(b, settings(), nil), b)
		if string(again.Body) != string(f.Body) {
			t.Fatal("another memo gives other bytes")
		}

		covered, ok := v.Target(b, settings(), 0)
		if !ok {
			return
		}
		h, err = v.Accept(compression.Answer{Text: "## Done\nmuch", FinishReason: "stop"}, nil, covered, b)
		var refused *compression.RefusedError
		if errors.As(err, &refused) && (refused.Reason == "ineffective" || refused.Reason == "too-long") {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		f, err = v.Fold(h, b)
		allowed(t, err)
		judge(t, body, f, h, b)
		second := v.Deterministic(b, settings(), &h)
		if second.Covered < h.Covered {
			t.Fatalf("went back from %d to %d", h.Covered, second.Covered)
		}
		f, err = v.Fold(second, b)
		allowed(t, err)
		judge(t, body, f, second, b)
		if more, ok := v.Target(b, settings(), covered); ok && more <= covered {
			t.Fatalf("target %d is not beyond %d", more, covered)
		}
	})
}

func allowed(t fataler, err error) {
	t.Helper()
	var unfit *compression.UnfitError
	if err != nil && !errors.As(err, &unfit) {
		t.Fatalf("folding: %v", err)
	}
}

// requestEnds are the lengths at which a client would have sent the messages.
func requestEnds(messages []string) []int {
	var ends []int
	for i, m := range messages {
		if strings.Contains(m, `"role":"user"`) || strings.Contains(m, `"role":"tool"`) && (i+1 == len(messages) || !strings.Contains(messages[i+1], `"role":"tool"`)) {
			ends = append(ends, i+1)
		}
	}
	return ends
}

// The forwarded messages of one turn are those of the turn before and what is
// new, but for the few turns at which the cut moves.
func TestPrefixIsStable(t *testing.T) {
	messages := garden(90, 30)
	b := budget(4000)
	for _, withModel := range []bool{false, true} {
		t.Run(fmt.Sprintf("model %v", withModel), func(t *testing.T) {
			var last []judgedMessage
			var checkpoint *compression.Handoff
			memo := compression.NewMemo(1 << 12)
			moves, folded, covered := 0, 0, 0
			for _, end := range requestEnds(messages) {
				body := request(messages[:end]...)
				v := memo.View(parse(t, body))
				if v.Total() <= b.Trigger {
					continue
				}
				h := v.Deterministic(b, settings(), checkpoint)
				if withModel && (checkpoint == nil || h.Covered > checkpoint.Covered) {
					from := 0
					if checkpoint != nil {
						from = checkpoint.Covered
					}
					target, ok := v.Target(b, settings(), from)
					if !ok {
						t.Fatal("nothing to fold")
					}
					made, err := v.Accept(compression.Answer{Text: "## Done\nSo far: " + words(end, 60)}, checkpoint, target, b)
					if err != nil {
						t.Fatal(err)
					}
					checkpoint, h = &made, made
				}
				f, err := v.Fold(h, b)
				if err != nil || !f.Fits || f.Shrunk > 0 {
					t.Fatalf("turn %d: %v, fits %v, shrunk %d", end, err, f.Fits, f.Shrunk)
				}
				judge(t, body, f, h, b)
				folded++
				_, _, sent, _ := judged(f.Body)
				if f.Covered != covered {
					moves++
				} else {
					for i := range last {
						if string(last[i].raw) != string(sent[i].raw) {
							t.Fatalf("turn %d: message %d changed though the cut did not move", end, i)
						}
					}
				}
				last, covered = sent, f.Covered
			}
			if folded < 60 || moves*5 > folded {
				t.Fatalf("the cut moved %d times in %d turns", moves, folded)
			}
		})
	}
}

func TestFoldedAgainStays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		body := request(messy(t)...)
		b := budget(rapid.SampledFrom([]int{3000, 8000}).Draw(t, "window"))
		f, _, err := foldWithout(t, body, b)
		allowed(t, err)
		if !f.Fits {
			return
		}
		twice, err := view(t, string(f.Body)).Unfolded(b)
		if err != nil || string(twice.Body) != string(f.Body) {
			t.Fatalf("what fits changed on the way through: %v", err)
		}
	})
}

func FuzzFold(f *testing.F) {
	f.Add(request(garden(6, 30)...), 1200)
	f.Add(request(said("user", "a"), called(`{"q":"x"}`, "1"), result("1", words(1, 500)), said("user", "b")), 300)
	f.Add(`{"messages":[{"role":"user","content":[{"type":"image_url","image_url":"data:image/png;base64,AAAA"}]},{"role":"user"}]}`, 100)
	f.Add(`{"messages":[]}`, 100)
	f.Add(`{"messages":[{"role":"assistant","tool_calls":[{"id":"1","function":{"name":"f","arguments":"{\"a\":[\"`+strings.Repeat("x", 600)+`\"]}"}}]},{"role":"tool","tool_call_id":"1","content":"`+strings.Repeat(`\ud800y`, 200)+`"},{"role":"x","content":7}]}`, 120)
	f.Fuzz(func(t *testing.T, body string, total int) {
		r, err := parseAny(body)
		if err != nil || total < 0 || total > 1<<20 {
			return
		}
		v := compression.NewMemo(64).View(r)
		b := budget(total)
		h := v.Deterministic(b, settings(), nil)
		folded, err := v.Fold(h, b)
		allowed(t, err)
		if _, err := parseAny(string(folded.Body)); err != nil {
			t.Fatalf("what is sent does not parse: %v\n%s", err, folded.Body)
		}
		if covered, ok := v.Target(b, settings(), 0); ok {
			_ = v.Prompt(nil, covered, b)
			_, _ = v.Accept(compression.Answer{Text: body}, nil, covered, b)
		}
	})
}
