package middleware

import (
	"context"
	"maps"
	"net"
	"net/http"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/foldgate/foldgate/internal/semconv"
	"github.com/foldgate/foldgate/internal/statuswriter"
)

// tracerOf is nil without a provider.
func tracerOf(p trace.TracerProvider) trace.Tracer {
	if p == nil {
		return nil
	}
	return p.Tracer(semconv.ScopeMiddleware, trace.WithSchemaURL(semconv.SchemaURL))
}

// traced serves one request under a span of its own, whatever kind of request it
// is. The next handler sees that span in the header in place of the caller's.
func (m *Middleware) traced(w http.ResponseWriter, r *http.Request, next http.Handler) {
	ctx, span := m.startRequest(r)
	defer span.End()
	r = withTrace(r, ctx)
	if !span.IsRecording() {
		m.serve(w, r, next)
		return
	}
	attributes := requestAttributes(r)
	counted, broke := statuswriter.New(w), true
	defer func() { // a panic goes on, to whoever made it (http.ErrAbortHandler, mostly)
		endRequest(span, attributes, counted.Status(), broke, ctx.Err() != nil)
	}()
	m.serve(counted, r, next)
	broke = false
}

// startRequest begins the request's span: a server's, below the caller's, or an
// internal one where a server's span is there already, since somebody's own router
// may have made it.
func (m *Middleware) startRequest(r *http.Request) (context.Context, trace.Span) {
	ctx, kind := r.Context(), trace.SpanKindInternal
	if !trace.SpanContextFromContext(ctx).IsValid() {
		ctx, kind = propagation.TraceContext{}.Extract(ctx, traceOf(r.Header)), trace.SpanKindServer
	}
	return m.tracer.Start(ctx, spanName(r), trace.WithSpanKind(kind))
}

// The W3C trace context, as headers and as carriers spell it.
const (
	headerTraceParent = "Traceparent"
	headerTraceState  = "Tracestate"
	carrierParent     = "traceparent"
	carrierState      = "tracestate"
)

// traceOf reads the trace context of a header: a traceparent only where there is
// one and no more, tracestate from all its lines.
func traceOf(h http.Header) propagation.MapCarrier {
	parents := h[headerTraceParent]
	if len(parents) != 1 {
		return nil
	}
	return propagation.MapCarrier{carrierParent: parents[0], carrierState: strings.Join(h[headerTraceState], ",")}
}

// withTrace is r in ctx, with ctx's span as its trace context. The caller's header
// stays as it is.
func withTrace(r *http.Request, ctx context.Context) *http.Request { //nolint:revive // what is changed comes first, as in WithContext
	r = r.WithContext(ctx)
	r.Header = tracedHeader(ctx, r.Header)
	return r
}

// tracedHeader is a copy of h that names ctx's span, and nothing else of a trace.
func tracedHeader(ctx context.Context, h http.Header) http.Header {
	h = maps.Clone(h)
	if h == nil {
		h = make(http.Header, 2)
	}
	delete(h, headerTraceParent)
	delete(h, headerTraceState)
	propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(h))
	return h
}

// spanName has few values: the route of a chat request, else the method alone.
func spanName(r *http.Request) string {
	if route := semconv.ChatRoute(r.Method, r.URL.Path); route != "" {
		return http.MethodPost + " " + route
	}
	_, name := semconv.Method(r.Method)
	return name
}

// requestAttributes are a server span's. The query, other fields and the caller's
// address are left out: keys and people are found there. There is room for those of
// the end: a span grows its list anew with every call that adds to it.
func requestAttributes(r *http.Request) []attribute.KeyValue {
	method, _ := semconv.Method(r.Method)
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	out := append(make([]attribute.KeyValue, 0, 10),
		semconv.KeyHTTPRequestMethod.String(method),
		semconv.KeyURLPath.String(bounded(r.URL.Path)),
		semconv.KeyURLScheme.String(scheme),
		semconv.KeyProtocolVersion.String(protocolVersion(r.ProtoMajor, r.ProtoMinor)),
	)
	if method == semconv.MethodOther {
		out = append(out, semconv.KeyHTTPRequestMethodOrig.String(bounded(r.Method)))
	}
	if route := semconv.ChatRoute(r.Method, r.URL.Path); route != "" {
		out = append(out, semconv.KeyHTTPRoute.String(route))
	}
	host, port := r.Host, ""
	if h, p, err := net.SplitHostPort(r.Host); err == nil {
		host, port = h, p
	}
	return withServer(out, host, port)
}

// bounded is a caller's text for a span: its begin, and nothing that keeps the rest
// in memory. Spans wait in a queue while a collector is down, and a request's head
// may have a megabyte.
func bounded(text string) string {
	const longest = 1024 // bytes
	if len(text) <= longest {
		return text
	}
	return strings.ToValidUTF8(strings.Clone(text[:longest]), "")
}

// withServer adds server.address and, where it is known, server.port.
func withServer(out []attribute.KeyValue, host, port string) []attribute.KeyValue {
	out = append(out, semconv.KeyServerAddress.String(bounded(host)))
	if n, err := strconv.Atoi(port); err == nil {
		out = append(out, semconv.KeyServerPort.Int(n))
	}
	return out
}

func protocolVersion(major, minor int) string {
	if major == 1 && minor == 1 { // nearly all
		return "1.1"
	}
	if major >= 2 {
		return strconv.Itoa(major)
	}
	return strconv.Itoa(major) + "." + strconv.Itoa(minor)
}

// The values of error.type that are no status.
const (
	errorBroke    = "response_broke_off"
	errorCanceled = "canceled"
	errorTimeout  = "timeout"
	errorNetwork  = "connection_error"
)

// endRequest writes what a request was and how it ended. A caller who left is no error of the
// server, and neither is what an upstream answers with a 4xx. One who left behind
// a whole answer has just closed the connection, as many clients do at once.
func endRequest(span trace.Span, attributes []attribute.KeyValue, status int, broke, left bool) {
	if status != 0 {
		attributes = append(attributes, semconv.KeyHTTPResponseStatusCode.Int(status))
	}
	switch {
	case left && (broke || status == 0):
		attributes = append(attributes, semconv.KeyErrorType.String(errorCanceled))
	case broke:
		attributes = failSpan(span, attributes, errorBroke)
	case status >= http.StatusInternalServerError:
		attributes = failSpan(span, attributes, strconv.Itoa(status))
	}
	span.SetAttributes(attributes...)
}

// failSpan marks a span as failed, and adds a word of few values to its attributes.
func failSpan(span trace.Span, attributes []attribute.KeyValue, errorType string) []attribute.KeyValue {
	span.SetStatus(codes.Error, "")
	return append(attributes, semconv.KeyErrorType.String(errorType))
}
