package ownership

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/foldgate/foldgate/internal/semconv"
)

// AnswerOf is the one word for what a store said to a write: empty for nil, else
// superseded, lost, ended, cancelled, not_current, invalid, unavailable,
// indeterminate, or error for anything else.
func AnswerOf(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, ErrSuperseded):
		return "superseded"
	case errors.Is(err, ErrLost):
		return "lost"
	case errors.Is(err, ErrEnded):
		return "ended"
	case errors.Is(err, ErrCancelled):
		return "cancelled"
	case errors.Is(err, ErrNotCurrent):
		return "not_current"
	case errors.Is(err, ErrInvalid):
		return "invalid"
	case errors.Is(err, ErrUnavailable):
		return "unavailable"
	case errors.Is(err, ErrIndeterminate):
		return "indeterminate"
	}
	return "error"
}

// String is the verdict's word in traces.
func (v Verdict) String() string {
	switch v {
	case VerdictClaimed:
		return "claimed"
	case VerdictCommitted:
		return "committed"
	case VerdictBusy:
		return "busy"
	case VerdictCancelled:
		return "cancelled"
	case VerdictCooling:
		return "cooling"
	case VerdictBlocked:
		return "blocked"
	}
	return "unknown"
}

// String is the step's word in traces.
func (d Done) String() string {
	switch d {
	case DoneNow:
		return "done"
	case DoneAlready:
		return "already"
	}
	return "unknown"
}

// Operation begins the span of one call to the store that f makes, its repeats
// included, under the span in ctx. end takes what the store answered: an error, or
// nil with the word for it. A nil tracer makes no span. It is exported for those
// who call a Store beside the Coordinator, so that all operations look the same in
// a trace.
func Operation(ctx context.Context, t trace.Tracer, operation string, f Fence) (_ context.Context, end func(answer string, err error)) {
	ctx, span := startOperation(ctx, t, operation, f)
	return ctx, func(answer string, err error) { endOperation(span, answer, 0, err) }
}

func startOperation(ctx context.Context, t trace.Tracer, operation string, f Fence) (context.Context, trace.Span) {
	if t == nil {
		return ctx, silent()
	}
	ctx, span := t.Start(ctx, semconv.OperationPrefix+operation)
	if span.IsRecording() {
		span.SetAttributes(semconv.KeyOperation.String(operation))
		span.SetAttributes(fenceAttributes(f)...)
	}
	return ctx, span
}

// endOperation ends an operation's span with its answer. Refused is an answer
// like any other; only a store that could not be asked, or broke, is an error.
func endOperation(span trace.Span, answer string, repeats int, err error) {
	defer span.End()
	if !span.IsRecording() {
		return
	}
	if err != nil {
		answer = AnswerOf(err)
	}
	span.SetAttributes(semconv.KeyAnswer.String(answer))
	if repeats > 0 {
		span.SetAttributes(semconv.KeyRepeats.Int(repeats))
	}
	if err != nil && !refused(err) && !errors.Is(err, ErrCancelled) && !errors.Is(err, ErrNotCurrent) {
		span.SetAttributes(semconv.KeyErrorType.String(answer))
		span.SetStatus(codes.Error, answer)
	}
}

// fenceAttributes name an attempt; the zero Fence names none.
func fenceAttributes(f Fence) []attribute.KeyValue {
	var out []attribute.KeyValue
	if f.Attempt != "" {
		out = append(out, semconv.KeyAttemptID.String(string(f.Attempt)))
	}
	if f.Generation > 0 {
		out = append(out, generation(f.Generation))
	}
	return out
}

func generation(g Generation) attribute.KeyValue {
	return semconv.KeyGeneration.Int64(int64(g))
}

// silent is the span of a coordinator that is not traced: nothing is kept of it.
func silent() trace.Span { return trace.SpanFromContext(context.Background()) }

// tracerOf is nil without a provider.
func tracerOf(p trace.TracerProvider) trace.Tracer {
	if p == nil {
		return nil
	}
	return p.Tracer(semconv.ScopeOwnership, trace.WithSchemaURL(semconv.SchemaURL))
}

// attemptSpan begins the span of an attempt before it is claimed, so that the claim
// can store where the span is. It links to the attempt in whose place this one
// comes: instead, of this flight, or else the one of another replica that the
// flight waited for.
func (r *run) attemptSpan(route int, id AttemptID, instead *attempt) trace.Span {
	if r.c.tracer == nil {
		return silent()
	}
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{
		headerParent: r.job.TraceParent, headerState: r.job.TraceState,
	})
	before := trace.Link{SpanContext: spanContextOf(r.watched.TraceParent), Attributes: fenceAttributes(r.watched.Fence)}
	if instead != nil {
		before = trace.Link{SpanContext: instead.span.SpanContext(), Attributes: fenceAttributes(instead.Fence)}
	}
	var options []trace.SpanStartOption
	if before.SpanContext.IsValid() {
		options = append(options, trace.WithLinks(before))
	}
	_, span := r.c.tracer.Start(ctx, semconv.SpanAttempt, options...)
	if span.IsRecording() {
		span.SetAttributes(
			semconv.KeyAttemptID.String(string(id)),
			semconv.KeyConversation.String(string(r.job.Conversation)),
			semconv.KeyRoute.String(r.route(route).Name),
			semconv.KeyCovered.Int(r.job.Target.Covered),
		)
	}
	return span
}

// The names of the W3C trace context, as carriers spell them.
const (
	headerParent = "traceparent"
	headerState  = "tracestate"
)

// spanContextOf is the span that traceParent names; the zero one if it names none.
func spanContextOf(traceParent string) trace.SpanContext {
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{headerParent: traceParent})
	return trace.SpanContextFromContext(ctx)
}

// traceParentOf is what names span to others; otherwise where it is not traced.
func traceParentOf(span trace.Span, otherwise string) string {
	if !span.SpanContext().IsValid() {
		return otherwise
	}
	c := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(trace.ContextWithSpan(context.Background(), span), c)
	return c[headerParent]
}

// under puts a span into ctx. An untraced coordinator leaves what is there.
func (c *Coordinator) under(ctx context.Context, span trace.Span) context.Context {
	if c.tracer == nil {
		return ctx
	}
	return trace.ContextWithSpan(ctx, span)
}

// noteClaim writes what the store answered to the claim of span's attempt, and
// whether an attempt works because of it, fenced or not. Where none does the span
// ends here, under a name of its own: there is one span of an attempt's name for
// each attempt.
func noteClaim(span trace.Span, got Claimed, err error, works bool) {
	if !works {
		defer span.End()
	}
	if !span.IsRecording() {
		return
	}
	answer := got.Verdict.String()
	if err != nil {
		answer = AnswerOf(err)
	}
	about := append(fenceAttributes(got.stands()), semconv.KeyAnswer.String(answer))
	span.AddEvent(semconv.EventClaim, trace.WithAttributes(about...))
	if !works {
		span.SetName(semconv.SpanClaim)
		span.SetAttributes(semconv.KeyAnswer.String(answer))
	}
}

// stands is the attempt that a claim's answer is about: the one that was claimed, or
// the one that stands in its way.
func (c Claimed) stands() Fence {
	switch c.Verdict {
	case VerdictBusy:
		return c.Owner.Fence
	case VerdictCommitted:
		return c.Checkpoint.Fence
	}
	return c.Fence
}

// entered writes who the attempt became: one whose store could not be asked has
// another id and no generation.
func (a *attempt) entered() {
	if a.span.IsRecording() {
		a.span.SetAttributes(semconv.KeyAttemptID.String(string(a.Fence.Attempt)), generation(a.Fence.Generation))
	}
}

// event adds an event with one word about it.
func (a *attempt) event(name string, key attribute.Key, word string) {
	if a.span.IsRecording() {
		a.span.AddEvent(name, trace.WithAttributes(key.String(word)))
	}
}

// superseded adds the event of the next route's attempt.
func (a *attempt) superseded(by Fence) {
	if a.span.IsRecording() {
		a.span.AddEvent(semconv.EventSupersede, trace.WithAttributes(fenceAttributes(by)...))
	}
}

// made writes how large the draft is.
func (a *attempt) made(d Draft) {
	if a.span.IsRecording() {
		a.span.SetAttributes(semconv.KeyTokensHandoff.Int(d.Tokens))
	}
}

// published adds the event of a commit's answer, to the attempt and to the
// operation: a late worker's attempt has ended by then.
func (a *attempt) published(operation trace.Span, answer string, err error) {
	if !operation.IsRecording() {
		return
	}
	name := semconv.EventCommit
	switch {
	case errors.Is(err, ErrCancelled), errors.Is(err, ErrInvalid), refused(err):
		name, answer = semconv.EventCommitRefused, AnswerOf(err)
	case err != nil:
		return // in doubt
	}
	about := trace.WithAttributes(append(fenceAttributes(a.Fence), semconv.KeyAnswer.String(answer))...)
	operation.AddEvent(name, about)
	a.span.AddEvent(name, about)
}

// traceEnd ends the attempt's span as its outcome is known: reason is a class. What
// its worker still brings is a span of its own below this one.
func (a *attempt) traceEnd(p Phase, unshared bool, reason string) {
	defer a.span.End()
	if !a.span.IsRecording() {
		return
	}
	a.span.SetAttributes(semconv.KeyOutcome.String(OutcomeOf(p, unshared)))
	if reason != "" && p != Cancelled { // the reason of a cancel is somebody's text
		a.span.SetAttributes(semconv.KeyReason.String(reason))
	}
	if p == Failed {
		a.span.SetAttributes(semconv.KeyErrorType.String(reason))
		a.span.SetStatus(codes.Error, reason)
	}
}
