package main

import (
	"context"
	"errors"
	"fmt"
)

// summarizerScenarios break whoever writes the summaries. Every caller gets its
// answer, folded without a model where there is no summary.
func summarizerScenarios() []scenario {
	list := []scenario{{name: "summarizer refuses connections", during: func(ctx context.Context, w *world) error {
		w.summaryLink.set(fault{refuse: true})
		defer w.summaryLink.set(fault{})
		return w.dwellUntil(ctx, "200 fallback")
	}}}
	for _, m := range []struct{ mode, what, until string }{
		{"error", "summarizer answers 500", "200 fallback"},
		{"redirect", "summarizer redirects", "200 fallback"},
		{"reset", "summarizer resets", "200 fallback"},
		{"garbage", "summarizer speaks no HTTP", "200 fallback"},
		{"trickle", "summarizer trickles", "200 committed"},
		{"never", "summarizer never answers", "200 fallback"},
		{"broken", "summarizer breaks off in the middle", "200 fallback"},
		{"short", "summarizer sends less than it announced", "200 fallback"},
		{"huge", "summarizer answers with a gigabyte", "200 fallback"},
	} {
		list = append(list, scenario{name: m.what, during: func(ctx context.Context, w *world) error {
			w.summary.set(m.mode)
			defer w.summary.set("")
			if err := w.dwellUntil(ctx, m.until); err != nil {
				return err
			}
			// The gateway hangs up long before: a summary that long is none.
			if most := w.summary.sent.Load(); most >= w.options.huge {
				return errors.New("a gigabyte was read as a summary")
			}
			return nil
		}})
	}
	for i := range list {
		list[i].group = "summarizer"
	}
	return list
}

// dwellUntil is dwell, and until a caller has seen that.
func (w *world) dwellUntil(ctx context.Context, seen string) error {
	led := w.at.Load()
	from := led.has(seen)
	if err := w.dwell(ctx); err != nil {
		return err
	}
	return until(ctx, "an answer of "+seen, func() error {
		if led.has(seen) == from {
			return fmt.Errorf("none: %s", led.told())
		}
		return nil
	})
}
