package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Header fields by which a request tells the upstream how to answer. Requests
// through a gateway that drops them get the plain answer.
const (
	headerTokens = "x-bench-tokens" // the prompt tokens that usage reports
	headerPace   = "x-bench-pace"   // milliseconds between the events of a stream
	headerHold   = "x-bench-hold"   // milliseconds before the answer
)

const (
	streamEvents  = 50
	plainTokens   = 190
	edge          = 1 << 10 // of a body that is looked at, at both ends
	maxHeadBytes  = 64 << 10
	statsPath     = "/bench/stats"
	tracesPath    = "/v1/traces"
	summaryPrefix = "/summary"
)

// upstream is the API that everything is in front of: HTTP/1.1 on raw sockets, so
// that its own cost is small beside that of any proxy. It answers at once.
type upstream struct {
	requests, bytes, short, last, spans, summaries atomic.Int64
}

// runUpstream serves on an address until the process is ended.
func runUpstream(addr string) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	return new(upstream).serve(l)
}

func (u *upstream) serve(l net.Listener) error {
	for {
		c, err := l.Accept()
		if err != nil {
			return fmt.Errorf("accept: %w", err)
		}
		go func() {
			defer func() { _ = c.Close() }()
			if err := u.converse(c); err != nil && !errors.Is(err, io.EOF) {
				fmt.Fprintln(os.Stderr, "upstream:", err)
			}
		}()
	}
}

// asked is one request as far as it matters here.
type asked struct {
	method, path string
	length       int64
	chunked      bool
	expect       bool
	tokens       int
	pace, hold   time.Duration
	body         []byte // whole where it is small or a span export, else both ends
	size         int64
}

func (u *upstream) converse(c net.Conn) error {
	r, w := bufio.NewReaderSize(c, 64<<10), bufio.NewWriterSize(c, 64<<10)
	for {
		a, err := readHead(r)
		if err != nil {
			return err
		}
		if a.expect {
			_, _ = w.WriteString("HTTP/1.1 100 Continue\r\n\r\n")
			if err := w.Flush(); err != nil {
				return fmt.Errorf("write: %w", err)
			}
		}
		if err := a.readBody(r); err != nil {
			u.short.Add(1)
			return fmt.Errorf("read a body: %w", err)
		}
		if err := u.answer(w, a); err != nil {
			return fmt.Errorf("answer: %w", err)
		}
	}
}

// readHead reads to the empty line. io.EOF: the peer is done.
func readHead(r *bufio.Reader) (*asked, error) {
	a := &asked{tokens: plainTokens}
	line, err := r.ReadSlice('\n')
	if err != nil {
		if len(line) == 0 {
			return nil, io.EOF
		}
		return nil, fmt.Errorf("read a request line: %w", err)
	}
	fields := strings.Fields(string(line))
	if len(fields) != 3 {
		return nil, fmt.Errorf("request line %q", line)
	}
	a.method, a.path = fields[0], fields[1]
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return nil, fmt.Errorf("read a head: %w", err)
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			return a, nil
		}
		a.field(line)
	}
}

func (a *asked) field(line []byte) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	text := string(bytes.TrimSpace(value))
	number, _ := strconv.ParseInt(text, 10, 64)
	switch strings.ToLower(string(name)) {
	case "content-length":
		a.length = number
	case "transfer-encoding":
		a.chunked = strings.EqualFold(text, "chunked")
	case "expect":
		a.expect = true
	case headerTokens:
		a.tokens = int(number)
	case headerPace:
		a.pace = time.Duration(number) * time.Millisecond
	case headerHold:
		a.hold = time.Duration(number) * time.Millisecond
	}
}

// readBody reads the body to its end and keeps what is looked at.
func (a *asked) readBody(r *bufio.Reader) error {
	whole := strings.HasSuffix(a.path, tracesPath)
	if !a.chunked {
		return a.take(r, a.length, whole)
	}
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return fmt.Errorf("read a chunk: %w", err)
		}
		n, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 16, 64)
		if err != nil {
			return fmt.Errorf("chunk size %q", line)
		}
		if err := a.take(r, n, whole); err != nil {
			return err
		}
		if _, err := r.Discard(2); err != nil { // after the last chunk: no trailers are sent here
			return fmt.Errorf("read a chunk's end: %w", err)
		}
		if n == 0 {
			return nil
		}
	}
}

// take reads n bytes, without copying those that nobody looks at.
func (a *asked) take(r *bufio.Reader, n int64, whole bool) error {
	for n > 0 {
		want := int(min(n, int64(r.Size())))
		if _, err := r.Peek(1); err != nil {
			return fmt.Errorf("read: %w", err)
		}
		b, _ := r.Peek(min(want, r.Buffered()))
		a.keep(b, whole)
		if _, err := r.Discard(len(b)); err != nil {
			return fmt.Errorf("read: %w", err)
		}
		n -= int64(len(b))
		a.size += int64(len(b))
	}
	return nil
}

func (a *asked) keep(b []byte, whole bool) {
	if whole {
		a.body = append(a.body, b...)
		return
	}
	if room := edge - len(a.body); room > 0 {
		a.body = append(a.body, b[:min(room, len(b))]...)
	}
	if len(b) > edge {
		b = b[len(b)-edge:]
	}
	a.body = append(a.body[:min(edge, len(a.body))], b...)
}

func (a *asked) streams() bool {
	return bytes.Contains(a.body, []byte(`"stream":true`)) || bytes.Contains(a.body, []byte(`"stream": true`))
}

func (u *upstream) answer(w *bufio.Writer, a *asked) error {
	switch {
	case a.path == statsPath:
		text := fmt.Sprintf(`{"requests":%d,"bytes":%d,"short":%d,"last":%d,"spans":%d,"summaries":%d}`,
			u.requests.Load(), u.bytes.Load(), u.short.Load(), u.last.Load(), u.spans.Load(), u.summaries.Load())
		writeHead(w, "application/json", len(text))
		_, _ = w.WriteString(text)
	case strings.HasSuffix(a.path, tracesPath):
		u.spans.Add(int64(countSpans(a.body)))
		writeHead(w, "application/x-protobuf", 0)
	case a.method == "GET":
		text := `{"object":"list","data":[{"id":"gpt-4o","object":"model","owned_by":"bench"}]}`
		writeHead(w, "application/json", len(text))
		_, _ = w.WriteString(text)
	case strings.HasPrefix(a.path, summaryPrefix):
		u.summaries.Add(1)
		writeStream(w, summaryEvents(), 0)
	default:
		u.requests.Add(1)
		u.bytes.Add(a.size)
		u.last.Store(a.size)
		if a.hold > 0 {
			time.Sleep(a.hold)
		}
		if a.streams() {
			writeStream(w, answerEvents(), a.pace)
		} else {
			writeHead(w, "application/json", answerLength)
			_, _ = w.Write(answerJSON(a.tokens))
		}
	}
	return w.Flush() // and whatever went wrong before it
}

func writeHead(w *bufio.Writer, kind string, length int) {
	fmt.Fprintf(w, "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n", kind, length)
}

// writeStream sends events, each a chunk of its own: all in one write, or paced.
func writeStream(w *bufio.Writer, events [][]byte, pace time.Duration) {
	_, _ = w.WriteString("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
	for _, e := range events {
		if pace > 0 {
			if w.Flush() != nil {
				return
			}
			time.Sleep(pace)
		}
		fmt.Fprintf(w, "%x\r\n%s\r\n", len(e), e)
	}
	_, _ = w.WriteString("0\r\n\r\n")
}
