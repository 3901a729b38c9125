package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// witness is an upstream that tells what it was asked, as it came.
type witness struct {
	*httptest.Server
	mu    sync.Mutex
	asked []seen
}

type seen struct {
	method, target, body string
	header, trailer      http.Header
}

func newWitness(t *testing.T) *witness {
	t.Helper()
	w := &witness{}
	w.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		w.mu.Lock()
		defer w.mu.Unlock()
		if err != nil {
			body = append(body, "<broken>"...)
		}
		w.asked = append(w.asked, seen{r.Method, r.RequestURI, string(body), r.Header.Clone(), r.Trailer.Clone()})
		fmt.Fprint(rw, "{}")
	}))
	t.Cleanup(w.Close)
	return w
}

// of are the requests whose target holds a text.
func (w *witness) of(text string) []seen {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []seen
	for _, s := range w.asked {
		if strings.Contains(s.target, text) {
			out = append(out, s)
		}
	}
	return out
}

// exchangeRaw sends bytes as they are, and no more where they are cut, and reads
// answers until the connection is closed.
func exchangeRaw(t *testing.T, base, text string, cut bool) (statuses []int, answers []*http.Response) {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	_ = c.SetDeadline(time.Now().Add(patience))
	sent := make(chan struct{})
	go func() { // whoever refuses early does not read the rest
		defer close(sent)
		_, _ = io.WriteString(c, text)
		if cut {
			_ = c.(*net.TCPConn).CloseWrite()
		}
	}()
	defer func() { _ = c.Close(); <-sent }()
	r := bufio.NewReader(c)
	for {
		res, err := http.ReadResponse(r, nil)
		if err != nil {
			return statuses, answers
		}
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
		statuses, answers = append(statuses, res.StatusCode), append(answers, res)
	}
}

const (
	hidden = "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"
	last   = "GET /smuggled?last HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
)

// Requests that two readers may divide in two ways: whatever the gateway takes them
// for, the upstream is asked exactly that, once, and what stood in a body for one of
// them never becomes a request.
func TestRequestsAreNotSmuggled(t *testing.T) {
	t.Parallel()
	up := newWitness(t)
	// body: what the upstream gets; "-": the request is refused and nothing is asked.
	cases := []struct{ name, fields, body, want string }{
		{"two lengths", "Content-Length: 4\r\nContent-Length: 40\r\n", "abcd" + hidden, "-"},
		{"two lengths in one field", "Content-Length: 4, 40\r\n", "abcd" + hidden, "-"},
		{"one length twice", "Content-Length: 4\r\nContent-Length: 4\r\nConnection: close\r\n", "abcd" + hidden, "abcd"},
		{"a length with a sign", "Content-Length: +4\r\n", "abcd" + hidden, "-"},
		{"a negative length", "Content-Length: -4\r\n", "abcd" + hidden, "-"},
		{"a length in hex", "Content-Length: 0x4\r\n", "abcd" + hidden, "-"},
		{"a length with a point", "Content-Length: 4.0\r\n", "abcd" + hidden, "-"},
		{"a length beyond numbers", "Content-Length: 99999999999999999999999\r\n", "abcd" + hidden, "-"},
		{"a length with a blank before the colon", "Content-Length : 4\r\n", "abcd" + hidden, "-"},
		{"a length on a folded line", "Content-Length:\r\n 4\r\nConnection: close\r\n", "abcd" + hidden, "abcd|-"},
		{"CL.TE", "Content-Length: 44\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n" + hidden + last, "|-"},
		{"TE.CL", "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n", "27\r\n" + hidden + "abcd" + "\r\n0\r\n\r\n" + last, "-|" + hidden + "abcd"},
		{"TE.TE, chunked twice", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n" + hidden, "-"},
		{"TE.TE, another first", "Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n" + hidden, "-"},
		{"TE.TE, another last", "Transfer-Encoding: chunked, identity\r\n", "0\r\n\r\n" + hidden, "-"},
		{"a coding that nobody knows", "Transfer-Encoding: xchunked\r\nContent-Length: 4\r\n", "abcd" + hidden, "-"},
		{"a coding with a blank before the colon", "Transfer-Encoding : chunked\r\nContent-Length: 4\r\n", "abcd" + hidden, "-"},
		{"a coding behind a tab", "Transfer-Encoding:\tchunked\r\nConnection: close\r\n", "4\r\nabcd\r\n0\r\n\r\n" + hidden, "abcd|-"},
		{"a coding behind a vertical tab", "Transfer-Encoding: \vchunked\r\nContent-Length: 4\r\n", "abcd" + hidden, "-"},
		{"a coding behind a NUL", "Transfer-Encoding: \x00chunked\r\nContent-Length: 4\r\n", "abcd" + hidden, "-"},
		{"a coding in quotes", "Transfer-Encoding: \"chunked\"\r\nContent-Length: 4\r\n", "abcd" + hidden, "-"},
		{"a coding on a folded line", "X: a\r\n Transfer-Encoding: chunked\r\nContent-Length: 4\r\nConnection: close\r\n", "abcd" + hidden, "abcd|-"},
		{"a coding of underscores", "Transfer_Encoding: chunked\r\nContent-Length: 4\r\nConnection: close\r\n", "abcd" + hidden, "abcd"},
		{"a coding behind a bare CR", "X: a\rTransfer-Encoding: chunked\r\nContent-Length: 4\r\nConnection: close\r\n", "abcd" + hidden, "-"},
		{"a coding behind a bare LF", "X: a\nTransfer-Encoding: chunked\r\nConnection: close\r\n", "4\r\nabcd\r\n0\r\n\r\n" + hidden, "abcd|-"},
		{"a first line that is folded", " X: a\r\nContent-Length: 4\r\n", "abcd" + hidden, "-"},
		{"no framing", "Connection: close\r\n", hidden, "|-"},
		{"a chunk with an extension", "Transfer-Encoding: chunked\r\nConnection: close\r\n", "4;a=b\r\nabcd\r\n0;c\r\n\r\n" + hidden, "abcd"},
		{"an extension with a bare LF", "Transfer-Encoding: chunked\r\nConnection: close\r\n", "4;a\nabcd\r\n0\r\n\r\n" + hidden, "abcd|-"},
		{"an extension with a bare CR", "Transfer-Encoding: chunked\r\n", "4;a\rb\r\nabcd\r\n0\r\n\r\n" + hidden, "-"},
		{"a long extension", "Transfer-Encoding: chunked\r\n", "4;" + strings.Repeat("a", 1<<20) + "\r\nabcd\r\n0\r\n\r\n" + hidden, "-"},
		{"extensions without end", "Transfer-Encoding: chunked\r\n", strings.Repeat("1;aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\na\r\n", 20000) + "0\r\n\r\n", "-"},
		{"a chunk's size with a sign", "Transfer-Encoding: chunked\r\n", "+4\r\nabcd\r\n0\r\n\r\n" + hidden, "-"},
		{"a chunk's size in C", "Transfer-Encoding: chunked\r\n", "0x4\r\nabcd\r\n0\r\n\r\n" + hidden, "-"},
		{"a chunk's size beyond numbers", "Transfer-Encoding: chunked\r\n", "fffffffffffffffff\r\nabcd\r\n0\r\n\r\n" + hidden, "-"},
		{"a negative chunk", "Transfer-Encoding: chunked\r\n", "-1\r\nabcd\r\n0\r\n\r\n" + hidden, "-"},
		{"a chunk that is longer than its size", "Transfer-Encoding: chunked\r\n", "4\r\nabcdef\r\n0\r\n\r\n" + hidden, "-"},
		{"a chunk that ends with a bare LF", "Transfer-Encoding: chunked\r\n", "4\r\nabcd\n0\r\n\r\n" + hidden, "-"},
		{"a chunk without a size", "Transfer-Encoding: chunked\r\n", "\r\nabcd\r\n0\r\n\r\n" + hidden, "-"},
		{"a chunk that is cut", "Transfer-Encoding: chunked\r\n", "4\r\nab", "-"},
		{"a body that is cut", "Content-Length: 40\r\n", "abcd", "-"},
		{"a NUL in a name", "X\x00Y: a\r\nContent-Length: 4\r\n", "abcd" + hidden, "-"},
		{"a blank in a name", "X Y: a\r\nContent-Length: 4\r\n", "abcd" + hidden, "-"},
		{"a field without a colon", "X\r\nContent-Length: 4\r\n", "abcd" + hidden, "-"},
		{"a field without a name", ": a\r\nContent-Length: 4\r\n", "abcd" + hidden, "-"},
		{"fields of the framing as trailers", "Transfer-Encoding: chunked\r\nTrailer: Content-Length, X-Sum\r\nConnection: close\r\n", "4\r\nabcd\r\n0\r\nContent-Length: 2\r\nX-Sum: 1\r\n\r\n" + hidden, "abcd|-"},
		{"an upgrade to HTTP/2", "Connection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\nContent-Length: 4\r\n", "abcd", "abcd|-"},
	}
	for _, mode := range []string{"fold", "off"} {
		g := start(t, nil, "--upstream", up.URL, "--window", "4000", "--mode", mode)
		for i, tc := range cases {
			for _, path := range []string{"/v1/chat/completions", "/v1/embeddings"} {
				t.Run(mode+"/"+tc.name+path, func(t *testing.T) {
					target := fmt.Sprintf("%s?%s-%d", path, mode, i)
					statuses, _ := exchangeRaw(t, g.data, "POST "+target+" HTTP/1.1\r\nHost: x\r\n"+tc.fields+"\r\n"+tc.body, strings.HasSuffix(tc.name, "that is cut"))
					got := up.of(target)
					refused := len(got) == 0 || strings.HasSuffix(got[0].body, "<broken>") // streamed, and cut off
					right := false
					for want := range strings.SplitSeq(tc.want, "|") {
						right = right || want == "-" && refused || !refused && want == got[0].body
					}
					if !right {
						t.Errorf("the upstream got %.200q, want %q; answers %v", got, tc.want, statuses)
					}
					if len(got) > 1 || len(statuses) > 1 {
						t.Errorf("%d requests, answers %v", len(got), statuses)
					}
					if refused && len(statuses) > 0 && statuses[0] < 400 {
						t.Errorf("it was not passed on, and answered with %v", statuses)
					}
				})
			}
		}
		g.stop()
	}
	for _, s := range up.of("smuggled") {
		t.Errorf("the upstream was asked %s %s", s.method, s.target)
	}
}

// A path is passed on as it was written, and is a chat's where it ends as one does:
// there is no second reading of it, by which one thing could be decided and another
// be asked.
func TestPathsArePassedOnAsWritten(t *testing.T) {
	t.Parallel()
	up := newWitness(t)
	g := start(t, nil, "--upstream", up.URL, "--window", "4000")
	const body = `{"model":"m","messages":[{"role":"user","content":"hi"}]}`
	for i, tc := range []struct {
		path string
		chat bool
	}{
		{"/v1/chat/completions", true},
		{"/v1//chat/completions", true},
		{"//v1/chat/completions", true},
		{"/a/../v1/chat/completions", true},
		{"/%2e%2e/chat/completions", true},
		{"/v1/..%2f/chat/completions", true},
		{"/v1/%00/chat/completions", true},
		{`/v1\x/chat/completions`, true},
		{"/v1;a=b/chat/completions", true},
		{"/v1/chat/completions/", false},
		{"/v1/chat/completions/.", false},
		{"/v1/chat/completions//", false},
		{"/v1/chat/completions;a=b", false},
		{"/v1/chat/completions%00", false},
		{"/v1/chat/completions%20", false},
		{"/v1/Chat/Completions", false},
		{`/v1\chat\completions`, false},
		{"/v1/chat%5ccompletions", false},
		{"/v1/chat/./completions", false},
		{"/v1/x/../chat//completions", false},
		{"/v1/xchat/completions", false},
		{"/v1/models?/chat/completions", false},
	} {
		t.Run(tc.path, func(t *testing.T) {
			target := tc.path + fmt.Sprintf("?p%d", i)
			if strings.Contains(tc.path, "?") {
				target = tc.path + fmt.Sprintf("&p%d", i)
			}
			statuses, answers := exchangeRaw(t, g.data, fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", target, len(body), body), false)
			got := up.of(fmt.Sprintf("p%d", i))
			got = slices.DeleteFunc(got, func(s seen) bool { return s.target != target })
			if len(got) != 1 || got[0].body != body || len(statuses) != 1 || statuses[0] != http.StatusOK {
				t.Fatalf("the upstream got %q of %q, answers %v", got, target, statuses)
			}
			if chat := answers[0].Header.Get("Foldgate-Fold") != ""; chat != tc.chat {
				t.Errorf("a chat: %v, want %v", chat, tc.chat)
			}
		})
	}
}

// A client may name fields that are for the next hop only. It takes its own fields
// away by that, nothing of the framing and nothing of ours.
func TestConnectionTakesOnlyTheClientsOwnFields(t *testing.T) {
	t.Parallel()
	up := newWitness(t)
	g := start(t, nil, "--upstream", up.URL, "--window", "4000")
	const body = `{"model":"m","messages":[{"role":"user","content":"hi"}]}`
	for i, named := range []string{
		"Authorization", "authorization , Cookie", "Foldgate-Conversation, Foldgate-Bypass", "Content-Length", "Host", "Content-Type, Content-Encoding",
		"Transfer-Encoding", "X-Forwarded-For", "Connection", ",,,", "Keep-Alive, TE, Trailer, Upgrade, Proxy-Authorization", "X-" + strings.Repeat("a", 1<<16),
		strings.Repeat("a,", 1<<15) + "Authorization",
	} {
		for _, path := range []string{"/v1/chat/completions", "/v1/embeddings"} {
			target := fmt.Sprintf("%s?c%d-", path, i)
			statuses, answers := exchangeRaw(t, g.data, fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nConnection: close, %s\r\nAuthorization: Bearer sk-a\r\nCookie: c\r\nX-Forwarded-For: f\r\nX-Other: kept\r\n"+
				"Foldgate-Conversation: planted\r\nFoldgate-Key: planted\r\nfoldgate-fold: planted\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", target, named, len(body), body), false)
			got := up.of(target)
			if len(got) != 1 || got[0].body != body || len(statuses) != 1 {
				t.Errorf("%.60s: the upstream got %.300q, answers %v", named, got, statuses)
				continue
			}
			h := got[0].header
			for name := range h {
				if strings.HasPrefix(name, "Foldgate-") {
					t.Errorf("%.60s: %s reached the upstream", named, name)
				}
			}
			if h.Get("X-Other") != "kept" || strings.Contains(fmt.Sprint(answers[0].Header), "planted") {
				t.Errorf("%.60s: %v, answered with %v", named, h, answers[0].Header)
			}
			for _, field := range []string{"Authorization", "Cookie", "X-Forwarded-For"} {
				if gone := strings.Contains(strings.ReplaceAll(strings.ToLower(named), "proxy-authorization", ""), strings.ToLower(field)); gone != (h.Get(field) == "") {
					t.Errorf("%.60s: %s is %q", named, field, h.Get(field))
				}
			}
		}
	}
}

// Heads are bounded: what is over 1 MiB is refused with 431, and nothing is asked.
func TestFloodsOfFieldsAreRefused(t *testing.T) {
	t.Parallel()
	up := newWitness(t)
	g := start(t, nil, "--upstream", up.URL)
	for i, tc := range []struct {
		name, head string
		status     int
	}{
		{"a thousand fields", fields(1000), 200},
		{"many small fields", fields(1 << 17), 431},
		{"one field many times", strings.Repeat("X: a\r\n", 1<<18), 431},
		{"one long value", "X: " + strings.Repeat("a", 2<<20) + "\r\n", 431},
		{"one long name", strings.Repeat("x", 2<<20) + ": a\r\n", 431},
		{"a value on many folded lines", "X: a\r\n" + strings.Repeat(" a\r\n", 1<<19), 431},
	} {
		target := fmt.Sprintf("/v1/models?f%d-", i)
		statuses, _ := exchangeRaw(t, g.data, "GET "+target+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"+tc.head+"\r\n", false)
		if asked := len(up.of(target)); (asked == 1) != (tc.status == 200) || len(statuses) > 1 || len(statuses) == 1 && statuses[0] != tc.status {
			t.Errorf("%s: %d requests, answers %v, want %d", tc.name, asked, statuses, tc.status)
		}
	}
	target := "/v1/" + strings.Repeat("a", 2<<20)
	if statuses, _ := exchangeRaw(t, g.data, "GET "+target+" HTTP/1.1\r\nHost: x\r\n\r\n", false); len(up.of(target)) > 0 || len(statuses) > 0 && statuses[0] != 431 {
		t.Errorf("a long target: answers %v", statuses)
	}
}

func fields(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "X-%d: a\r\n", i)
	}
	return b.String()
}

// Whoever sends a head or a body and never ends it holds a connection, and no more:
// others are served meanwhile. How long: TestServersAreBounded.
func TestSlowSendersHoldNothingOfOthers(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, "ok")
	g := start(t, nil, "--upstream", up.URL, "--memory", "32MiB", "--body-limit", "1MiB")
	const callers = 60
	for i := range callers {
		c, err := net.Dial("tcp", strings.TrimPrefix(g.data, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		head := "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n"
		if i%2 == 0 {
			head += "\r\n{"
		}
		if _, err := io.WriteString(c, head); err != nil {
			t.Fatal(err)
		}
	}
	for range 5 {
		if a := g.chat(longChat("others", 2)); a.status != http.StatusOK {
			t.Errorf("%d %s", a.status, a.body)
		}
	}
}

// The head of a request must come within headerTimeout, a kept connection is closed
// after idleTimeout, and the admin plane bounds requests and answers whole.
func TestServersAreBounded(t *testing.T) {
	s := (&gateway{logger: slog.New(slog.DiscardHandler)}).server(http.NotFoundHandler())
	if s.ReadHeaderTimeout <= 0 || s.ReadHeaderTimeout > time.Minute || s.IdleTimeout <= 0 || s.MaxHeaderBytes <= 0 || s.MaxHeaderBytes > 1<<20 {
		t.Errorf("head %v, idle %v, %d bytes", s.ReadHeaderTimeout, s.IdleTimeout, s.MaxHeaderBytes)
	}
	server := httptest.NewUnstartedServer(s.Handler)
	server.Config = s
	s.ReadHeaderTimeout = 50 * time.Millisecond
	server.Start()
	t.Cleanup(server.Close)
	began := "GET / HTTP/1.1\r\nHost: x\r\nX: "
	c, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(c, began); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(c); err != nil && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the connection of a head that does not end stays open: %q, %v", rest, err)
	}
}
