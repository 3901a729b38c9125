package middleware

import (
	"context"
	"errors"
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/foldgate/foldgate/compression"
	"github.com/foldgate/foldgate/internal/semconv"
	"github.com/foldgate/foldgate/ownership"
)

// exchangeTrace is what a chat request keeps for its trace. Of a request that is
// not recorded nothing is kept.
type exchangeTrace struct {
	span     trace.Span // the request's; nil when it is not recorded
	flights  []joining
	recalled int
	shrunk   int
}

// joining is a summary that a request waits for, or has prepared.
type joining struct {
	flight *ownership.Flight
	joined bool
}

func (m *Middleware) exchangeTrace(r *http.Request) exchangeTrace {
	if m.tracer == nil {
		return exchangeTrace{}
	}
	span := trace.SpanFromContext(r.Context())
	if !span.IsRecording() {
		return exchangeTrace{}
	}
	return exchangeTrace{span: span}
}

// traceFold begins the span of measuring and deciding; until the function that it
// returns ends it, what x does is below that span.
func (x *exchange) traceFold() func(*plan, *error) {
	if x.trace.span == nil {
		return noFold
	}
	outer := x.r
	ctx, span := x.m.tracer.Start(outer.Context(), semconv.SpanFold)
	x.r = outer.WithContext(ctx)
	return func(p *plan, err *error) {
		x.r = outer
		kind, reason := p.kind, p.reason
		if unfit := (*compression.UnfitError)(nil); errors.As(*err, &unfit) {
			kind, reason = kindUnfit, ""
		}
		attributes := x.foldAttributes(kind, reason)
		if p.covered > 0 {
			attributes = append(attributes,
				semconv.KeyCovered.Int(p.covered),
				semconv.KeyFoldRecalled.Int(x.trace.recalled),
				semconv.KeyFoldShrunk.Int(x.trace.shrunk),
			)
		}
		span.SetAttributes(attributes...)
		span.End()
	}
}

func noFold(*plan, *error) {}

// foldAttributes are what was done with the request, what Foldgate-Tokens says, and
// the conversation; with room for a few more, since a span grows its list anew with
// every call that adds to it.
func (x *exchange) foldAttributes(kind, reason string) []attribute.KeyValue {
	out := append(make([]attribute.KeyValue, 0, 12), semconv.KeyFoldKind.String(kind))
	if reason != "" {
		out = append(out, semconv.KeyFoldReason.String(reason))
	}
	if x.report.Before > 0 {
		out = append(out,
			semconv.KeyTokensBefore.Int(int(x.report.Before)),
			semconv.KeyTokensAfter.Int(int(x.report.After)),
		)
	}
	if x.report.Window > 0 {
		out = append(out,
			semconv.KeyTokensWindow.Int(int(x.report.Window)),
			semconv.KeyTokensSource.String(string(x.report.Source)),
		)
	}
	if x.key != "" {
		out = append(out, semconv.KeyConversation.String(string(x.key)))
	}
	return out
}

// traceFlight remembers a summary that this request asked for, to link to it.
func (x *exchange) traceFlight(f *ownership.Flight, joined bool) {
	if x.trace.span != nil {
		x.trace.flights = append(x.trace.flights, joining{f, joined})
	}
}

// traceDone writes what the request came to into its span, and links it to the
// attempts of others that it joined; its own are in its trace anyway.
func (x *exchange) traceDone() {
	span := x.trace.span
	if span == nil {
		return
	}
	attributes := x.foldAttributes(x.report.Kind, x.report.Reason)
	if x.report.Retried {
		attributes = append(attributes, semconv.KeyFoldRetried.Bool(true))
	}
	if x.report.Wait > 0 {
		attributes = append(attributes, semconv.KeyWait.Float64(x.report.Wait.Seconds()))
	}
	if x.attempt.Outcome != "" {
		attributes = append(attributes,
			semconv.KeyAttemptID.String(x.attempt.ID),
			semconv.KeyGeneration.Int64(int64(x.attempt.Generation)),
			semconv.KeyOutcome.String(x.attempt.Outcome),
			semconv.KeyJoined.Bool(x.attempt.Joined),
		)
	}
	span.SetAttributes(attributes...)
	for _, j := range x.trace.flights {
		j.link(span)
	}
}

// link links span to the attempt that was joined, wherever it ran.
func (j joining) link(span trace.Span) {
	if !j.joined && !j.flight.Foreign() {
		return
	}
	parent := j.flight.TraceParent()
	if parent == "" {
		return
	}
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{carrierParent: parent})
	fence, _ := j.flight.Current()
	span.AddLink(trace.Link{
		SpanContext: trace.SpanContextFromContext(ctx),
		Attributes: []attribute.KeyValue{
			semconv.KeyJoined.Bool(true),
			semconv.KeyAttemptID.String(string(fence.Attempt)),
			semconv.KeyGeneration.Int64(int64(fence.Generation)),
		},
	})
}

// traceContext is what an attempt of this request is a child of: the span that
// decided for it, or as much as the caller sent.
func (x *exchange) traceContext() (parent, state string) {
	if x.m.tracer == nil {
		return traceParent(x.r.Header), x.r.Header.Get(headerTraceState)
	}
	c := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(x.ctx(), c)
	return c[carrierParent], c[carrierState]
}

// operation begins the span of a call of the store, for its end to be told.
func (m *Middleware) operation(ctx context.Context, name string, f ownership.Fence) (context.Context, func(answer string, err error)) {
	return ownership.Operation(ctx, m.tracer, name, f)
}

// traceRestore notes that a checkpoint was taken back.
func (x *exchange) traceRestore(f ownership.Fence, answer string) {
	if x.trace.span == nil {
		return
	}
	x.trace.span.AddEvent(semconv.EventRestore, trace.WithAttributes(
		semconv.KeyAttemptID.String(string(f.Attempt)),
		semconv.KeyGeneration.Int64(int64(f.Generation)),
		semconv.KeyAnswer.String(answer),
	))
}
