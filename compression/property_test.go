package compression_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/foldgate/foldgate/compression"
	"github.com/foldgate/foldgate/compression/window"
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

// everyWay folds a request as the gateway may come to fold it, and judges each
// result: as it is, without a model, with one, from an earlier handoff, folded
// again, by another gateway with a smaller window, and on another replica.
func everyWay(t fataler, body string, b window.Budget) {
	t.Helper()
	v := view(t, body)
	low, high := v.Bounds()
	if total := v.Total(); low > total || total > high {
		t.Fatalf("bounds %d..%d, total %d", low, high, total)
	}
	f, err := v.Unfolded(b)
	allowed(t, err)
	judgeAll(t, "unfolded", body, f, compression.Handoff{}, b)

	h := v.Deterministic(b, settings(), nil)
	f, err = v.Fold(h, b)
	allowed(t, err)
	judgeAll(t, "without a model", body, f, h, b)
	other := view(t, body)
	if again, err := other.Fold(other.Deterministic(b, settings(), nil), b); string(again.Body) != string(f.Body) || again.Tokens != f.Tokens {
		t.Fatalf("another replica gives other bytes: %v", err)
	}
	onwards(t, f, b)

	covered, ok := v.Target(b, settings(), 0)
	if !ok {
		return
	}
	made, err := v.Accept(compression.Answer{Text: "## Done\nmuch", FinishReason: "stop"}, nil, covered, b)
	var refused *compression.RefusedError
	if errors.As(err, &refused) && (refused.Reason == "ineffective" || refused.Reason == "too-long") {
		return
	}
	if err != nil {
		t.Fatalf("accepting: %v", err)
	}
	f, err = v.Fold(made, b)
	allowed(t, err)
	judgeAll(t, "with a model", body, f, made, b)
	onwards(t, f, b)

	second := v.Deterministic(b, settings(), &made)
	if second.Covered < made.Covered {
		t.Fatalf("went back from %d to %d", made.Covered, second.Covered)
	}
	f, err = v.Fold(second, b)
	allowed(t, err)
	judgeAll(t, "from an earlier handoff", body, f, second, b)
	if more, ok := v.Target(b, settings(), covered); ok && more <= covered {
		t.Fatalf("target %d is not beyond %d", more, covered)
	}
}

// onwards sends what was folded through a gateway with the same window, which
// must not change it, and through one with half of it, which folds it again.
func onwards(t fataler, f compression.Folded, b window.Budget) {
	t.Helper()
	body := string(f.Body)
	if f.Fits {
		again, err := view(t, body).Unfolded(b)
		if err != nil || string(again.Body) != body {
			t.Fatalf("what fits changed on the way through: %v", err)
		}
	}
	half := budgetOf(int(b.Total)/2, b.Correction, b.Step)
	half.Recall = b.Recall / 2
	v := view(t, body)
	h := v.Deterministic(half, settings(), nil)
	again, err := v.Fold(h, half)
	allowed(t, err)
	judgeAll(t, "folded again", body, again, h, half)
}

// judgeAll is judge for every way of folding and every correction.
func judgeAll(t fataler, way, body string, f compression.Folded, h compression.Handoff, b window.Budget) {
	t.Helper()
	if bad := breaches([]byte(body), f, h.Text, b); len(bad) > 0 {
		t.Fatalf("%s, covered %d, shrunk %d, fits %v: %s\nwas: %.2000s\nsent: %.3000s", way, f.Covered, f.Shrunk, f.Fits, strings.Join(bad, "; "), body, f.Body)
	}
	if n := view(t, string(f.Body)).Total(); b.Known.Counted == 0 && b.Corrected(n) != f.Tokens {
		t.Fatalf("%s: Tokens is %d, the body has %d", way, f.Tokens, b.Corrected(n))
	}
}

// someBudget draws a window of about the given size, with recall or without.
func someBudget(t *rapid.T, total int) window.Budget {
	correction := rapid.SampledFrom([]float64{0.7, 1, 1, 1.2, 1.9}).Draw(t, "correction")
	b := budgetOf(max(total, 64), correction, max(1, correction))
	if rapid.Bool().Draw(t, "recall") {
		b.Recall = window.Tokens(settings().Recall * float64(b.Total))
	}
	return b
}

func TestRulesHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		format := rapid.SampledFrom([]string{`{"type":"json_object"}`, `{"type":"text"}`}).Draw(t, "format")
		body := `{"model":"m","messages":[` + strings.Join(mutated(t, messy(t)), " , ") + `],"response_format":` + format + `,"seed":9007199254740993}`
		everyWay(t, body, someBudget(t, rapid.SampledFrom([]int{300, 800, 2000, 5000, 20_000}).Draw(t, "window")))
	})
}

// The same for pieces of recorded histories, broken in the same ways.
func TestRulesHoldForRealHistories(t *testing.T) {
	files := realMessages(t)
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SampledFrom(files).Draw(t, "file")
		size := min(len(all.messages), rapid.SampledFrom([]int{4, 12, 40}).Draw(t, "messages"))
		from := rapid.IntRange(0, len(all.messages)-size).Draw(t, "from")
		m := all.messages[from : from+size]
		if from > 0 && rapid.Bool().Draw(t, "head") {
			m = append(slices.Clone(all.messages[:1]), m...)
		}
		body := all.before + "[" + strings.Join(mutated(t, m), ",") + "]" + all.after
		share := rapid.SampledFrom([]int{3, 10, 25, 50, 80, 100}).Draw(t, "share")
		everyWay(t, body, someBudget(t, int(view(t, body).Total())*share/100))
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
	messages := garden(either(90, 45), 30)
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
			if folded < either(60, 25) || moves*5 > folded {
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

// Recall puts passages before the last user message and touches nothing before
// that, and what it puts there stays through all tool rounds of the turn.
func TestRecallTouchesTheLastUserMessageOnly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := garden(rapid.IntRange(20, 40).Draw(t, "turns"), 40)
		b := budget(4000)
		b.Recall = 300
		at := rapid.IntRange(0, 1000).Draw(t, "question")
		ask := func(question string, rounds int) (before, led string) {
			all := append(slices.Clone(m[:len(m)-1]), said("user", question))
			for i := range rounds {
				id := fmt.Sprint("r", i)
				all = append(all, called(`{}`, id), result(id, words(i, 5)))
			}
			v := view(t, request(all...))
			covered := 30
			for !v.Legal(covered) {
				covered++
			}
			f, err := v.Fold(handoffAt(v, covered, "NOTES"), b)
			if err != nil || f.Shrunk > 0 {
				t.Fatalf("shrunk %d: %v", f.Shrunk, err)
			}
			judgeAll(t, "recalled", request(all...), f, handoffAt(v, covered, "NOTES"), b)
			sent := string(f.Body)
			user := strings.LastIndex(sent, `{"role":"user"`)
			end := strings.Index(sent[user:], "}")
			return sent[:user], sent[user : user+end]
		}
		question := "what about " + words(at, 6) + "?"
		before, led := ask(question, 0)
		if other, _ := ask("thanks", 0); other != before {
			t.Fatal("another question changes what stands before it")
		}
		for rounds := range 4 {
			if again, same := ask(question, rounds); again != before || same != led {
				t.Fatalf("after %d tool rounds the passages are others", rounds)
			}
		}
	})
}
