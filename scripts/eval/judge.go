package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/foldgate/foldgate/compression/chat"
	"github.com/foldgate/foldgate/compression/foldtest"
	"github.com/foldgate/foldgate/compression/window"
)

// tally is what of many folds broke a hard rule.
type tally struct {
	folds    int
	invented breach // identifiers and numbers that the conversation does not hold
	rules    breach // rules of what is forwarded
	over     breach // folds over their budget that could have kept it
	excused  int    // folds over it whose head and last user message are
	worst    int    // the largest fold that is not excused, in thousandths of its budget
}

// breach counts what broke one hard rule, and tells some of it.
type breach struct {
	n        int
	examples []string
}

// examplesMost bounds what is told of what went wrong, of each kind.
const examplesMost = 8

// found counts one more. what says the same wherever the same went wrong.
func (b *breach) found(where, what string) {
	b.n++
	b.tell(where + what)
}

func (b *breach) tell(example string) {
	_, what, _ := strings.Cut(example, ": ")
	known := slices.ContainsFunc(b.examples, func(e string) bool { return strings.HasSuffix(e, ": "+what) })
	if !known && len(b.examples) < examplesMost {
		b.examples = append(b.examples, example)
	}
}

func (b *breach) add(c breach) {
	b.n += c.n
	for _, e := range c.examples {
		b.tell(e)
	}
}

func (t *tally) add(u tally) {
	t.folds += u.folds
	t.invented.add(u.invented)
	t.rules.add(u.rules)
	t.over.add(u.over)
	t.excused += u.excused
	t.worst = max(t.worst, u.worst)
}

// broken reports whether any hard rule is.
func (t *tally) broken() bool { return t.invented.n+t.rules.n+t.over.n > 0 }

// judge looks at one fold of a conversation. What a model says is not held
// against the product.
func (b *bench) judge(c conversation, f folding, p plan, t *tally) error {
	r, err := parse(f.folded.Body)
	if err != nil {
		return fmt.Errorf("read the folded request: %w", err)
	}
	t.folds++
	where := fmt.Sprintf("%s, %d messages in %d tokens: ", c.name, len(c.view.Messages), p.budget.Usable)
	for _, breach := range foldtest.Breaches(c.body, f.folded, f.handoff.Text, p.budget) {
		t.rules.found(where, short(breach))
	}
	if !f.handoff.Model {
		original := map[string]bool{}
		for i := range c.view.Messages {
			original[string(c.view.Raw(i))] = true
		}
		for _, value := range c.said().invented(madeText(r, original, f.asked)) {
			t.invented.found(where, short(value))
		}
	}
	size := max(f.folded.Tokens, b.memo.View(r).Total()) // counted anew, too
	switch {
	case size <= p.budget.Usable:
	case fixed(c)+lastUser(c) > p.budget.Usable:
		t.excused++
		return nil
	default:
		t.over.found(where, fmt.Sprintf("%d tokens", size))
	}
	t.worst = max(t.worst, int(size)*1000/max(1, int(p.budget.Usable)))
	return nil
}

func short(s string) string {
	if len(s) > 160 {
		return s[:160] + cutMark
	}
	return s
}

// lastUser is what the last user message costs, which no fold may cut.
func lastUser(c conversation) window.Tokens {
	for i, m := range slices.Backward(c.view.Messages) {
		if m.Role == chat.RoleUser && i >= c.view.Head {
			return c.view.Reference(i - c.view.Head)
		}
	}
	return 0
}
