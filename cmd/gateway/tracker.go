package main

import (
	"net"
	"net/http"
	"sync"
	"sync/atomic"
)

// tracker counts the requests that run, so that a stop can wait for the last of
// them, and sends clients elsewhere once the program is to leave. It is safe for
// concurrent use.
type tracker struct {
	leaving atomic.Bool

	mu       sync.Mutex
	running  int
	late     int // requests that came after drain
	draining bool
	idle     chan struct{} // closed when draining and nothing runs
	closed   bool
	unused   map[net.Conn]struct{} // connections that have asked nothing yet
}

func newTracker() *tracker {
	return &tracker{idle: make(chan struct{}), unused: make(map[net.Conn]struct{})}
}

// track counts the requests that next works on, and closes their connections
// behind them once the program is to leave.
func (t *tracker) track(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.enter()
		defer t.exit()
		next.ServeHTTP(&parting{ResponseWriter: w, leaving: &t.leaving, chunked: len(r.TransferEncoding) > 0}, r)
	})
}

func (t *tracker) enter() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.running++
	if t.draining {
		t.late++
	}
}

func (t *tracker) exit() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.running--
	t.settle()
}

// leave says that the program is to leave. Requests are served as before, but
// clients are told to come by another connection next time.
func (t *tracker) leave() { t.leaving.Store(true) }

func (t *tracker) isLeaving() bool { return t.leaving.Load() }

// drain begins the draining. Whoever refuses new requests does so already: one
// that came before is counted, one that comes later is refused, and nobody waits
// for it. The channel is closed once no request runs.
func (t *tracker) drain() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.draining = true
	t.settle()
	return t.idle
}

func (t *tracker) settle() {
	if t.draining && t.running == 0 && !t.closed {
		t.closed = true
		close(t.idle)
	}
}

// count is how many requests run.
func (t *tracker) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.running
}

// refused is how many requests came after drain.
func (t *tracker) refused() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.late
}

// connState is http.Server's hook.
func (t *tracker) connState(c net.Conn, s http.ConnState) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch s {
	case http.StateNew:
		t.unused[c] = struct{}{}
	case http.StateActive, http.StateHijacked, http.StateClosed:
		delete(t.unused, c)
	case http.StateIdle: // it was active before
	}
}

// closeUnused closes the connections that have asked nothing yet. Balancers open
// some in advance, and http.Server.Shutdown would wait five seconds for each.
func (t *tracker) closeUnused() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for c := range t.unused {
		_ = c.Close() // it may be closing by itself
	}
}

// parting is a response that closes its connection when the program is to leave
// by the time its head goes out: a client that keeps a connection would
// otherwise stay with this replica until the last moment.
//
// It does so too behind a body that came in chunks. Where a Content-Length came
// beside them, something in front may have gone by that and take what follows on
// the connection for the body: RFC 9112, section 6.1, demands to close it, and
// net/http does not tell such a request from others with chunks.
type parting struct {
	http.ResponseWriter

	leaving *atomic.Bool
	chunked bool
	headed  bool
}

// WriteHeader takes the status. Informational heads are not the last one, and a
// connection that is upgraded belongs to another protocol.
func (p *parting) WriteHeader(status int) {
	if status >= http.StatusOK {
		p.head()
	}
	p.ResponseWriter.WriteHeader(status)
}

// Write takes a piece of the body.
func (p *parting) Write(b []byte) (int, error) {
	p.head()
	return p.ResponseWriter.Write(b)
}

// FlushError sends what there is, the head first.
func (p *parting) FlushError() error {
	p.head()
	return http.NewResponseController(p.ResponseWriter).Flush()
}

// Unwrap is for http.ResponseController.
func (p *parting) Unwrap() http.ResponseWriter { return p.ResponseWriter }

func (p *parting) head() {
	if p.headed {
		return
	}
	p.headed = true
	if p.chunked || p.leaving.Load() {
		p.Header().Set("Connection", "close")
	}
}
