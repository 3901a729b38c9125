package main

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/foldgate/foldgate/compression"
	"github.com/foldgate/foldgate/compression/window"
)

// exchange is one request of a recording with what was reported for it.
type exchange struct {
	counted  window.Tokens // by the reference count
	reported window.Tokens
	grows    bool // it begins with the one before it
	media    bool // it holds what is no text; the product learns nothing from it
}

// near is the distance, in percent, that an estimate should keep.
const near = 10

// distance is how far estimates lie from what was reported, in percent.
type distance struct {
	of, near   int // requests, and those that are within near
	sum, worst float64
}

func (d *distance) add(estimate, reported window.Tokens) {
	off := 100 * math.Abs(float64(estimate-reported)) / math.Max(1, float64(reported))
	d.of++
	if off <= near {
		d.near++
	}
	d.sum += off
	d.worst = math.Max(d.worst, off)
}

func (d *distance) String() string {
	if d.of == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f (%.1f), %d of %d", d.sum/float64(d.of), d.worst, d.near, d.of)
}

// estimates are the distances of one file.
type estimates struct {
	before    distance // by the count alone
	corrected distance // the responses before told their usage: by the correction alone
	after     distance // the same, with the exact count of the part that was sent before
}

// exchanges are the recorded counts of a file, oldest first.
func exchanges(f *file, memo *compression.Memo) ([]exchange, error) {
	var out []exchange
	add := func(from, to, reported int) error {
		if to <= from || to > len(f.texts) {
			return nil
		}
		c, err := f.between(from, to, memo)
		if err != nil {
			return fmt.Errorf("messages %d to %d: %w", from, to, err)
		}
		counted := c.view.For(c.view.Model).Total() // pictures by the family's price, as requests are measured
		out = append(out, exchange{counted, window.Tokens(reported), from == 0 && len(out) > 0, c.view.Opaque})
		return nil
	}
	for _, r := range f.facts.counts {
		if err := add(r.From, max(r.Before, r.Answer), r.Prompt); err != nil {
			return nil, err
		}
	}
	sum := 0
	for i, n := range f.facts.perEach {
		if i > 0 && i < len(f.texts) && f.canEnd(i) {
			if err := add(0, i, sum); err != nil {
				return nil, err
			}
		}
		sum += n
	}
	return out, nil
}

// between is the messages from one to another as a request of their own.
func (c conversation) between(from, to int, memo *compression.Memo) (conversation, error) {
	ms := c.view.Messages
	start := c.view.Envelope.Messages.Start + 1
	body := slices.Concat(c.body[:start], c.body[ms[from].Span.Start:ms[to-1].Span.End], c.body[c.view.Envelope.Messages.End-1:])
	return c.other(body, memo)
}

// estimated compares the estimates for a file's requests with its records. The
// first request has no response before it and counts for "before" only.
func estimated(list []exchange) (estimates, error) {
	book, err := window.NewBook(window.BookConfig{})
	if err != nil {
		return estimates{}, fmt.Errorf("open the windows: %w", err)
	}
	scope, model := window.Scope{Upstream: "eval"}, "recorded"
	var out estimates
	var last *exchange
	for i := range list {
		x := &list[i]
		out.before.add(x.counted, x.reported)
		if last != nil {
			c := book.Correction(scope, model)
			b := window.Budget{Correction: c, Step: window.Step(c)}
			out.corrected.add(b.Corrected(x.counted), x.reported)
			if x.grows {
				b.Known = window.Known{Counted: last.counted, Reported: last.reported}
			}
			out.after.add(b.Corrected(x.counted), x.reported)
		}
		if last = x; !x.media {
			book.Observe(scope, model, window.Observation{Counted: x.counted, Reported: x.reported, At: time.Unix(int64(i), 0)})
		}
	}
	return out, nil
}
