package main

import (
	"fmt"
	"strings"
)

// defaults writes what the shipped settings reach.
func (r *report) defaults(b *strings.Builder) {
	b.WriteString("### With the shipped defaults\n\nThe window is the smallest whose trigger is at least at the budget.\n\n")
	t := r.table(b, "file", "budget", "facts", byDropOldest.String(), byFold.String(), byRecall.String(), "invented", "rules", "largest")
	line := func(name, budget string, c *cell, hard []string) {
		t.row(append([]string{
			name, budget, fmt.Sprint(c.scores[0].of), c.scores[byDropOldest].String(),
			c.scores[byFold].String(), c.scores[byRecall].String(),
		}, hard[:3]...)...)
	}
	for i := range r.results {
		for k, percent := range budgets {
			c := &r.results[i].shipped[k]
			line(r.results[i].file.name, fmt.Sprintf("%d %%", percent), c, c.hard())
		}
	}
	for k, percent := range budgets {
		cells := []string{"mean", fmt.Sprintf("%d %%", percent), ""}
		for _, m := range []method{byDropOldest, byFold, byRecall} {
			x, _ := mean(r.results, func(x *result) score { return x.shipped[k].scores[m] })
			cells = append(cells, ratio(x))
		}
		t.row(append(cells, "", "", "")...)
	}
	b.WriteString("\n")
}

// wholeBody is the size of a body, in bytes, under which titles and labels weigh
// too much for its shares to say anything.
const wholeBody = 1000

// shapes writes what handoffs are made of.
func (r *report) shapes(b *strings.Builder) {
	b.WriteString("### What a handoff is made of\n\nIn percent of its body.\n\n")
	t := r.table(b, "file", "budget", "bytes", "lines of the source", "calls, one line each", "index", "labels and the rest")
	line := func(name, budget string, s shape) {
		t.row(name, budget, fmt.Sprint(s.bytes), fmt.Sprint(s.percent(s.lines)), fmt.Sprint(s.percent(s.calls)),
			fmt.Sprint(s.percent(s.index)), fmt.Sprint(s.percent(s.others)))
	}
	var sum shape
	least, leastLines, most := 100, 100, 0
	for i := range r.results {
		for k, percent := range budgets {
			s := r.results[i].shapes[k]
			if s.bytes == 0 {
				continue
			}
			line(r.results[i].file.name, fmt.Sprintf("%d %%", percent), s)
			sum.add(s)
			if s.bytes >= wholeBody {
				least = min(least, s.percent(s.lines+s.calls))
				leastLines = min(leastLines, s.percent(s.lines))
				most = max(most, s.percent(s.index))
			}
		}
	}
	line("all", "", sum)
	fmt.Fprintf(b, "\nOf bodies of %d bytes and more: lines of the source and calls at least %d %% (target 50: %s), lines alone at least %d %%; "+
		"the index at most %d %% (target 50: %s).\n\n", wholeBody, least, verdict(float64(least), 50, 0), leastLines, most, verdict(50, float64(most), 0))
}

// identifiers writes what is left of those that were needed after a compaction.
func (r *report) identifiers(b *strings.Builder) {
	n := &r.named
	if n.of == 0 {
		return
	}
	fmt.Fprintf(b, "### Identifiers needed after a real compaction\n\nOf the %d that stand only before it, the summary that a leading model wrote then has %d (%d %%).\n\n",
		n.of, n.summary, n.summary*100/n.of)
	t := r.table(b, "handoff, bytes", "messages covered", "identifiers", "share", "target")
	for i, h := range n.handoffs {
		share, goal := n.found[i]*100/n.of, ""
		if want := laterAim(handoffSizes[i]); want > 0 {
			goal = fmt.Sprintf("%d %% %s", want, verdict(float64(share), float64(want), 0))
		}
		t.row(fmt.Sprintf("%d of %d", len(h.Text), handoffSizes[i]), fmt.Sprint(h.Covered), fmt.Sprint(n.found[i]), fmt.Sprintf("%d %%", share), goal)
	}
	b.WriteString("\n")
}

// unrelated writes what recall costs where there is nothing to recall.
func (r *report) unrelated(b *strings.Builder) {
	fmt.Fprintf(b, "### A last message that asks for nothing\n\nRecall of the same facts at %d %%, without recalled passages and with them, "+
		"the handoff's share the same.\n\n", unrelatedAt)
	columns := []string{"file"}
	for _, w := range unrelatedWords {
		columns = append(columns, fmt.Sprintf("%q, off", w), "on")
	}
	t := r.table(b, columns...)
	for i := range r.results {
		cells := []string{r.results[i].file.name}
		for _, c := range r.results[i].costs {
			cells = append(cells, c.off.String(), c.on.String())
		}
		t.row(cells...)
	}
	cells := []string{"mean"}
	for w := range unrelatedWords {
		off, _ := mean(r.results, func(x *result) score { return x.costs[w].off })
		on, _ := mean(r.results, func(x *result) score { return x.costs[w].on })
		cells = append(cells, ratio(off), ratio(on)+" (target "+ratio(off)+": "+verdict(on, off, 0.005)+")")
	}
	t.row(cells...)
	b.WriteString("\n")
}

// growth writes how still the forwarded prefix stands.
func (r *report) growth(b *strings.Builder) {
	fmt.Fprintf(b, "### Prefix stability\n\nThe last %d turns of every conversation that has as many, each folded from nothing with the shipped defaults.\n\n", growthTurns)
	t := r.table(b, "file", "trigger, tokens", "folds", "prefix bytes changed outside folds", "bytes sent again", "of them rewritten", "share")
	for i := range r.results {
		for _, g := range r.results[i].growth {
			t.row(r.results[i].file.name, fmt.Sprint(g.budget), fmt.Sprint(g.folds), fmt.Sprint(g.loose), fmt.Sprint(g.forwarded),
				fmt.Sprint(g.rewritten), fmt.Sprintf("%d %%", g.rewritten*100/max(1, g.forwarded)))
		}
	}
	b.WriteString("\n")
}

// estimates writes how far token estimates are off.
func (r *report) estimates(b *strings.Builder) {
	fmt.Fprintf(b, "### Token estimates\n\nDistance of the estimate from what was recorded, in percent: mean, largest in brackets, and how many requests are within %d %%.\n\n", near)
	t := r.table(b, "file", "recorded by", "count alone", "after responses, by the correction", "after responses, with the exact count of what was sent before")
	for i := range r.results {
		e := &r.results[i].counts
		if e.before.of == 0 {
			continue
		}
		name := r.results[i].file.name
		t.row(name, vocabularyOf(name), e.before.String(), e.corrected.String(), e.after.String())
	}
	b.WriteString("\nNothing was recorded for the other files.\n\n")
}

// broken writes what broke a hard rule. It quotes nothing, so that no word of a
// recording comes into a document.
func (r *report) broken(b *strings.Builder) {
	t := total(r.results)
	fmt.Fprintf(b, "### Hard rules\n\n%d folds: %d invented, %d rules broken, %d over their budget (and %d whose head and last user message alone are over it), "+
		"%d bytes of prefix changed outside folds.\n", t.folds, t.invented.n, t.rules.n, t.over.n, t.excused, loose(r.results))
}

// examples tells some of what broke a hard rule.
func (r *report) examples(b *strings.Builder) {
	t := total(r.results)
	for _, kind := range []struct {
		title    string
		examples []string
	}{{"Invented", t.invented.examples}, {"Rules broken", t.rules.examples}, {"Over the budget", t.over.examples}} {
		if len(kind.examples) == 0 {
			continue
		}
		b.WriteString("\n" + kind.title + ", for example:\n\n")
		for _, e := range kind.examples {
			b.WriteString("- " + strings.ReplaceAll(e, "\n", " ") + "\n")
		}
	}
}
