package middleware

import (
	"context"
	"errors"

	"github.com/foldgate/foldgate/compression"
	"github.com/foldgate/foldgate/compression/window"
	"github.com/foldgate/foldgate/ownership"
)

// candidate is the request folded with a checkpoint.
type candidate struct {
	checkpoint ownership.Checkpoint
	handoff    compression.Handoff
	folded     compression.Folded
	// trimmed: what the exit gate shrank, it shrank for the limit of bytes alone.
	trimmed bool
	// unfit: with this handoff no form of the request can fit.
	unfit bool
}

// whole reports whether the candidate fits the window without the exit gate's
// help. What was shrunk for its bytes alone is no ground for another summary.
func (c *candidate) whole() bool {
	return c != nil && c.folded.Fits && (c.folded.Shrunk == 0 || c.trimmed)
}

// stayFolded serves a conversation that this replica has forwarded folded from
// what the replica holds, without a store call.
func (x *exchange) stayFolded() (plan, bool) {
	held, ok := x.m.held.get(x.key)
	if !ok || !held.forwarded || x.m.cfg.Mode == ModeObserve {
		return plan{}, false
	}
	c := x.candidate(held)
	if !c.whole() || c.folded.Tokens > x.budget.Trigger {
		return plan{}, false
	}
	x.readBeside()
	return x.use(c, kindReused, ""), true
}

// readBeside has the store asked, now and then and beside the request, whether
// what this replica holds still stands.
func (x *exchange) readBeside() {
	if !x.m.held.old(x.key) {
		return
	}
	m, key := x.m, x.key
	ctx, cancel := detached(x.ctx())
	m.background.Go(func() {
		defer cancel()
		held, _ := m.held.get(key)
		v, err := m.cfg.Store.Read(ctx, key, held.known())
		if err != nil {
			m.storeAnswer("read", err)
			return
		}
		m.held.replace(key, v.State.Checkpoints)
	})
}

// candidate folds the request with the newest checkpoint that matches; nil if
// none does.
func (x *exchange) candidate(held heldConversation) *candidate {
	cp, ok := x.m.match(held, x.view)
	if !ok {
		return nil
	}
	return x.with(cp)
}

func (x *exchange) with(cp ownership.Checkpoint) *candidate {
	c := &candidate{checkpoint: cp, handoff: handoffOf(cp)}
	b := x.budgetFor(&c.handoff)
	bytes := b.Bytes
	b.Bytes = 0
	if !c.fold(x.view, b) {
		return nil
	}
	if bytes > 0 && int64(len(c.folded.Body)) > bytes {
		b.Bytes, c.trimmed = bytes, c.whole()
		if !c.fold(x.view, b) {
			return nil
		}
	}
	return c
}

// fold makes the candidate's request; false where the handoff is not of this
// conversation.
func (c *candidate) fold(v *compression.View, b window.Budget) bool {
	var err error
	c.folded, err = v.Fold(c.handoff, b)
	var unfit *compression.UnfitError
	c.unfit = errors.As(err, &unfit)
	return err == nil || c.unfit
}

// use forwards a candidate.
func (x *exchange) use(c *candidate, kind, reason string) plan {
	p := x.send(c.folded, &c.handoff, kind, reason)
	p.checkpoint = c.checkpoint
	return p
}

// send forwards a body folded with h.
func (x *exchange) send(f compression.Folded, h *compression.Handoff, kind, reason string) plan {
	x.report.After, x.covered = f.Tokens, f.Covered
	x.trace.recalled, x.trace.shrunk = f.Recalled, f.Shrunk
	p := plan{kind: kind, reason: reason, body: f.Body, sent: f.Counted, covered: f.Covered, hold: true}
	if f.Shrunk == 0 { // what is shrunk next time is another part of it
		p.size = x.sizeOf(h)
	}
	return p
}

// fold is steps 4 to 7 for a request over the trigger.
func (x *exchange) fold() (plan, error) {
	x.endTurn()
	held, readErr := x.readStore()
	if err := x.ctx().Err(); err != nil {
		return plan{}, err // the caller left: nothing is begun for it
	}
	if err := x.takeTurn(); err != nil {
		return plan{}, err
	}
	c := x.candidate(held)
	if c.whole() && c.folded.Tokens <= x.budget.Trigger {
		return x.use(c, kindReused, ""), nil
	}
	from := 0
	if c != nil {
		from = c.checkpoint.Covered
	}
	covered, ok := x.view.Target(x.budget, x.m.cfg.Settings, from)
	if !ok {
		return x.withoutAttempt(c)
	}
	if p, ok := x.now(c); ok {
		if x.m.cfg.Prepare {
			x.background(x.ask(c, covered))
		}
		return p, nil
	}
	return x.wait(c, covered, readErr)
}

// now is what can be forwarded at once, while a summary is prepared: the
// candidate if there is one, else the original, provided that it fits.
func (x *exchange) now(c *candidate) (plan, bool) {
	if c.whole() {
		return x.use(c, kindReused, reasonFits), true
	}
	if c == nil && x.report.Before <= x.budget.Usable {
		return x.original(reasonFits), true
	}
	return plan{}, false
}

// withoutAttempt forwards a request of which nothing more can be folded: as it
// is, where it fits, or shrunk by the exit gate.
func (x *exchange) withoutAttempt(c *candidate) (plan, error) {
	if p, ok := x.now(c); ok {
		return p, nil
	}
	if c != nil && !c.unfit {
		return x.use(c, kindReused, reasonIneffective), nil
	}
	return x.fallback(c, reasonIneffective)
}

// fallback folds without a model (5.4), on top of a checkpoint if one matches.
func (x *exchange) fallback(c *candidate, reason string) (plan, error) {
	var prev *compression.Handoff
	budget := x.budget
	if c != nil {
		prev = &c.handoff
		budget.Step = max(budget.Step, c.handoff.Step)
	}
	h := x.view.Deterministic(budget, x.m.cfg.Settings, prev)
	folded, err := foldOrShrink(x.view, h, x.budgetFor(&h))
	if err == nil {
		return x.send(folded, &h, kindFallback, reason), nil
	}
	var unfit *compression.UnfitError
	if !errors.As(err, &unfit) || x.refuses() {
		return plan{}, err
	}
	if x.limits.Source == window.Default { // a guess, which refuses nobody
		return x.send(folded, &h, kindFallback, reason), nil
	}
	// The limit may be wrong: this one request asks the upstream.
	p := x.original(reasonFits)
	p.hold, p.checking = true, true
	return p, nil
}

// foldOrShrink folds where there is something to fold, else only shrinks.
func foldOrShrink(v *compression.View, h compression.Handoff, b window.Budget) (compression.Folded, error) {
	if h.Covered == 0 {
		return v.Unfolded(b)
	}
	return v.Fold(h, b)
}

// refuses reports whether a request that cannot fit is answered with 400. A
// default window is a guess and never refuses; a configured one always does;
// another is checked against the upstream once an hour.
func (x *exchange) refuses() bool {
	switch x.limits.Source {
	case window.Config:
		return true
	case window.Advertised, window.Learned, window.Table:
		return !x.m.cfg.Book.CheckDue(x.scope, x.envelope.Model, x.start)
	default:
		return false
	}
}

// readStore is the one round trip of step 4. A store that cannot be read leaves
// what this replica holds.
func (x *exchange) readStore() (heldConversation, error) {
	held, _ := x.m.held.get(x.key)
	ctx, cancel := context.WithTimeout(x.ctx(), storeTimeout)
	defer cancel()
	ctx, end := x.m.operation(ctx, "read", ownership.Fence{})
	v, err := x.m.cfg.Store.Read(ctx, x.key, held.known())
	end("read", err)
	if err != nil {
		if x.ctx().Err() == nil {
			x.m.cfg.Observer.StoreError("read", err)
		}
		return held, err
	}
	return x.m.held.replace(x.key, v.State.Checkpoints), nil
}
