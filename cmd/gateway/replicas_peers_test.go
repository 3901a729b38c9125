//go:build unix

package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// The other programs around a fleet: the model, the upstream, and the network.

// model writes the summaries that the test tells it to write.
type model struct {
	*httptest.Server
	asked chan *summaryCall
	mu    sync.Mutex
	calls int
}

// summaryCall is one question for a summary, which waits for the test's answer.
type summaryCall struct {
	replica string
	gone    <-chan struct{} // closed when the replica hung up
	answer  chan string
	open    chan string // is answered, and the answer's connection then kept open
}

func newModel(t *testing.T) *model {
	t.Helper()
	m := &model{asked: make(chan *summaryCall, 64)}
	over := make(chan struct{})
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		call := &summaryCall{replica: name, gone: r.Context().Done(), answer: make(chan string, 1), open: make(chan string, 1)}
		m.mu.Lock()
		m.calls++
		m.mu.Unlock()
		m.asked <- call
		select {
		case text := <-call.answer:
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%q}}]}\n\n", text)
			fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
		case text := <-call.open:
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%q},\"finish_reason\":\"stop\"}]}\n\n", text)
			_ = http.NewResponseController(w).Flush()
			select {
			case <-call.gone:
			case <-over:
			}
		case <-call.gone:
		case <-over:
		}
	}))
	t.Cleanup(func() {
		close(over)
		m.Close()
	})
	return m
}

// next is the next question, which must come from that replica.
func (f *fleet) next(from *process) *summaryCall {
	f.t.Helper()
	call := take(f.t, f.model.asked, "a summary call of replica "+from.name)
	if call.replica != from.name {
		f.t.Fatalf("replica %s asked for the summary, want %s", call.replica, from.name)
	}
	return call
}

// writes answers with a summary that is known by its name.
func (c *summaryCall) writes(name string) { c.answer <- summaryNamed(name) }

// stallsAfter answers with the whole of such a summary, and then neither ends the
// answer nor says anything more.
func (c *summaryCall) stallsAfter(name string) { c.open <- summaryNamed(name) }

func summaryNamed(name string) string {
	return name + ": questions were asked and answered, nothing is open."
}

// asks wants so many summary calls in all.
func (f *fleet) asks(want int) {
	f.t.Helper()
	f.model.mu.Lock()
	defer f.model.mu.Unlock()
	if f.model.calls != want {
		f.t.Errorf("%d summary calls, want %d", f.model.calls, want)
	}
}

// backend is the upstream: it keeps what it was asked, and refuses as malformed
// what holds a certain text.
type backend struct {
	*httptest.Server
	mu     sync.Mutex
	bodies []string
	refuse string
}

func newBackend(t *testing.T) *backend {
	t.Helper()
	b := &backend{}
	b.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		b.mu.Lock()
		b.bodies = append(b.bodies, string(raw))
		refused := b.refuse != "" && strings.Contains(string(raw), b.refuse)
		b.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		if refused {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"error":{"message":"Conversation roles must alternate user/assistant/user/assistant/...","type":"invalid_request_error"}}`)
			return
		}
		_, _ = io.WriteString(w, `{"choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}]}`)
	}))
	t.Cleanup(b.Close)
	return b
}

func (b *backend) refuses(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refuse = text
}

func (b *backend) asked() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.bodies)
}

// never wants no forwarded request to hold text.
func (f *fleet) never(text string) {
	f.t.Helper()
	for _, body := range f.upstream.asked() {
		if strings.Contains(body, text) {
			f.t.Errorf("the upstream was sent %q: %.300s", text, body)
		}
	}
}

// link is a network path to a server that can be cut: connections break, and new
// ones are refused until it is mended.
type link struct {
	addr     string
	target   string
	listener net.Listener
	wait     sync.WaitGroup
	mu       sync.Mutex
	down     bool
	conns    map[net.Conn]struct{}
	text     string        // what is kept back until free is closed
	free     chan struct{} // nil: nothing is
}

func newLink(t *testing.T, target string) *link {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	k := &link{addr: l.Addr().String(), target: target, listener: l, conns: map[net.Conn]struct{}{}}
	k.wait.Go(k.accept)
	t.Cleanup(func() {
		_ = l.Close()
		k.cut()
		k.wait.Wait()
	})
	return k
}

func (k *link) accept() {
	for {
		near, err := k.listener.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", k.target)
		if err != nil || !k.enter(near, far) {
			_ = near.Close()
			if far != nil {
				_ = far.Close()
			}
			continue
		}
		k.wait.Go(func() { k.pass(near, far, far) })
		k.wait.Go(func() { k.pass(far, near, &sieve{near, k}) })
	}
}

func (k *link) enter(conns ...net.Conn) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.down {
		return false
	}
	for _, c := range conns {
		k.conns[c] = struct{}{}
	}
	return true
}

// pass copies what read reads from from, which may be late.
func (k *link) pass(to, from net.Conn, read io.Reader) {
	_, _ = io.Copy(struct{ io.Writer }{to}, read)
	_, _ = to.Close(), from.Close()
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.conns, to)
	delete(k.conns, from)
}

func (k *link) cut() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.down = true
	for c := range k.conns {
		_ = c.Close()
	}
}

func (k *link) mend() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.down = false
}

// keepBack keeps back whatever a client sends with text in it, and all that comes
// after it on that connection, until the returned function is called.
func (k *link) keepBack(text string) (release func()) {
	free := make(chan struct{})
	k.mu.Lock()
	k.text, k.free = text, free
	k.mu.Unlock()
	release = sync.OnceFunc(func() { close(free) })
	return release
}

// sieve reads what a client sends.
type sieve struct {
	net.Conn

	link *link
}

// Read waits where the link keeps back what came. A command is written at once, so
// it is read at once too.
func (s *sieve) Read(p []byte) (int, error) {
	n, err := s.Conn.Read(p)
	s.link.mu.Lock()
	text, free := s.link.text, s.link.free
	s.link.mu.Unlock()
	if free != nil && strings.Contains(string(p[:n]), text) {
		<-free
	}
	return n, err
}
