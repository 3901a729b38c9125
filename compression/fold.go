package compression

import (
	"errors"
	"fmt"

	"github.com/foldgate/foldgate/compression/window"
)

// ErrForeign says that the handoff does not stand for messages of this request, or not at
// a place where it may be cut. It is a mistake of the caller.
var ErrForeign = errors.New("compression: the handoff is not of this conversation")

// Fold is the request with the covered messages replaced by the handoff, and
// recalled passages before the last user message where the budget has room for
// them and something of the middle bears on it, through the exit gate. A handoff
// that covers nothing gives Unfolded. Every byte that is neither replaced nor
// shrunk is as it came. What is recalled is measured in the handoff's own step
// (where it has one), so it stays the same when the correction moves.
//
// Errors: ErrForeign; *UnfitError where even the lower bound of the smallest
// form is over the window's input limit, and then Folded is that form all the
// same. Where that is not so but usable, or the limit of bytes, is still
// exceeded, Fits is false and there is no error.
func (v *View) Fold(h Handoff, b window.Budget) (Folded, error) {
	v.Open()
	if h.Covered == 0 {
		return v.Unfolded(b)
	}
	if h.Covered < 0 || h.Covered >= v.Len() || !v.cuts()[h.Covered] || v.Chain(h.Covered) != h.Digest {
		return Folded{}, fmt.Errorf("folding %d of %d messages: %w", h.Covered, v.Len(), ErrForeign)
	}
	if h.Step >= 1 {
		b.Step = h.Step // a conversation takes a new one only at a fold
	}
	text := h.Text
	if v.needsWord(text, h.Covered) {
		text += frameJSON1
	}
	return v.newGate(h.Covered, text, v.recall(h, b), b).pass()
}

// Unfolded is the request as it is, through the exit gate: for requests of which
// nothing can be covered, or that are longer in bytes, not in tokens, than the
// upstream takes. A request that fits comes back as the same bytes. The errors are
// those of Fold.
func (v *View) Unfolded(b window.Budget) (Folded, error) {
	v.Open()
	return v.newGate(0, "", recall{}, b).pass()
}

// pass shrinks what does not fit and writes it.
func (g *gate) pass() (Folded, error) {
	g.shrink()
	body, err := g.body()
	if err != nil {
		return Folded{}, fmt.Errorf("writing the folded request: %w", err)
	}
	f := Folded{
		Body:     body,
		Tokens:   g.budget.Corrected(g.total.tokens),
		Counted:  g.total.tokens,
		Covered:  g.first - g.v.Head,
		Recalled: len(g.recall.best),
		Shrunk:   g.shrunkMessages(),
		Fits:     g.fits(),
	}
	if g.within(byTokens) {
		return f, nil
	}
	if unfit := g.unfit(); unfit != nil {
		return f, unfit
	}
	return f, nil
}

// shrunkMessages counts the messages that are not sent whole, the handoff as one.
func (g *gate) shrunkMessages() int {
	n := 0
	whole := func(f form) bool { return f.text == 0 && f.args == 0 && f.media == 0 }
	for _, f := range g.forms {
		if !whole(f) {
			n++
		}
	}
	if g.carrier.copied && !whole(g.copy) {
		n++
	}
	if g.handoffCut {
		n++
	}
	return n
}

// unfit compares the lower bound of what is left with the input limit.
func (g *gate) unfit() *UnfitError {
	limit := g.budget.Input
	if limit <= 0 {
		limit = g.budget.Total
	}
	if limit <= 0 {
		return nil
	}
	var head, tools, user, sum Tokens
	for i := range g.v.Head {
		head += g.v.least(&g.v.Messages[i], form{})
	}
	for i := range g.v.extras {
		if raw := g.v.extraSpan(i).Of(g.v.Body); len(raw) > 0 {
			tools += leastOf(raw, int(g.v.extra(i, knowsReference).reference))
		}
	}
	sum = head + tools
	for k, f := range g.forms {
		sum += g.v.least(&g.v.Messages[g.first+k], f)
		if g.first+k == g.user {
			user = g.v.least(&g.v.Messages[g.user], f.bare())
		}
	}
	if g.carrier.copied {
		sum += g.v.least(&g.v.Messages[g.carrier.source], g.copy)
		if g.carrier.source == g.user {
			user = g.v.least(&g.v.Messages[g.user], g.copy.bare())
		}
	} else if g.first > g.v.Head && g.carrier.source < 0 {
		sum += leastOf([]byte(g.handoff), g.v.counter.Count([]byte(g.handoff)))
	}
	if sum <= limit {
		return nil
	}
	e := &UnfitError{Part: "messages", Least: sum, Limit: limit}
	switch {
	case user > limit:
		e.Part, e.Least = "the last user message", user
	case head > limit:
		e.Part, e.Least = "system messages", head
	case tools > limit:
		e.Part, e.Least = "tools", tools
	}
	return e
}
