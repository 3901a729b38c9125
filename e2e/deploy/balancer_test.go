package deploy

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// backends stand where the replicas would, and do what they are told.
type backends struct {
	*topology
	asked [2]atomic.Int64
}

// balanced is the committed nginx.conf in front of two handlers. nil: nobody listens
// there.
func balanced(t *testing.T, handlers ...http.HandlerFunc) *backends {
	t.Helper()
	b := &backends{topology: newTopology(t)}
	for i, name := range replicas(b.Project) {
		if handlers[i] == nil {
			continue
		}
		l, err := net.Listen("tcp", b.addresses[name]+":8080")
		if err != nil {
			t.Fatal(err)
		}
		s := &http.Server{ReadHeaderTimeout: patience, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			b.asked[i].Add(1)
			handlers[i](w, r)
		})}
		ended := make(chan error, 1)
		go func() { ended <- s.Serve(l) }()
		t.Cleanup(func() {
			_ = s.Close() // the error of Serve tells
			<-ended
		})
	}
	service := b.Services["balancer"]
	service.DependsOn = nil // the replicas' part is played
	b.Services["balancer"] = service
	b.start(t, "balancer")
	b.healthy(t, "balancer")
	return b
}

func (b *backends) post(t *testing.T, path string, body io.Reader) (*http.Response, string) {
	t.Helper()
	res, err := client.Post(b.at("balancer", 8080, path), "application/json", body)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(raw)
}

func ok(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	fmt.Fprint(w, "ok")
}

// broken takes a request whole and breaks the connection without a word.
func broken(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	panic(http.ErrAbortHandler)
}

// A POST that a replica took may have been paid for: it is not sent to another one.
func TestBalancerSendsNoPostTwice(t *testing.T) {
	t.Parallel()
	b := balanced(t, broken, broken)
	for i := range int64(4) { // fewer than max_fails allows for both
		if res, _ := b.post(t, "/v1/chat/completions", strings.NewReader("{}")); res.StatusCode != http.StatusBadGateway {
			t.Errorf("status %d, want 502", res.StatusCode)
		}
		if n := b.asked[0].Load() + b.asked[1].Load(); n != i+1 {
			t.Fatalf("%d requests became %d", i+1, n)
		}
	}
}

// A replica that refuses the connection costs nothing: the other one is asked.
func TestBalancerGoesAroundARefusedConnection(t *testing.T) {
	t.Parallel()
	b := balanced(t, nil, ok)
	for i := range int64(10) {
		if res, body := b.post(t, "/v1/chat/completions", strings.NewReader("{}")); res.StatusCode != http.StatusOK || body != "ok" {
			t.Fatalf("%d %q", res.StatusCode, body)
		}
		if n := b.asked[1].Load(); n != i+1 {
			t.Fatalf("%d requests became %d", i+1, n)
		}
	}
}

// A refusal is the caller's to see, with all that it says.
func TestBalancerPassesRefusalsOn(t *testing.T) {
	t.Parallel()
	busy := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "1")
		http.Error(w, `{"error":{"code":"overloaded"}}`, http.StatusServiceUnavailable)
	}
	b := balanced(t, busy, busy)
	res, body := b.post(t, "/v1/chat/completions", strings.NewReader("{}"))
	if res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") != "1" || !strings.Contains(body, "overloaded") {
		t.Errorf("%d %v %q", res.StatusCode, res.Header, body)
	}
	if n := b.asked[0].Load() + b.asked[1].Load(); n != 1 {
		t.Errorf("one request became %d", n)
	}
}

// What a replica flushed is at the caller's before it says more. The first event alone
// would prove nothing: nginx sends what came with the head in any case.
func TestBalancerDoesNotBuffer(t *testing.T) {
	t.Parallel()
	events := []string{"data: first\n\n", "data: second\n\n", "data: [DONE]\n\n"}
	seen := make(chan struct{}, len(events))
	stream := func(w http.ResponseWriter, _ *http.Request) {
		// Without chunks, which nginx passes on as they come in any case.
		conn, out, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		fmt.Fprint(out, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
		for _, event := range events {
			fmt.Fprint(out, event)
			_ = out.Flush() // who does not see it fails the test
			select {
			case <-seen:
			case <-t.Context().Done():
				return
			}
		}
	}
	b := balanced(t, stream, stream)
	ctx, stop := context.WithTimeout(t.Context(), patience/4)
	defer stop()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, b.at("balancer", 8080, "/v1/chat/completions"), strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	res, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	for _, event := range events {
		got := make([]byte, len(event))
		if _, err := io.ReadFull(res.Body, got); err != nil || string(got) != event {
			t.Fatalf("%q %v, want %q", got, err, event)
		}
		seen <- struct{}{}
	}
	if rest, err := io.ReadAll(res.Body); err != nil || len(rest) > 0 {
		t.Errorf("%q %v", rest, err)
	}
}

// Paths, queries, headers and bodies go on as they came, up to Foldgate's own limit
// and a little over it.
func TestBalancerPassesThingsOnUntouched(t *testing.T) {
	t.Parallel()
	echo := func(w http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		w.Header().Set("Server", "the upstream's")
		fmt.Fprintf(w, "%s|%s|%s|%d|%v|%v", r.RequestURI, r.Header.Get("X_Odd"), r.Host, n, err, r.Header["X-Forwarded-For"])
	}
	b := balanced(t, echo, echo)
	for _, uri := range []string{"/v1//chat/completions?a=%zz&b=;", "/v1/a%2Fb/../c", "/v1/files/x y"} {
		conn, err := net.Dial("tcp", b.addresses["balancer"]+":8080")
		if err != nil {
			t.Fatal(err)
		}
		uri = strings.ReplaceAll(uri, " ", "%20")
		fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: api.example.com\r\nX_Odd: kept\r\nConnection: close\r\n\r\n", uri)
		raw, err := io.ReadAll(conn)
		_ = conn.Close()
		if err != nil || !strings.Contains(string(raw), uri+"|kept|api.example.com|0|<nil>|[]") || !strings.Contains(string(raw), "Server: the upstream's") {
			t.Errorf("%s: %s %v", uri, raw, err)
		}
	}
	limit := bytesOf(t, settingsOf(t, "deploy/compose/gateway.yaml").BodyLimit)
	if res, body := b.post(t, "/v1/chat/completions", bytes.NewReader(make([]byte, limit+1))); res.StatusCode != http.StatusOK || !strings.Contains(body, fmt.Sprint("|", limit+1, "|")) {
		t.Errorf("a body just over body_limit, which Foldgate is to refuse: %d %s", res.StatusCode, body)
	}
	if n := b.asked[0].Load() + b.asked[1].Load(); n != 4 {
		t.Errorf("4 requests became %d", n)
	}
}
