package middleware_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/foldgate/foldgate/middleware"
)

func TestProxyRequestLeavesAsItCame(t *testing.T) {
	heads := make(chan string, 1)
	up := rawUpstream(t, func(head string, c net.Conn, r *bufio.Reader) {
		body := make([]byte, 2)
		_, _ = io.ReadFull(r, body)
		heads <- head + string(body)
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
	})
	gw := gatewayTo(t, up+"/base")
	_, r := rawRequest(t, gw, "PUT /base/models/a%2Fb|c%20?x=%zz&y=1;2&&= HTTP/1.1\r\n"+
		"Host: client.example\r\n"+
		"X-Many: 2\r\nX-Many: 1\r\nX-Empty:\r\n"+
		"X-Forwarded-For: 192.0.2.1, 192.0.2.2\r\nForwarded: for=192.0.2.1\r\nX-Forwarded-Proto: gopher\r\n"+
		"X-Hop: gone\r\nConnection: keep-alive, X-Hop\r\nKeep-Alive: timeout=5\r\nProxy-Authorization: secret\r\nTE: gzip\r\n"+
		"session_id: underscore\r\n"+
		"Content-Length: 2\r\n\r\n{}")
	if _, err := http.ReadResponse(r, nil); err != nil {
		t.Fatal(err)
	}
	got := strings.Split(<-heads, "\r\n")
	slices.Sort(got[1 : len(got)-2])
	want := []string{
		"PUT /base/models/a%2Fb|c%20?x=%zz&y=1;2&&= HTTP/1.1",
		"Content-Length: 2",
		"Forwarded: for=192.0.2.1",
		"Host: " + strings.TrimPrefix(up, "http://"),
		"Session_id: underscore",
		"X-Empty: ",
		"X-Forwarded-For: 192.0.2.1, 192.0.2.2",
		"X-Forwarded-Proto: gopher",
		"X-Many: 1",
		"X-Many: 2",
		"", "{}",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("request at the upstream (-want +got):\n%s", diff)
	}
}

func TestProxyKeepsTheOrderOfValues(t *testing.T) {
	got := make(chan []string, 1)
	up := upstreamOf(t, func(w http.ResponseWriter, r *http.Request) {
		got <- r.Header["X-Many"]
		w.Header()["X-Back"] = []string{"b", "a", "b"}
	})
	req, _ := http.NewRequest("GET", gatewayTo(t, up.URL).URL, nil)
	req.Header["X-Many"] = []string{"2", "1", "2"}
	res, err := plainClient(t).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if diff := cmp.Diff([]string{"2", "1", "2"}, <-got); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"b", "a", "b"}, res.Header["X-Back"]); diff != "" {
		t.Errorf("response (-want +got):\n%s", diff)
	}
}

func TestProxyPath(t *testing.T) {
	tests := []struct{ name, base, request, want string }{
		{"no base path", "", "/v1/chat/completions", "/v1/chat/completions"},
		{"base slash", "/", "/v1/x", "/v1/x"},
		{"base path", "/openai", "/v1/x", "/openai/v1/x"},
		{"repeated segment once", "/v1", "/v1/chat/completions", "/v1/chat/completions"},
		{"repeated segment, slash", "/v1/", "/v1/chat/completions", "/v1/chat/completions"},
		{"repeated after others", "/api/v1", "/v1/x", "/api/v1/x"},
		{"repeated run", "/api/v1", "/api/v1/x", "/api/v1/x"},
		{"no whole segment", "/v1", "/v10/x", "/v1/v10/x"},
		{"part of a segment", "/xv1", "/v1/x", "/xv1/v1/x"},
		{"only the segment", "/v1", "/v1", "/v1"},
		{"not repeated", "/v1", "/chat/completions", "/v1/chat/completions"},
		{"escaped slash", "/v1", "/v1/models/org%2Fname", "/v1/models/org%2Fname"},
		{"escaped base", "/a%2Fb", "/c", "/a%2Fb/c"},
		{"lower-case escapes", "", "/a%2fb%c3%a4", "/a%2fb%c3%a4"},
		{"unusual characters", "/v1", "/v1/a|b^`{}\"<>", "/v1/a|b^`{}\"<>"},
		{"double slash", "", "//a//b", "//a//b"},
		{"dots", "", "/a/../b/./c", "/a/../b/./c"},
		{"trailing slash", "/v1", "/v1/x/", "/v1/x/"},
		{"query", "/v1", "/v1/x?api-version=1;2&%zz", "/v1/x?api-version=1;2&%zz"},
		{"empty query", "/v1", "/v1/x?", "/v1/x?"},
		{"base query", "/v1?k=1", "/v1/x?a=%zz", "/v1/x?k=1&a=%zz"},
		{"base query alone", "/v1?k=1", "/v1/x", "/v1/x?k=1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := make(chan string, 1)
			up := rawUpstream(t, func(head string, c net.Conn, _ *bufio.Reader) {
				got <- strings.Fields(head)[1]
				_, _ = io.WriteString(c, "HTTP/1.1 204 No Content\r\n\r\n")
			})
			gw := gatewayTo(t, up+tt.base)
			_, r := rawRequest(t, gw, "GET "+tt.request+" HTTP/1.1\r\nHost: x\r\n\r\n")
			if _, err := http.ReadResponse(r, nil); err != nil {
				t.Fatal(err)
			}
			if g := <-got; g != tt.want {
				t.Errorf("upstream saw %q, want %q", g, tt.want)
			}
		})
	}
}

func TestProxyResponseComesAsItLeft(t *testing.T) {
	var zipped bytes.Buffer
	zw := gzip.NewWriter(&zipped)
	_, _ = io.WriteString(zw, `{"a":1}`)
	_ = zw.Close()
	tests := []struct {
		name, response string
		status         int
		header         http.Header
		body           string
	}{
		{
			"no content type is guessed", "HTTP/1.1 200 OK\r\nContent-Length: 6\r\nDate: d\r\n\r\n<html>", 200,
			http.Header{"Content-Length": {"6"}, "Date": {"d"}},
			"<html>",
		},
		{
			"gzip stays", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Type: application/json\r\nDate: d\r\nContent-Length: " + fmt.Sprint(zipped.Len()) + "\r\n\r\n" + zipped.String(), 200,
			http.Header{"Content-Encoding": {"gzip"}, "Content-Type": {"application/json"}, "Date": {"d"}, "Content-Length": {fmt.Sprint(zipped.Len())}},
			zipped.String(),
		},
		{
			"redirect is not followed", "HTTP/1.1 307 X\r\nLocation: http://elsewhere.example/\r\nDate: d\r\nContent-Length: 0\r\n\r\n", 307,
			http.Header{"Location": {"http://elsewhere.example/"}, "Date": {"d"}, "Content-Length": {"0"}},
			"",
		},
		{
			"blank lines before JSON", "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nDate: d\r\nConnection: close\r\n\r\n\n\n\n{}", 200,
			http.Header{"Content-Type": {"application/json"}, "Date": {"d"}},
			"\n\n\n{}",
		},
		{
			"own fields of an unknown status", "HTTP/1.1 529 Busy\r\nX-Should-Retry: true\r\nRetry-After-Ms: 5\r\nDate: d\r\nContent-Length: 1\r\n\r\nx", 529,
			http.Header{"X-Should-Retry": {"true"}, "Retry-After-Ms": {"5"}, "Date": {"d"}, "Content-Length": {"1"}},
			"x",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			up := rawUpstream(t, func(_ string, c net.Conn, _ *bufio.Reader) { _, _ = io.WriteString(c, tt.response) })
			_, r := rawRequest(t, gatewayTo(t, up), "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
			res, err := http.ReadResponse(r, nil)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(res.Body)
			if err != nil {
				t.Fatal(err)
			}
			if res.StatusCode != tt.status {
				t.Errorf("got status %d, want %d", res.StatusCode, tt.status)
			}
			if diff := cmp.Diff(tt.header, res.Header); diff != "" {
				t.Errorf("header (-want +got):\n%s", diff)
			}
			if string(body) != tt.body {
				t.Errorf("got body %q, want %q", body, tt.body)
			}
		})
	}
}

func TestProxyRefusesAStatusThatIsNone(t *testing.T) {
	up := rawUpstream(t, func(_ string, c net.Conn, _ *bufio.Reader) {
		_, _ = io.WriteString(c, "HTTP/1.1 042 X\r\nContent-Length: 0\r\n\r\n")
	})
	res, err := plainClient(t).Get(gatewayTo(t, up).URL)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusBadGateway {
		t.Errorf("got %d, want 502", res.StatusCode)
	}
}

func TestProxyTrailersBothWays(t *testing.T) {
	got := make(chan http.Header, 1)
	up := upstreamOf(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		got <- r.Trailer
		w.Header().Set("Trailer", "X-Announced")
		_, _ = io.WriteString(w, "body")
		w.Header().Set("X-Announced", "1")
		w.Header().Set(http.TrailerPrefix+"X-Late", "2")
	})
	_, r := rawRequest(t, gatewayTo(t, up.URL), "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n"+
		"2\r\nab\r\n0\r\nX-Sum: 7\r\n\r\n")
	res, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, res.Body)
	if diff := cmp.Diff(http.Header{"X-Sum": {"7"}}, <-got); diff != "" {
		t.Errorf("request trailers (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(http.Header{"X-Announced": {"1"}, "X-Late": {"2"}}, res.Trailer); diff != "" {
		t.Errorf("response trailers (-want +got):\n%s", diff)
	}
}

func TestProxyInformationalResponses(t *testing.T) {
	up := upstreamOf(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", "</a>")
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusOK)
	})
	var hints []string
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
		Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
			hints = append(hints, fmt.Sprint(code, h["Link"]))
			return nil
		},
	})
	req, _ := http.NewRequestWithContext(ctx, "GET", gatewayTo(t, up.URL).URL, nil)
	res, err := plainClient(t).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if diff := cmp.Diff([]string{"103 [</a>]"}, hints); diff != "" {
		t.Errorf("hints (-want +got):\n%s", diff)
	}
}

func TestProxyExpectContinue(t *testing.T) {
	up := upstreamOf(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		_, _ = w.Write(b)
	})
	c, r := rawRequest(t, gatewayTo(t, up.URL), "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n")
	head, err := readHead(r)
	if err != nil || !strings.HasPrefix(head, "HTTP/1.1 100 ") {
		t.Fatalf("got %q, %v; want 100 before the body", head, err)
	}
	_, _ = io.WriteString(c, "abc")
	res, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	if b, _ := io.ReadAll(res.Body); string(b) != "abc" {
		t.Errorf("got %q, want the body back", b)
	}
}

func TestProxyUpgrade(t *testing.T) {
	up := upstreamOf(t, func(w http.ResponseWriter, r *http.Request) {
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "+r.Header.Get("Upgrade")+"\r\n\r\n")
		line, _ := rw.ReadString('\n')
		_, _ = io.WriteString(conn, "echo "+line)
	})
	gw := gatewayTo(t, up.URL, func(c *middleware.ProxyConfig) { c.Timeout = time.Minute })
	c, r := rawRequest(t, gw, "GET /realtime HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	head, err := readHead(r)
	if err != nil || !strings.HasPrefix(head, "HTTP/1.1 101 ") {
		t.Fatalf("got %q, %v; want 101", head, err)
	}
	_, _ = io.WriteString(c, "hello\n")
	if line, _ := r.ReadString('\n'); line != "echo hello\n" {
		t.Errorf("got %q", line)
	}
}

func TestProxyHTTP2Upstream(t *testing.T) {
	up := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Proto", r.Proto)
		w.Header().Set(http.TrailerPrefix+"X-Late", r.Trailer.Get("X-Sum"))
		fmt.Fprintf(w, "%s %s", r.RequestURI, b)
		_ = http.NewResponseController(w).Flush() // with a length, HTTP/1 could not carry the trailer on
	}))
	up.EnableHTTP2 = true
	up.StartTLS()
	t.Cleanup(up.Close)
	gw := gatewayTo(t, up.URL, func(c *middleware.ProxyConfig) {
		tr := c.Transport.(*http.Transport)
		tr.TLSClientConfig = &tls.Config{RootCAs: up.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}
	})
	_, r := rawRequest(t, gw, "POST /a%2Fb|c?%zz HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n2\r\nab\r\n0\r\nX-Sum: 7\r\n\r\n")
	res, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	b, _ := io.ReadAll(res.Body)
	if got, want := fmt.Sprint(res.Header.Get("X-Proto"), " ", string(b), " ", res.Trailer.Get("X-Late")), "HTTP/2.0 /a%2Fb|c?%zz ab 7"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// chunkings cut a stream in every way that matters.
func chunkings(stream string) map[string][]string {
	rng := rand.New(rand.NewPCG(1, uint64(len(stream))))
	var random, bytewise []string
	for rest := stream; rest != ""; {
		n := min(1+rng.IntN(700), len(rest))
		random, rest = append(random, rest[:n]), rest[n:]
	}
	if len(stream) < 8000 {
		for i := range len(stream) {
			bytewise = append(bytewise, stream[i:i+1])
		}
	}
	all := map[string][]string{"whole": {stream}, "lines": strings.SplitAfter(stream, "\n"), "random": random}
	if bytewise != nil {
		all["bytes"] = bytewise
	}
	return all
}

func TestProxyStreamsPassByteForByte(t *testing.T) {
	streams := make(map[string]string)
	for name, s := range ownStreams {
		streams[name] = s
	}
	passStreams(t, streams)
}

func TestProxyRecordedStreamsPassByteForByte(t *testing.T) {
	streams, ok := recordedStreams(t)
	if !ok {
		t.Skip("FOLDGATE_TESTDATA is not set")
	}
	passStreams(t, streams)
}

func passStreams(t *testing.T, streams map[string]string) {
	t.Helper()
	var chunks []string
	up := upstreamOf(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		for _, c := range chunks {
			_, _ = io.WriteString(w, c)
			_ = http.NewResponseController(w).Flush()
		}
	})
	gw, cl := gatewayTo(t, up.URL), plainClient(t)
	for name, stream := range streams {
		for how, cut := range chunkings(stream) {
			chunks = cut
			res, err := cl.Get(gw.URL)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(res.Body)
			res.Body.Close()
			if err != nil || string(got) != stream {
				t.Errorf("%s, %s: %d bytes, %v; want the %d of the stream", name, how, len(got), err, len(stream))
			}
		}
	}
}

func TestProxyFlushesEveryPiece(t *testing.T) {
	for _, contentType := range []string{"text/event-stream", "application/json", "announced length"} {
		t.Run(contentType, func(t *testing.T) {
			next := make(chan struct{})
			up := upstreamOf(t, func(w http.ResponseWriter, _ *http.Request) {
				if w.Header().Set("Content-Type", contentType); contentType == "announced length" {
					w.Header().Set("Content-Length", "24")
				}
				for i := range 3 {
					fmt.Fprintf(w, "piece %d\n", i)
					_ = http.NewResponseController(w).Flush()
					<-next // until the client has it
				}
			})
			res, err := plainClient(t).Get(gatewayTo(t, up.URL).URL)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			r := bufio.NewReader(res.Body)
			for i := range 3 {
				line, err := r.ReadString('\n')
				if want := fmt.Sprintf("piece %d\n", i); err != nil || line != want {
					t.Fatalf("got %q, %v; want %q", line, err, want)
				}
				next <- struct{}{}
			}
		})
	}
}

// An upstream that answers before it has read the body must not have its answer
// cut short by the server's closing the inbound body (golang/go#40747).
func TestProxyUpstreamAnswersBeforeReadingTheBody(t *testing.T) {
	for _, length := range []string{"announced", "chunked"} {
		t.Run(length, func(t *testing.T) {
			answering := make(chan struct{})
			up := rawUpstream(t, func(_ string, c net.Conn, r *bufio.Reader) {
				_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n9\r\ndata: 1\n\n\r\n")
				<-answering
				// Now the client has the head, and the server has closed the inbound
				// body: taking what is on its way makes the transport read on.
				_ = c.SetReadDeadline(time.Now().Add(300 * time.Millisecond))
				if _, err := io.Copy(io.Discard, r); err == nil {
					return // the gateway hung up
				}
				_, _ = io.WriteString(c, "9\r\ndata: 2\n\n\r\n0\r\n\r\n")
			})
			var body io.Reader = strings.NewReader(strings.Repeat("b", 8<<20))
			if length == "chunked" {
				body = io.MultiReader(body)
			}
			res, err := plainClient(t).Post(gatewayTo(t, up).URL+"/v1/files", "application/json", body)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			r := bufio.NewReader(res.Body)
			first, err := r.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			close(answering)
			rest, err := io.ReadAll(r)
			if got, want := first+string(rest), "data: 1\n\ndata: 2\n\n"; err != nil || got != want {
				t.Errorf("got %q, %v; want %q", got, err, want)
			}
		})
	}
}

// A rest that is short enough the server reads away itself as the response
// begins. The transport then finds the body closed, and must not hang up for it.
func TestProxyServerTakesTheRestOfTheBody(t *testing.T) {
	ours, theirs := net.Pipe() // without a buffer: what is not read is not written
	defer theirs.Close()
	gw := gatewayTo(t, "http://upstream.example", func(c *middleware.ProxyConfig) {
		c.Transport.(*http.Transport).DialContext = func(context.Context, string, string) (net.Conn, error) { return ours, nil }
	})
	answering, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		r := bufio.NewReader(theirs)
		if _, err := readHead(r); err != nil {
			t.Error(err)
			return
		}
		_, _ = io.WriteString(theirs, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n9\r\ndata: 1\n\n\r\n")
		<-answering
		_ = theirs.SetReadDeadline(time.Now().Add(300 * time.Millisecond))
		if _, err := io.Copy(io.Discard, r); err == nil {
			t.Error("the gateway hung up in the middle of the answer")
			return
		}
		_, _ = io.WriteString(theirs, "9\r\ndata: 2\n\n\r\n0\r\n\r\n")
	}()
	res, err := plainClient(t).Post(gw.URL+"/v1/files", "application/json", strings.NewReader(strings.Repeat("b", 200<<10)))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	r := bufio.NewReader(res.Body)
	first, err := r.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	close(answering)
	rest, err := io.ReadAll(r)
	if got, want := first+string(rest), "data: 1\n\ndata: 2\n\n"; err != nil || got != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	waitClosed(t, done, "upstream")
}

// The end of a streamed body is asked for once: a second read, after the
// response began, would fail.
func TestProxyEndOfTheBodyIsReadOnce(t *testing.T) {
	body := &endsOnce{Reader: strings.NewReader("{}")}
	p := silentProxy(0, func(r *http.Request) (*http.Response, error) {
		for range 3 {
			if _, err := io.Copy(io.Discard, r.Body); err != nil {
				return nil, err
			}
		}
		return &http.Response{StatusCode: 204, Header: http.Header{}, Body: http.NoBody}, nil
	})
	w := httptest.NewRecorder()
	p.ServeHTTP(w, httptest.NewRequest("POST", "/", body))
	if w.Code != 204 {
		t.Errorf("got %d, want 204", w.Code)
	}
}

// endsOnce is a body that is closed once its end was read.
type endsOnce struct {
	io.Reader
	ended bool
}

func (b *endsOnce) Read(p []byte) (int, error) {
	if b.ended {
		return 0, http.ErrBodyReadAfterClose
	}
	n, err := b.Reader.Read(p)
	b.ended = err == io.EOF
	return n, err
}

func TestProxyGuessesNoContentType(t *testing.T) {
	up := rawUpstream(t, func(_ string, c net.Conn, _ *bufio.Reader) {
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>")
	})
	base, err := url.Parse(up)
	if err != nil {
		t.Fatal(err)
	}
	transport := middleware.NewTransport()
	defer transport.CloseIdleConnections()
	p := middleware.NewProxy(middleware.ProxyConfig{Upstream: base, Transport: transport})
	s := upstreamOf(t, func(w http.ResponseWriter, r *http.Request) {
		p.ServeHTTP(struct{ http.ResponseWriter }{w}, r) // cannot be flushed: the body is there when the head goes
	})
	res, err := plainClient(t).Get(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if got, ok := res.Header["Content-Type"]; ok {
		t.Errorf("got content type %q, want none", got)
	}
}

func TestProxyClientHangsUp(t *testing.T) {
	for _, when := range []string{"before the head", "in the stream"} {
		t.Run(when, func(t *testing.T) {
			arrived, cancelled := make(chan struct{}), make(chan struct{})
			up := upstreamOf(t, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body) // only then does a server notice
				if when == "in the stream" {
					_, _ = io.WriteString(w, "data: 1\n\n")
					_ = http.NewResponseController(w).Flush()
				}
				close(arrived)
				<-r.Context().Done()
				close(cancelled)
			})
			ctx, hangUp := context.WithCancel(t.Context())
			defer hangUp()
			req, _ := http.NewRequestWithContext(ctx, "POST", gatewayTo(t, up.URL).URL, strings.NewReader("{}"))
			returned := make(chan struct{})
			go func() {
				defer close(returned)
				if res, err := plainClient(t).Do(req); err == nil {
					_, _ = io.Copy(io.Discard, res.Body)
					res.Body.Close()
				}
			}()
			waitClosed(t, arrived, "request at the upstream")
			hangUp()
			waitClosed(t, cancelled, "cancel at the upstream")
			waitClosed(t, returned, "client")
		})
	}
}

func TestProxyBrokenResponseNeverLooksComplete(t *testing.T) {
	tests := []struct{ name, head, body, want string }{
		{"chunked", "Content-Type: text/event-stream\r\nTransfer-Encoding: chunked", "9\r\ndata: 1\n\n\r\n", "data: 1\n\n"},
		{"inside a chunk", "Transfer-Encoding: chunked", "9\r\ndata", "data"},
		{"announced length", "Content-Length: 100", "{\"a\":", "{\"a\":"},
		{"announced length, no body", "Content-Length: 100", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			up := rawUpstream(t, func(_ string, c net.Conn, _ *bufio.Reader) {
				_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n"+tt.head+"\r\n\r\n"+tt.body)
			})
			res, err := plainClient(t).Get(gatewayTo(t, up).URL)
			if err != nil {
				t.Fatal(err) // what there was of the answer was kept back
			}
			defer res.Body.Close()
			if b, err := io.ReadAll(res.Body); err == nil || string(b) != tt.want {
				t.Errorf("got %q, %v; want %q and a cut", b, err, tt.want)
			}
		})
	}
}

func TestProxyUnreachable(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	res, err := plainClient(t).Post(gatewayTo(t, "http://"+addr).URL, "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, _ := io.ReadAll(res.Body)
	want := `{"error":{"message":"The upstream could not be reached.","type":"server_error","param":null,"code":"upstream_unreachable"}}` + "\n"
	if res.StatusCode != http.StatusBadGateway || string(b) != want {
		t.Errorf("got %d %s, want 502 %s", res.StatusCode, b, want)
	}
	if got := res.Header.Get("Content-Type"); got != "application/json" {
		t.Errorf("got content type %q", got)
	}
}

// A client that sends less than it announced gets no answer that could be read
// as the upstream's, and the upstream sees the break.
func TestProxyClientBreaksItsBody(t *testing.T) {
	broke := make(chan error, 1)
	up := upstreamOf(t, func(_ http.ResponseWriter, r *http.Request) {
		_, err := io.Copy(io.Discard, r.Body)
		broke <- err
	})
	c, r := rawRequest(t, gatewayTo(t, up.URL), "POST /v1/files HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc")
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if res, err := http.ReadResponse(r, nil); err == nil && res.StatusCode < 400 {
		t.Errorf("got %d, want no answer", res.StatusCode)
	}
	if err := <-broke; err == nil {
		t.Error("the upstream took a broken body for a whole one")
	}
}

// transportFunc is a transport made of a function.
type transportFunc func(*http.Request) (*http.Response, error)

func (f transportFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func silentProxy(limit time.Duration, f transportFunc) http.Handler {
	return middleware.NewProxy(middleware.ProxyConfig{
		Upstream: &url.URL{Scheme: "http", Host: "upstream.example"}, Transport: f, Timeout: limit,
	})
}

func TestProxySilenceBeforeTheHead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := silentProxy(time.Minute, func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		w, start := httptest.NewRecorder(), time.Now()
		p.ServeHTTP(w, httptest.NewRequest("POST", "/v1/x", strings.NewReader("{}")))
		if took := time.Since(start); w.Code != http.StatusGatewayTimeout || took != time.Minute {
			t.Errorf("got %d after %v, want 504 after 1m0s", w.Code, took)
		}
	})
}

// pausing is a body whose pieces come after a pause each.
type pausing struct {
	ctx    context.Context
	pauses []time.Duration
}

func (p *pausing) Read(b []byte) (int, error) {
	if len(p.pauses) == 0 {
		return 0, io.EOF
	}
	select {
	case <-time.After(p.pauses[0]):
		p.pauses = p.pauses[1:]
		return copy(b, "x"), nil
	case <-p.ctx.Done():
		return 0, p.ctx.Err()
	}
}

func (p *pausing) Close() error { return nil }

func TestProxySilenceInTheBody(t *testing.T) {
	tests := []struct {
		name   string
		pauses []time.Duration
		want   string
		cut    bool
	}{
		{"always in time", []time.Duration{50 * time.Second, 59 * time.Second, 59 * time.Second}, "xxx", false},
		{"too long", []time.Duration{50 * time.Second, 61 * time.Second, time.Second}, "x", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := silentProxy(time.Minute, func(r *http.Request) (*http.Response, error) {
					return &http.Response{StatusCode: 200, ContentLength: -1, Header: http.Header{}, Body: &pausing{r.Context(), tt.pauses}}, nil
				})
				w := httptest.NewRecorder()
				cut := aborted(func() { p.ServeHTTP(w, underServer(httptest.NewRequest("GET", "/", nil))) })
				if w.Body.String() != tt.want || cut != tt.cut {
					t.Errorf("got %q, cut %v; want %q, %v", w.Body, cut, tt.want, tt.cut)
				}
			})
		})
	}
}

// What the client is slow at is not the upstream's silence.
func TestProxySlowClientIsNoSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := silentProxy(time.Minute, func(r *http.Request) (*http.Response, error) {
			if _, err := io.Copy(io.Discard, r.Body); err != nil {
				return nil, err
			}
			if err := context.Cause(r.Context()); err != nil {
				return nil, err
			}
			return &http.Response{StatusCode: 204, Header: http.Header{}, Body: http.NoBody}, nil
		})
		slow := &pausing{context.Background(), []time.Duration{time.Hour, time.Hour}}
		w := httptest.NewRecorder()
		p.ServeHTTP(w, httptest.NewRequest("POST", "/", slow))
		if w.Code != http.StatusNoContent {
			t.Errorf("got %d, want 204", w.Code)
		}
	})
}

// slowWriter is a client that takes its time.
type slowWriter struct{ *httptest.ResponseRecorder }

func (w slowWriter) WriteHeader(status int) {
	time.Sleep(time.Hour)
	w.ResponseRecorder.WriteHeader(status)
}

func (w slowWriter) Write(b []byte) (int, error) {
	time.Sleep(time.Hour)
	return w.ResponseRecorder.Write(b)
}

func TestProxySlowReceiverIsNoSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := silentProxy(time.Minute, func(r *http.Request) (*http.Response, error) {
			body := &pausing{r.Context(), []time.Duration{time.Second, time.Second, time.Second}}
			return &http.Response{StatusCode: 200, ContentLength: -1, Header: http.Header{}, Body: body}, nil
		})
		w := slowWriter{httptest.NewRecorder()}
		if cut := aborted(func() { p.ServeHTTP(w, underServer(httptest.NewRequest("GET", "/", nil))) }); cut || w.Body.String() != "xxx" {
			t.Errorf("got %q, cut %v; want all", w.Body, cut)
		}
	})
}

// underServer makes r look as if it came through a server.
func underServer(r *http.Request) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), http.ServerContextKey, &http.Server{}))
}

// aborted reports whether f ended in http.ErrAbortHandler.
func aborted(f func()) (cut bool) {
	defer func() {
		if p := recover(); p != nil {
			err, ok := p.(error)
			if cut = ok && errors.Is(err, http.ErrAbortHandler); !cut {
				panic(p)
			}
		}
	}()
	f()
	return false
}

func BenchmarkProxy(b *testing.B) {
	for _, size := range []int{1 << 10, 64 << 10} {
		b.Run(fmt.Sprintf("%dKiB", size>>10), func(b *testing.B) {
			answer := bytes.Repeat([]byte("a"), 1<<10)
			up := upstreamOf(b, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				_, _ = w.Write(answer)
			})
			gw, cl := gatewayTo(b, up.URL, func(c *middleware.ProxyConfig) { c.Timeout = time.Minute }), plainClient(b)
			body := bytes.Repeat([]byte("b"), size)
			b.SetBytes(int64(size))
			for b.Loop() {
				res, err := cl.Post(gw.URL, "application/json", bytes.NewReader(body))
				if err != nil {
					b.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, res.Body)
				res.Body.Close()
			}
		})
	}
}
