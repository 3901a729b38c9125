package middleware

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/foldgate/foldgate/compression"
	"github.com/foldgate/foldgate/compression/llm"
	"github.com/foldgate/foldgate/compression/window"
	"github.com/foldgate/foldgate/ownership"
)

// summary is one summary to be written: what a worker needs, kept apart from
// the exchange, which it may outlive.
type summary struct {
	m       *Middleware
	view    func() *compression.View // a view of one's own, since views are not shared
	prev    *compression.Handoff
	covered int
	budget  window.Budget
	calls   []llm.Call // one per route, in order; Prompt is filled when asked
	prompt  func() string
}

// job is what the coordinator is asked for.
func (x *exchange) job(c *candidate, covered int) ownership.Job {
	req, memo, budget := x.view.Request, x.m.memo, x.budget
	s := &summary{
		m:       x.m,
		view:    func() *compression.View { return memo.View(req) },
		covered: covered,
		budget:  budget,
		calls:   x.calls(),
	}
	if c != nil {
		prev := c.handoff
		s.prev = &prev
	}
	s.prompt = sync.OnceValue(func() string { return s.view().Prompt(s.prev, covered, budget) })
	routes := make([]ownership.Route, len(x.m.cfg.Routes))
	for i, r := range x.m.cfg.Routes {
		routes[i] = ownership.Route{Name: r.Name, Idle: r.Idle}
	}
	digest := ownership.Digest(x.view.Chain(covered))
	return ownership.Job{
		Conversation: x.key,
		Target:       ownership.Target{Covered: covered, Digest: digest},
		Matches:      matcher(x.view),
		Routes:       routes,
		Work:         s.write,
		TraceParent:  traceParent(x.r.Header),
	}
}

// traceParent is the caller's trace context, if it can be one: a store refuses a
// claim with an endless one, and an attempt must not fail for its trace.
func traceParent(h http.Header) string {
	const longest = 128 // bytes; version 00 has 55, later ones may have more
	if v := h.Get("Traceparent"); len(v) <= longest {
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

// write is the worker: one call on one route.
func (s *summary) write(ctx context.Context, a ownership.Attempt, progress func()) (ownership.Draft, error) {
	call := s.calls[a.RouteIndex]
	call.Prompt = s.prompt()
	if err := s.fits(s.m.cfg.Routes[a.RouteIndex].Window, call.Prompt); err != nil {
		return ownership.Draft{}, err
	}
	answer, err := s.m.llm.Summarize(ctx, call, progress)
	if err != nil {
		if ctx.Err() == nil || errors.Is(context.Cause(ctx), ownership.ErrStalled) {
			s.m.summarizer.note(false)
		}
		return ownership.Draft{}, routeError(ctx, err)
	}
	s.m.summarizer.note(true)
	s.spent(call.Prompt, answer)
	return s.accept(answer)
}

// spent reports what a call cost: as the upstream says, or by our own count,
// since many name the usage of a stream only when they are asked to.
func (s *summary) spent(prompt string, answer llm.Answer) {
	input, output := answer.Usage.PromptTokens, answer.Usage.CompletionTokens
	if input == 0 {
		v := s.view()
		input, output = int(v.TextTokens(prompt)), int(v.TextTokens(answer.Text))
	}
	s.m.cfg.Observer.SummaryTokens(input, output)
}

// errRouteTooSmall: the transcript does not fit the route's window.
var errRouteTooSmall = errors.New("middleware: transcript over the route's window")

// fits spares a call that the route would refuse.
func (s *summary) fits(route window.Tokens, prompt string) error {
	if route == 0 || s.view().TextTokens(prompt) <= route {
		return nil
	}
	return &ownership.RouteError{Failure: ownership.Failure{Class: "window", Climb: true}, Err: errRouteTooSmall}
}

func (s *summary) accept(answer llm.Answer) (ownership.Draft, error) {
	v := s.view()
	h, err := v.Accept(compression.Answer{
		Text: answer.Text, FinishReason: answer.FinishReason, Refusal: answer.Refusal,
	}, s.prev, s.covered, s.budget)
	var refused *compression.RefusedError
	switch {
	case errors.As(err, &refused) && refused.Reason == "ineffective":
		return ownership.Draft{}, ownership.ErrIneffective
	case errors.As(err, &refused):
		return ownership.Draft{}, &ownership.RouteError{
			Failure: ownership.Failure{Class: "refused_" + strings.ReplaceAll(refused.Reason, "-", "_"), Climb: true}, Err: err,
		}
	case err != nil:
		return ownership.Draft{}, err
	}
	folded, err := v.Fold(h, s.budget)
	return ownership.Draft{
		Handoff: []byte(h.Text),
		Tokens:  int(v.TextTokens(h.Text)),
		Step:    h.Step,
		Strike:  err != nil || folded.Shrunk > 0 || folded.Tokens > s.budget.Trigger,
	}, nil
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

// calls are the endpoints of the routes for this caller.
func (x *exchange) calls() []llm.Call {
	calls := make([]llm.Call, len(x.m.cfg.Routes))
	for i, route := range x.m.cfg.Routes {
		calls[i] = x.call(route)
	}
	return calls
}

func (x *exchange) call(route SummarizerRoute) llm.Call {
	model := route.Model
	if model == "" {
		model = x.envelope.Model
	}
	if route.URL == "" {
		u := upstreamURL(x.m.cfg.Upstream, x.r.URL)
		return llm.Call{URL: u.String(), Header: withKey(llm.CallerHeader(x.r.Header), route.Key), Model: model}
	}
	endpoint, err := llm.EndpointURL(route.URL)
	if err != nil { // validate has refused such a route
		endpoint = route.URL
	}
	header := http.Header{}
	if u, err := url.Parse(endpoint); err == nil && sameOrigin(u, x.m.cfg.Upstream) {
		for _, name := range credentialHeaders {
			header[name] = x.r.Header[name]
		}
	}
	return llm.Call{URL: endpoint, Header: withKey(header, route.Key), Model: model}
}

// withKey replaces the caller's credential by the route's own.
func withKey(h http.Header, key string) http.Header {
	if key == "" {
		return h
	}
	for _, name := range credentialHeaders {
		h.Del(name)
	}
	h.Set("Authorization", "Bearer "+key)
	return h
}

// sameOrigin compares scheme, host and port: a credential goes nowhere else.
func sameOrigin(a, b *url.URL) bool {
	return strings.EqualFold(a.Scheme, b.Scheme) && strings.EqualFold(a.Hostname(), b.Hostname()) && portOf(a) == portOf(b)
}

func portOf(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	if strings.EqualFold(u.Scheme, "https") {
		return "443"
	}
	return "80"
}
