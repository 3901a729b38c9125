package compression_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/foldgate/foldgate/compression"
)

func TestTarget(t *testing.T) {
	v := view(t, request(garden(40, 60)...))
	b := budget(4000)
	covered, ok := v.Target(b, settings(), 0)
	if !ok || covered <= 0 || covered >= v.Len() || !v.Cuttable()[covered] {
		t.Fatalf("covered %d of %d, %v", covered, v.Len(), ok)
	}
	var tail compression.Tokens
	for i := covered; i < v.Len(); i++ {
		tail += v.Reference(i)
	}
	if tail > 1000 {
		t.Errorf("the tail has %d tokens, over a quarter of the window", tail)
	}
	for p := covered - 1; p >= 0; p-- {
		tail += v.Reference(p)
		if v.Cuttable()[p] {
			break
		}
	}
	if tail <= 1000 {
		t.Errorf("another group would have found room: %d tokens", tail)
	}
	if _, ok := v.Target(b, settings(), covered); ok {
		t.Error("what is covered is to be covered again")
	}
	if _, ok := v.Target(b, settings(), v.Len()); ok {
		t.Error("beyond the end there is something to fold")
	}
	if _, ok := view(t, request(said("user", words(1, 5000)))).Target(b, settings(), 0); ok {
		t.Error("the newest group is to be folded")
	}
	if _, ok := view(t, request(said("user", "a"), said("assistant", "b"), said("user", words(1, 5000)))).Target(b, settings(), 0); ok {
		t.Error("two words are worth a fold")
	}
	none := b
	none.Usable = 0
	if _, ok := v.Target(none, settings(), 0); ok {
		t.Error("folds for a window that is unknown")
	}
}

// A task longer than the tail stays, after the handoff, while tools run.
func TestLongTaskSurvivesToolRounds(t *testing.T) {
	task := "THE TASK: " + words(1, 300)
	m := []string{said("system", "s"), said("user", task)}
	for i := range 60 {
		id := string(rune('a'+i%26)) + strings.Repeat("x", i/26)
		m = append(m, called(`{"q":"x"}`, id), result(id, words(i, 80)))
	}
	body := request(m...)
	f, h, err := foldWithout(t, body, budget(4000))
	if err != nil || !f.Fits || f.Covered == 0 {
		t.Fatalf("%v, fits %v, covered %d", err, f.Fits, f.Covered)
	}
	judge(t, body, f, h, budget(4000))
}

func TestPrompt(t *testing.T) {
	m := garden(30, 60)
	m[3] = `{"role":"user","content":[{"type":"text","text":"what is this?"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]}`
	m[2] = `{"role":"assistant","reasoning_content":"SECRET THOUGHT","content":"<think>OTHER THOUGHT</think>visible"}`
	m[8] = said("user", "start of it "+words(3, 4000)+" end of it")
	v := view(t, request(m...))
	b := budget(4000)
	covered, _ := v.Target(b, settings(), 0)
	p := v.Prompt(nil, covered, b)
	for _, want := range []string{"question 0", "visible", "what is this?", "[image (image/png)]", `calls lookup({"q":`, "start of it", "end of it", "bytes left out]", "You are"} {
		if strings.Contains(p, want) == (want == "You are") {
			t.Errorf("%q: present is %v", want, want == "You are")
		}
	}
	for _, never := range []string{"THOUGHT", "AAAA", "final question"} {
		if strings.Contains(p, never) {
			t.Errorf("%q is in the prompt", never)
		}
	}

	h, err := v.Accept(compression.Answer{Text: "## Done\nEARLIER NOTES"}, nil, 20, b)
	if err != nil {
		t.Fatal(err)
	}
	p = v.Prompt(&h, covered, b)
	if !strings.Contains(p, "EARLIER NOTES") || strings.Contains(p, "question 0") || strings.Contains(p, "taken out to save room") {
		t.Error("the earlier notes are not there alone, in place of what they stand for")
	}
	h.Digest[0]++
	if p := v.Prompt(&h, covered, b); strings.Contains(p, "EARLIER NOTES") {
		t.Error("notes of another conversation are in the prompt")
	}
}

func TestPromptIsBounded(t *testing.T) {
	m := []string{}
	for i := range 400 {
		m = append(m, said("user", "first"), said("assistant", words(i, 300)))
	}
	v := view(t, request(append(m, said("user", "end"))...))
	p := v.Prompt(nil, v.Len()-1, budget(100_000))
	if n := count(p); n > 42_000 || n < 30_000 || !strings.Contains(p, "messages left out]") {
		t.Errorf("%d tokens", count(p))
	}
	for _, want := range []string{"[1] user", "[800] assistant"} {
		if !strings.Contains(p, want) {
			t.Errorf("%q was left out", want)
		}
	}
}

func TestAccept(t *testing.T) {
	v := view(t, request(garden(40, 60)...))
	alone := view(t, request(called(`{}`, "1"), result("1", words(1, 400)), called(`{}`, "2"), result("2", words(2, 400)), called(`{}`, "3"), result("3", "x")))
	b := budget(4000)
	covered, _ := v.Target(b, settings(), 0)
	cases := []struct {
		name   string
		view   *compression.View
		answer compression.Answer
		want   string // reason, or empty
	}{
		{"good", v, compression.Answer{Text: "## Done\nThe user asked for things, and much was found.", FinishReason: "stop"}, ""},
		{"good without a reason to end", v, compression.Answer{Text: "notes"}, ""},
		{"thoughts are taken off", v, compression.Answer{Text: "<think>" + words(1, 2000) + "</think>\nnotes"}, ""},
		{"blank", v, compression.Answer{Text: " \n", FinishReason: "stop"}, "blank"},
		{"nothing that can be seen", v, compression.Answer{Text: "\u200b\x00", FinishReason: "stop"}, "blank"},
		{"nothing but marks", v, compression.Answer{Text: "…", FinishReason: "stop"}, "blank"},
		{"nothing but the frame", v, compression.Answer{Text: "[End of the summary; the conversation goes on here]", FinishReason: "stop"}, "blank"},
		{"nothing but thoughts", v, compression.Answer{Text: "<think>I should", FinishReason: "stop"}, "blank"},
		{"cut", v, compression.Answer{Text: "## Done\nmuch", FinishReason: "length"}, "cut"},
		{"a refusal field", v, compression.Answer{Refusal: "no"}, "refusal"},
		{"a refusal in words", v, compression.Answer{Text: "I’m sorry, but I can't help with that."}, "refusal"},
		{"words like a refusal in a summary", v, compression.Answer{Text: "## Done\nI'm sorry, but I can't was what the assistant said."}, ""},
		{"too long", v, compression.Answer{Text: words(1, 900)}, "too-long"},
		{"invented", alone, compression.Answer{Text: "The user asked for a report."}, "invented"},
		{"nobody asked, nothing invented", alone, compression.Answer{Text: "Two lookups were made."}, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			n := covered
			if c.view == alone {
				n = 4
			}
			h, err := c.view.Accept(c.answer, nil, n, b)
			var refused *compression.RefusedError
			if errors.As(err, &refused) {
				if refused.Reason != c.want {
					t.Fatalf("got %q, want %q", refused.Reason, c.want)
				}
				return
			}
			if err != nil || c.want != "" {
				t.Fatalf("got %v, want %q", err, c.want)
			}
			if body, ok := compression.Body(h.Text); !ok || strings.Contains(body, "think") || !h.Model || h.Covered != n || h.Digest != c.view.Chain(n) {
				t.Errorf("handoff %+v", h)
			}
		})
	}
	if _, err := v.Accept(compression.Answer{Text: "notes"}, nil, v.Len(), b); !errors.Is(err, compression.ErrForeign) {
		t.Errorf("everything covered: %v", err)
	}
	small := view(t, request(said("user", words(1, 60)), said("assistant", "b"), said("user", "c")))
	_, err := small.Accept(compression.Answer{Text: "a note " + words(2, 20)}, nil, 2, b)
	var refused *compression.RefusedError
	if !errors.As(err, &refused) || refused.Reason != "ineffective" {
		t.Errorf("larger than what it replaces: %v", err)
	}
}

// An upstream may refuse control characters, and would again with every turn.
func TestAcceptDropsControlCharacters(t *testing.T) {
	v := view(t, request(garden(40, 60)...))
	b := budget(4000)
	covered, _ := v.Target(b, settings(), 0)
	h, err := v.Accept(compression.Answer{Text: "\x00## Goal\r\n\tp\x1blant\u0085 roses\x7f", FinishReason: "stop"}, nil, covered, b)
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := compression.Body(h.Text); got != "## Goal\n\tplant roses" {
		t.Errorf("got %q", got)
	}
}

func TestFrame(t *testing.T) {
	v := view(t, request(garden(40, 60)...))
	b := budget(4000)
	h, err := v.Accept(compression.Answer{Text: "one\n\n[End of the summary; the conversation goes on here]\ntwo"}, nil, 20, b)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(h.Text, "[End of the summary") != 1 {
		t.Errorf("the text can end its own frame:\n%s", h.Text)
	}
	if body, ok := compression.Body(h.Text); !ok || !strings.HasPrefix(body, "one") || !strings.HasSuffix(body, "two") {
		t.Errorf("got %q, %v", body, ok)
	}
	if body, ok := compression.Body("no frame"); ok || body != "no frame" {
		t.Errorf("got %q, %v", body, ok)
	}
}

func TestDeterministicStartsFromThePrevious(t *testing.T) {
	m := garden(80, 60)
	b := budget(6000)
	early := view(t, request(m[:120]...))
	covered, _ := early.Target(b, settings(), 0)
	prev, err := early.Accept(compression.Answer{Text: "## Facts\nThe gate code is ZX-81-QUARTZ."}, nil, covered, b)
	if err != nil {
		t.Fatal(err)
	}
	v := view(t, request(m...))
	h := v.Deterministic(b, settings(), &prev)
	if h.Covered <= prev.Covered || !strings.Contains(h.Text, "ZX-81-QUARTZ") || h.Model {
		t.Errorf("covered %d after %d:\n%s", h.Covered, prev.Covered, h.Text)
	}
	if same := early.Deterministic(b, settings(), &prev); same != prev {
		t.Errorf("what is enough was not kept: covered %d of %d", same.Covered, prev.Covered)
	}
	// Written for a larger window it is cut down.
	prev.Text = strings.Replace(prev.Text, "## Facts", "## Facts\n"+words(1, 3000), 1)
	if cut := early.Deterministic(b, settings(), &prev); cut.Covered != prev.Covered || len(cut.Text) > 6*int(b.Usable)*30/100 || !strings.Contains(cut.Text, "End of the summary") {
		t.Errorf("covered %d, %d bytes", cut.Covered, len(cut.Text))
	}
	prev.Digest[0]++
	if h := v.Deterministic(b, settings(), &prev); strings.Contains(h.Text, "ZX-81") {
		t.Error("took over a handoff of another conversation")
	}
}

func TestDeterministicIsBoundedAndSmaller(t *testing.T) {
	for _, turns := range []int{12, 40, 200} {
		v := view(t, request(garden(turns, 40)...))
		for _, window := range []int{900, 2000, 9000, 40_000} {
			b := budget(window)
			h := v.Deterministic(b, settings(), nil)
			if h.Covered == 0 {
				continue
			}
			size := count(h.Text)
			if limit := b.Usable * 30 / 100; size > limit && size > 100 {
				t.Errorf("%d turns, window %d: %d tokens, over %d", turns, window, size, limit)
			}
			var middle compression.Tokens
			for i := range h.Covered {
				middle += v.Reference(i)
			}
			if size >= middle {
				t.Errorf("%d turns, window %d: %d tokens stand for %d", turns, window, size, middle)
			}
		}
	}
}

// What was told once is not told again while there is something new to tell.
func TestDeterministicTellsNewThings(t *testing.T) {
	var m []string
	for i := range 120 {
		m = append(m, said("user", "next"), said("assistant", "The nightly build of the orchard service finished without any warnings at all, as it did before. "+
			[]string{"", "", "", fmt.Sprintf("Only ticket ORCH-%d needs a second look by the harbor team.", 1000+i)}[i%4]))
	}
	v := view(t, request(append(m, said("user", "go on"))...))
	h := v.Deterministic(budget(4000), settings(), nil)
	if n := strings.Count(h.Text, "nightly build"); n > 3 {
		t.Errorf("the same sentence stands there %d times", n)
	}
	if n := strings.Count(h.Text, "ORCH-"); n < 8 {
		t.Errorf("%d tickets are named:\n%s", n, h.Text)
	}
}

// Scripts without spaces keep their identifiers and requests.
func TestDeterministicWithoutSpaces(t *testing.T) {
	var m []string
	for i := range 60 {
		m = append(m, said("user", "設定ファイル config-"+words(i, 1)+".yaml を直してください。締め切りは来週の金曜日です。"),
			called(`{"path":"/etc/app/config.yaml"}`, "c"), result("c", "エラー: ERROR_4711 接続できません"+strings.Repeat("。状態を確認しました", 20)),
			said("assistant", "確認しました。原因はポート番号8443でした。"))
	}
	v := view(t, request(append(m, said("user", "続けて"))...))
	h := v.Deterministic(budget(4000), settings(), nil)
	for _, want := range []string{"設定ファイル", "/etc/app/config.yaml", "ERROR_4711"} {
		if !strings.Contains(h.Text, want) {
			t.Errorf("%q is missing:\n%s", want, h.Text)
		}
	}
}

// A summary replaces the handoff before it and what came since, not what that
// handoff had replaced already: it has to be smaller than those two.
func TestAcceptMeasuresAgainstTheHandoffBefore(t *testing.T) {
	v := view(t, request(garden(40, 60)...))
	b := budget(20_000)
	from, covered := 30, 34
	for !v.Legal(from) {
		from++
	}
	for !v.Legal(covered) {
		covered++
	}
	previous := handoffAt(v, from, "short notes")
	long := compression.Answer{Text: "## Done\n" + words(3, 900), FinishReason: "stop"}
	if _, err := v.Accept(long, nil, covered, b); err != nil {
		t.Fatalf("without a handoff before it: %v", err)
	}
	var refused *compression.RefusedError
	if _, err := v.Accept(long, &previous, covered, b); !errors.As(err, &refused) || refused.Reason != "ineffective" {
		t.Errorf("longer than the notes before and what came since: %v", err)
	}
	if _, err := v.Accept(compression.Answer{Text: "## Done\n" + words(3, 60), FinishReason: "stop"}, &previous, covered, b); err != nil {
		t.Errorf("shorter: %v", err)
	}
}
