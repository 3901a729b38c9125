package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"
)

// occurrences counts a text in all that a process may write to in memory.
func (p *process) occurrences(text string) int {
	p.t.Helper()
	pid := <-p.pid
	p.pid <- pid
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid.Pid))
	if err != nil {
		p.t.Fatal(err)
	}
	memory, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid.Pid))
	if err != nil {
		p.t.Fatalf("memory of another process cannot be read here: %v", err)
	}
	defer memory.Close()
	n := 0
	for line := range strings.Lines(string(maps)) {
		var from, to int64
		var rights string
		if _, err := fmt.Sscanf(line, "%x-%x %s", &from, &to, &rights); err != nil || !strings.HasPrefix(rights, "rw") {
			continue
		}
		part := make([]byte, to-from)
		if got, err := memory.ReadAt(part, from); err == nil || got > 0 {
			n += bytes.Count(part[:got], []byte(text))
		}
	}
	return n
}

// keptCaller sends requests on one connection that stays open.
type keptCaller struct {
	t  *testing.T
	rw *bufio.ReadWriter
	io.Closer
}

func (g *process) calls() *keptCaller {
	g.t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(g.data, "http://"))
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { _ = c.Close() })
	return &keptCaller{t: g.t, rw: bufio.NewReadWriter(bufio.NewReader(c), bufio.NewWriter(c)), Closer: c}
}

func (c *keptCaller) chat(body, fields string) string {
	c.t.Helper()
	fmt.Fprintf(c.rw, "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n%s\r\nContent-Length: %d\r\n\r\n%s", fields, len(body), body)
	if err := c.rw.Flush(); err != nil {
		c.t.Fatal(err)
	}
	res, err := http.ReadResponse(c.rw.Reader, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		c.t.Fatal(err)
	}
	return res.Header.Get("Foldgate-Fold")
}

// A credential is in memory only while a request or an attempt uses it, or while a
// connection that carried it is open. Freed memory is overwritten here as soon as it
// is collected (clobberfree), so that what is found is what something still holds.
func TestCredentialsLeaveMemory(t *testing.T) {
	t.Parallel()
	const credential = "sk-planted-5b1d9c0e7f3a4286"
	hold := make(chan struct{})
	up := newUpstream(t, "SUMMARY: the questions were answered, nothing is open.")
	lists := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			fmt.Fprint(w, `{"data":[{"id":"my-model","max_model_len":4000}]}`)
			return
		}
		up.Config.Handler.ServeHTTP(w, r)
	}))
	t.Cleanup(lists.Close)
	g := spawnIn(t, []string{"GODEBUG=clobberfree=1", "GOGC=10"}, "a", "--upstream", lists.URL)
	g.listens()

	// While a request is under way it is there: the search finds what there is.
	up.onRequest(func(r *http.Request) {
		if strings.Contains(r.Header.Get("X-Wait"), "yes") {
			<-hold
		}
	})
	waiting := g.calls()
	got := make(chan string, 1)
	go func() {
		got <- waiting.chat(longChat("waits", 1), "Authorization: Bearer "+credential+"\r\nX-Wait: yes")
	}()
	eventually(t, "the request at the upstream", func() bool { return len(up.asked()) > 0 })
	if n := g.occurrences(credential); n == 0 {
		t.Fatal("the search finds nothing while a request uses it")
	}
	close(hold)
	take(t, got, "the answer")

	// Every use that there is: small, asked what models accept, folded with the caller's
	// own credential, reused.
	var folds []string
	for range 3 {
		folds = append(folds, waiting.chat(longChat("folds", overTurns), "Authorization: Bearer "+credential))
	}
	eventually(t, "a fold", func() bool {
		fold := waiting.chat(longChat("folds", overTurns), "Authorization: Bearer "+credential)
		folds = append(folds, fold)
		return strings.HasPrefix(fold, "reused")
	})
	open := g.occurrences(credential)
	_ = waiting.Close()

	// Others are served meanwhile; that is what collects memory, and what the pools of
	// buffers are filled with.
	lists.CloseClientConnections()
	others := 0
	var left int
	limit := time.Now().Add(2 * patience)
	for left = open; left > 0 && time.Now().Before(limit); left = g.occurrences(credential) {
		others++
		other := g.calls()
		for i := range 4 {
			other.chat(longChat(fmt.Sprint("other", others, i), overTurns), "Authorization: Bearer sk-somebody-else")
		}
		_ = other.Close()
	}
	t.Logf("%d places with its connections open after %q; %d after they were closed and %d rounds of others' requests", open, folds[len(folds)-1], left, others)
	if left > 0 {
		t.Errorf("%d places still hold it", left)
	}
}
