package middleware

import (
	"net/http"
	"sync"
	"time"
)

// flushDelay is how long a piece of an answer whose length is known may wait for
// more: head and body of a short one then leave in one write, and no other goroutine
// is woken to flush the head. httputil.ReverseProxy flushes event streams and answers
// without a length at once whatever this says.
const flushDelay = 2 * time.Millisecond

// proxied notes that an answer has begun. What it does not do itself
// http.ResponseController finds below it.
type proxied struct {
	http.ResponseWriter

	begun bool
}

// WriteHeader takes the status; informational heads begin nothing.
func (p *proxied) WriteHeader(status int) {
	if status >= http.StatusOK {
		p.begun = true
	}
	p.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (p *proxied) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// copyBuffers pools the buffers that responses are copied through.
type copyBuffers struct{ pool sync.Pool }

const copyBufferSize = 32 << 10

func (c *copyBuffers) Get() []byte {
	if b, ok := c.pool.Get().(*[copyBufferSize]byte); ok {
		return b[:]
	}
	return new([copyBufferSize]byte)[:]
}

func (c *copyBuffers) Put(b []byte) {
	if len(b) == copyBufferSize {
		c.pool.Put((*[copyBufferSize]byte)(b))
	}
}
