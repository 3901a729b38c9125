package telemetry

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/foldgate/foldgate/internal/semconv"
	"github.com/foldgate/foldgate/internal/statuswriter"
)

// The values of error.type that are no status.
const (
	errorBroke    = "response_broke_off"
	errorCanceled = "canceled"
	errorNetwork  = "connection_error"
)

// Requests counts and times the requests that next serves.
func (t *Telemetry) Requests(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began, counted, broke := time.Now(), statuswriter.New(w), true
		ctx := context.WithoutCancel(r.Context())
		method, path, scheme := r.Method, r.URL.Path, "http"
		if r.TLS != nil {
			scheme = "https"
		}
		t.requests.Add(ctx, 1)
		defer func() { // a panic goes on, to whoever made it
			t.requests.Add(ctx, -1)
			labels := append(make([]attribute.KeyValue, 0, 5), semconv.KeyURLScheme.String(scheme), methodOf(method))
			if route := semconv.ChatRoute(method, path); route != "" {
				labels = append(labels, semconv.KeyHTTPRoute.String(route))
			}
			switch {
			case r.Context().Err() != nil && (broke || counted.Status() == 0): // not: closed behind a whole answer
				labels = append(labels, semconv.KeyErrorType.String(errorCanceled))
			case broke:
				labels = append(labels, semconv.KeyErrorType.String(errorBroke))
			default:
				status := cmp.Or(counted.Status(), http.StatusOK) // a handler that wrote nothing
				labels = append(labels, statusOf(status, http.StatusInternalServerError)...)
			}
			t.served.Record(ctx, time.Since(began).Seconds(), metric.WithAttributes(labels...))
		}()
		next.ServeHTTP(counted, r)
		broke = false
	})
}

// Transport times the calls that next carries, each to the end of its answer.
func (t *Telemetry) Transport(next http.RoundTripper) http.RoundTripper {
	return &timed{t: t, next: next}
}

type timed struct {
	t    *Telemetry
	next http.RoundTripper
}

// RoundTrip is http.RoundTripper's.
func (c *timed) RoundTrip(r *http.Request) (*http.Response, error) {
	call := &timedCall{
		t: c.t, began: time.Now(), ctx: r.Context(),
		labels: []attribute.KeyValue{methodOf(r.Method), semconv.KeyServerAddress.String(r.URL.Hostname()), semconv.KeyServerPort.Int(portOf(r))},
	}
	res, err := c.next.RoundTrip(r)
	if err != nil {
		call.end(semconv.KeyErrorType.String(call.failure(errorNetwork)))
		return nil, err
	}
	call.status = res.StatusCode
	if res.StatusCode == http.StatusSwitchingProtocols {
		call.end(statusOf(call.status, http.StatusBadRequest)...)
		return res, nil
	}
	res.Body = &timedBody{ReadCloser: res.Body, call: call}
	return res, nil
}

// timedCall is one call whose end is waited for.
type timedCall struct {
	t      *Telemetry
	began  time.Time
	ctx    context.Context // the call's own: whether its caller left is asked at the end
	labels []attribute.KeyValue
	status int
	once   sync.Once
}

func (c *timedCall) end(more ...attribute.KeyValue) {
	c.once.Do(func() {
		c.t.forwarded.Record(context.WithoutCancel(c.ctx), time.Since(c.began).Seconds(), metric.WithAttributes(append(c.labels, more...)...))
	})
}

// failure is error.type of a call that did not end well.
func (c *timedCall) failure(otherwise string) string {
	if errors.Is(c.ctx.Err(), context.Canceled) {
		return errorCanceled
	}
	return otherwise
}

// timedBody tells the end of the body.
type timedBody struct {
	io.ReadCloser
	call *timedCall
}

func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	switch {
	case err == io.EOF:
		b.call.end(statusOf(b.call.status, http.StatusBadRequest)...)
	case err != nil:
		b.call.end(semconv.KeyErrorType.String(b.call.failure(errorBroke)))
	}
	return n, err
}

func (b *timedBody) Close() error {
	err := b.ReadCloser.Close()
	b.call.end(semconv.KeyErrorType.String(b.call.failure(errorBroke))) // unless it was read to its end
	return err
}

func methodOf(method string) attribute.KeyValue {
	known, _ := semconv.Method(method)
	return semconv.KeyHTTPRequestMethod.String(known)
}

// statusOf are the labels of a status: itself where it is on the list, and what
// kind of error it is from bad on.
func statusOf(status, bad int) []attribute.KeyValue {
	listed := slices.Contains(statuses(), status)
	var out []attribute.KeyValue
	if listed {
		out = append(out, semconv.KeyHTTPResponseStatusCode.Int(status))
	}
	switch {
	case status < bad:
	case listed:
		out = append(out, semconv.KeyErrorType.String(strconv.Itoa(status)))
	default:
		out = append(out, semconv.KeyErrorType.String(semconv.ErrorOther))
	}
	return out
}

// statuses are those that are told apart: an upstream may answer with any number.
func statuses() []int {
	return []int{
		101, 200, 201, 202, 204, 206, 301, 302, 304, 307, 308,
		400, 401, 402, 403, 404, 405, 408, 409, 413, 415, 422, 424, 429, 499,
		500, 501, 502, 503, 504, 529,
	}
}

func portOf(r *http.Request) int {
	if port, err := strconv.Atoi(r.URL.Port()); err == nil {
		return port
	}
	if strings.EqualFold(r.URL.Scheme, "https") {
		return 443
	}
	return 80
}
