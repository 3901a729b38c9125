package main

import (
	"strings"
	"testing"

	"github.com/foldgate/foldgate/compression/window"
)

func TestDrop(t *testing.T) {
	t.Parallel()
	c := conversationOf(t, request(said("system", "head"), said("user", "first "+words(1, 20)), said("assistant", "second "+words(2, 20)),
		called("a", `{"x":"third"}`), answered("a", "fourth "+words(3, 20)), said("user", "last "+words(4, 20))))
	cost := func(i int) int { return int(c.view.Reference(i)) }
	head := int(fixed(c))
	for name, tc := range map[string]struct {
		budget      int
		middle      bool
		cut         int
		has, hasNot string
	}{
		"all fits":                {head + 1000, false, 1, "first", "-"},
		"only the last":           {head + cost(4), false, 5, "last", "fourth"},
		"no cut in a group":       {head + cost(4) + cost(3), false, 5, "last", "fourth"},
		"the group whole":         {head + cost(4) + cost(3) + cost(2), false, 3, "third", "second"},
		"middle, all is oldest":   {head + 1000, true, 6, "second", "-"},
		"middle, both ends":       {head + 2*cost(0) + 2, true, 5, "first", "second"},
		"middle, too small":       {head + cost(4), true, 5, "last", "first"},
		"the newest is too large": {head + cost(4) - 5, false, 5, "last", "fourth"},
	} {
		got := drop(c, window.Tokens(tc.budget), map[bool]int{true: 50}[tc.middle])
		if !got.ok || got.cut != tc.cut {
			t.Errorf("%s: cut %d (%v), want %d", name, got.cut, got.ok, tc.cut)
		}
		for _, word := range []string{"head", tc.has} {
			if !strings.Contains(got.text, word) {
				t.Errorf("%s: %q is not in %q", name, word, got.text)
			}
		}
		if strings.Contains(got.text, tc.hasNot+" ") {
			t.Errorf("%s: %q is in %q", name, tc.hasNot, got.text)
		}
	}
	if drop(c, window.Tokens(head-1), 0).ok {
		t.Error("the head is over the budget, and there is a figure")
	}
	if got := dropOldest(c, window.Tokens(head+cost(4)-5)); len(got.text) >= len(c.texts[0])+1+len(c.texts[5]) {
		t.Errorf("nothing was cut out of the newest: %q", got.text)
	}
}

func TestCutMiddleKeepsCharacters(t *testing.T) {
	t.Parallel()
	for room := range 12 {
		if got := cutMiddle("äöüßäöüß", room); strings.ToValidUTF8(got, "?") != got {
			t.Errorf("%d: %q", room, got)
		}
	}
}
