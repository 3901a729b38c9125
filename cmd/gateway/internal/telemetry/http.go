package telemetry

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"

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
		ctx, key := measured(r.Context()), serverKeyOf(r)
		t.requests.Add(ctx, 1)
		defer func() { // a panic goes on, to whoever made it
			t.requests.Add(ctx, -1)
			switch {
			case r.Context().Err() != nil && (broke || counted.Status() == 0): // not: closed behind a whole answer
				key.failure = errorCanceled
			case broke:
				key.failure = errorBroke
			default:
				key.status = listed(cmp.Or(counted.Status(), http.StatusOK)) // a handler that wrote nothing
			}
			t.served.Record(ctx, time.Since(began).Seconds(), t.servedLabels.of(key, serverKey.labels).record...)
		}()
		next.ServeHTTP(counted, r)
		broke = false
	})
}

// serverKey is what the labels of a request to us are made from.
type serverKey struct {
	method, route string
	https         bool
	status        int    // as listed has it; 0: there is none, but a failure
	failure       string // error.type that is no status
}

func serverKeyOf(r *http.Request) serverKey {
	method, _ := semconv.Method(r.Method)
	return serverKey{method: method, route: semconv.ChatRoute(r.Method, r.URL.Path), https: r.TLS != nil}
}

func (k serverKey) labels() []attribute.KeyValue {
	scheme := "http"
	if k.https {
		scheme = "https"
	}
	out := []attribute.KeyValue{semconv.KeyURLScheme.String(scheme), semconv.KeyHTTPRequestMethod.String(k.method)}
	if k.route != "" {
		out = append(out, semconv.KeyHTTPRoute.String(k.route))
	}
	return append(out, statusOf(k.status, http.StatusInternalServerError, k.failure)...)
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
	method, _ := semconv.Method(r.Method)
	call := &timedCall{
		t: c.t, began: time.Now(), ctx: r.Context(),
		key: clientKey{method: method, host: r.URL.Host, https: strings.EqualFold(r.URL.Scheme, "https")},
	}
	res, err := c.next.RoundTrip(r)
	if err != nil {
		call.fail(errorNetwork)
		return nil, err
	}
	call.key.status = listed(res.StatusCode)
	if res.StatusCode == http.StatusSwitchingProtocols {
		call.end()
		return res, nil
	}
	call.ReadCloser = res.Body
	res.Body = call
	return res, nil
}

// clientKey is what the labels of a call of ours are made from.
type clientKey struct {
	method, host string // host with its port, as the URL has it
	https        bool
	status       int    // as listed has it; 0: there is none, but a failure
	failure      string // error.type that is no status
}

func (k clientKey) labels() []attribute.KeyValue {
	to := url.URL{Host: k.host}
	out := []attribute.KeyValue{
		semconv.KeyHTTPRequestMethod.String(k.method), semconv.KeyServerAddress.String(to.Hostname()), semconv.KeyServerPort.Int(portOf(&to, k.https)),
	}
	return append(out, statusOf(k.status, http.StatusBadRequest, k.failure)...)
}

// timedCall is one call whose end is waited for, and the body that tells it.
type timedCall struct {
	io.ReadCloser

	t     *Telemetry
	began time.Time
	ctx   context.Context // the call's own: whether its caller left is asked at the end
	key   clientKey
	ended atomic.Bool
}

// end records the call once.
func (c *timedCall) end() {
	if !c.ended.Swap(true) {
		c.t.forwarded.Record(measured(c.ctx), time.Since(c.began).Seconds(), c.t.forwardedLabels.of(c.key, clientKey.labels).record...)
	}
}

// fail records a call that did not end well.
func (c *timedCall) fail(otherwise string) {
	if c.ended.Swap(true) {
		return
	}
	key := c.key
	key.status, key.failure = 0, otherwise
	if errors.Is(c.ctx.Err(), context.Canceled) {
		key.failure = errorCanceled
	}
	c.t.forwarded.Record(measured(c.ctx), time.Since(c.began).Seconds(), c.t.forwardedLabels.of(key, clientKey.labels).record...)
}

// Read is the body's.
func (c *timedCall) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	switch {
	case err == io.EOF:
		c.end()
	case err != nil:
		c.fail(errorBroke)
	}
	return n, err
}

// Close is the body's.
func (c *timedCall) Close() error {
	err := c.ReadCloser.Close()
	c.fail(errorBroke) // unless it was read to its end
	return err
}

// listed is a status that is told apart, or what is left of another one: its
// hundred, negative.
func listed(status int) int {
	if slices.Contains(statuses(), status) {
		return status
	}
	return -status / 100 * 100
}

// statusOf are the labels of a status as listed has it, itself where it is on the
// list, and what kind of error it is from bad on; or those of a failure.
func statusOf(status, bad int, failure string) []attribute.KeyValue {
	if failure != "" {
		return []attribute.KeyValue{semconv.KeyErrorType.String(failure)}
	}
	var out []attribute.KeyValue
	if status > 0 {
		out = append(out, semconv.KeyHTTPResponseStatusCode.Int(status))
	}
	switch {
	case max(status, -status) < bad:
	case status > 0:
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

func portOf(to *url.URL, https bool) int {
	if port, err := strconv.Atoi(to.Port()); err == nil {
		return port
	}
	if https {
		return 443
	}
	return 80
}
