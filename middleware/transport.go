package middleware

import (
	"context"
	"io"
	"net"
	"net/http"
	"syscall"
	"time"
)

// NewTransport makes the transport that NewProxy uses by default: no
// compression of its own, no limit on idle connections but their age, HTTP/2
// where the upstream speaks it, with pings, since a long prefill is a long
// silence, and no time-out but for connecting: answers may take minutes.
func NewTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           dialWith(dialer),
		ForceAttemptHTTP2:     true,
		HTTP2:                 &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
		DisableCompression:    true,
		MaxIdleConnsPerHost:   1024,
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
	}
}

// dialWith connects by d. What it returns takes a body that is in memory in one
// write.
func dialWith(d *net.Dialer) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := d.DialContext(ctx, network, addr)
		if tcp, ok := c.(*net.TCPConn); ok && err == nil {
			return upstreamConn{tcp}, nil
		}
		return c, err
	}
}

// upstreamConn is a connection to the upstream. net/http hides what a request's body
// is behind the length that it has, and net.TCPConn then copies it through 32 KiB
// that it allocates for each request: for a body in memory that is a copy, an
// allocation and several writes too many.
type upstreamConn struct{ *net.TCPConn }

// ReadFrom lets a source of known length that can write itself do so. Files and
// connections are better left to the kernel, and all others have to be copied.
func (c upstreamConn) ReadFrom(r io.Reader) (int64, error) {
	l, ok := r.(*io.LimitedReader)
	if !ok {
		return c.TCPConn.ReadFrom(r)
	}
	source, ok := l.R.(io.WriterTo)
	if _, kernel := l.R.(syscall.Conn); !ok || kernel {
		return c.TCPConn.ReadFrom(r)
	}
	n, err := source.WriteTo(&upTo{c.TCPConn, l.N})
	l.N -= n
	return n, err
}

// upTo takes so many bytes and no more.
type upTo struct {
	w    io.Writer
	left int64
}

func (u *upTo) Write(b []byte) (int, error) {
	room := min(int64(len(b)), u.left)
	n, err := u.w.Write(b[:room])
	u.left -= int64(n)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	return n, err
}
