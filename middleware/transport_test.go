package middleware_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/foldgate/foldgate/middleware"
)

// writesItself is a body in memory: reading it shows that it is copied.
type writesItself struct {
	rest   *bytes.Reader
	copied int
}

func (b *writesItself) Read(p []byte) (int, error) {
	n, err := b.rest.Read(p)
	b.copied += n
	return n, err
}

func (b *writesItself) WriteTo(w io.Writer) (int64, error) { return b.rest.WriteTo(w) }

// A body in memory is written from where it is: what is copied is what goes out
// with the head.
func TestTransportCopiesNoBody(t *testing.T) {
	t.Parallel()
	want := bytes.Repeat([]byte("0123456789abcdef"), 64<<10)
	up := upstreamOf(t, func(w http.ResponseWriter, r *http.Request) {
		got, err := io.ReadAll(r.Body)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("got %d bytes, %v; want the %d that were sent", len(got), err, len(want))
		}
	})
	transport := middleware.NewTransport()
	defer transport.CloseIdleConnections()
	for _, length := range []int64{int64(len(want)), -1} {
		body := &writesItself{rest: bytes.NewReader(want)}
		r, err := http.NewRequest("POST", up.URL, io.NopCloser(body))
		if err != nil {
			t.Fatal(err)
		}
		r.ContentLength = length
		res, err := transport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if body.copied > 8<<10 {
			t.Errorf("length %d: %d bytes were copied", length, body.copied)
		}
	}
}

// A body that is longer than was said is an error, and nothing of the rest is taken
// for the next request on the connection.
func TestTransportSendsNoMoreThanWasSaid(t *testing.T) {
	t.Parallel()
	up := upstreamOf(t, func(w http.ResponseWriter, r *http.Request) {
		if got, _ := io.ReadAll(r.Body); len(got) > 64<<10 {
			t.Errorf("got %d bytes", len(got))
		}
	})
	transport := middleware.NewTransport()
	defer transport.CloseIdleConnections()
	r, err := http.NewRequest("POST", up.URL, io.NopCloser(bytes.NewReader(make([]byte, 128<<10))))
	if err != nil {
		t.Fatal(err)
	}
	r.ContentLength = 64 << 10
	if res, err := transport.RoundTrip(r); err == nil { // the upstream was faster
		res.Body.Close()
	}
	res, err := transport.RoundTrip(httptest.NewRequest("GET", up.URL, nil))
	if err != nil {
		t.Fatal(err)
	}
	if res.Body.Close(); res.StatusCode != http.StatusOK {
		t.Errorf("the next request: got %d", res.StatusCode)
	}
}
