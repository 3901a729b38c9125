package middleware

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// firstStep is how much is allocated before the first byte came. A
// Content-Length is a claim: memory follows what was really sent, at most
// trustFactor times.
const (
	firstStep   = 256 << 10
	trustFactor = 8
)

// captured is a request body in memory.
//
// Its bytes are never pooled and never written again: the transport may still
// be sending them when the response is over (an upstream that answers early),
// and an attempt reads them after its request ended. Reuse would hand one
// tenant's bytes to another.
type captured struct {
	// Raw is the body as it came.
	Raw []byte
	// Decoded is Raw without its Content-Encoding: Raw itself where there is
	// none, nil where Opaque says why it cannot be looked into.
	Decoded []byte
	// Encoding is the Content-Encoding in lower case; empty: none.
	Encoding string
	// Opaque is why there is no Decoded: "encoding" (unknown, or the data is
	// broken) or "too-large" (decoded, it would pass the limit or the budget).
	// Such a request is passed on untouched. Empty: there is one.
	Opaque string

	lease *bodyLease
}

// Release returns the bytes to the budget. It may be called more than once. The
// slices stay valid.
func (c *captured) Release() {
	if c != nil && c.lease != nil {
		c.lease.release()
	}
}

// Charge holds n bytes more of the budget until Release: what was made of the
// body and lives as long. errOverloaded where they are not to be had.
func (c *captured) Charge(n int64) error { return c.lease.grow(n) }

// readBody reads the body of r once, whole, within limit and budget. After it
// the trailers of the request are in r.Trailer. Errors: errTooLarge,
// errOverloaded, errBodyBroken; then nothing is held.
func readBody(r *http.Request, limit int64, budget *bodyBudget) (*captured, error) {
	if r.ContentLength > limit {
		return nil, errTooLarge
	}
	l := &bodyLease{budget: budget}
	raw, err := readAll(r.Body, r.ContentLength, limit, l)
	if err != nil {
		l.release()
		return nil, err
	}
	c := &captured{Raw: raw, Decoded: raw, Encoding: contentEncoding(r.Header), lease: l}
	if c.Encoding != "" {
		c.Decoded, c.Opaque = decodeBody(c.Encoding, raw, limit, l)
	}
	return c, nil
}

// readAll reads to the end. size is the announced length, negative if none.
func readAll(src io.Reader, size, limit int64, l *bodyLease) ([]byte, error) {
	if src == nil || src == http.NoBody {
		return nil, nil
	}
	step := int64(firstStep)
	if size < 0 {
		step = 16 << 10
	}
	buf, err := readGrowing(src, size, step, limit, l)
	switch {
	case err == nil:
	case errors.Is(err, errTooLarge), errors.Is(err, errOverloaded):
		return nil, err
	default:
		var tooLarge *http.MaxBytesError // a bound set around this middleware
		if errors.As(err, &tooLarge) {
			return nil, errTooLarge
		}
		return nil, fmt.Errorf("%w: %w", errBodyBroken, err)
	}
	if size >= 0 && int64(len(buf)) != size {
		return nil, errBodyBroken
	}
	return buf, nil
}

// readGrowing reads src to its end into one slice that grows as bytes come in. want is the expected length (negative: unknown); nothing beyond limit is
// read but the one byte that shows that there is more. The lease holds the
// slice's capacity.
func readGrowing(src io.Reader, want, step, limit int64, l *bodyLease) ([]byte, error) {
	room := step
	if want >= 0 {
		room = min(want, step)
	}
	room = min(room, limit)
	if err := l.grow(room); err != nil {
		return nil, err
	}
	buf := make([]byte, 0, room)
	idle := 0
	for {
		if len(buf) == cap(buf) {
			more, err := probe(src)
			if err != nil || len(more) == 0 {
				return buf, err
			}
			if buf, err = enlarge(buf, want, limit, l); err != nil {
				return nil, err
			}
			buf = append(buf, more...)
			continue
		}
		n, err := src.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if err == io.EOF {
			return buf, nil
		}
		if err != nil {
			return nil, err
		}
		if idle = idle + 1; n > 0 {
			idle = 0
		}
		if idle > 100 {
			return nil, io.ErrNoProgress
		}
	}
}

// probe asks a source whose expected bytes are all read for one more: an empty
// result is the end.
func probe(src io.Reader) ([]byte, error) {
	var one [1]byte
	n, err := io.ReadFull(src, one[:])
	if err == io.EOF {
		err = nil
	}
	return one[:n], err
}

// enlarge doubles buf, or goes towards want where that is known; never over
// limit.
func enlarge(buf []byte, want, limit int64, l *bodyLease) ([]byte, error) {
	have := int64(cap(buf))
	if have >= limit {
		return nil, errTooLarge
	}
	room := max(2*have, 512)
	if want > have {
		room = min(trustFactor*have, want)
	}
	room = min(room, limit)
	if err := l.grow(room - have); err != nil {
		return nil, err
	}
	return append(make([]byte, 0, room), buf...), nil
}

// withBody is r for the next handler with its own body, already read, in
// memory. Header fields stay, but for Expect: the body is here. Trailers that
// came with the body go with it.
func withBody(r *http.Request, body []byte) *http.Request {
	out := r.WithContext(r.Context()) // a shallow copy
	setBody(out, body)
	if r.Header["Expect"] != nil || (out.ContentLength >= 0 && r.Header.Get("Content-Length") != strconv.Itoa(len(body))) {
		out.Header = r.Header.Clone()
		out.Header.Del("Expect")
		setLength(out)
	}
	return out
}

// withReplacedBody is r with another body: fields that describe the bytes of
// the old one are dropped, its trailers too, since they may be digests of it.
func withReplacedBody(r *http.Request, body []byte) *http.Request {
	out := r.WithContext(r.Context())
	out.Trailer = nil
	setBody(out, body)
	out.Header = r.Header.Clone()
	for _, name := range [...]string{
		"Content-Encoding", "Content-Md5", "Digest", "Content-Digest", "Repr-Digest", "Expect", "Trailer",
	} {
		out.Header.Del(name)
	}
	setLength(out)
	return out
}

func setBody(r *http.Request, body []byte) {
	r.TransferEncoding = nil
	r.ContentLength = int64(len(body))
	if len(r.Trailer) > 0 {
		r.ContentLength = -1 // only a chunked body can carry them
	}
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	if r.ContentLength == 0 {
		r.GetBody = func() (io.ReadCloser, error) { return http.NoBody, nil }
	}
	r.Body, _ = r.GetBody()
}

func setLength(r *http.Request) {
	if r.ContentLength < 0 {
		r.Header.Del("Content-Length")
		return
	}
	r.Header.Set("Content-Length", strconv.FormatInt(r.ContentLength, 10))
}

// contentEncoding is the content coding, lower case, "identity" left out and
// several joined by a comma as they were applied.
func contentEncoding(h http.Header) string {
	values := h["Content-Encoding"]
	if len(values) == 0 {
		return ""
	}
	var codings []string
	for _, value := range values {
		for coding := range strings.SplitSeq(value, ",") {
			coding = strings.ToLower(strings.TrimSpace(coding))
			if coding != "" && coding != "identity" {
				codings = append(codings, coding)
			}
		}
	}
	return strings.Join(codings, ", ")
}
