package main

import (
	"bytes"
	"fmt"

	"github.com/foldgate/foldgate/compression"
	"github.com/foldgate/foldgate/compression/chat"
	"github.com/foldgate/foldgate/compression/window"
)

// growth is how the forwarded bytes behave while a conversation grows.
type growth struct {
	turns int
	folds int // turns at which what is covered changed, the first fold included
	// loose are bytes that changed, between two turns of which the second was no
	// fold, before the end of the first one's handoff. They must be none.
	loose int
	// rewritten are the bytes of forwarded messages that were another way in the
	// turn before, or were not at the same place: what no prompt cache can serve.
	// forwarded are all bytes of messages that were sent a turn before.
	rewritten, forwarded int
	budget               window.Tokens
}

// sent is what one turn forwarded.
type sent struct {
	messages []byte // the array, from its bracket on
	covered  int
	handoff  int // where the handoff ends in it; 0: there is none
}

// grow folds the last most turns of a conversation, each as it came, under one
// budget. Every turn is folded from nothing, as a replica would that sees the
// conversation for the first time.
func (b *bench) grow(f *file, budget window.Tokens, most int) (growth, error) {
	var ends []int
	for n := 1; n <= len(f.texts); n++ {
		if f.canEnd(n) {
			ends = append(ends, n)
		}
	}
	ends = ends[max(0, len(ends)-most):]
	out := growth{budget: budget}
	var last sent
	for _, n := range ends {
		c, err := f.until(n, b.memo)
		if err != nil {
			return growth{}, err
		}
		s, err := b.send(c, budget)
		if err != nil {
			return growth{}, fmt.Errorf("turn of %d messages: %w", n, err)
		}
		if out.turns++; out.turns > 1 {
			out.step(last, s)
		} else if s.covered > 0 {
			out.folds++
		}
		last = s
	}
	return out, nil
}

// step compares a turn with the one before it.
func (g *growth) step(before, now sent) {
	same := common(before.messages, now.messages)
	g.forwarded += len(before.messages)
	g.rewritten += max(0, len(before.messages)-1-same) // less the bracket that closes
	if now.covered != before.covered {
		g.folds++
		return
	}
	g.loose += max(0, before.handoff-same)
}

// send is what is forwarded of a conversation: itself while it is under the
// trigger, else its fold.
func (b *bench) send(c conversation, budget window.Tokens) (sent, error) {
	p := b.plans(c, budget, true)
	body, h := c.body, compression.Handoff{}
	if c.view.Total() > p.budget.Trigger {
		h = c.view.Deterministic(p.budget, p.settings, nil)
		f, err := foldWith(c, h, p, "")
		if err != nil {
			return sent{}, err
		}
		body = f.folded.Body
	}
	r, err := parse(body)
	if err != nil {
		return sent{}, err
	}
	out := sent{messages: r.Envelope.Messages.Of(body), covered: h.Covered}
	if h.Covered > 0 {
		text := chat.QuoteInner(nil, h.Text)
		if at := bytes.Index(out.messages, text); at >= 0 {
			out.handoff = at + len(text)
		}
	}
	return out, nil
}

// common is how many bytes two texts begin with alike.
func common(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
