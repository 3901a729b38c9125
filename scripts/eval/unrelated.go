package main

import (
	"fmt"
	"strings"
)

// unrelatedWords are last messages that ask for nothing that was said.
var unrelatedWords = [...]string{"continue", "thanks"}

// cost is what recall costs where there is nothing to recall.
type cost struct{ off, on score }

// unrelated folds a file that ends with a message that asks for nothing, with
// recall and without, and looks for the same facts in both.
func (b *bench) unrelated(f *file, word string, percent int, t *tally) (cost, error) {
	var out cost
	whole, err := f.asking(word, "", b.memo)
	if err != nil {
		return cost{}, err
	}
	oldest := dropOldest(whole, shareOf(whole, percent))
	if oldest.ok && len(f.facts.literals)+len(f.facts.questions) > 0 {
		off, on, err := b.twice(whole, word, percent, t)
		if err != nil {
			return cost{}, err
		}
		add := func(first int, found func(string) bool) {
			if first < oldest.cut {
				out.off.add(found(off))
				out.on.add(found(on))
			}
		}
		for _, l := range f.facts.literals {
			add(l.first, func(text string) bool { return strings.Contains(text, l.value) })
		}
		for _, q := range f.facts.questions {
			add(q.first, q.answered)
		}
	}
	if len(f.facts.reuses) == 0 {
		return out, nil
	}
	for _, n := range stops(f.texts, f.canEnd) {
		c, err := f.until(n, b.memo)
		if err != nil {
			return cost{}, err
		}
		needed := neededAfter(n, f.facts.reuses, f.texts)
		if c, err = c.asking(word, "", b.memo); err != nil {
			return cost{}, err
		}
		if len(needed) == 0 || !dropOldest(c, shareOf(c, percent)).ok {
			continue
		}
		off, on, err := b.twice(c, word, percent, t)
		if err != nil {
			return cost{}, fmt.Errorf("stopped after %d messages: %w", n, err)
		}
		for _, value := range needed {
			out.off.add(strings.Contains(off, value))
			out.on.add(strings.Contains(on, value))
		}
	}
	return out, nil
}

// twice folds without recall and with it. The handoff has the same share both
// times, as the product's settings have one for both: it must not depend on what
// the last message asks.
func (b *bench) twice(c conversation, asked string, percent int, t *tally) (off, on string, err error) {
	var left [2]string
	for i, recalls := range [...]bool{false, true} {
		p := b.plans(c, shareOf(c, percent), true)
		if !recalls {
			p.budget.Recall, p.settings.Recall = 0, 0
		}
		h := c.view.Deterministic(p.budget, p.settings, nil)
		if left[i], err = b.fold(c, h, p, asked, t); err != nil {
			return "", "", err
		}
	}
	return left[0], left[1], nil
}
