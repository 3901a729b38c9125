package middleware_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/foldgate/foldgate/compression/window"
)

// tangled is an upstream that makes it hard to know when a body is done with: it
// answers before it has read, refuses, or cuts the connection. Mixed is of whom it
// got bytes of somebody else.
type tangled struct {
	net.Listener
	mixed sync.Map
}

func newTangled(t *testing.T) *tangled {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	u := &tangled{Listener: l}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.(*net.TCPConn).SetReadBuffer(64 << 10) // so that little is on its way in the kernel
			go u.serve(c)
		}
	}()
	return u
}

const (
	taken    = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
	overflow = `{"error":{"message":"This model's maximum context length is 4000 tokens.","code":"context_length_exceeded"}}`
)

func (u *tangled) serve(c net.Conn) {
	defer c.Close()
	for in := bufio.NewReader(c); ; {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		mode, answer := r.Header.Get("X-Mode"), taken
		switch {
		case mode == "early": // a whole answer, with most of the body still on its way
			_, _ = io.WriteString(c, taken)
			answer = ""
		case mode == "cut":
			_, _ = io.CopyN(io.Discard, r.Body, 5000)
			return
		case mode == "overflow" && r.ContentLength > 100<<10:
			answer = fmt.Sprintf("HTTP/1.1 400 Bad Request\r\nContent-Length: %d\r\n\r\n%s", len(overflow), overflow)
		}
		raw, err := io.ReadAll(r.Body) // fails where the gateway was done before we were
		u.look(r, raw, err == nil)
		if _, failed := io.WriteString(c, answer); err != nil || failed != nil {
			return
		}
	}
}

// look holds what came of a body against whose it is.
func (u *tangled) look(r *http.Request, raw []byte, whole bool) {
	owner, mode := r.Header.Get("X-Owner"), r.Header.Get("X-Mode")
	switch {
	case r.Header.Get("Content-Encoding") == "":
	case !whole:
		return
	default:
		zr, err := gzip.NewReader(bytes.NewReader(raw))
		if err != nil {
			u.mixed.Store(fmt.Sprintf("%s %s: %v", owner, mode, err), true)
			return
		}
		raw, _ = io.ReadAll(zr)
	}
	if !whole {
		raw = raw[:bytes.LastIndexByte(raw, ' ')+1] // a name may be cut
	}
	foreign := strings.Count(string(raw), "owner-") - strings.Count(string(raw), "owner-"+owner+" ")
	if whole && !json.Valid(raw) || bytes.IndexByte(raw, 0xDB) >= 0 || foreign != 0 {
		u.mixed.Store(fmt.Sprintf("%s %s: %d of somebody else, of %d bytes", owner, mode, foreign, len(raw)), true)
	}
}

// TestBodiesAreNotMixed: whatever upstreams and callers do, no body that leaves
// has a byte of another one, and what was counted was the caller's own.
func TestBodiesAreNotMixed(t *testing.T) {
	up := newTangled(t)
	front := &stub{seen: make(chan struct{}, 1), Server: &httptest.Server{URL: "http://" + up.Addr().String()}}
	g := newGateway(t, options{up: front, window: window.BookConfig{Rules: []window.Rule{{Glob: "gpt-*", Total: 1 << 23}}}})
	var callers sync.WaitGroup
	for c := range 6 {
		callers.Go(func() {
			for n := range 12 {
				owner := fmt.Sprintf("%d-%d", c, n)
				mode := []string{"", "early", "cut", "overflow"}[(c+n)%4]
				times := 3000 + 700*((c*5+n)%9)
				if mode == "early" { // more than the kernel takes at once
					times = 200_000 + 1000*n
				}
				text := strings.Repeat("owner-"+owner+" says. ", times)
				messages := []msg{{"role": "user", "content": text}, {"role": "assistant", "content": "owner-" + owner + " yes"}, {"role": "user", "content": "go on"}}
				raw, _ := json.Marshal(request(messages))
				header := []string{"X-Owner", owner, "X-Mode", mode}
				if n%3 == 0 {
					raw = gzipped(raw)
					header = append(header, "Content-Encoding", "gzip")
				}
				ctx, cancel := context.WithCancel(t.Context())
				if n%5 == 4 {
					go cancel() // the caller leaves at some moment
				}
				g.try(ctx, raw, header...)
				cancel()
			}
		})
	}
	callers.Wait()
	up.mixed.Range(func(what, _ any) bool {
		t.Error(what)
		return true
	})
}
