package middleware

import (
	"cmp"
	"errors"
	"net/http"
	"time"

	"github.com/foldgate/foldgate/compression/refusal"
	"github.com/foldgate/foldgate/compression/window"
	"github.com/foldgate/foldgate/ownership"
)

// forwarded notes that the conversation left folded.
func (x *exchange) forwarded(p plan) {
	if p.covered > 0 {
		x.m.held.markForwarded(x.key)
	}
}

// accepted notes that the upstream took a request: the checkpoint that it used
// is proven. Settling goes on beside the streaming and never delays it.
func (x *exchange) accepted(p plan) {
	x.taken = true
	if x.limits.Bytes > 0 {
		x.m.cfg.Book.AcceptedBytes(x.scope, x.envelope.Model, int64(len(x.wire(p))), x.start)
	}
	cp := p.checkpoint
	if cp.Fence.Unfenced() || cp.Settled && !x.m.held.due(x.key) {
		return
	}
	ctx, cancel := detached(x.ctx())
	x.m.background.Go(func() {
		defer cancel()
		ctx, end := x.m.operation(ctx, "settle", cp.Fence)
		done, err := x.m.cfg.Store.Settle(ctx, x.key, cp.Fence)
		end(done.String(), err)
		if err == nil || isFinal(err) {
			x.m.held.markSettled(x.key, cp.Fence) // nobody can settle or restore it any more
		}
		x.m.storeAnswer("settle", err)
	})
}

// blame takes a checkpoint back that the upstream refused although it takes the
// conversation without it.
func (x *exchange) blame(cp ownership.Checkpoint) {
	if cp.Fence == (ownership.Fence{}) {
		return
	}
	x.m.refused.Add(cp.Fence, struct{}{})
	x.m.held.drop(x.key)
	if cp.Fence.Unfenced() {
		return
	}
	ctx, cancel := detached(x.ctx())
	defer cancel()
	charge := &ownership.Failure{Class: "refused_by_upstream", Climb: true}
	ctx, end := x.m.operation(ctx, "restore", cp.Fence)
	done, err := x.m.cfg.Store.Restore(ctx, x.key, cp.Fence, charge)
	if errors.Is(err, ownership.ErrIndeterminate) {
		done, err = x.m.cfg.Store.Restore(ctx, x.key, cp.Fence, charge)
	}
	end(done.String(), err)
	x.traceRestore(cp.Fence, cmp.Or(ownership.AnswerOf(err), done.String()))
	x.m.storeAnswer("restore", err)
}

// storeAnswer sorts what a store call came to.
func (m *Middleware) storeAnswer(operation string, err error) {
	switch {
	case err == nil:
	case isFinal(err):
		m.cfg.Observer.Refused(operation, err)
	default:
		m.cfg.Observer.StoreError(operation, err)
	}
}

func isFinal(err error) bool {
	return errors.Is(err, ownership.ErrSuperseded) || errors.Is(err, ownership.ErrLost) || errors.Is(err, ownership.ErrEnded)
}

// learnFrom feeds what an answer told about sizes to the book.
func (x *exchange) learnFrom(p plan, t *trial) {
	if x.report.Status < http.StatusOK || x.report.Status >= http.StatusMultipleChoices {
		return
	}
	if x.ctx().Err() != nil || t.missed.found.Kind != refusal.None {
		return // cut off, or an error after all: half an answer proves nothing
	}
	usage, ok := t.tap.Usage()
	now := time.Now()
	if ok {
		reported := window.Tokens(usage.PromptTokens)
		believed := true
		if !x.envelope.Opaque { // images say nothing about the vocabulary
			believed = x.m.cfg.Book.Observe(x.scope, x.envelope.Model, window.Observation{Counted: p.sent, Reported: reported, At: now})
		}
		if believed { // what a server cut is not remembered as the whole
			x.remember(p.size, p.sent, reported)
		}
		x.m.cfg.Book.AcceptedAbove(x.scope, x.envelope.Model, reported, now)
		return
	}
	if p.checking {
		x.m.cfg.Book.AcceptedAbove(x.scope, x.envelope.Model, x.budget.Corrected(p.sent), now)
	}
}
