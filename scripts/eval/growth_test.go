package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/foldgate/foldgate/compression"
)

func TestGrowthCountsBytes(t *testing.T) {
	t.Parallel()
	turn := func(text string, covered, handoff int) sent { return sent{[]byte("[" + text + "]"), covered, handoff} }
	for name, tc := range map[string]struct {
		before, now             sent
		folds, loose, rewritten int
	}{
		"appended":                   {turn("aaaa", 2, 3), turn("aaaabb", 2, 3), 0, 0, 0},
		"changed behind":             {turn("aaaa", 2, 3), turn("aaaxbb", 2, 3), 0, 0, 1},
		"changed in the handoff":     {turn("aaaa", 2, 3), turn("axaabb", 2, 3), 0, 1, 3},
		"changed by a fold":          {turn("aaaa", 2, 3), turn("xaaabb", 4, 3), 1, 0, 4},
		"the first fold":             {turn("aaaa", 0, 0), turn("xx", 2, 2), 1, 0, 4},
		"no fold on either side":     {turn("aaaa", 0, 0), turn("aaaab", 0, 0), 0, 0, 0},
		"unfolded again is a fold":   {turn("xx", 2, 2), turn("aaaa", 0, 0), 1, 0, 2},
		"the same request once more": {turn("aa", 1, 2), turn("aa", 1, 2), 0, 0, 0},
	} {
		var g growth
		g.step(tc.before, tc.now)
		if g.folds != tc.folds || g.loose != tc.loose || g.rewritten != tc.rewritten {
			t.Errorf("%s: got %+v", name, g)
		}
	}
}

// Between two folds of a growing conversation nothing moves.
func TestGrow(t *testing.T) {
	t.Parallel()
	f, memo := gardenFile(t)
	b := &bench{memo: memo, plans: shipped}
	got, err := b.grow(f, shareOf(f.conversation, 25), 50)
	if err != nil {
		t.Fatal(err)
	}
	if got.turns != 50 || got.folds == 0 || got.folds > 20 || got.loose != 0 || got.rewritten == 0 || got.rewritten >= got.forwarded {
		t.Errorf("got %+v", got)
	}
}

func TestWithoutIndex(t *testing.T) {
	t.Parallel()
	c := conversationOf(t, request(garden(40)...))
	p := oneSetting().plan(c, shareOf(c, 20), false)
	h := c.view.Deterministic(p.budget, p.settings, nil)
	bare, n := withoutIndex(h)
	if n == 0 || len(bare.Text)+n != len(h.Text) || strings.Contains(bare.Text, indexTitle) {
		t.Errorf("%d bytes cut out of\n%s", n, h.Text)
	}
	if _, ok := compression.Body(bare.Text); !ok {
		t.Errorf("the frame is gone:\n%s", bare.Text)
	}
	if again, n := withoutIndex(bare); n != 0 || again.Text != bare.Text {
		t.Errorf("cut twice: %d bytes", n)
	}
}

func TestShape(t *testing.T) {
	t.Parallel()
	c := conversationOf(t, request(garden(40)...))
	p := oneSetting().plan(c, shareOf(c, 20), false)
	h := c.view.Deterministic(p.budget, p.settings, nil)
	s := shapeOf(h, c.said())
	body, _ := compression.Body(h.Text)
	if s.bytes != len(body) || s.lines+s.calls+s.index+s.others != s.bytes || s.lines == 0 || s.calls == 0 || s.index == 0 || s.others <= 0 {
		t.Errorf("got %+v of %d bytes", s, len(body))
	}
	src := conversationOf(t, request(said("user", "one two\nthree  four five"))).said()
	for piece, want := range map[string]bool{
		"two three": true, "one … five": true, "one … six": false, "…": false, "": false, "two four": false,
	} {
		if got := src.says(piece); got != want {
			t.Errorf("%q: got %v", piece, got)
		}
	}
}

func TestWithoutQuestion(t *testing.T) {
	t.Parallel()
	c := conversationOf(t, request(said("user", "handoff\n\nWhere is it?"), called("a", "{}"), answered("a", "Where is it?")))
	withoutQuestion(c.texts, c.view.Request, "Where is it?")
	if c.texts[0] != "handoff\n\n" || c.texts[2] != "Where is it?" {
		t.Errorf("got %q", c.texts)
	}
}

func TestEstimated(t *testing.T) {
	t.Parallel()
	got, err := estimated([]exchange{
		{counted: 1000, reported: 1500},
		{counted: 2000, reported: 3000, grows: true},
		{counted: 2100, reported: 3110, grows: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got.before.of != 3 || got.before.near != 0 || fmt.Sprintf("%.1f", got.before.worst) != "33.3" {
		t.Errorf("before: %+v", got.before)
	}
	if got.after.of != 2 || got.after.worst > 26 || got.after.near == 0 {
		t.Errorf("after: %+v", got.after)
	}
	pictures, err := estimated([]exchange{{1000, 1500, false, true}, {1000, 1500, false, true}})
	if err != nil || pictures.after.worst != pictures.before.worst {
		t.Errorf("what is no text taught something: %+v, %v", pictures, err)
	}
}

func TestExchanges(t *testing.T) {
	t.Parallel()
	f, memo := gardenFile(t)
	got, err := exchanges(f, memo)
	if err != nil || len(got) != 2 || got[0].reported != 900 || got[0].counted >= got[1].counted || got[0].grows || !got[1].grows {
		t.Errorf("got %+v, %v", got, err)
	}
	f.facts.counts, f.facts.perEach = nil, make([]int, len(f.texts))
	for i := range f.facts.perEach {
		f.facts.perEach[i] = 10
	}
	got, err = exchanges(f, memo)
	if err != nil || len(got) != 60 || got[0].reported != 20 || got[59].reported != 1200 { // a question, a result
		t.Errorf("got %d, %v, %v", len(got), got[:2], err)
	}
}
