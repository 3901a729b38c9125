package middleware_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foldgate/foldgate/compression/window"
	"github.com/foldgate/foldgate/middleware"
	"github.com/foldgate/foldgate/ownership"
	"github.com/foldgate/foldgate/ownership/memstore"
)

// pipes is a listener whose connections have no buffer: what is not read is not
// written. It works on the clock of a synctest bubble.
type pipes struct {
	accepted chan net.Conn
	closed   chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.accepted:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { close(p.closed); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// answering serves a middleware in front of next over one connection.
func answering(t *testing.T, server *http.Server, next http.HandlerFunc) net.Conn {
	t.Helper()
	store := memstore.New(memstore.Options{})
	coordinator, err := ownership.NewCoordinator(ownership.Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	book, err := window.NewBook(window.BookConfig{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := middleware.New(middleware.Config{
		Upstream: &url.URL{Scheme: "http", Host: "upstream"}, Store: store, Coordinator: coordinator, Book: book, IgnoreAdvertised: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	server.Handler = m.Handler(next)
	doors := &pipes{accepted: make(chan net.Conn, 1), closed: make(chan struct{})}
	served := make(chan error, 1)
	go func() { served <- server.Serve(doors) }()
	ours, theirs := net.Pipe()
	doors.accepted <- theirs
	t.Cleanup(func() {
		_ = ours.Close() // it may be closed
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
		if err := coordinator.Shutdown(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
		m.Wait()
	})
	return ours
}

const smallChat = "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 31\r\n\r\n" + `{"model":"m", "messages":[   ]}`

// endless writes until it cannot, and tells how long that was and whether its
// request ended with it.
func endless(ended chan<- time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		for {
			if _, err := io.WriteString(w, strings.Repeat("x", 100<<10)); err != nil {
				<-r.Context().Done()
				ended <- time.Since(began)
				return
			}
		}
	}
}

// A client that stops reading keeps nothing: neither a goroutine, nor what its
// request holds at the upstream. It does not matter what it asked for.
func TestAResponseThatNobodyReadsEnds(t *testing.T) {
	for name, request := range map[string]string{
		"a chat":        smallChat,
		"anything else": "GET /v1/files/1/content HTTP/1.1\r\nHost: x\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ended := make(chan time.Duration, 1)
				conn := answering(t, &http.Server{}, endless(ended))
				if _, err := io.WriteString(conn, request); err != nil {
					t.Fatal(err)
				}
				if _, err := io.CopyN(io.Discard, conn, 300<<10); err != nil {
					t.Fatalf("reading for a while: %v", err)
				}
				if took := <-ended; took < time.Minute || took > 70*time.Second {
					t.Errorf("it ended after %v", took)
				}
				if _, err := io.Copy(io.Discard, conn); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Errorf("the connection is not closed: %v", err)
				}
			})
		})
	}
}

// Slow is not silent: who takes a piece a minute gets all of it.
func TestAResponseThatIsReadSlowlyComesWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size = 640 << 10
		conn := answering(t, &http.Server{}, func(w http.ResponseWriter, _ *http.Request) {
			if _, err := io.WriteString(w, strings.Repeat("x", size)); err != nil {
				t.Errorf("cut off: %v", err)
			}
		})
		if _, err := io.WriteString(conn, smallChat); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		res, err := http.ReadResponse(bufio.NewReaderSize(conn, 1<<10), nil)
		if err != nil {
			t.Fatal(err)
		}
		got := 0
		for err == nil {
			<-time.After(time.Second)
			var n int64
			n, err = io.CopyN(io.Discard, res.Body, 1<<10)
			got += int(n)
		}
		if got != size || !errors.Is(err, io.EOF) || time.Since(began) < 10*time.Minute {
			t.Errorf("%d bytes in %v: %v", got, time.Since(began), err)
		}
	})
}

// A stream may be silent for as long as its upstream is, in the middle and before
// its end, and the connection serves the next request as the first one.
func TestPausesOfAStreamEndNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := answering(t, &http.Server{}, func(w http.ResponseWriter, _ *http.Request) {
			for range 3 {
				if _, err := io.WriteString(w, "data: {}\n\n"); err != nil {
					t.Errorf("cut off: %v", err)
				}
				if err := http.NewResponseController(w).Flush(); err != nil {
					t.Errorf("cut off: %v", err)
				}
				<-time.After(10 * time.Minute)
			}
		})
		r := bufio.NewReader(conn)
		for range 2 {
			if _, err := io.WriteString(conn, smallChat); err != nil {
				t.Fatal(err)
			}
			res, err := http.ReadResponse(r, nil)
			if err != nil {
				t.Fatal(err)
			}
			if body, err := io.ReadAll(res.Body); err != nil || string(body) != strings.Repeat("data: {}\n\n", 3) {
				t.Errorf("got %q, %v", body, err)
			}
			<-time.After(10 * time.Minute)
		}
	})
}

// A service that bounds its responses itself keeps its bound, and what was
// upgraded to another protocol has none of ours.
func TestDeadlinesOfOthersStayTheirs(t *testing.T) {
	t.Run("a time-out of the server", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ended := make(chan time.Duration, 1)
			conn := answering(t, &http.Server{WriteTimeout: 10 * time.Second}, endless(ended))
			if _, err := io.WriteString(conn, smallChat); err != nil {
				t.Fatal(err)
			}
			if took := <-ended; took != 10*time.Second {
				t.Errorf("it ended after %v", took)
			}
		})
	})
	t.Run("an upgrade", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			conn := answering(t, &http.Server{}, func(w http.ResponseWriter, _ *http.Request) {
				taken, _, err := http.NewResponseController(w).Hijack()
				if err != nil {
					t.Error(err)
					return
				}
				go func() {
					defer taken.Close()
					if _, err := io.WriteString(taken, "hello"); err != nil {
						t.Errorf("cut off: %v", err)
					}
				}()
			})
			if _, err := io.WriteString(conn, "GET /v1/realtime HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			<-time.After(10 * time.Minute)
			if got, err := io.ReadAll(conn); err != nil || string(got) != "hello" {
				t.Errorf("got %q, %v", got, err)
			}
		})
	})
}

// writeDeadlines is a ResponseWriter of a stream that shares its connection.
type writeDeadlines struct {
	*httptest.ResponseRecorder
	set []time.Time
}

func (d *writeDeadlines) SetWriteDeadline(t time.Time) error {
	d.set = append(d.set, t)
	return nil
}

// With HTTP/2 a deadline that passes ends the stream, whether anything is being
// written or not. So none is left behind a write.
func TestNoDeadlineIsLeftBetweenWritesOfASharedConnection(t *testing.T) {
	g := newGateway(t, options{})
	w := &writeDeadlines{ResponseRecorder: httptest.NewRecorder()}
	r := httptest.NewRequest(http.MethodGet, "/v1/models", nil)
	r.ProtoMajor, r.ProtoMinor = 2, 0
	g.Handler(http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) {
		for range 2 {
			before := len(w.set)
			if _, err := io.WriteString(out, "data: {}\n\n"); err != nil {
				t.Error(err)
			}
			if n := len(w.set); n < before+2 || w.set[n-2].IsZero() || !w.set[n-1].IsZero() {
				t.Errorf("deadlines %v: want one for the write and none behind it", w.set)
			}
		}
	})).ServeHTTP(w, r)
	if !w.set[len(w.set)-1].IsZero() {
		t.Errorf("a deadline is left: %v", w.set)
	}
}
