package middleware

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/foldgate/foldgate/compression"
	"github.com/foldgate/foldgate/compression/llm"
	"github.com/foldgate/foldgate/compression/refusal"
	"github.com/foldgate/foldgate/compression/window"
	"github.com/foldgate/foldgate/ownership"
)

// summary is one summary to be written: what a worker needs, kept apart from
// the exchange, which it may outlive.
type summary struct {
	m          *Middleware
	bytes      int                      // of the request for which it is written
	view       func() *compression.View // a view of one's own, since views are not shared
	prev       *compression.Handoff
	covered    int
	budget     window.Budget
	before     window.Tokens  // of the request for which the summary is written
	routes     []summaryRoute // in the order in which they are asked
	transcript func() *compression.Transcript
}

// job is what the coordinator is asked for.
func (x *exchange) job(c *candidate, covered int) ownership.Job {
	x.view.Open() // before others share it
	req, memo, budget, model := x.view.Request, x.m.memo, x.budget, x.envelope.Model
	budget.Bytes = 0 // what is shrunk for its bytes says nothing against a summary
	s := &summary{
		m:       x.m,
		bytes:   len(x.captured.Decoded),
		view:    func() *compression.View { return memo.View(req).For(model) },
		covered: covered,
		budget:  budget,
		before:  x.report.Before,
	}
	if c != nil {
		prev := c.handoff
		s.prev = &prev
	}
	s.transcript = sync.OnceValue(func() *compression.Transcript { return s.view().Transcript(s.prev, covered, budget) })
	var routes []ownership.Route
	for _, i := range x.m.resting.order(x.m.cfg.Routes, time.Now()) {
		r := x.m.cfg.Routes[i]
		routes = append(routes, ownership.Route{Name: r.Name, Idle: r.Idle})
		s.routes = append(s.routes, x.summaryRoute(r))
	}
	digest := ownership.Digest(x.view.Chain(covered))
	parent, state := x.traceContext()
	return ownership.Job{
		Conversation: x.key,
		Target:       ownership.Target{Covered: covered, Digest: digest},
		Matches:      matcher(x.view),
		Routes:       routes,
		Work:         s.write,
		TraceParent:  parent,
		TraceState:   state,
	}
}

// traceParent is the caller's trace context, if it can be one: a store refuses a
// claim with an endless one, and an attempt must not fail for its trace.
func traceParent(h http.Header) string {
	const longest = 128 // bytes; version 00 has 55, later ones may have more
	if v := h.Get(headerTraceParent); len(v) <= longest {
		return v
	}
	return ""
}

// matcher compares targets against chain digests computed beforehand: the
// coordinator asks from its own goroutines, perhaps after the request is gone.
func matcher(v *compression.View) func(ownership.Target) bool {
	chain := make([]ownership.Digest, v.Len())
	legal := make([]bool, v.Len())
	for i := range chain {
		chain[i], legal[i] = ownership.Digest(v.Chain(i)), v.Legal(i)
	}
	return func(t ownership.Target) bool {
		return t.Covered > 0 && t.Covered < len(chain) && chain[t.Covered] == t.Digest && legal[t.Covered]
	}
}

// write is the worker: the summary by one route, in as many steps as its window
// asks for. Nothing is kept of a route that fails half way.
func (s *summary) write(ctx context.Context, a ownership.Attempt, progress func()) (ownership.Draft, error) {
	route := s.routes[a.RouteIndex]
	answer, err := s.ask(ctx, route, progress)
	if err != nil {
		return ownership.Draft{}, err
	}
	var draft ownership.Draft
	err = s.inTurn(progress, func() (err error) {
		draft, err = s.accept(ctx, answer)
		return err
	})
	return draft, err
}

// ask goes through the steps. A route that says that a step is too large for it
// is asked once more, in steps of the size that it can take.
func (s *summary) ask(ctx context.Context, route summaryRoute, progress func()) (compression.Answer, error) {
	answer, prompt, err := s.steps(ctx, route, progress)
	var status *llm.StatusError
	if errors.As(err, &status) && status.Refusal.Kind == refusal.Overflow && ctx.Err() == nil {
		_ = s.inTurn(nil, func() error {
			route = route.narrowed(status.Refusal, s.view().TextTokens(prompt))
			return nil
		})
		answer, _, err = s.steps(ctx, route, progress)
	}
	return answer, err
}

// steps asks step by step; each answer, checked like the last one, is the notes
// of the next step. prompt is that of the last step that was asked.
func (s *summary) steps(ctx context.Context, route summaryRoute, progress func()) (answer compression.Answer, prompt string, err error) {
	script, err := s.script(route)
	if err != nil {
		return answer, "", err
	}
	v, notes, call := s.view(), "", route.call
	for i := range script.Len() {
		answered := progress
		if i == 0 {
			answered = nil
		}
		err = s.inTurn(answered, func() (err error) {
			if i > 0 {
				if notes, err = v.Notes(answer, s.prev, s.covered, script.Most()); err != nil {
					return refusedAnswer(err)
				}
			}
			call.Prompt = script.Prompt(i, notes)
			return nil
		})
		if err != nil {
			return answer, call.Prompt, err
		}
		if answer, err = s.step(ctx, route, call, progress); err != nil {
			return answer, call.Prompt, err
		}
	}
	return answer, call.Prompt, nil
}

// script is the steps of the transcript for a route.
func (s *summary) script(route summaryRoute) (script *compression.Script, err error) {
	err = s.inTurn(nil, func() (err error) {
		if script, err = s.transcript().Script(route.limits, route.per); err != nil {
			return &ownership.RouteError{Failure: ownership.Failure{Class: "window", Climb: true}, Err: err}
		}
		return nil
	})
	return script, err
}

// step is one call.
func (s *summary) step(ctx context.Context, route summaryRoute, call llm.Call, progress func()) (compression.Answer, error) {
	ctx, traced := s.m.startCall(ctx, route, &call)
	said, err := s.m.llm.Summarize(ctx, call, traced.progress(progress))
	traced.end(ctx, said, err)
	s.spent(progress, call.Prompt, said, err, traced.report)
	if err != nil {
		stalled := errors.Is(context.Cause(ctx), ownership.ErrStalled)
		if ctx.Err() == nil || stalled {
			s.m.summarizer.note(false)
			if stalled || route.down(err) {
				s.m.resting.failed(route.name, time.Now())
			}
		}
		return compression.Answer{}, routeError(ctx, err)
	}
	s.m.summarizer.note(true)
	s.m.resting.answered(route.name)
	return compression.Answer{Text: said.Text, FinishReason: said.FinishReason, Refusal: said.Refusal}, nil
}

// spent reports what a call cost: as the upstream says, or by our own count,
// since many name the usage of a stream only when they are asked to. Of a call
// that failed only what the upstream says is known.
func (s *summary) spent(progress func(), prompt string, answer llm.Answer, err error, r SummaryReport) {
	r.Input, r.Output = answer.Usage.PromptTokens, answer.Usage.CompletionTokens
	if r.Input == 0 && err == nil {
		_ = s.inTurn(progress, func() error {
			v := s.view()
			r.Input, r.Output = int(v.TextTokens(prompt)), int(v.TextTokens(answer.Text))
			return nil
		})
	}
	s.m.cfg.Observer.SummaryDone(r)
}

func (s *summary) accept(ctx context.Context, answer compression.Answer) (ownership.Draft, error) {
	v := s.view()
	h, err := v.Accept(answer, s.prev, s.covered, s.budget)
	if err != nil {
		return ownership.Draft{}, refusedAnswer(err)
	}
	folded, err := v.Fold(h, s.budget)
	s.traceTokens(ctx, folded.Tokens)
	return ownership.Draft{
		Handoff: []byte(h.Text),
		Tokens:  int(v.TextTokens(h.Text)),
		Step:    h.Step,
		Strike:  err != nil || folded.Shrunk > 0 || folded.Tokens > s.budget.Trigger,
	}, nil
}

// refusedAnswer sorts why an answer was not taken into the ladder's classes.
func refusedAnswer(err error) error {
	var refused *compression.RefusedError
	switch {
	case !errors.As(err, &refused):
		return err
	case refused.Reason == "ineffective":
		return ownership.ErrIneffective
	}
	class := "refused_" + strings.ReplaceAll(refused.Reason, "-", "_")
	return &ownership.RouteError{Failure: ownership.Failure{Class: class, Climb: true}, Err: err}
}

// routeError sorts what a call failed of into the ladder's classes.
func routeError(ctx context.Context, err error) error {
	failure := ownership.Failure{Class: "network", Climb: true}
	stop := false
	var status *llm.StatusError
	switch {
	case errors.As(err, &status):
		failure.Class = "status_" + strconv.Itoa(status.Status)
		if status.Status == http.StatusTooManyRequests && status.RetryAfter > 0 {
			failure.Cooldown, failure.Climb = status.RetryAfter, false
		}
		if status.Status == http.StatusUnauthorized || status.Status == http.StatusForbidden {
			failure.Climb, stop = false, true
		}
	case errors.Is(err, llm.ErrCut):
		failure.Class = "cut"
	case errors.Is(err, llm.ErrEmpty):
		failure.Class = "empty"
	case errors.Is(err, llm.ErrTooLong):
		failure.Class = "too_long"
	case errors.Is(err, llm.ErrMalformed):
		failure.Class = "malformed"
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return &ownership.RouteError{Failure: failure, Stop: stop, Err: err}
}
