package contracttest

import (
	"bytes"
	"io"
	"net/http"
	"strings"
)

// Reporter is the part of a test that a breach is told to.
type Reporter interface {
	Helper()
	Errorf(format string, args ...any)
}

// kept is how much of a body is kept to be judged, in bytes. What is longer is
// no error of ours and no answer of the admin plane that a test makes.
const kept = 1 << 20

// Admin is h, with every response held against the document.
func (d *Description) Admin(t Reporter, h http.Handler) http.Handler {
	return d.handler(t, AdminPlane, h)
}

// Data is h, with every response held against the document.
func (d *Description) Data(t Reporter, h http.Handler) http.Handler {
	return d.handler(t, DataPlane, h)
}

func (d *Description) handler(t Reporter, p Plane, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got := response{method: r.Method, path: r.URL.EscapedPath()}
		rec := &recorder{ResponseWriter: w}
		// Also when the handler ends the connection: what was sent was sent.
		defer func() {
			t.Helper()
			if rec.header == nil {
				return // taken over, or cut before there was an answer
			}
			got.status, got.header, got.trailer, got.body = rec.status, rec.header, w.Header(), rec.body.Bytes()
			if err := d.check(p, got); err != nil {
				t.Errorf("%v", err)
			}
		}()
		h.ServeHTTP(rec, r)
		if rec.header == nil && r.Context().Err() == nil {
			rec.note(http.StatusOK)
		}
	})
}

// recorder keeps what a handler answers.
type recorder struct {
	http.ResponseWriter

	status int
	header http.Header // as it was when the head was sent
	body   bytes.Buffer
}

// Unwrap is for http.ResponseController.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

func (r *recorder) note(status int) {
	if r.header == nil && status >= 200 {
		r.status, r.header = status, r.Header().Clone()
	}
}

// WriteHeader keeps the head.
func (r *recorder) WriteHeader(status int) {
	r.note(status)
	r.ResponseWriter.WriteHeader(status)
}

// Write keeps the body.
func (r *recorder) Write(b []byte) (int, error) {
	r.note(http.StatusOK)
	r.body.Write(b[:min(len(b), kept-r.body.Len())])
	return r.ResponseWriter.Write(b)
}

// FlushError sends what there is.
func (r *recorder) FlushError() error {
	r.note(http.StatusOK)
	return http.NewResponseController(r.ResponseWriter).Flush()
}

// Flush is for handlers that know http.Flusher.
func (r *recorder) Flush() { _ = r.FlushError() }

// Transport is base, with every response of a running gateway held against the
// document: a head that is not as documented fails the request, a body the last
// read. Chat requests are the data plane's, paths of the admin plane and whatever
// forbids to be framed are the admin plane's, the rest is the data plane's.
func (d *Description) Transport(base http.RoundTripper) http.RoundTripper {
	return transport{d, base}
}

type transport struct {
	d    *Description
	base http.RoundTripper
}

// RoundTrip is http.RoundTripper's.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := t.base.RoundTrip(r)
	if err != nil || res.StatusCode < 200 {
		return res, err
	}
	res.Body = &judged{ReadCloser: res.Body, judge: func(body []byte) error {
		return t.d.check(t.d.planeOf(r, res), response{
			method: r.Method, path: r.URL.EscapedPath(), status: res.StatusCode, header: res.Header, trailer: res.Trailer, body: body,
		})
	}}
	return res, nil
}

func (d *Description) planeOf(r *http.Request, res *http.Response) Plane {
	if strings.HasSuffix(r.URL.Path, chatEnd) {
		return DataPlane
	}
	if path, _ := d.operation(r.Method, r.URL.EscapedPath()); path != "" {
		return AdminPlane
	}
	if strings.Contains(res.Header.Get("Content-Security-Policy"), "frame-ancestors 'none'") {
		return AdminPlane
	}
	return DataPlane
}

// judged is a body that is judged at its end.
type judged struct {
	io.ReadCloser

	body  bytes.Buffer
	judge func(body []byte) error
}

func (j *judged) Read(p []byte) (int, error) {
	n, err := j.ReadCloser.Read(p)
	j.body.Write(p[:min(n, kept-j.body.Len())])
	if err == io.EOF && j.judge != nil {
		judge := j.judge
		j.judge = nil
		if wrong := judge(j.body.Bytes()); wrong != nil {
			return n, wrong
		}
	}
	return n, err
}
