package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/foldgate/foldgate/compression"
	"github.com/foldgate/foldgate/compression/chat"
	"github.com/foldgate/foldgate/compression/window"
)

// score is how many of the facts that count are still found.
type score struct{ found, of int }

// share is the recall; ok is false where nothing counts.
func (s score) share() (recall float64, ok bool) {
	if s.of == 0 {
		return 0, false
	}
	return float64(s.found) / float64(s.of), true
}

func (s *score) add(found bool) {
	s.of++
	if found {
		s.found++
	}
}

// method is a column of the table.
type method int

// The columns.
const (
	byDropOldest method = iota
	byDropMiddle
	byFold
	byRecall
	byModel
	byNoIndex
	methods
)

func (m method) String() string {
	return [methods]string{"drop oldest", "drop middle", "fold", "fold + recall", "stub model", "no index"}[m]
}

// texts is what each method leaves of a conversation.
type texts [methods]string

// cell is a file at one budget.
type cell struct {
	budget window.Tokens // of the whole conversation
	scores [methods]score
	tally  tally
	cold   time.Duration // the whole conversation, nothing remembered
}

// bench measures under one setting. What two measurements share is in it.
type bench struct {
	memo  *compression.Memo
	plans planner
}

// recall measures a file at a share of its tokens, in percent.
func (b *bench) recall(f *file, percent int) (cell, error) {
	out := cell{budget: shareOf(f.conversation, percent)}
	if err := b.atTheEnd(f, &out); err != nil {
		return cell{}, err
	}
	if len(f.facts.reuses) == 0 {
		return out, nil
	}
	for _, n := range stops(f.texts, f.canEnd) {
		c, err := f.until(n, b.memo)
		if err != nil {
			return cell{}, fmt.Errorf("stop after %d messages: %w", n, err)
		}
		if err := b.atAStop(c, neededAfter(n, f.facts.reuses, f.texts), percent, &out); err != nil {
			return cell{}, fmt.Errorf("stopped after %d messages: %w", n, err)
		}
	}
	return out, nil
}

// shareOf is a budget: a share, in percent, of what the product counts for the
// messages, with their framing, and beside it the tools and the response format,
// which stay as they are whatever is done to the messages.
func shareOf(c conversation, percent int) window.Tokens {
	beside := beside(c)
	return (c.view.Total()-beside)*window.Tokens(percent)/100 + beside
}

// beside is what a request costs beside its messages.
func beside(c conversation) window.Tokens {
	v := c.view
	return v.TextTokens(string(v.Tools.Of(v.Body))) + v.TextTokens(string(v.ResponseFormat.Of(v.Body)))
}

// canEnd reports whether the first n messages are a request as clients send it:
// the last is a user's or a result, and no result of its calls is yet to come.
func (f *file) canEnd(n int) bool {
	if n >= len(f.texts) {
		return true
	}
	last, next := f.view.Messages[n-1].Role, f.view.Messages[n].Role
	return !next.Result() && (last.Result() || last == chat.RoleUser)
}

// leave folds a conversation by every method. ok is false where its head leaves
// no room worth dividing.
func (b *bench) leave(c conversation, budget window.Tokens, out *cell) (left texts, cut int, ok bool, err error) {
	oldest := dropOldest(c, budget)
	if !oldest.ok {
		return texts{}, 0, false, nil
	}
	left[byDropOldest], left[byDropMiddle] = oldest.text, dropMiddle(c, budget).text
	without, with := b.plans(c, budget, false), b.plans(c, budget, true)
	h := c.view.Deterministic(without.budget, without.settings, nil)
	bare, _ := withoutIndex(h)
	model, made := stubFold(c, without)
	if !made {
		model = h // as the product would
	}
	for _, x := range []struct {
		by      method
		handoff compression.Handoff
		plan    plan
	}{
		{byFold, h, without},
		{byNoIndex, bare, without},
		{byModel, model, without},
		{byRecall, c.view.Deterministic(with.budget, with.settings, nil), with},
	} {
		if left[x.by], err = b.fold(c, x.handoff, x.plan, "", &out.tally); err != nil {
			return texts{}, 0, false, fmt.Errorf("%s: %w", x.by, err)
		}
	}
	return left, oldest.cut, true, nil
}

// fold folds, judges what comes of it, and is what of it can be searched.
func (b *bench) fold(c conversation, h compression.Handoff, p plan, asked string, t *tally) (string, error) {
	f, err := foldWith(c, h, p, asked)
	if err != nil {
		return "", err
	}
	return f.text, b.judge(c, f, p, t)
}

// atTheEnd measures literals and questions: those whose first evidence lies
// before the cut that dropping the oldest makes.
func (b *bench) atTheEnd(f *file, out *cell) error {
	if len(f.facts.literals)+len(f.facts.questions) == 0 {
		return nil
	}
	left, cut, ok, err := b.leave(f.conversation, out.budget, out)
	if err != nil || !ok {
		return err
	}
	for _, l := range f.facts.literals {
		if l.first < cut {
			out.add(left, func(text string) bool { return strings.Contains(text, l.value) })
		}
	}
	var h *compression.Handoff // the same for all: it covers what comes before them
	for _, q := range f.facts.questions {
		if q.first >= cut {
			continue
		}
		c, err := f.asking(q.text, q.user, b.memo)
		if err != nil {
			return err
		}
		p := b.plans(c, out.budget, true)
		if h == nil {
			made := c.view.Deterministic(p.budget, p.settings, nil)
			h = &made
		}
		if left[byRecall], err = b.fold(c, *h, p, q.text, &out.tally); err != nil {
			return fmt.Errorf("asking %q: %w", q.text, err)
		}
		out.add(left, q.answered)
	}
	return nil
}

// atAStop measures the identifiers that a stopped conversation needs later.
func (b *bench) atAStop(c conversation, needed []string, percent int, out *cell) error {
	if len(needed) == 0 {
		return nil
	}
	left, _, ok, err := b.leave(c, shareOf(c, percent), out)
	if err != nil || !ok {
		return err
	}
	for _, value := range needed {
		out.add(left, func(text string) bool { return strings.Contains(text, value) })
	}
	return nil
}

// add counts one fact for every method.
func (c *cell) add(left texts, found func(string) bool) {
	for m := range left {
		c.scores[m].add(found(left[m]))
	}
}
