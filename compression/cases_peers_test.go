package compression_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/foldgate/foldgate/compression"
	"github.com/foldgate/foldgate/compression/foldtest"
	"github.com/foldgate/foldgate/compression/window"
)

// The tests of this file replay complaints about gateways and context managers;
// behind a test's name stand the issues and pull requests. Those that need a
// gateway stand in package middleware.

// working is an agent's history of rounds of calls, some parallel, some after
// text, with a user's message now and then.
func working(rounds int) []string {
	m := []string{said("system", "You fix code.")}
	for i := range rounds {
		a, b := fmt.Sprintf("call_%d_a", i), fmt.Sprintf("call_%d_b", i)
		if i%5 == 0 {
			m = append(m, said("user", fmt.Sprintf("task %d: %s", i, words(i, 20))))
		}
		switch i % 3 {
		case 0:
			m = append(m, called(`{"q":`+quote(words(i, 30))+`}`, a, b), result(b, words(i*3, 60)), result(a, words(i*5, 60)))
		case 1:
			m = append(m, called(`{"q":`+quote(words(i, 30))+`}`, a), result(a, words(i*7, 60)))
		default:
			m = append(m, strings.Replace(called(`{"q":"x"}`, a), `"content":null`, `"content":`+quote(words(i, 10)), 1), result(a, words(i*11, 60)))
		}
		if i%5 == 4 {
			m = append(m, said("assistant", fmt.Sprintf("done with %d", i)))
		}
	}
	return m
}

// everyWindow folds a history at many windows, in both ways there are without a
// model, judges each, and calls visit with what is sent.
func everyWindow(t *testing.T, m []string, visit func(f compression.Folded)) {
	t.Helper()
	body := request(m...)
	total := int(view(t, body).Total())
	folds := 0
	for size := total / 12; size < total*5/4; size += max(total/either(40, 10), 1) {
		for _, recall := range []window.Tokens{0, window.Tokens(size / 20)} {
			b := budget(size)
			b.Recall = recall
			f, _ := foldedAt(t, body, b)
			folds += min(f.Covered, 1)
			visit(f)
		}
		f, err := view(t, body).Unfolded(budget(size))
		allowed(t, err)
		judgeAll(t, "unfolded", body, f, compression.Handoff{}, budget(size))
		visit(f)
	}
	if folds == 0 {
		t.Error("nothing was ever folded")
	}
}

// litellm#4931, #6505, #8261, #10696; OmniRoute#1592: trimming
// left a result or a call alone.
// billion-context-pi#505: a result lost its tool_call_id.
func TestPeersToolPairsStayWhole(t *testing.T) {
	everyWindow(t, append(working(15), said("user", "what is left to do?")), func(f compression.Folded) {
		if bad := foldtest.Validate(f.Body, foldtest.OpenAI); len(bad) > 0 {
			t.Fatalf("covered %d: %v", f.Covered, bad)
		}
		for i, m := range seenIn(t, f) {
			if m.Role == "tool" && m.CallID == "" {
				t.Fatalf("message %d lost its id", i)
			}
		}
	})
}

// hermes-agent#51218; llxprt-code#508: a call that waits, or
// that was denied and never answered, at the cut.
func TestPeersWaitingAndDeniedCalls(t *testing.T) {
	waiting := append(working(15), called(`{"q":`+quote(words(3, 80))+`}`, "wait_a", "wait_b"), result("wait_a", words(4, 60)))
	everyWindow(t, waiting, func(f compression.Folded) {
		sent := seenIn(t, f)
		if last := sent[len(sent)-2]; len(last.Calls) != 2 {
			t.Fatalf("covered %d: the waiting calls are not where they were", f.Covered)
		}
	})
	denied := slices.Insert(working(15), 12, called(`{"q":"rm"}`, "denied"))
	everyWindow(t, append(denied, said("user", "never mind")), func(compression.Folded) {})
}

// litellm#3329: trimming to a size that cannot be had never ended.
func TestPeersNothingMoreToTrim(t *testing.T) {
	b := budget(200)
	for _, m := range [][]string{
		{said("user", words(1, 3000))},
		{said("system", words(1, 3000)), said("user", "hi")},
		{said("user", "hi"), called(`{"q":`+quote(words(1, 3000))+`}`, "c")},
	} {
		body := request(m...)
		f, h, err := foldWithout(t, body, b)
		allowed(t, err)
		judgeAll(t, "without a model", body, f, h, b)
		if f.Fits {
			t.Errorf("%d tokens fit %d", f.Tokens, b.Usable)
		}
	}
}

// pydantic-ai-harness#679; vllm#41114; zerostack#93;
// billion-context PR#428: a second system message, or one in the middle, is
// refused by strict templates.
func TestPeersOneSystemMessage(t *testing.T) {
	everyWindow(t, append(working(15), said("user", "go on")), func(f compression.Folded) {
		if bad := foldtest.Validate(f.Body, foldtest.SystemFirst); len(bad) > 0 {
			t.Fatalf("covered %d: %v", f.Covered, bad)
		}
	})
	// One that the client put into the middle neither stays as a message of the
	// gateway's making nor loses its say.
	m := slices.Insert(working(15), 6, said("system", "Never touch the harbour file."))
	m = append(m, said("user", "go on"))
	everyWindow(t, m, func(f compression.Folded) {
		if !strings.Contains(string(f.Body), "Never touch the harbour file.") && f.Fits && f.Tokens > 600 {
			t.Errorf("covered %d, %d tokens: the instruction is gone", f.Covered, f.Tokens)
		}
	})
}

// headroom#2251: signed thoughts were broken by writing them anew; headroom
// PR#3124: for fear of it a third of the requests was not folded at all;
// headroom#865: reasoning_content was dropped, and the upstream refused.
func TestPeersSignedThoughtsStayAsTheyAre(t *testing.T) {
	thinking := `{ "role":"assistant", "content":[ {"type":"thinking","thinking":"a\u003cb \u00e9 \/","signature":"Zm9v+\/=="} , {"type":"text","text":"so"} ], "reasoning_content":"1.0e5 \u2028" }`
	m := append(working(15), said("user", "think"), thinking, said("user", "and now?"))
	folded := 0
	everyWindow(t, m, func(f compression.Folded) {
		if f.Covered > 0 && f.Shrunk == 0 {
			folded++
			if !strings.Contains(string(f.Body), thinking) {
				t.Fatalf("covered %d: the signed message was written anew", f.Covered)
			}
		}
		if strings.Contains(string(f.Body), "signature") && !strings.Contains(string(f.Body), `{"type":"thinking","thinking":"a\u003cb \u00e9 \/","signature":"Zm9v+\/=="}`) {
			t.Fatalf("covered %d: the signed part changed", f.Covered)
		}
	})
	if folded == 0 {
		t.Error("nothing with signed thoughts was folded")
	}
}

// claude-mem#3491: one message larger than the window left a request
// without messages.
func TestPeersAMessageLargerThanTheWindow(t *testing.T) {
	for name, m := range map[string][]string{
		"a result":     {said("user", "go"), called(`{}`, "c"), result("c", words(1, 20_000)), said("user", "well?")},
		"an answer":    {said("user", "go"), said("assistant", words(1, 20_000)), said("user", "well?")},
		"an old ask":   {said("user", words(1, 20_000)), said("assistant", "yes"), said("user", "well?")},
		"the only one": {said("user", words(1, 20_000))},
	} {
		t.Run(name, func(t *testing.T) {
			b := budget(4000)
			f, _ := foldedAt(t, request(m...), b)
			if len(seenIn(t, f)) == 0 {
				t.Error("no messages are left")
			}
			if f.Fits != (name != "the only one") {
				t.Errorf("fits is %v with %d tokens of %d", f.Fits, f.Tokens, b.Usable)
			}
		})
	}
}

// lean-ctx#448: the cut jumped and early bytes changed; lean-ctx#1471: a guard
// against it took everything back; headroom PR#2942: near the window it was
// folded anew on every turn.
func TestPeersTheCutStays(t *testing.T) {
	m := working(either(80, 55))
	b := budget(5000)
	last, covered, moves, turns := "", 0, 0, 0
	for _, end := range requestEnds(m) {
		body := request(m[:end]...)
		v := view(t, body)
		if v.Total() <= b.Trigger {
			continue
		}
		h := v.Deterministic(b, settings(), nil)
		f := mustFold(t, v, h, b)
		judgeAll(t, "without a model", body, f, h, b)
		turns++
		if f.Covered < covered {
			t.Fatalf("turn %d: the cut went back from %d to %d", end, covered, f.Covered)
		}
		if f.Covered > covered {
			moves++
		} else if !strings.HasPrefix(string(f.Body), last) {
			t.Fatalf("turn %d: early bytes changed though the cut did not move", end)
		}
		covered, last = f.Covered, strings.TrimSuffix(string(f.Body), `],"temperature":0.70}`)
	}
	if turns < 30 || moves*4 > turns {
		t.Errorf("the cut moved %d times in %d turns", moves, turns)
	}
}

// headroom#1006: a mark stood for data that only a tool of the product's own could
// bring back; headroom#1077: what was just brought back was taken out again. Here
// a handoff is text that needs no tool, and what recall brings back stays whole.
func TestPeersNothingHasToBeFetched(t *testing.T) {
	m := garden(40, 60)
	m[12] = said("assistant", "The lantern order is no. KX-4711, due in May.")
	m[len(m)-1] = said("user", "When is KX-4711 due?")
	body := strings.Replace(request(m...), `"model":"m"`, `"model":"m","tools":[{"type":"function","function":{"name":"lookup"}}]`, 1)
	b := budget(4000)
	b.Recall = 400
	f, h := foldedAt(t, body, b)
	if f.Recalled == 0 || f.Shrunk > 0 {
		t.Fatalf("%d passages, %d messages shrunk", f.Recalled, f.Shrunk)
	}
	if strings.Count(string(f.Body), `"tools":[{"type":"function","function":{"name":"lookup"}}]`) != 1 {
		t.Error("the tools changed")
	}
	without := b
	without.Recall = 0
	plain := mustFold(t, view(t, body), h, without)
	if string(plain.Body) == string(f.Body) || plain.Covered != f.Covered {
		t.Error("recall changed nothing, or the cut")
	}
}
