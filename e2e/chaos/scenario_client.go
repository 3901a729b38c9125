package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// clientScenarios are callers that leave, and callers that are slow. Nobody else
// notices, and those who stay get their answer.
func clientScenarios() []scenario {
	list := []scenario{
		{name: "client gone before its body was whole", during: leaves(func(_ context.Context, conn *net.TCPConn, raw []byte) error {
			return write(conn, raw[:len(raw)-len(raw)/4])
		}, oversizeTurns, "")},
		{name: "client gone while its summary is awaited", during: leaves(func(ctx context.Context, conn *net.TCPConn, raw []byte) error {
			return write(conn, raw)
		}, oversizeTurns, "")},
		{name: "client gone after the head", during: leaves(func(_ context.Context, conn *net.TCPConn, raw []byte) error {
			return writeAndRead(conn, raw, 16)
		}, smallTurns, "trickle")},
		{name: "client gone in the middle of a stream", during: leaves(func(_ context.Context, conn *net.TCPConn, raw []byte) error {
			return writeAndRead(conn, raw, 700)
		}, oversizeTurns, "trickle")},
		{name: "client reads a byte a second", during: slowly(false)},
		{name: "client sends a byte a second", during: slowly(true)},
	}
	for i := range list {
		list[i].group = "client"
	}
	return list
}

func write(conn *net.TCPConn, raw []byte) error {
	_, err := conn.Write(raw)
	return err
}

func writeAndRead(conn *net.TCPConn, raw []byte, n int) error {
	if err := write(conn, raw); err != nil {
		return err
	}
	_, err := io.ReadFull(conn, make([]byte, n))
	return err
}

// wire is a request as it goes over a connection.
func (w *world) wire(addr string, q question) (raw []byte, nonce string, err error) {
	nonce = w.newNonce()
	body := q.conv.body(q.turns, q.stream)
	req, err := newRequest(context.Background(), addr, nonce, q, bytes.NewReader(body))
	if err != nil {
		return nil, "", err
	}
	var b bytes.Buffer
	err = req.Write(&b)
	return b.Bytes(), nonce, err
}

// connect asks for a connection of one's own to the next replica.
func (w *world) connect() (*replica, *net.TCPConn, error) {
	r := w.pick()
	conn, err := net.DialTimeout("tcp", r.data, patience)
	if err != nil {
		return nil, nil, err
	}
	_ = conn.SetDeadline(time.Now().Add(2 * patience))
	return r, conn.(*net.TCPConn), nil
}

// leaves does so much of a request, and then resets the connection.
func leaves(part func(context.Context, *net.TCPConn, []byte) error, turns int, plan string) func(context.Context, *world) error {
	return func(ctx context.Context, w *world) error {
		for range 4 * w.options.repeats {
			r, conn, err := w.connect()
			if err != nil {
				return err
			}
			raw, _, err := w.wire(r.data, question{conv: w.registry.make(2), turns: turns, stream: true, plan: plan})
			if err == nil {
				err = part(ctx, conn, raw)
			}
			_ = conn.SetLinger(0)
			_ = conn.Close()
			if err != nil {
				return fmt.Errorf("leave replica %s: %w", r.name, err)
			}
			w.at.Load().answered("gone")
		}
		return w.idle(ctx)
	}
}

// idle wants the replicas to notice that callers left: what is in flight is the
// background load's.
func (w *world) idle(ctx context.Context) error {
	for _, r := range w.replicas {
		err := until(ctx, "what callers left at replica "+r.name, func() error {
			m, err := r.metrics()
			if err != nil {
				return err
			}
			if n := m["foldgate_requests_in_flight"]; n > float64(2*w.options.workers) {
				return fmt.Errorf("%v requests in flight", n)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// slowBytes is how many bytes come one at a time. Then the client hurries.
const slowBytes = 24

// slowReader hands out its first bytes one at a time.
type slowReader struct {
	io.Reader
	left  int
	apart time.Duration
}

func (s *slowReader) Read(p []byte) (int, error) {
	if s.left == 0 {
		return s.Reader.Read(p)
	}
	s.left--
	time.Sleep(s.apart)
	return s.Reader.Read(p[:1])
}

// slowly asks with one request of each size, which comes or goes slowly.
func slowly(sending bool) func(context.Context, *world) error {
	return func(_ context.Context, w *world) error {
		var all sync.WaitGroup
		errs := make(chan error, 4*w.options.repeats)
		for range w.options.repeats {
			for _, turns := range []int{smallTurns, oversizeTurns} {
				all.Go(func() {
					if err := w.slow(question{conv: w.registry.make(2), turns: turns, stream: true}, sending); err != nil {
						errs <- err
					}
				})
			}
		}
		all.Wait()
		if len(errs) > 0 {
			return <-errs
		}
		return nil
	}
}

func (w *world) slow(q question, sending bool) error {
	r, conn, err := w.connect()
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	raw, nonce, err := w.wire(r.data, q)
	if err != nil {
		return err
	}
	head := bytes.Index(raw, []byte("\r\n\r\n")) + 4
	var source, answer io.Reader = bytes.NewReader(raw[head:]), conn
	if sending {
		source = &slowReader{source, slowBytes, w.options.slow}
	} else {
		answer = &slowReader{conn, slowBytes, w.options.slow}
	}
	began := time.Now()
	if err := write(conn, raw[:head]); err != nil {
		return err
	}
	if _, err := io.Copy(conn, source); err != nil {
		return fmt.Errorf("send slowly: %w", err)
	}
	o := outcome{kind: kindNone}
	res, err := http.ReadResponse(bufio.NewReaderSize(answer, 16), nil)
	if err != nil {
		o.detail = err.Error()
	} else {
		o = judgeAnswer(res, nonce, q)
		_ = res.Body.Close()
	}
	o.took = time.Since(began)
	w.enter(w.at.Load(), r, q, o, onlyAnswers)
	return nil
}
