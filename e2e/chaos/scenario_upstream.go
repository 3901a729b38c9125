package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// plan is one way for the upstream to fail, and what a caller has to see of it. It
// is asked for by single requests, beside a load of others that must not notice.
type plan struct {
	name  string
	what  string
	wants []string // outcomes
	only  string   // "stream" or "whole"; empty: both
}

func plans() []plan {
	return []plan{
		{name: "error", what: "upstream answers 500", wants: []string{"500 as the upstream sent it"}},
		{name: "redirect", what: "upstream redirects", wants: []string{"307 as the upstream sent it"}},
		{name: "reset", what: "upstream resets", wants: []string{"502 upstream_unreachable"}},
		{name: "garbage", what: "upstream speaks no HTTP", wants: []string{"502 upstream_unreachable"}},
		{name: "trickle", what: "upstream trickles", wants: []string{kindAnswered}},
		{name: "never", what: "upstream never answers", wants: []string{"504 upstream_timeout"}},
		// A reset may overtake what was sent before it: then there is no head.
		{name: "broken", what: "upstream breaks off in the middle", wants: []string{kindCut, "502 upstream_unreachable"}},
		{name: "silent", what: "upstream falls silent in the middle", wants: []string{kindCut}, only: "stream"},
		{name: "short", what: "upstream sends less than it announced", wants: []string{kindCut, "502 upstream_unreachable"}},
		{name: "long", what: "upstream sends more than it announced", wants: []string{kindAnswered}, only: "whole"},
		{name: "huge", what: "upstream answers with a gigabyte", wants: []string{kindAnswered}, only: "whole"},
	}
}

func upstreamScenarios() []scenario {
	list := []scenario{{
		name:  "upstream refuses connections",
		allow: func(_ question, o outcome) bool { return o.kind == "502 upstream_unreachable" || o.kind == kindCut },
		during: func(ctx context.Context, w *world) error {
			w.upstreamLink.set(fault{refuse: true})
			defer w.upstreamLink.set(fault{})
			return w.dwell(ctx)
		},
	}}
	for _, p := range plans() {
		list = append(list, scenario{
			name:   p.what,
			allow:  func(q question, o outcome) bool { return q.plan == p.name && slices.Contains(p.wants, o.kind) },
			during: p.play,
		})
	}
	for i := range list {
		list[i].group = "upstream"
	}
	return list
}

// play asks for the plan with a small request and with one that is folded, as a
// stream and whole, all at once.
func (p plan) play(ctx context.Context, w *world) error {
	var all sync.WaitGroup
	wrong := make(chan string, 64*w.options.repeats)
	repeats := w.options.repeats
	if p.name == "huge" {
		repeats = 1
	}
	for range repeats {
		for _, turns := range []int{smallTurns, oversizeTurns} {
			for _, stream := range []bool{false, true} {
				if stream && p.only == "whole" || !stream && p.only == "stream" {
					continue
				}
				q := question{conv: w.registry.make(1), turns: turns, stream: stream, plan: p.name}
				all.Go(func() {
					o := w.send(q, func(_ question, o outcome) bool { return slices.Contains(p.wants, o.kind) })
					if p.name == "huge" && o.bytes < w.options.huge {
						wrong <- fmt.Sprintf("%d bytes of a long answer: %s %s", o.bytes, o.kind, o.detail)
					}
					if o.ok() && !slices.Contains(p.wants, kindAnswered) {
						wrong <- fmt.Sprintf("plan %q was answered with 200", p.name)
					}
				})
			}
		}
	}
	all.Wait()
	close(wrong)
	for text := range wrong {
		w.at.Load().isWrong("%s", text)
	}
	return nil
}
