package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// served answers each request of every connection with raw bytes, then closes
// where close says so.
func served(t *testing.T, raw string, closes bool) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = c.Close() }()
				r := bufio.NewReader(c)
				for {
					a, err := readHead(r)
					if err != nil || a.readBody(r) != nil {
						return
					}
					if _, err := io.WriteString(c, raw); err != nil || closes {
						return
					}
				}
			}()
		}
	}()
	return l.Addr().String()
}

func chunked(events ...[]byte) string {
	var b bytes.Buffer
	w := bufio.NewWriter(&b)
	writeStream(w, events, 0)
	_ = w.Flush()
	return b.String()
}

// Whatever a proxy can do to an answer is seen, and by its right name.
func TestAnswersAreJudged(t *testing.T) {
	t.Parallel()
	whole := chunked(answerEvents()...)
	plain := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\nFoldgate-Fold: none; reason=\"under\"\r\n\r\n%s", answerLength, answerJSON(7))
	for name, c := range map[string]struct {
		raw    string
		closes bool
		want   want
		is     error
	}{
		"a whole stream":                     {raw: whole, want: want{body: answerStream()}},
		"a stream without its last chunk":    {raw: strings.TrimSuffix(whole, "0\r\n\r\n"), closes: true, want: want{body: answerStream()}, is: errShort},
		"a stream cut in an event":           {raw: whole[:len(whole)/2], closes: true, want: want{body: answerStream()}, is: errShort},
		"a stream that ends before its end":  {raw: chunked(answerEvents()[:40]...), want: want{body: answerStream()}, is: errCorrupt},
		"a stream with another byte":         {raw: strings.Replace(whole, "word07", "ward07", 1), want: want{body: answerStream()}, is: errCorrupt},
		"nothing":                            {closes: true, want: want{body: answerStream()}, is: errShort},
		"half a head":                        {raw: whole[:20], closes: true, want: want{body: answerStream()}, is: errShort},
		"the plain answer":                   {raw: plain, want: want{body: answerJSON(7), fold: "none"}},
		"the plain answer, cut":              {raw: plain[:len(plain)-1], closes: true, want: want{body: answerJSON(7)}, is: errShort},
		"with other tokens":                  {raw: plain, want: want{body: answerJSON(8)}, is: errCorrupt},
		"folded otherwise":                   {raw: plain, want: want{body: answerJSON(7), fold: "reused"}, is: errCorrupt},
		"not counted":                        {raw: plain, want: want{body: answerJSON(7), counted: true}, is: errCorrupt},
		"written anew":                       {raw: plain, want: want{contains: []byte(marker)}},
		"written anew without the text":      {raw: plain, want: want{contains: []byte("another text")}, is: errCorrupt},
		"refused":                            {raw: "HTTP/1.1 503 Busy\r\nContent-Length: 2\r\n\r\nno", want: want{body: []byte("no")}, is: errRefused},
		"without a length, until it closes":  {raw: "HTTP/1.1 200 OK\r\n\r\nto the end", closes: true, want: want{body: []byte("to the end")}},
		"without a length, and less of it":   {raw: "HTTP/1.1 200 OK\r\n\r\nto the", closes: true, want: want{body: []byte("to the end")}, is: errCorrupt},
		"anything goes where nothing is due": {raw: "HTTP/1.1 503 Busy\r\nContent-Length: 2\r\n\r\nno", want: want{anything: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := &connection{addr: served(t, c.raw, c.closes)}
			defer conn.close()
			_, _, err := conn.exchange(chatRequest(0, conn.addr, chatPath, nil, []byte("{}")).raw, &c.want)
			if !errors.Is(err, c.is) || err != nil && c.is == nil {
				t.Errorf("error %v, want %v", err, c.is)
			}
		})
	}
}

// The client against the upstream itself, as every comparison has it.
func TestLoadAgainstTheUpstream(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	u := new(upstream)
	go func() { _ = u.serve(l) }()
	addr := l.Addr().String()
	for name, c := range map[string]struct {
		stream bool
		want   want
	}{
		"plain":  {false, want{body: answerJSON(123)}},
		"stream": {true, want{body: answerStream()}},
	} {
		body := chatBody("m", 32<<10, c.stream, question(placeTurn))
		load := load{addrs: []string{addr}, conns: 4, want: c.want, total: 200, request: func(conn int) *request {
			return chatRequest(conn, addr, chatPath, map[string]string{headerTokens: "123"}, body)
		}}
		if s := load.run(); s.err != nil || s.n != 200 || s.wrong.sum() != 0 {
			t.Errorf("%s: %d answers, %+v, %v; want 200 right ones", name, s.n, s.wrong, s.err)
		}
		if got := u.last.Load(); got != int64(len(body)) {
			t.Errorf("%s: %d bytes arrived of %d", name, got, len(body))
		}
	}
	if u.requests.Load() != 400 || u.short.Load() != 0 {
		t.Errorf("the upstream saw %d requests, %d short", u.requests.Load(), u.short.Load())
	}
}

// A window counts what ends in it, and a target that errs ends it.
func TestWindow(t *testing.T) {
	t.Parallel()
	addr := served(t, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", false)
	l := load{addrs: []string{addr}, conns: 2, want: want{body: []byte("ok")}, warm: time.Millisecond, window: 30 * time.Millisecond, least: 5, longest: 10 * time.Second,
		request: func(conn int) *request { return chatRequest(conn, addr, chatPath, nil, []byte("{}")) }}
	s := l.run()
	if s.err != nil || s.n < 5 || len(s.latencies) != s.n || s.rate() <= 0 {
		t.Errorf("%d answers at %.0f/s, %v", s.n, s.rate(), s.err)
	}
	l.want = want{body: []byte("no")}
	if s := l.run(); !errors.Is(s.err, errCorrupt) {
		t.Errorf("error %v, want %v", s.err, errCorrupt)
	}
}

func TestRequestsAreNumbered(t *testing.T) {
	t.Parallel()
	r := chatRequest(7, "h", chatPath, nil, chatBody("m", 4<<10, false, question(placeTurn)))
	r.next()
	first := string(r.raw)
	r.next()
	if !strings.Contains(first, "group 00000007") || !strings.Contains(first, "Question 00000001.") {
		t.Errorf("no numbers in %.400q", first)
	}
	if second := string(r.raw); len(second) != len(first) || !strings.Contains(second, "Question 00000002.") {
		t.Error("the second request has no number of its own")
	}
}
