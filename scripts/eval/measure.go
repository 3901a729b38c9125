package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/foldgate/foldgate/compression"
)

// result is everything that is measured of a file.
type result struct {
	file    *file
	cells   [len(budgets)]cell // under the one setting
	shipped [len(budgets)]cell // under the product's defaults
	shapes  [len(budgets)]shape
	costs   [len(unrelatedWords)]cost
	extra   tally // of the folds behind costs
	growth  []growth
	counts  estimates
}

// What is measured beside recall.
const (
	unrelatedAt  = 25 // percent
	growthTurns  = 50
	coldRuns     = 3
	growthLeast  = 50 // turns that a conversation must have had
	growthTight  = 10 // percent of the whole conversation, as a budget
	growthNormal = 25
)

// quick measures recall alone.
func quick(f *file, one, defaults *bench) (result, error) {
	out := result{file: f}
	var err error
	for i, percent := range budgets {
		if out.cells[i], err = one.recall(f, percent); err != nil {
			return result{}, fmt.Errorf("%d %%: %w", percent, err)
		}
		if out.shipped[i], err = defaults.recall(f, percent); err != nil {
			return result{}, fmt.Errorf("%d %%, defaults: %w", percent, err)
		}
	}
	return out, nil
}

// full measures everything of a file.
func full(f *file, one, defaults *bench) (result, error) {
	out, err := quick(f, one, defaults)
	if err != nil {
		return result{}, err
	}
	for i, percent := range budgets {
		p := one.plans(f.conversation, shareOf(f.conversation, percent), false)
		out.shapes[i] = shapeOf(f.view.Deterministic(p.budget, p.settings, nil), f.said())
		if out.cells[i].cold, err = cold(f, one.plans, percent); err != nil {
			return result{}, fmt.Errorf("time at %d %%: %w", percent, err)
		}
	}
	for i, word := range unrelatedWords {
		if out.costs[i], err = one.unrelated(f, word, unrelatedAt, &out.extra); err != nil {
			return result{}, fmt.Errorf("%q: %w", word, err)
		}
	}
	for _, percent := range []int{growthTight, growthNormal} {
		g, err := defaults.grow(f, shareOf(f.conversation, percent), growthTurns)
		if err != nil {
			return result{}, fmt.Errorf("growing in %d %%: %w", percent, err)
		}
		if g.turns >= growthLeast {
			out.growth = append(out.growth, g)
		}
	}
	list, err := exchanges(f, one.memo)
	if err != nil {
		return result{}, err
	}
	out.counts, err = estimated(list)
	return out, err
}

// cold is how long it takes to read and fold a request of which nothing is
// known yet: the median of some runs, each with an empty memo.
func cold(f *file, plans planner, percent int) (time.Duration, error) {
	budget := shareOf(f.conversation, percent)
	var runs []time.Duration
	for range coldRuns {
		begin := time.Now()
		c, err := newView(f.body, compression.NewMemo(memoEntries))
		if err != nil {
			return 0, err
		}
		p := plans(c, budget, true)
		if _, err := c.view.Fold(c.view.Deterministic(p.budget, p.settings, nil), p.budget); err != nil && !unfit(err) {
			return 0, fmt.Errorf("fold: %w", err)
		}
		runs = append(runs, time.Since(begin))
	}
	slices.Sort(runs)
	return runs[len(runs)/2], nil
}

// named is what one file tells of identifiers needed after a real compaction.
type named struct {
	of       int // such identifiers
	summary  int // in the summary that the recorded client wrote
	handoffs [len(handoffSizes)]compression.Handoff
	found    [len(handoffSizes)]int
}

// recordedSize is the size of the recorded summary, in bytes.
const recordedSize = 4_236

// handoffSizes are the sizes of text, in bytes, at which they are looked for.
var handoffSizes = [...]int{2_000, recordedSize, 8_000, 16_000, 32_000}

// needed measures a file with a recorded compaction.
func needed(f *file, memo *compression.Memo) (named, error) {
	names := neededLater(f)
	out := named{of: len(names), summary: held(names, f.facts.summary)}
	for i, size := range handoffSizes {
		h, err := atSize(f, f.facts.firstOld, size, memo)
		if err != nil {
			return named{}, fmt.Errorf("a handoff of %d bytes: %w", size, err)
		}
		out.handoffs[i], out.found[i] = h, held(names, h.Text)
	}
	return out, nil
}

// total is what of all folds broke a hard rule.
func total(results []result) tally {
	var t tally
	for i := range results {
		r := &results[i]
		for k := range budgets {
			t.add(r.cells[k].tally)
			t.add(r.shipped[k].tally)
		}
		t.add(r.extra)
	}
	return t
}

// loose is how many bytes of forwarded prefixes changed without a fold.
func loose(results []result) int {
	n := 0
	for i := range results {
		for _, g := range results[i].growth {
			n += g.loose
		}
	}
	return n
}
