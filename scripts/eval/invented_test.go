package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/foldgate/foldgate/compression"
)

func TestTerms(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"Nothing here, just words. At all!":               nil,
		"see src/main.go, line 12.":                       {"src/main.go", "12"},
		"a camelCase snake_case hyphen-ated":              {"camelCase", "snake_case", "hyphen-ated"},
		"ends.":                                           nil,
		"\u65e5\u672c2\u670825\u65e5 v2":                  {"2", "25", "v2"},
		"https://x.io/a?b=1":                              {"https://x.io/a", "1"},
		"mail me@example.com; at 10:30 \u2026":            {"me@example.com", "10:30"},
		"wait...what __ and --flag":                       nil,
		"JSON NASA":                                       nil,
		`{"id":"k_1"}`:                                    {"k_1"},
		strings.Repeat("x", 20) + "9 " + "\u03b19\u03b28": {strings.Repeat("x", 20) + "9", "9", "8"},
		"/usr/local/bin":                                  {"usr/local/bin"},
		"one-":                                            nil,
		"C:/a//b":                                         {"C:/a//b"},
		"12,345.60":                                       {"12", "345.60"},
		"<|im_start|>":                                    {"im_start"},
		"x=1 y=-2":                                        {"1", "2"},
		"Summary of the earlier conversation: all":        nil,
	} {
		var got []string
		terms(text, func(t term) { got = append(got, t.value) })
		if !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestInvented(t *testing.T) {
	t.Parallel()
	c := conversationOf(t, request(said("user", "See src/main.go and order 12345."),
		`{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,QUJD_9"}}]}`,
		called("a", `{"deep":"{\"inner\":\"key_7\"}","text":"one\ttab_2"}`), answered("a", `{"rows":[{"id":"row-9"}]}`)))
	for text, want := range map[string][]string{
		"src/main.go, main.go and 12345":           nil,
		"main.go:3":                                {"main.go:3"},
		"order 1234":                               {"1234"},
		"order 1234\u2026":                         nil,
		"order 9999\u2026":                         {"9999"},
		"order \u2026 2345":                        nil,
		"[image (image/png)] QUJD_9":               {"QUJD_9"},
		"key_7 tab_2 row-9":                        nil,
		"ow-9":                                     {"ow-9"},
		"#17 user: src/main.go":                    nil,
		"[812 of 900 bytes left out here, 4 more]": nil,
		"src/ma\n[812 of 900 bytes left out here]\nain.go": nil,
		"src/ma\nain.go":    {"src/ma", "ain.go"},
		"said (1820 bytes)": nil,
		"ghost_1 ghost_1":   {"ghost_1"},
	} {
		if got := c.said().invented(text); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// The product's own words hold nothing that the scanner takes for an identifier.
func TestProductInventsNothing(t *testing.T) {
	t.Parallel()
	c := conversationOf(t, request(garden(30)...))
	b := &bench{memo: compression.NewMemo(1000), plans: oneSetting().plan}
	for _, recalls := range []bool{false, true} {
		p := b.plans(c, shareOf(c, 30), recalls)
		var got tally
		h := c.view.Deterministic(p.budget, p.settings, nil)
		if _, err := b.fold(c, h, p, "", &got); err != nil || got.folds != 1 || h.Covered == 0 {
			t.Fatalf("recall %v: %+v, covered %d, %v", recalls, got, h.Covered, err)
		}
		if got.broken() {
			t.Errorf("recall %v: %+v", recalls, got)
		}
	}
}

// A judge that never finds anything would pass for ever.
func TestJudgeFinds(t *testing.T) {
	t.Parallel()
	c := conversationOf(t, request(garden(30)...))
	b := &bench{memo: compression.NewMemo(1000), plans: oneSetting().plan}
	p := b.plans(c, shareOf(c, 30), false)
	h := c.view.Deterministic(p.budget, p.settings, nil)
	h.Text = strings.Replace(h.Text, "seed-70", "seed-99", 1)
	f, err := foldWith(c, h, p, "")
	if err != nil {
		t.Fatal(err)
	}
	var got tally
	f.handoff.Text = strings.Replace(h.Text, "seed", "weed", 1) // not what stands in the body
	p.budget.Usable = f.folded.Tokens - 1
	if err := b.judge(c, f, p, &got); err != nil {
		t.Fatal(err)
	}
	if got.invented.n != 1 || got.rules.n == 0 || got.over.n != 1 {
		t.Errorf("got %+v", got)
	}
}

func TestMadeTextLeavesOutWhatIsTheClients(t *testing.T) {
	t.Parallel()
	was := conversationOf(t, request(said("user", "kept_1"), said("user", "old_2")))
	now := conversationOf(t, request(said("user", "kept_1"), said("user", "lead_3 asked_4"), called("a", `{"p":"arg_5"}`)))
	original := map[string]bool{}
	for i := range was.view.Messages {
		original[string(was.view.Raw(i))] = true
	}
	if got := strings.Fields(madeText(now.view.Request, original, "asked_4")); !slices.Equal(got, []string{"lead_3", "p", "arg_5"}) {
		t.Errorf("got %q", got)
	}
}
