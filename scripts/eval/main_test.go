package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/foldgate/foldgate/compression/window"
)

// runs calls the command as a user does.
func runs(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(args, &out, &errs)
	return code, out.String(), errs.String()
}

func TestRunWithoutData(t *testing.T) {
	t.Setenv("FOLDGATE_TESTDATA", t.TempDir())
	if code, _, stderr := runs(t); code != exitUsage || !strings.Contains(stderr, "FOLDGATE_TESTDATA") {
		t.Errorf("%d: %s", code, stderr)
	}
	if code, _, stderr := runs(t, "surplus"); code != exitUsage || !strings.Contains(stderr, "surplus") {
		t.Errorf("%d: %s", code, stderr)
	}
}

func TestRun(t *testing.T) {
	t.Setenv("FOLDGATE_TESTDATA", recordings(t))
	code, stdout, stderr := runs(t, "-deterministic", "0.5", "-beside-recall", "0.3")
	if code != exitOK {
		t.Fatalf("%d: %s\n%s", code, stderr, stdout)
	}
	for _, want := range []string{
		"tail 0.20, handoff 0.50", "### Means", "### Every file", "| garden | 25 % = ", "### With the shipped defaults",
		"### What a handoff is made of", "### A last message that asks for nothing", "### Prefix stability", "### Token estimates",
		"### Hard rules", "0 invented, 0 rules broken",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("%q is not in\n%s", want, stdout)
		}
	}
	if code, _, _ := runs(t, "-only", "nothing"); code != exitBroken {
		t.Errorf("no file: %d", code)
	}
	quick, again := "", ""
	if _, quick, _ = runs(t, "-quick"); strings.Contains(quick, "### Prefix") || !strings.Contains(quick, "### Means") {
		t.Errorf("-quick:\n%s", quick)
	}
	if _, again, _ = runs(t, "-quick"); again != quick {
		t.Error("two runs differ")
	}
}

func TestRunIntoDocument(t *testing.T) {
	t.Setenv("FOLDGATE_TESTDATA", recordings(t))
	document := filepath.Join(t.TempDir(), "fold.md")
	if code, _, stderr := runs(t, "-quick", "-o", document); code != exitBroken || stderr == "" {
		t.Errorf("no document: %d, %s", code, stderr)
	}
	if err := os.WriteFile(document, []byte("before\n"+marksBegin+"stale words\n"+marksEnd+"after\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := runs(t, "-quick", "-o", document)
	if code != exitOK || !strings.Contains(stdout, "### Means") || strings.Contains(stdout, "### Every file") {
		t.Errorf("%d: %s\n%s", code, stderr, stdout)
	}
	raw, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	got := string(raw)
	if !strings.HasPrefix(got, "before\n"+marksBegin) || !strings.HasSuffix(got, marksEnd+"after\n") ||
		strings.Contains(got, "stale") || !strings.Contains(got, "### Every file") {
		t.Errorf("got\n%s", got)
	}
}

func TestReplacedNeedsMarks(t *testing.T) {
	t.Parallel()
	for _, document := range []string{"", marksBegin, marksEnd + marksBegin} {
		if got, err := replaced(document, "x"); err == nil {
			t.Errorf("%q: got %q", document, got)
		}
	}
}

func TestHardRules(t *testing.T) {
	t.Parallel()
	one := breach{n: 1}
	for name, tc := range map[string]struct {
		result result
		broken bool
	}{
		"none":                {result{}, false},
		"invented":            {result{cells: [len(budgets)]cell{1: {tally: tally{invented: one}}}}, true},
		"a rule":              {result{shipped: [len(budgets)]cell{2: {tally: tally{rules: one}}}}, true},
		"too large":           {result{extra: tally{over: one}}, true},
		"a prefix that moved": {result{growth: []growth{{}, {loose: 3}}}, true},
		"excused":             {result{extra: tally{excused: 4}}, false},
	} {
		if err := hardRules([]result{{}, tc.result}); (err != nil) != tc.broken {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestBreachTellsEachKindOnce(t *testing.T) {
	t.Parallel()
	var all breach
	for i := range 3 {
		var b breach
		b.found("here: ", "same")
		b.found("there: ", "same")
		for k := range 2 * examplesMost {
			b.found("x: ", strings.Repeat("y", i+k+1))
		}
		all.add(b)
	}
	if all.n != 3*(2+2*examplesMost) || len(all.examples) != examplesMost || all.examples[0] != "here: same" || all.examples[1] != "x: y" {
		t.Errorf("got %+v", all)
	}
}

func TestRecallCountsFacts(t *testing.T) {
	t.Parallel()
	f, memo := gardenFile(t)
	b := &bench{memo: memo, plans: oneSetting().plan}
	got, err := b.recall(f, 25)
	if err != nil {
		t.Fatal(err)
	}
	stopsOf := len(stops(f.texts, f.canEnd))
	needed := 0
	for _, n := range stops(f.texts, f.canEnd) {
		needed += len(neededAfter(n, f.facts.reuses, f.texts))
	}
	if stopsOf != 7 || needed == 0 || got.scores[byFold].of != 2+needed {
		t.Errorf("%d facts at %d stops with %d needed", got.scores[byFold].of, stopsOf, needed)
	}
	for m := range methods {
		if got.scores[m].of != got.scores[byFold].of {
			t.Errorf("%s: %d facts", m, got.scores[m].of)
		}
	}
	if got.scores[byRecall].found < 1 || got.scores[byDropOldest].found > 1 {
		t.Errorf("got %v", got.scores)
	}
}

func TestStubModel(t *testing.T) {
	t.Parallel()
	c := conversationOf(t, request(garden(40)...))
	p := oneSetting().plan(c, shareOf(c, 30), false)
	h, made := stubFold(c, p)
	if !made || !h.Model || !strings.Contains(h.Text, "## Done") {
		t.Fatalf("made %v:\n%s", made, h.Text)
	}
	for _, room := range []int{20, 200, 2000} {
		text := stubSummary(c.view.Prompt(nil, 100, p.budget), window.Tokens(room), c.view.TextTokens)
		if n := c.view.TextTokens(text); int(n) > room {
			t.Errorf("%d tokens in a room of %d", n, room)
		}
	}
}

func TestNeededLater(t *testing.T) {
	t.Parallel()
	f := &file{conversation: conversationOf(t, request(
		said("user", "see ./plots/a.md and /Users/dev/b.ts, c.json too"), said("assistant", "yes"), said("user", "now c.json"), said("assistant", "so")))}
	f.facts.firstOld = 2
	recording := filepath.Join(t.TempDir(), "whole.jsonl")
	lines := strings.Join([]string{
		`{"type":"session"}`,
		`{"type":"message","message":{"content":[{"type":"toolCall","arguments":{"path":"early.md"}}]}}`,
		`{"type":"compaction"}`,
		`{"type":"message","message":{"content":"text"}}`,
		`{"type":"message","message":{"content":[{"type":"toolCall","arguments":{"path":"/Users/some/b.ts","more":["c.json","plots/a.md","new.md"]}}]}}`,
		`{"type":"compaction"}`,
		`{"type":"message","message":{"content":[{"type":"toolCall","arguments":{"path":"a.md"}}]}}`,
	}, "\n")
	if err := os.WriteFile(recording, []byte(lines+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := recordLater(f, recording)
	want := []string{hashOf("/Users/dev/b.ts"), hashOf("plots/a.md")}
	slices.Sort(want)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	if found := neededIn(f, strings.Join(want, "\n")); !slices.Equal(found, []string{"/Users/dev/b.ts", "plots/a.md"}) {
		t.Errorf("found %v", found)
	}
	if held(neededIn(f, strings.Join(want, "\n")), "only plots/a.md") != 1 {
		t.Error("not held")
	}
	if len(strings.Fields(laterHashes)) == 0 {
		t.Error("the list is empty")
	}
}

func TestAtSize(t *testing.T) {
	t.Parallel()
	f, memo := gardenFile(t)
	for _, size := range []int{1500, 6000} {
		h, err := atSize(f, 101, size, memo)
		if err != nil || len(h.Text) > size || len(h.Text) < size*8/10 || h.Covered < 96 {
			t.Errorf("%d: %d bytes, %d covered, %v", size, len(h.Text), h.Covered, err)
		}
	}
}
