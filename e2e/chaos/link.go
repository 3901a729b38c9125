package main

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"
)

// fault is what a link does to what passes from the server to the client. The
// zero fault does nothing.
type fault struct {
	refuse bool          // new connections are reset, and so are those there are
	delay  time.Duration // before each piece of a reply
	cutAt  int           // the connection ends after so many bytes of replies
	bytes  int           // a reply comes in pieces of so many bytes, delay apart
	hold   bool          // nothing of a reply passes
}

// link is a TCP proxy that breaks what passes through it.
type link struct {
	addr   string
	target string
	l      net.Listener
	wait   sync.WaitGroup

	mu      sync.Mutex
	fault   fault
	changed chan struct{} // closed and replaced when fault changes
	pairs   map[*pair]struct{}
	closed  bool
	cuts    int
}

type pair struct{ client, server net.Conn }

// close resets both ends: nothing that was sent is sure to arrive.
func (p *pair) close() {
	for _, c := range []net.Conn{p.client, p.server} {
		if t, ok := c.(*net.TCPConn); ok {
			_ = t.SetLinger(0)
		}
		_ = c.Close()
	}
}

func newLink(target string) (*link, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for a link: %w", err)
	}
	k := &link{addr: l.Addr().String(), target: target, l: l, changed: make(chan struct{}), pairs: map[*pair]struct{}{}}
	k.wait.Go(k.accept)
	return k, nil
}

// set changes the fault, for the connections that there are too.
func (k *link) set(f fault) {
	k.mu.Lock()
	k.fault = f
	close(k.changed)
	k.changed = make(chan struct{})
	k.mu.Unlock()
	if f.refuse {
		k.cut()
	}
}

// cut resets every connection there is.
func (k *link) cut() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for p := range k.pairs {
		p.close()
	}
}

func (k *link) now() (fault, <-chan struct{}) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.fault, k.changed
}

// carries is how many connections there are.
func (k *link) carries() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.pairs)
}

// broken is how many connections were cut in the middle of a reply.
func (k *link) broken() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.cuts
}

func (k *link) close() {
	k.mu.Lock()
	k.closed = true
	k.mu.Unlock()
	k.set(fault{}) // wakes who holds
	_ = k.l.Close()
	k.cut()
	k.wait.Wait()
}

func (k *link) accept() {
	for {
		client, err := k.l.Accept()
		if err != nil {
			return
		}
		if f, _ := k.now(); f.refuse {
			(&pair{client: client}).refuse()
			continue
		}
		k.wait.Go(func() { k.carry(client) })
	}
}

func (p *pair) refuse() {
	if t, ok := p.client.(*net.TCPConn); ok {
		_ = t.SetLinger(0)
	}
	_ = p.client.Close()
}

func (k *link) carry(client net.Conn) {
	server, err := (&net.Dialer{Timeout: 5 * time.Second}).Dial("tcp", k.target)
	if err != nil {
		(&pair{client: client}).refuse()
		return
	}
	p := &pair{client, server}
	k.mu.Lock()
	closed := k.closed
	k.pairs[p] = struct{}{}
	k.mu.Unlock()
	if closed {
		p.close()
	}
	var up sync.WaitGroup
	up.Go(func() {
		buf := make([]byte, 64<<10)
		for {
			n, err := client.Read(buf)
			if n > 0 {
				if _, werr := server.Write(buf[:n]); werr != nil {
					err = werr
				}
			}
			if err != nil {
				break
			}
		}
		if t, ok := server.(*net.TCPConn); ok {
			_ = t.CloseWrite()
		}
	})
	k.replies(p)
	p.close()
	up.Wait()
	k.mu.Lock()
	delete(k.pairs, p)
	k.mu.Unlock()
}

// replies carries what the server sends, through the fault of the moment.
func (k *link) replies(p *pair) {
	buf := make([]byte, 64<<10)
	passed := 0
	for {
		n, err := p.server.Read(buf)
		if n == 0 && err != nil {
			// An orderly end stays one: an answer without a length ends so.
			if t, ok := p.client.(*net.TCPConn); ok {
				_ = t.CloseWrite()
			}
			return
		}
		for rest := buf[:n]; len(rest) > 0; {
			f, changed := k.now()
			if f.hold {
				<-changed
				continue
			}
			piece := rest
			if f.bytes > 0 && len(piece) > f.bytes {
				piece = piece[:f.bytes]
			}
			if f.delay > 0 {
				select {
				case <-time.After(f.delay):
				case <-changed:
				}
			}
			if f.cutAt > 0 && passed+len(piece) >= f.cutAt {
				piece = piece[:max(0, f.cutAt-passed)]
				_, _ = p.client.Write(piece)
				k.mu.Lock()
				k.cuts++
				k.mu.Unlock()
				return
			}
			if _, werr := p.client.Write(piece); werr != nil {
				return
			}
			passed += len(piece)
			rest = rest[len(piece):]
		}
		if err != nil {
			return
		}
	}
}
