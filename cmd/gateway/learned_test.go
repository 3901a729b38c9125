package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foldgate/foldgate/redisstore/redistest"
)

// knows asks with a small chat until the window that the replica knows is what is
// wanted.
func (r *replica) knows(want string) {
	r.t.Helper()
	for limit := time.After(patience); ; {
		tokens := r.chat(longChat("small", 12)).header.Get("Foldgate-Tokens")
		if strings.HasSuffix(tokens, want) {
			return
		}
		select {
		case <-limit:
			r.t.Fatalf("Foldgate-Tokens stays %q, want %s:\n%s", tokens, want, r.log)
		default:
		}
	}
}

// TestWindowsOfAWholeProgram: one replica learns a window from an overflow error,
// and another one folds beforehand; and where there is a list of models, it is
// asked for.
func TestWindowsOfAWholeProgram(t *testing.T) {
	const limit = `{"error":{"message":"This model's maximum context length is 5000 tokens. However, your messages resulted in 9000 tokens.","type":"invalid_request_error","code":"context_length_exceeded"}}`
	var lists atomic.Bool
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		switch {
		case err != nil:
		case r.Method == http.MethodGet && lists.Load() && r.URL.Path == "/v1/models":
			fmt.Fprint(w, `{"data":[{"id":"my-model","owned_by":"vllm","max_model_len":6000}]}`)
		case r.Method == http.MethodGet:
			http.NotFound(w, r)
		case len(raw) > 30_000:
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, limit)
		default:
			fmt.Fprint(w, `{"choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}]}`)
		}
	}))
	t.Cleanup(up.Close)
	server := redistest.Start(t)
	args := []string{"--upstream", up.URL, "--redis-url", server.URL, "--wait", "0", "--prepare=false", "--advertised=false"}
	env := []string{"FOLDGATE_TENANT_SECRET=s"}
	a, b := start(t, env, args...), start(t, env, args...)
	b.knows("source=unknown")
	long := longChat("long", 120)
	if got := a.chat(long); !strings.Contains(got.header.Get("Foldgate-Fold"), "retried") {
		t.Fatalf("replica a: %d %v", got.status, got.header)
	}
	b.knows("window=5000, source=learned")
	got := b.chat(long)
	if fold := got.header.Get("Foldgate-Fold"); got.status != http.StatusOK || strings.Contains(fold, "retried") || strings.HasPrefix(fold, "none") {
		t.Errorf("replica b: %d %s", got.status, fold)
	}
	for _, r := range []*replica{a, b} {
		if code := r.stop(); code != exitOK {
			t.Errorf("exit code %d", code)
		}
	}

	lists.Store(true)
	c := start(t, nil, "--upstream", up.URL, "--wait", "0", "--prepare=false")
	c.chat(longChat("long", 40))
	c.knows("window=6000, source=advertised")
	if code := c.stop(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
}
