package redistest

import (
	"io"
	"net"
	"sync"
	"testing"
)

// Proxy stands between a client and a server and breaks what passes on demand.
// It is safe for concurrent use and ends with the test.
type Proxy struct {
	// Addr is host:port; URL is redis://Addr.
	Addr, URL string

	target   string
	listener net.Listener
	wait     sync.WaitGroup

	mu     sync.Mutex
	closed bool
	pairs  map[*pair]struct{}
	lose   int           // replies still to be lost
	gate   chan struct{} // closed while replies may pass
	lost   chan struct{} // one value for each reply lost
}

type pair struct{ client, server net.Conn }

func (p *pair) close() {
	_ = p.client.Close()
	_ = p.server.Close()
}

// NewProxy starts a proxy to the server at target, a host:port.
func NewProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("start a proxy: %v", err)
	}
	open := make(chan struct{})
	close(open)
	p := &Proxy{
		Addr: l.Addr().String(), URL: "redis://" + l.Addr().String(),
		target: target, listener: l, pairs: map[*pair]struct{}{}, gate: open, lost: make(chan struct{}, 64),
	}
	p.wait.Go(p.accept)
	t.Cleanup(p.stop)
	return p
}

// LoseReplies makes the next n replies vanish after the server has sent them,
// together with their connections: the command ran, the client never hears of
// it.
func (p *Proxy) LoseReplies(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lose = n
}

// Lost yields a value for each reply that LoseReplies took.
func (p *Proxy) Lost() <-chan struct{} { return p.lost }

// Cut breaks every connection there is. New ones may be made.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.pairs {
		c.close()
	}
}

// Hold keeps replies back until Release: commands arrive and run.
func (p *Proxy) Hold() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gate = make(chan struct{})
}

// Release lets pass what Hold kept back.
func (p *Proxy) Release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.gate:
	default:
		close(p.gate)
	}
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.target)
		if err != nil {
			_ = client.Close()
			continue
		}
		c := &pair{client: client, server: server}
		if !p.enter(c) {
			c.close()
			return
		}
		p.wait.Go(func() {
			_, _ = io.Copy(server, client)
			c.close()
		})
		p.wait.Go(func() {
			p.replies(c)
			c.close()
			p.leave(c)
		})
	}
}

func (p *Proxy) enter(c *pair) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.pairs[c] = struct{}{}
	return true
}

func (p *Proxy) leave(c *pair) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.pairs, c)
}

// replies passes on what the server sends, until one is to be lost.
func (p *Proxy) replies(c *pair) {
	buf := make([]byte, 64<<10)
	for {
		n, err := c.server.Read(buf)
		if err != nil {
			return
		}
		lost, gate := p.next()
		if lost {
			p.lost <- struct{}{}
			return
		}
		<-gate
		if _, err := c.client.Write(buf[:n]); err != nil {
			return
		}
	}
}

func (p *Proxy) next() (lost bool, gate <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lose > 0 {
		p.lose--
		return true, nil
	}
	return false, p.gate
}

func (p *Proxy) stop() {
	p.Release()
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	_ = p.listener.Close()
	p.Cut()
	p.wait.Wait()
}
