package admin_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/foldgate/foldgate/cmd/gateway/internal/admin"
	"github.com/foldgate/foldgate/ownership"
	"github.com/foldgate/foldgate/ownership/memstore"
)

// Whoever changes something or reads a conversation's text leaves one line, also
// when it was refused; whoever only looks leaves none.
func TestAudit(t *testing.T) {
	t.Parallel()
	const reason = "planted-reason"
	cases := []struct {
		name  string
		token bool // is configured
		call  call
		want  string // operation, outcome, token, generation
	}{
		{"cancel", true, call{method: "POST", path: cancelPath, body: `{"reason":"` + reason + `"}`, header: bearer(nil)}, "cancel attempt_committed true 1"},
		{"restore", true, call{method: "POST", path: restorePath, header: bearer(nil)}, "restore done true 2"},
		{"forget", true, call{method: "DELETE", path: showPath, header: bearer(nil)}, "forget done true 2"},
		{"text", true, call{path: showPath + "?handoff=1", header: bearer(nil)}, "handoff done true 0"},
		{"text, without seeing it", true, call{method: "HEAD", path: showPath + "?handoff=1", header: bearer(nil)}, "handoff done true 0"},
		{"no text", true, call{path: showPath, header: bearer(nil)}, ""},
		{"no text, said so", true, call{path: showPath + "?handoff=0", header: bearer(nil)}, ""},
		{"a list", true, call{path: "/v1/conversations", header: bearer(nil)}, ""},
		{"a dry run", true, call{method: "POST", path: "/v1/fold", body: "{}", header: bearer(nil)}, ""},
		{"a path that is none", true, call{method: "POST", path: "/v1/restore", header: bearer(nil)}, ""},
		{"another owner is named", true, call{method: "POST", path: restorePath, body: named(ownership.Fence{Generation: 7, Attempt: second}), header: bearer(nil)}, "restore not_current true 7"},
		{"no token", true, call{method: "POST", path: restorePath}, "restore invalid_token false 0"},
		{"another token", true, call{method: "DELETE", path: showPath, header: map[string]string{"Authorization": "Bearer planted-bearer"}}, "forget invalid_token false 0"},
		{"text without a token", true, call{path: showPath + "?handoff=1"}, "handoff invalid_token false 0"},
		{"a foreign host", true, call{method: "POST", path: cancelPath, host: "evil.example", header: bearer(nil)}, "cancel host_not_allowed true 0"},
		{"a foreign origin", true, call{method: "DELETE", path: showPath, header: bearer(map[string]string{"Origin": "https://evil.example"})}, "forget origin_not_allowed true 0"},
		{"a form", false, call{method: "POST", path: cancelPath, header: map[string]string{"Content-Type": "text/plain"}}, "cancel unsupported_media_type false 0"},
		{"no change", false, call{method: "POST", path: cancelPath, body: `{"planted-body":1}`}, "cancel invalid_body false 0"},
		{"no token is configured", false, call{method: "POST", path: restorePath, header: bearer(nil)}, "restore token_not_configured false 0"},
		{"no token is configured, and none came", false, call{method: "POST", path: restorePath, header: map[string]string{"Authorization": "Bearer"}}, "restore token_not_configured false 0"},
		{"a query that may mean the text", true, call{path: showPath + "?handoff=yes", header: bearer(nil)}, "handoff invalid_query true 0"},
		{"text where no token is configured", false, call{path: showPath + "?handoff=1"}, "handoff token_not_configured false 0"},
		{"a key that is none", true, call{method: "DELETE", path: "/v1/conversations/planted-key", header: bearer(nil)}, "forget invalid_key true 0"},
		{"a key that nobody knows", true, call{method: "POST", path: "/v1/conversations/" + string(unseen) + "/cancel", header: bearer(nil)}, "cancel conversation_not_found true 0"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var options []option
			if tc.token {
				options = append(options, withToken)
			}
			p := newPlane(t, options...)
			p.committed(first)
			p.do(tc.call)
			var got []string
			for _, line := range p.audited() {
				got = append(got, fmt.Sprint(line["operation"], " ", line["outcome"], " ", line["token"], " ", line["generation"]))
				if host, _, _ := strings.Cut(fmt.Sprint(line["remote"]), ":"); line["level"] != "INFO" || host != "127.0.0.1" || line["error"] != nil {
					t.Errorf("the line is %v", line)
				}
				want := string(key)
				switch {
				case strings.Contains(tc.call.path, string(unseen)):
					want = string(unseen)
				case !strings.Contains(tc.call.path, string(key)):
					want = ""
				}
				if line["conversation"] != want {
					t.Errorf("got the conversation %q, want %q", line["conversation"], want)
				}
			}
			if want := strings.Split(tc.want, "\n"); tc.want == "" && len(got) != 0 || tc.want != "" && !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
			for _, planted := range []string{token, handoff, "planted", "evil.example"} {
				if strings.Contains(p.log.String(), planted) {
					t.Errorf("the log holds %q: %s", planted, p.log.String())
				}
			}
		})
	}
}

// Where the store fails the line says how, though the answer does not.
func TestAuditOfAStoreThatFails(t *testing.T) {
	t.Parallel()
	p := newPlane(t, withToken, func(c *admin.Config) {
		c.Store = brokenStore{fmt.Errorf("forget: %w: no route to it", ownership.ErrUnavailable)}
	})
	p.do(call{method: "DELETE", path: showPath, header: bearer(nil)})
	lines := p.audited()
	if len(lines) != 1 || lines[0]["outcome"] != "store_unavailable" || !strings.Contains(fmt.Sprint(lines[0]["error"]), "no route to it") {
		t.Errorf("got %v", lines)
	}
}

// watch is called with every line.
type watch struct {
	slog.Handler
	line func()
}

func (watch) Enabled(context.Context, slog.Level) bool { return true }

func (w watch) Handle(context.Context, slog.Record) error { w.line(); return nil }

// The line is there before the answer is, so that whoever has the answer finds it.
func TestAuditComesFirst(t *testing.T) {
	t.Parallel()
	for _, tc := range []call{
		{method: "DELETE", path: showPath},
		{method: "POST", path: restorePath},
		{method: "GET", path: showPath + "?handoff=1"},
		{method: "POST", path: "/v1/conversations/x/cancel"},
	} {
		w, lines := httptest.NewRecorder(), 0
		p := &plane{t: t, store: memstore.New(memstore.Options{})}
		p.committed(first)
		h, err := admin.New(p.config(withToken, func(c *admin.Config) {
			c.Logger = slog.New(watch{slog.DiscardHandler, func() {
				lines++
				if w.Body.Len() > 0 || w.Result().StatusCode != http.StatusOK {
					t.Errorf("%s %s is answered before its line is written", tc.method, tc.path)
				}
			}})
		}))
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest(tc.method, tc.path, nil)
		r.Host = "localhost"
		r.Header = http.Header{"Authorization": {"Bearer " + token}, "Content-Type": {"application/json"}}
		h.ServeHTTP(w, r)
		if lines != 1 {
			t.Errorf("%s %s: %d lines", tc.method, tc.path, lines)
		}
	}
}

// hangingStore answers a restore only when it is let.
type hangingStore struct {
	admin.Store
	asked, answer chan struct{}
}

func (s hangingStore) Forget(ctx context.Context, key ownership.Key) (ownership.Generation, error) {
	close(s.asked)
	<-s.answer
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	return s.Store.Forget(ctx, key)
}

// A change goes on when its caller hangs up, and its line says how it ended.
func TestAChangeOutlivesItsCaller(t *testing.T) {
	t.Parallel()
	store := hangingStore{asked: make(chan struct{}), answer: make(chan struct{})}
	p := newPlane(t, withToken, func(c *admin.Config) { store.Store, c.Store = c.Store, &store })
	p.committed(first)
	ctx, hangUp := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodDelete, p.server.URL+showPath, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		if res, err := p.server.Client().Do(r); err == nil {
			res.Body.Close()
			t.Error("there was an answer")
		}
	}()
	<-store.asked
	hangUp()
	<-gone
	close(store.answer)
	p.server.Close() // waits for the handler
	if lines := p.audited(); len(lines) != 1 || lines[0]["outcome"] != "done" || p.view().Owner != nil {
		t.Errorf("got %v, the store has %+v", lines, p.view())
	}
}

// Of many who change the same thing at once one is right, and each has its line.
func TestConcurrentChanges(t *testing.T) {
	t.Parallel()
	const many = 16
	all := func(p *plane, c call) map[string]int {
		var wg sync.WaitGroup
		var mu sync.Mutex
		outcomes := map[string]int{}
		for range many {
			wg.Go(func() {
				got := p.do(c)
				mu.Lock()
				defer mu.Unlock()
				outcomes[strings.TrimSpace(fmt.Sprint(got.status, " ", got.code()))]++
			})
		}
		wg.Wait()
		if lines := len(p.audited()); lines != many {
			t.Errorf("%d lines of %d changes", lines, many)
		}
		return outcomes
	}
	shared := func(c *admin.Config) { c.Dropped = func(ownership.Key) {} }
	t.Run("restore of one owner", func(t *testing.T) {
		t.Parallel()
		p := newPlane(t, withToken, shared)
		p.committed(first)
		f := p.committed(second)
		got := all(p, call{method: "POST", path: restorePath, body: named(f), header: bearer(nil)})
		if got["200"] != 1 || got["409 not_current"] != many-1 {
			t.Errorf("got %v", got)
		}
		if v := p.view(); v.Generation != 3 || len(v.State.Checkpoints) != 1 {
			t.Errorf("the store has %+v", v)
		}
	})
	t.Run("cancel", func(t *testing.T) {
		t.Parallel()
		p := newPlane(t, withToken, shared)
		p.working(first)
		if got := all(p, call{method: "POST", path: cancelPath, header: bearer(nil)}); got["202"] != many {
			t.Errorf("got %v", got)
		}
	})
	t.Run("forget", func(t *testing.T) {
		t.Parallel()
		p := newPlane(t, withToken, shared)
		p.committed(first)
		if got := all(p, call{method: "DELETE", path: showPath, header: bearer(nil)}); got["204"] != many {
			t.Errorf("got %v", got)
		}
		if v := p.view(); v.Owner != nil || len(v.State.Checkpoints) != 0 {
			t.Errorf("the store has %+v", v)
		}
	})
}
