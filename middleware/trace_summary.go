package middleware

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/foldgate/foldgate/compression/llm"
	"github.com/foldgate/foldgate/compression/window"
	"github.com/foldgate/foldgate/internal/semconv"
	"github.com/foldgate/foldgate/ownership"
)

// summaryCall is one call for a summary as traces and metrics see it.
type summaryCall struct {
	span   trace.Span // nil when it is not recorded
	began  time.Time
	report SummaryReport
}

// startCall begins a call of a route: its span below the attempt's, and, while
// there are traces, that span in the call's header.
func (m *Middleware) startCall(ctx context.Context, route summaryRoute, call *llm.Call) (context.Context, *summaryCall) {
	c := &summaryCall{began: time.Now(), report: SummaryReport{Route: route.name}}
	if route.ours {
		c.report.Model = call.Model
	}
	if u, err := url.Parse(call.URL); err == nil {
		c.report.Address = u.Hostname()
		c.report.Port, _ = strconv.Atoi(portOf(u))
	}
	if m.tracer == nil {
		return ctx, c
	}
	ctx, span := m.tracer.Start(ctx, semconv.SummarySpan(call.Model), trace.WithSpanKind(trace.SpanKindClient))
	call.Header = tracedHeader(ctx, call.Header)
	if span.IsRecording() {
		c.span = span
		span.SetAttributes(
			semconv.KeyGenAIOperation.String(semconv.OperationChat),
			semconv.KeyGenAIProvider.String(semconv.Provider(c.report.Address)),
			semconv.KeyGenAIRequestStream.Bool(true),
			semconv.KeyRoute.String(route.name),
		)
		if semconv.ModelName(call.Model) {
			span.SetAttributes(semconv.KeyGenAIRequestModel.String(call.Model))
		}
		span.SetAttributes(withServer(nil, c.report.Address, strconv.Itoa(c.report.Port))...)
	}
	return ctx, c
}

// progress notes when the first text came, and hands on.
func (c *summaryCall) progress(next func()) func() {
	return func() {
		if c.report.FirstText == 0 {
			c.report.FirstText = time.Since(c.began)
		}
		next()
	}
}

// end writes how the call ended. Only what the server itself said about its cost
// is usage; what we counted ourselves is for our own metric.
func (c *summaryCall) end(ctx context.Context, said llm.Answer, err error) {
	c.report.Duration = time.Since(c.began)
	c.report.Reported = said.Usage.PromptTokens > 0
	if err != nil {
		c.report.ErrorType = callError(ctx, err)
	}
	if c.span == nil {
		return
	}
	defer c.span.End()
	if semconv.ModelName(said.Model) {
		c.span.SetAttributes(semconv.KeyGenAIResponseModel.String(said.Model))
	}
	if said.FinishReason != "" {
		c.span.SetAttributes(semconv.KeyGenAIFinishReasons.StringSlice([]string{semconv.FinishReason(said.FinishReason)}))
	}
	if c.report.FirstText > 0 {
		c.span.SetAttributes(semconv.KeyGenAIFirstChunk.Float64(c.report.FirstText.Seconds()))
	}
	if c.report.Reported {
		c.span.SetAttributes(
			semconv.KeyGenAIInputTokens.Int(said.Usage.PromptTokens),
			semconv.KeyGenAIOutputTokens.Int(said.Usage.CompletionTokens),
		)
	}
	if err != nil {
		c.span.SetAttributes(failSpan(c.span, nil, c.report.ErrorType)...)
	}
}

// callError is error.type of a summary call: a status, or one of few words.
func callError(ctx context.Context, err error) string {
	var status *llm.StatusError
	switch {
	case errors.As(err, &status) && status.Status >= http.StatusBadRequest:
		return strconv.Itoa(status.Status)
	case errors.As(err, &status):
		return "error_in_answer"
	case errors.Is(err, llm.ErrCut):
		return "cut"
	case errors.Is(err, llm.ErrEmpty):
		return "empty"
	case errors.Is(err, llm.ErrTooLong):
		return "too_long"
	case errors.Is(err, llm.ErrMalformed):
		return "malformed"
	case ctx.Err() == nil:
		return errorNetwork
	case errors.Is(context.Cause(ctx), ownership.ErrStalled):
		return "stalled"
	}
	return errorCanceled // superseded, lost, cancelled, abandoned: no fault of the call
}

// traceTokens writes what the request had and has, folded with the new summary,
// into the attempt's span, which the worker's context carries.
func (s *summary) traceTokens(ctx context.Context, after window.Tokens) {
	if s.m.tracer == nil {
		return
	}
	if span := trace.SpanFromContext(ctx); span.IsRecording() {
		span.SetAttributes(semconv.KeyTokensBefore.Int(int(s.before)), semconv.KeyTokensAfter.Int(int(after)))
	}
}
