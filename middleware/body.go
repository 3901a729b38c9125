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
	firstStep   = 64 << 10
	trustFactor = 32
)

// captured is a request body in memory. Its bytes are not written again before
// Release, and where Keep was called never; see slab.go.
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

	lease        *bodyLease
	raw, decoded *slab // nil: none; decoded is nil where it is raw
	released     bool
}

// Release returns the bytes to the budget, and the memory to be used again, unless
// Keep was called: then the slices stay valid. It may be called more than once, by
// one goroutine at a time.
func (c *captured) Release() {
	if c == nil || c.released {
		return
	}
	c.released = true
	c.lease.release()
	for _, s := range [...]*slab{c.raw, c.decoded} {
		if s != nil {
			s.drop()
		}
	}
}

// Keep makes the slices valid for as long as somebody has them.
func (c *captured) Keep() {
	for _, s := range [...]*slab{c.raw, c.decoded} {
		if s != nil {
			s.keep()
		}
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
	c := &captured{Encoding: contentEncoding(r.Header), lease: l, raw: raw}
	if raw != nil {
		c.Raw = raw.buf
	}
	c.Decoded = c.Raw
	if c.Encoding != "" {
		c.Decoded = nil
		if c.decoded, c.Opaque = decodeBody(c.Encoding, c.Raw, limit, l); c.decoded != nil {
			c.Decoded = c.decoded.buf
		}
	}
	return c, nil
}

// readAll reads to the end. size is the announced length, negative if none.
func readAll(src io.Reader, size, limit int64, l *bodyLease) (*slab, error) {
	if src == nil || src == http.NoBody {
		return nil, nil
	}
	step := int64(firstStep)
	if size < 0 {
		step = 16 << 10
	}
	s, err := readGrowing(src, size, step, limit, l)
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
	if size >= 0 && int64(len(s.buf)) != size {
		s.drop()
		return nil, errBodyBroken
	}
	return s, nil
}

// readGrowing reads src to its end into one slab that grows as bytes come in. want
// is the expected length (negative: unknown); nothing beyond limit is read but the
// one byte that shows that there is more. The lease holds the slab's memory.
func readGrowing(src io.Reader, want, step, limit int64, l *bodyLease) (s *slab, err error) {
	room := step
	if want >= 0 {
		room = min(want, step)
	}
	if s, err = grow(nil, min(room, limit), l); err != nil {
		return nil, err
	}
	for err == nil {
		if len(s.buf) == cap(s.buf) {
			var more []byte
			if more, err = probe(src); err != nil || len(more) == 0 {
				break
			}
			if s, err = enlarge(s, want, limit, l); err == nil {
				s.buf = append(s.buf, more...)
			}
			continue
		}
		err = fill(src, s)
	}
	if err == nil || err == io.EOF {
		return s, nil
	}
	s.drop()
	return nil, err
}

// fill reads what comes next. io.EOF: that was the end.
func fill(src io.Reader, s *slab) error {
	for range 100 {
		n, err := src.Read(s.buf[len(s.buf):cap(s.buf)])
		s.buf = s.buf[:len(s.buf)+n]
		if n > 0 || err != nil {
			return err
		}
	}
	return io.ErrNoProgress
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

// enlarge doubles the room, or goes towards want where that is known; never over
// limit.
func enlarge(s *slab, want, limit int64, l *bodyLease) (*slab, error) {
	have := int64(cap(s.buf))
	if have >= limit {
		return s, errTooLarge
	}
	room := max(2*have, 512)
	if want > have {
		room = min(trustFactor*have, want)
	}
	return grow(s, min(room, limit), l)
}

// grow is a slab with room for n bytes that holds what old held, which may be nil
// and is given back. In case of an error it is old itself.
func grow(old *slab, n int64, l *bodyLease) (*slab, error) {
	size, _ := slabSize(n)
	if old != nil {
		size -= old.size()
	}
	if err := l.grow(size); err != nil {
		return old, err
	}
	s := newSlab(n)
	if old != nil {
		s.buf = append(s.buf, old.buf...)
		old.drop()
	}
	return s, nil
}

// withBody is r for the next handler with its own body, already read, in
// memory. Header fields stay, but for Expect: the body is here. Trailers that
// came with the body go with it.
func withBody(r *http.Request, c *captured) *http.Request {
	out := r.WithContext(r.Context()) // a shallow copy
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(c.Raw)), nil }
	if c.raw != nil && c.raw.class >= 0 {
		open = c.raw.lend
	}
	setBody(out, len(c.Raw), open)
	if r.Header["Expect"] != nil || (out.ContentLength >= 0 && r.Header.Get("Content-Length") != strconv.Itoa(len(c.Raw))) {
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
	setBody(out, len(body), func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil })
	out.Header = r.Header.Clone()
	for _, name := range [...]string{
		"Content-Encoding", "Content-Md5", "Digest", "Content-Digest", "Repr-Digest", "Expect", "Trailer",
	} {
		out.Header.Del(name)
	}
	setLength(out)
	return out
}

// setBody gives r a body of n bytes that open opens, which fails only when the
// request is over.
func setBody(r *http.Request, n int, open func() (io.ReadCloser, error)) {
	r.TransferEncoding = nil
	r.ContentLength = int64(n)
	if len(r.Trailer) > 0 {
		r.ContentLength = -1 // only a chunked body can carry them
	}
	r.GetBody = open
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
