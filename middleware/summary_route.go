package middleware

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/foldgate/foldgate/compression/llm"
	"github.com/foldgate/foldgate/compression/window"
)

// summaryRoute is a route as one caller's summary uses it.
type summaryRoute struct {
	name string
	call llm.Call // Prompt is filled step by step
	// limits are what is known of the route's window; per is how many tokens its
	// model needs for one of ours, 0 where that is not known.
	limits window.Limits
	per    float64
	// ours: the model is the route's own, and no choice of the caller.
	ours bool
}

// summaryRoute is a route for this caller.
func (x *exchange) summaryRoute(r SummarizerRoute) summaryRoute {
	call := x.call(r)
	limits, per := x.routeWindow(r, call)
	return summaryRoute{name: r.Name, call: call, limits: limits, per: per, ours: r.Model != ""}
}

// routeWindow is what is known of a route's window: what is configured for the
// route, else what the book knows, of the upstream where that is the route, or
// of the model by its name. Zero: nothing.
func (x *exchange) routeWindow(r SummarizerRoute, call llm.Call) (limits window.Limits, per float64) {
	if r.Window > 0 {
		return window.Limits{Total: r.Window}, 0
	}
	u, err := url.Parse(call.URL)
	if err != nil {
		return window.Limits{}, 0
	}
	if !sameOrigin(u, x.m.cfg.Upstream) {
		limits = x.m.cfg.Book.Lookup(window.Scope{Tenant: x.scope.Tenant, Upstream: u.Host}, call.Model, x.start)
		if limits.Source != window.Table { // the rest is said of the upstream
			limits = window.Limits{}
		}
		return limits, 0
	}
	if call.Model == x.envelope.Model {
		limits = x.limits // an overflow error may just have narrowed it
	} else {
		limits = x.m.cfg.Book.Lookup(x.scope, call.Model, x.start)
	}
	return limits, window.Step(x.m.cfg.Book.Correction(x.scope, call.Model))
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
