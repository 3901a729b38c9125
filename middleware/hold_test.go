package middleware

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// holdingFor makes options that hold and answer v whenever they are asked.
func holdingFor(v verdict) holdOptions {
	return holdOptions{
		Hold: true, Max: time.Minute,
		Inspect: func(int, http.Header, []byte, bool) verdict { return v },
	}
}

// run serves one request of f through a holder over a recorder.
func run(o holdOptions, f http.HandlerFunc) (*httptest.ResponseRecorder, *holder) {
	w := httptest.NewRecorder()
	h := newHolder(w, o)
	h.serve(f, httptest.NewRequest("POST", "/", nil))
	return w, h
}

func answer200(contentType string, pieces ...string) http.HandlerFunc {
	return answerWith(200, contentType, pieces...)
}

func answerWith(status int, contentType string, pieces ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		for _, p := range pieces {
			_, _ = io.WriteString(w, p)
			_ = http.NewResponseController(w).Flush()
		}
	}
}

// What Inspect is shown, and when.
func TestHolderInspects(t *testing.T) {
	event := "data: {\"choices\":[]}\n\n"
	long := strings.Repeat("x", holdCap)
	tests := []struct {
		name    string
		answer  http.HandlerFunc
		verdict verdict
		want    []string // each look: length of the body, end
	}{
		{"stream, first data event", answer200("text/event-stream; charset=utf-8", ": hello\n\n", "data: {", "}\n", "\n", "data: 2\n\n"), release, []string{"19 false"}},
		{"stream, several events in one piece", answer200("text/event-stream", event+event, event), release, []string{fmt.Sprint(2*len(event), " false")}},
		{"stream, not sure", answer200("text/event-stream", event, event), keepHolding, []string{"22 false", "44 false", "44 true"}},
		{"stream of comments only", answer200("text/event-stream", ":\n\n", ":\n\n"), release, []string{"6 true"}},
		{"stream, endless event", answer200("text/event-stream", "data: ", long), keepHolding, []string{fmt.Sprint(holdCap+6, " false")}},
		{"object, short", answer200("application/json", `{"a"`, `:1}`), release, []string{"7 true"}},
		{"object, long", answer200("application/json", long[:4000], long[:200], long), release, []string{"4200 false"}},
		{"object, long, not sure", answer200("application/json", long[:4096], long[:4096], long), keepHolding, []string{"4096 false", "8192 false", fmt.Sprint(8192+holdCap, " false")}},
		{"error", answerWith(400, "application/json", `{"error":`, `{}}`), release, []string{"12 true"}},
		{"error as a stream", answerWith(400, "text/event-stream", event, event), release, []string{"44 true"}},
		{"error, long", answerWith(500, "text/html", long[:5000], long), release, []string{fmt.Sprint(5000+holdCap, " false")}},
		{"no body", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }, release, []string{"0 true"}},
		{"nothing at all", func(http.ResponseWriter, *http.Request) {}, release, []string{"0 true"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			o := holdingFor(tt.verdict)
			o.Inspect = func(_ int, _ http.Header, body []byte, end bool) verdict {
				got = append(got, fmt.Sprint(len(body), " ", end))
				return tt.verdict
			}
			held, _ := run(o, tt.answer)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("looks (-want +got):\n%s", diff)
			}
			straight, _ := run(holdOptions{}, tt.answer)
			if held.Code != straight.Code || held.Body.String() != straight.Body.String() {
				t.Errorf("held: %d with %d bytes, straight: %d with %d", held.Code, held.Body.Len(), straight.Code, straight.Body.Len())
			}
		})
	}
}

func TestHolderReadsCodedErrors(t *testing.T) {
	want := `{"error":{"code":"context_length_exceeded"}}`
	packed := packers["gzip"]([]byte(want))
	var got string
	o := holdingFor(release)
	o.Inspect = func(_ int, _ http.Header, body []byte, _ bool) verdict { got = string(body); return release }
	w, _ := run(o, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.WriteHeader(400)
		_, _ = w.Write(packed)
	})
	if got != want {
		t.Errorf("Inspect saw %q, want %q", got, want)
	}
	if !bytes.Equal(w.Body.Bytes(), packed) || w.Header().Get("Content-Encoding") != "gzip" {
		t.Error("the client did not get what the upstream sent")
	}
}

func TestHolderLetsCodedAnswersGo(t *testing.T) {
	o := holdingFor(discard)
	w, h := run(o, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Content-Encoding", "br")
		_, _ = io.WriteString(w, "??")
	})
	if h.Discarded() || w.Body.String() != "??" {
		t.Errorf("discarded %v, got %q", h.Discarded(), w.Body)
	}
}

func TestHolderDiscards(t *testing.T) {
	tests := []struct {
		name   string
		answer http.HandlerFunc
	}{
		{"error", answerWith(400, "application/json", `{"error":{}}`)},
		{"stream", answer200("text/event-stream", "data: {\"error\":{}}\n\n", "data: [DONE]\n\n")},
		{"object", answer200("application/json", strings.Repeat("x", 5000), "y")},
		{"long error", answerWith(500, "text/html", strings.Repeat("x", holdCap-1), strings.Repeat("y", 30_000), "z")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := holdingFor(discard)
			heads := 0
			o.Head = func(_ int, h http.Header) { heads++; h.Set(headerFold, "none") }
			w := httptest.NewRecorder()
			w.Header().Set("X-Outer", "stays")
			h := newHolder(w, o)
			h.serve(tt.answer, httptest.NewRequest("POST", "/", nil))
			if !h.Discarded() || h.Sent() || w.Body.Len() != 0 || heads != 0 || w.Flushed {
				t.Fatalf("discarded %v, sent %v, %d bytes, %d heads, flushed %v", h.Discarded(), h.Sent(), w.Body.Len(), heads, w.Flushed)
			}
			if diff := cmp.Diff(http.Header{"X-Outer": {"stays"}}, w.Header()); diff != "" {
				t.Fatalf("header (-want +got):\n%s", diff)
			}

			// A retry over the same writer.
			again := newHolder(w, holdingFor(release))
			again.serve(answer200("text/plain", "second"), httptest.NewRequest("POST", "/", nil))
			if again.Discarded() || w.Code != 200 || w.Body.String() != "second" || w.Header().Get("X-Outer") != "stays" {
				t.Errorf("retry: got %d %q %v", w.Code, w.Body, w.Header())
			}
		})
	}
}

func TestHolderReplaysWhatItDiscarded(t *testing.T) {
	answers := map[string]http.HandlerFunc{
		"error":  answerWith(400, "application/json", `{"error":`, `{}}`),
		"long":   answerWith(500, "text/html", strings.Repeat("x", holdCap-1), strings.Repeat("y", 30_000), "z"),
		"stream": answer200("text/event-stream", ": c\n\ndata: {\"error\":{}}\n\n", "data: more\n\n", "data: [DONE]\n\n"),
		"trailers": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Trailer", "X-Sum")
			w.WriteHeader(500)
			_, _ = io.WriteString(w, "bad")
			w.Header().Set("X-Sum", "7")
		},
	}
	for name, f := range answers {
		t.Run(name, func(t *testing.T) {
			o := holdingFor(discard)
			o.Head = func(_ int, h http.Header) { h.Set(headerFold, "none") }
			w, h := run(o, f)
			h.Replay()
			straight, _ := run(holdOptions{Head: o.Head}, f)
			if w.Code != straight.Code || w.Body.String() != straight.Body.String() {
				t.Errorf("got %d %q, want %d %q", w.Code, w.Body, straight.Code, straight.Body)
			}
			if diff := cmp.Diff(straight.Result().Header, w.Result().Header); diff != "" {
				t.Errorf("header (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(straight.Result().Trailer, w.Result().Trailer); diff != "" {
				t.Errorf("trailers (-want +got):\n%s", diff)
			}
			before := w.Body.Len()
			h.Replay()
			if w.Body.Len() != before {
				t.Error("replayed twice")
			}
		})
	}
}

// A discarded stream that goes on is not waited for: its call is cancelled, and
// what came of it can still be replayed as a whole.
func TestHolderCancelsADiscardedStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		w, h := run(holdingFor(discard), func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: {\"error\":{}}\n\n")
			<-r.Context().Done()
			panic(http.ErrAbortHandler)
		})
		if took := time.Since(start); took != time.Minute || !h.Discarded() {
			t.Errorf("discarded %v after %v, want true after Max", h.Discarded(), took)
		}
		h.Replay()
		if want := "data: {\"error\":{}}\n\ndata: [DONE]\n\n"; w.Body.String() != want {
			t.Errorf("replayed %q, want %q", w.Body, want)
		}
	})
}

func TestHolderCutReplayNeverLooksComplete(t *testing.T) {
	_, h := run(holdingFor(discard), func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(400)
		for range 20 {
			_, _ = w.Write(make([]byte, 20<<10))
		}
		if r.Context().Err() == nil {
			t.Error("more than can be kept, and the call was not cancelled")
		}
	})
	if !h.Discarded() {
		t.Fatal("not discarded")
	}
	defer func() {
		if p, _ := recover().(error); !errors.Is(p, http.ErrAbortHandler) {
			t.Errorf("got panic %v, want ErrAbortHandler", p)
		}
	}()
	h.Replay()
}

func TestHolderPanics(t *testing.T) {
	boom := errors.New("boom")
	tests := []struct {
		name    string
		verdict verdict
		pieces  []string
		panics  error
		body    string
		goesOn  bool
	}{
		{"while holding", keepHolding, []string{"data: 1\n\n"}, http.ErrAbortHandler, "data: 1\n\n", true},
		{"while holding an incomplete event", discard, []string{"data: 1"}, http.ErrAbortHandler, "data: 1", true},
		{"after the release", release, []string{"data: 1\n\n", "data: 2\n\n"}, http.ErrAbortHandler, "data: 1\n\ndata: 2\n\n", true},
		{"after a discard", discard, []string{"data: 1\n\n"}, http.ErrAbortHandler, "", false},
		{"after a discard, a fault", discard, []string{"data: 1\n\n"}, boom, "", true},
		{"a fault while holding", keepHolding, []string{"data: 1\n\n"}, boom, "data: 1\n\n", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := httptest.NewRecorder()
			h := newHolder(w, holdingFor(tt.verdict))
			var got any
			func() {
				defer func() { got = recover() }()
				h.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					answer200("text/event-stream", tt.pieces...)(w, r)
					panic(tt.panics)
				}), httptest.NewRequest("POST", "/", nil))
			}()
			if (got != nil) != tt.goesOn || got != nil && !reflect.DeepEqual(got, tt.panics) {
				t.Errorf("got panic %v, want it to go on: %v", got, tt.goesOn)
			}
			if w.Body.String() != tt.body {
				t.Errorf("got %q, want %q", w.Body, tt.body)
			}
		})
	}
}

// A broken error body proves nothing: Inspect is not asked about its half.
func TestHolderDoesNotJudgeHalfAnAnswer(t *testing.T) {
	o := holdingFor(discard)
	o.Inspect = func(_ int, _ http.Header, _ []byte, _ bool) verdict {
		t.Error("asked")
		return discard
	}
	w := httptest.NewRecorder()
	h := newHolder(w, o)
	func() {
		defer func() { _ = recover() }()
		h.serve(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(400)
			_, _ = io.WriteString(w, `{"error":`)
			panic(http.ErrAbortHandler)
		}), httptest.NewRequest("POST", "/", nil))
	}()
	if w.Code != 400 || w.Body.String() != `{"error":` {
		t.Errorf("got %d %q", w.Code, w.Body)
	}
}

func TestHolderReleasesAfterMax(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		head, goOn := make(chan time.Time, 1), make(chan struct{})
		o := holdingFor(keepHolding)
		o.Head = func(int, http.Header) { head <- time.Now() }
		w := httptest.NewRecorder()
		h := newHolder(w, o)
		start := time.Now()
		done := make(chan struct{})
		go func() {
			defer close(done)
			h.serve(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				time.Sleep(time.Hour) // before the head nothing counts
				w.Header().Set("Trailer", "X-Sum")
				w.WriteHeader(200)
				_, _ = io.WriteString(w, "a")
				for range 1000 { // a handler may use the header while the timer sends it
					w.Header().Set("X-Sum", "7")
				}
				<-goOn
				w.Header().Set("X-Sum", "8")
				_, _ = io.WriteString(w, "b")
			}), httptest.NewRequest("POST", "/", nil))
		}()
		if at := (<-head).Sub(start); at != time.Hour+time.Minute {
			t.Errorf("released after %v, want 1h1m", at)
		}
		synctest.Wait()
		if !h.Sent() || h.Status() != 200 {
			t.Errorf("sent %v, status %d", h.Sent(), h.Status())
		}
		close(goOn)
		<-done
		if w.Body.String() != "ab" || w.Result().Trailer.Get("X-Sum") != "8" {
			t.Errorf("got %q, trailers %v", w.Body, w.Result().Trailer)
		}
		if v := w.Result().Header.Get("X-Sum"); v != "" {
			t.Errorf("a trailer went out in the head: %q", v)
		}
	})
}

func TestHolderZeroMaxNeverHolds(t *testing.T) {
	o := holdingFor(discard)
	o.Max = 0
	w, h := run(o, answerWith(400, "application/json", "x"))
	if h.Discarded() || w.Code != 400 {
		t.Errorf("discarded %v, got %d", h.Discarded(), w.Code)
	}
}

func TestHolderHeadAndObserve(t *testing.T) {
	for _, hold := range []bool{true, false} {
		t.Run(fmt.Sprint("hold ", hold), func(t *testing.T) {
			o := holdingFor(release)
			o.Hold = hold
			var seen []byte
			var streams []bool
			heads := 0
			o.Head = func(status int, h http.Header) {
				heads++
				stripFoldgate(h)
				h.Set(headerFold, fmt.Sprint("s", status))
			}
			o.Observe = func(b []byte, stream bool) { seen = append(seen, b...); streams = append(streams, stream) }
			w, _ := run(o, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Foldgate-Other", "spoofed")
				w.Header().Set("Trailer", "X-Sum, Foldgate-Fold")
				answer200("text/event-stream", ": c\n\n", "data: 1\n\n", "data: 2\n\n")(w, r)
			})
			if heads != 1 || w.Header().Get(headerFold) != "s200" || w.Result().Header.Get("Foldgate-Other") != "" {
				t.Errorf("%d heads, %v", heads, w.Header())
			}
			if got := w.Result().Header.Get("Trailer"); got != "X-Sum" {
				t.Errorf("announced %q, want X-Sum alone", got)
			}
			if want := ": c\n\ndata: 1\n\ndata: 2\n\n"; string(seen) != want || w.Body.String() != want {
				t.Errorf("observed %q, sent %q; want %q", seen, w.Body, want)
			}
			if slices.Contains(streams, false) || !w.Flushed {
				t.Errorf("streams %v, flushed %v", streams, w.Flushed)
			}
		})
	}
}

func TestHolderPassesInformationalResponses(t *testing.T) {
	for _, hold := range []bool{true, false} {
		t.Run(fmt.Sprint("hold ", hold), func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				o := holdingFor(release)
				o.Hold = hold
				o.Head = func(_ int, h http.Header) { h.Set(headerFold, "none") }
				newHolder(w, o).serve(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					h := w.Header()
					h.Set("Link", "</a>")
					h.Set("Foldgate-Fold", "spoofed")
					w.WriteHeader(http.StatusEarlyHints)
					clear(h)
					w.WriteHeader(http.StatusOK)
				}), r)
			}))
			defer s.Close()
			c, err := net.Dial("tcp", s.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
			b, _ := io.ReadAll(c)
			hint, rest, _ := strings.Cut(string(b), "\r\n\r\n")
			if hint != "HTTP/1.1 103 Early Hints\r\nLink: </a>" || !strings.HasPrefix(rest, "HTTP/1.1 200 OK\r\n") ||
				!strings.Contains(rest, "Foldgate-Fold: none\r\n") || strings.Contains(rest, "Link") {
				t.Errorf("got %q", b)
			}
		})
	}
}

func TestHolderWithoutAnAnswerStillHasAHead(t *testing.T) {
	heads := 0
	w, _ := run(holdOptions{Head: func(int, http.Header) { heads++ }}, func(http.ResponseWriter, *http.Request) {})
	if heads != 1 || w.Code != 200 {
		t.Errorf("%d heads, status %d; want one, 200", heads, w.Code)
	}
}

func TestHolderAfterTheEnd(t *testing.T) {
	var late http.ResponseWriter
	w, h := run(holdingFor(release), func(w http.ResponseWriter, _ *http.Request) {
		late = w
		_, _ = io.WriteString(w, "a")
	})
	if _, err := io.WriteString(late, "b"); !errors.Is(err, errHolderDone) {
		t.Errorf("got %v, want errHolderDone", err)
	}
	late.WriteHeader(500)
	late.(http.Flusher).Flush()
	h.Finish()
	if w.Body.String() != "a" || w.Code != 200 {
		t.Errorf("got %d %q", w.Code, w.Body)
	}
}

// Whatever is held however long, the client gets the upstream's bytes in order.
func TestHolderReleasesEverythingInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOfN(rapid.StringOfN(rapid.RuneFrom([]rune("data: x\n\r:{}\"")), 0, 40, -1), 0, 30).Draw(t, "pieces")
		contentType := rapid.SampledFrom([]string{"text/event-stream", "application/json", ""}).Draw(t, "type")
		status := rapid.SampledFrom([]int{200, 201, 400, 500}).Draw(t, "status")
		verdicts := rapid.SliceOfN(rapid.SampledFrom([]verdict{keepHolding, release, discard}), 1, 5).Draw(t, "verdicts")
		o := holdingFor(release)
		o.Limit = rapid.IntRange(0, 300).Draw(t, "limit")
		asked := 0
		o.Inspect = func(int, http.Header, []byte, bool) verdict {
			asked++
			return verdicts[(asked-1)%len(verdicts)]
		}
		var seen strings.Builder
		o.Observe = func(b []byte, _ bool) { seen.Write(b) }
		w, h := run(o, answerWith(status, contentType, pieces...))
		want := strings.Join(pieces, "")
		if h.Discarded() {
			if w.Body.Len() != 0 {
				t.Fatalf("discarded, and %q was sent", w.Body)
			}
			h.Replay()
		}
		if w.Body.String() != want || seen.String() != want || w.Code != status {
			t.Fatalf("got %d %q, observed %q; want %d %q", w.Code, w.Body, seen.String(), status, want)
		}
	})
}

// holdingGateway is a real server: a holder before the pass-through.
func holdingGateway(t *testing.T, upstream string, o func() holdOptions) *httptest.Server {
	t.Helper()
	base, err := url.Parse(upstream)
	if err != nil {
		t.Fatal(err)
	}
	transport := NewTransport()
	next := NewProxy(ProxyConfig{Upstream: base, Transport: transport, Timeout: time.Minute})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := newHolder(w, o())
		h.serve(next, r)
		h.Replay()
	}))
	t.Cleanup(func() { s.Close(); transport.CloseIdleConnections() })
	return s
}

func TestHolderOverRealSockets(t *testing.T) {
	tests := []struct {
		name, response, body string
		trailer              http.Header
		cut                  bool
	}{
		{
			"stream with trailers", "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n9\r\ndata: 1\n\n\r\n0\r\nX-Sum: 7\r\n\r\n",
			"data: 1\n\n",
			http.Header{"X-Sum": {"7"}},
			false,
		},
		{
			"late trailers of a short answer", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nX-Sum: 7\r\n\r\n",
			"x",
			http.Header{"X-Sum": {"7"}},
			false,
		},
		{"length", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", "{}", nil, false},
		{"error", "HTTP/1.1 400 Bad\r\nContent-Length: 2\r\n\r\n{}", "{}", nil, false},
		{"broken stream", "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n5\r\ndata:\r\n", "data:", nil, true},
		{"broken length", "HTTP/1.1 400 Bad\r\nContent-Length: 20\r\n\r\n{}", "{}", nil, true},
	}
	for _, tt := range tests {
		for _, v := range []verdict{keepHolding, release, discard} {
			t.Run(fmt.Sprint(tt.name, " ", v), func(t *testing.T) {
				l, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					t.Fatal(err)
				}
				defer l.Close()
				go func() {
					c, err := l.Accept()
					if err != nil {
						return
					}
					defer c.Close()
					if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
						_, _ = io.WriteString(c, tt.response)
					}
				}()
				gw := holdingGateway(t, "http://"+l.Addr().String(), func() holdOptions { return holdingFor(v) })
				transport := &http.Transport{DisableCompression: true}
				defer transport.CloseIdleConnections()
				res, err := (&http.Client{Transport: transport, Timeout: time.Minute}).Get(gw.URL)
				if err != nil {
					t.Fatal(err)
				}
				defer res.Body.Close()
				got, err := io.ReadAll(res.Body)
				if string(got) != tt.body || (err != nil) != tt.cut {
					t.Errorf("got %q, %v; want %q, cut %v", got, err, tt.body, tt.cut)
				}
				if diff := cmp.Diff(tt.trailer, res.Trailer); diff != "" {
					t.Errorf("trailers (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func BenchmarkHolder(b *testing.B) {
	event := []byte("data: {\"choices\":[{\"delta\":{\"content\":\"word\"}}]}\n\n")
	for _, hold := range []bool{false, true} {
		b.Run(fmt.Sprint("hold ", hold), func(b *testing.B) {
			o := holdingFor(release)
			o.Hold = hold
			r := httptest.NewRequest("POST", "/", nil).WithContext(context.Background())
			b.ReportAllocs()
			for b.Loop() {
				h := newHolder(discardWriter{http.Header{}}, o)
				h.serve(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", "text/event-stream")
					for range 50 {
						_, _ = w.Write(event)
					}
				}), r)
			}
		})
	}
}

type discardWriter struct{ h http.Header }

func (w discardWriter) Header() http.Header         { return w.h }
func (w discardWriter) Write(b []byte) (int, error) { return len(b), nil }
func (w discardWriter) WriteHeader(int)             {}
func (w discardWriter) Flush()                      {}
