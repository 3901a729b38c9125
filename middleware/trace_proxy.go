package middleware

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/foldgate/foldgate/internal/semconv"
)

// tracedTransport makes the client span of each forwarded call, from its begin to
// the end of the answer's body. It is a plain HTTP span and no gen_ai one: the
// chat is the caller's, whose own instrumentation says so, and tokens that two
// spans name would be counted twice.
type tracedTransport struct {
	next   http.RoundTripper
	tracer trace.Tracer
}

// RoundTrip leaves the call of a request that is not sampled as it is: its header
// names the request's span already.
func (t *tracedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if parent := trace.SpanContextFromContext(r.Context()); parent.IsValid() && !parent.IsSampled() {
		return t.next.RoundTrip(r)
	}
	method, name := semconv.Method(r.Method)
	ctx, span := t.tracer.Start(r.Context(), name, trace.WithSpanKind(trace.SpanKindClient))
	res, err := t.next.RoundTrip(withTrace(r, ctx))
	attributes := callAttributes(span, r, method)
	if err != nil {
		span.SetAttributes(failSpan(span, attributes, forwardError(ctx, err))...)
		span.End()
		return nil, err
	}
	attributes = append(attributes,
		semconv.KeyHTTPResponseStatusCode.Int(res.StatusCode),
		semconv.KeyProtocolVersion.String(protocolVersion(res.ProtoMajor, res.ProtoMinor)),
	)
	if res.StatusCode >= http.StatusBadRequest {
		attributes = failSpan(span, attributes, strconv.Itoa(res.StatusCode))
	}
	span.SetAttributes(attributes...)
	if res.StatusCode == http.StatusSwitchingProtocols {
		span.End() // the connection belongs to another protocol now
		return res, nil
	}
	res.Body = &tracedBody{ReadCloser: res.Body, span: span, ctx: ctx}
	return res, nil
}

// callAttributes are what a call is, with room for how it ended; none where the span
// keeps none.
func callAttributes(span trace.Span, r *http.Request, method string) []attribute.KeyValue {
	if !span.IsRecording() {
		return nil
	}
	out := append(make([]attribute.KeyValue, 0, 8), semconv.KeyHTTPRequestMethod.String(method), semconv.KeyURLFull.String(fullURL(r)))
	return withServer(out, r.URL.Hostname(), portOf(r.URL))
}

// fullURL is url.full without what may hold a credential: user, password, query.
func fullURL(r *http.Request) string {
	path := r.URL.EscapedPath()
	if r.URL.Opaque != "" {
		path = r.URL.Opaque
	}
	return bounded(r.URL.Scheme + "://" + r.URL.Host + path)
}

// forwardError is error.type of a forwarded call without an answer.
func forwardError(ctx context.Context, err error) string {
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return errorCanceled
	case timedOut(err):
		return errorTimeout
	}
	return errorNetwork
}

// tracedBody ends the span with the body.
type tracedBody struct {
	io.ReadCloser
	span trace.Span
	ctx  context.Context // the call's own: whether its caller left is asked at the end
	done atomic.Bool
}

func (b *tracedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.end(err)
	}
	return n, err
}

func (b *tracedBody) Close() error {
	err := b.ReadCloser.Close()
	b.end(io.ErrUnexpectedEOF) // not read to its end
	return err
}

// end ends the span once; io.EOF is the good end.
func (b *tracedBody) end(err error) {
	if b.done.Swap(true) {
		return
	}
	switch {
	case errors.Is(err, io.EOF):
	case b.ctx.Err() != nil:
		b.span.SetAttributes(semconv.KeyErrorType.String(errorCanceled))
	default:
		b.span.SetAttributes(failSpan(b.span, nil, forwardError(b.ctx, err))...)
	}
	b.span.End()
}
