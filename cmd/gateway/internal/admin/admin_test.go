package admin_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/foldgate/foldgate/cmd/gateway/internal/admin"
	"github.com/foldgate/foldgate/ownership"
)

func TestNewNeedsItsPorts(t *testing.T) {
	t.Parallel()
	if _, err := admin.New(admin.Config{}); err == nil {
		t.Error("a plane without ports is made")
	}
}

func TestPlainEndpoints(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	cases := []struct {
		path, kind, holds string
		status            int
	}{
		{"/livez", "application/json", `"live"`, 200},
		{"/readyz", "application/json", `"parts":{"store":"ok"}`, 200},
		{"/metrics", "text/plain", "foldgate_folds_total", 200},
		{"/openapi.yaml", "application/yaml", "openapi: 3.1", 200},
		{"/v1/conversations", "application/json", `{"conversations":[]}`, 200},
		{"/v1/attempts", "application/json", `{"attempts":[]}`, 200},
		{"/v1/tokens", "application/json", `"steps":[]}`, 200},
		{"/v1/replica", "application/json", `"replica":"r","version":"v1","mode":"fold"`, 200},
		{"/nothing", "application/json", "not_found", 404},
		{"/v1/fold", "application/json", "method_not_allowed", 405},
	}
	for _, tc := range cases {
		got := p.do(call{path: tc.path})
		if got.status != tc.status || !strings.HasPrefix(got.header.Get("Content-Type"), tc.kind) || !strings.Contains(got.body, tc.holds) {
			t.Errorf("%s: got %d %q %.80q", tc.path, got.status, got.header.Get("Content-Type"), got.body)
		}
		for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"} {
			if got.header.Get(name) != want {
				t.Errorf("%s: %s is %q", tc.path, name, got.header.Get(name))
			}
		}
		if csp := got.header.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") || !strings.Contains(csp, "frame-ancestors 'none'") {
			t.Errorf("%s: Content-Security-Policy is %q", tc.path, csp)
		}
	}
	if got := p.do(call{method: http.MethodHead, path: "/readyz"}); got.status != 200 {
		t.Errorf("HEAD /readyz: got %d", got.status)
	}
}

func TestReadinessFailsWhileDraining(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	p.draining = true
	got := p.do(call{path: "/readyz"})
	if got.status != http.StatusServiceUnavailable || got.fields["status"] != "draining" {
		t.Errorf("got %d %s", got.status, got.body)
	}
	if live := p.do(call{path: "/livez"}); live.status != http.StatusOK {
		t.Errorf("livez: got %d", live.status)
	}
}

func TestConversation(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	p.committed(first)
	got := p.do(call{path: "/v1/conversations/" + string(key)})
	if got.status != http.StatusOK {
		t.Fatalf("got %d %s", got.status, got.body)
	}
	checkpoint := got.fields["checkpoints"].([]any)[0].(map[string]any)
	owner := got.fields["owner"].(map[string]any)
	for name, ok := range map[string]bool{
		"conversation":   got.fields["conversation"] == string(key),
		"generation":     got.fields["generation"] == 1.0,
		"cancel":         got.fields["cancel"] == nil,
		"cooldown_until": got.fields["cooldown_until"] == nil,
		"last_error":     got.fields["last_error"] == nil,
		"phase":          owner["phase"] == "committed",
		"attempt":        checkpoint["attempt"] == string(first),
		"settled":        checkpoint["settled"] == false,
		"tokens":         checkpoint["tokens"] == 12.0,
		"digest":         len(checkpoint["digest"].(string)) == 64,
		"no handoff":     checkpoint["handoff"] == nil && !strings.Contains(got.body, handoff),
	} {
		if !ok {
			t.Errorf("%s is wrong in %s", name, got.body)
		}
	}
	for path, want := range map[string]int{
		"/v1/conversations/" + string(unseen):                http.StatusNotFound,
		"/v1/conversations/short":                            http.StatusBadRequest,
		"/v1/conversations/" + strings.Repeat("G", 40):       http.StatusBadRequest,
		"/v1/conversations/..%2f..%2fetc":                    http.StatusBadRequest,
		"/v1/conversations/" + string(key) + "?handoff=1":    http.StatusForbidden,
		"/v1/conversations/" + string(unseen) + "?handoff=0": http.StatusNotFound,
	} {
		if got := p.do(call{path: path}); got.status != want {
			t.Errorf("%s: got %d, want %d", path, got.status, want)
		}
	}
}

func TestHandoffIsShownWithTheToken(t *testing.T) {
	t.Parallel()
	p := newPlane(t, withToken)
	p.committed(first)
	got := p.do(call{path: "/v1/conversations/" + string(key) + "?handoff=1", header: bearer(nil)})
	if got.status != http.StatusOK || !strings.Contains(got.body, handoff) {
		t.Errorf("got %d %s", got.status, got.body)
	}
}

func TestLists(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("x", 3600))
	p.recent = []admin.Touched{{Conversation: key, LastSeen: now, Kind: "reused", Before: 9, After: 3, Covered: 2}, {Conversation: unseen}}
	p.attempts = []ownership.Info{
		{Fence: ownership.Fence{Generation: 2, Attempt: second}, Conversation: key, Phase: ownership.Working, Route: "a", Covered: 3, Started: now},
		{Fence: ownership.Fence{Attempt: first}, Conversation: key, Phase: ownership.Committed, Outcome: ownership.Committed, Unfenced: true, Started: now, Ended: now},
	}
	got := p.do(call{path: "/v1/conversations?limit=1"})
	if want := `{"conversations":[{"conversation":"` + string(key) + `","last_seen":"2026-01-02T02:04:05Z","kind":"reused","before":9,"after":3,"covered":2}]}` + "\n"; got.body != want {
		t.Errorf("got %s, want %s", got.body, want)
	}
	got = p.do(call{path: "/v1/attempts?limit=5"})
	attempts := got.fields["attempts"].([]any)
	running, done := attempts[0].(map[string]any), attempts[1].(map[string]any)
	if running["outcome"] != nil || running["ended"] != nil || running["phase"] != "working" || running["id"] != string(second) || done["outcome"] != "unfenced" {
		t.Errorf("got %s", got.body)
	}
}

// Lists are what this replica remembers: the store is not asked.
func TestListsAskNoStore(t *testing.T) {
	t.Parallel()
	p := newPlane(t, func(c *admin.Config) { c.Store = brokenStore{errors.New("asked")} })
	for _, path := range []string{"/v1/conversations", "/v1/conversations?state=0", "/v1/attempts", "/v1/tokens", "/v1/replica"} {
		if got := p.do(call{path: path}); got.status != http.StatusOK {
			t.Errorf("%s: got %d %s", path, got.status, got.body)
		}
	}
}

// Times are there where there is one, in RFC 3339, and null elsewhere.
func TestConversationStates(t *testing.T) {
	t.Parallel()
	ended := func(p *plane, id ownership.AttemptID, e ownership.Ending) {
		p.t.Helper()
		if err := p.store.Finish(p.t.Context(), key, p.working(id), e); err != nil {
			p.t.Fatal(err)
		}
	}
	times := []string{"cooldown_until", "blocked_until", "claimed", "progress", "lease_end", "ceiling", "created", "raised"}
	for name, tc := range map[string]struct {
		set  func(p *plane)
		want string // those of times that are set, and the other fields of interest
	}{
		"working":   {func(p *plane) { p.working(first) }, "claimed progress lease_end ceiling; strikes 0, last_error <nil>, owner working"},
		"committed": {func(p *plane) { p.committed(first) }, "claimed progress lease_end ceiling created; strikes 0, last_error <nil>, owner committed"},
		"cancelled": {func(p *plane) {
			if err := p.store.Raise(p.t.Context(), key, p.working(first), "why"); err != nil {
				p.t.Fatal(err)
			}
		}, "claimed progress lease_end ceiling raised; strikes 0, last_error <nil>, owner working"},
		"cooling": {func(p *plane) {
			ended(p, first, ownership.Ending{Phase: ownership.Failed, Failure: ownership.Failure{Class: "status_500", Climb: true}})
		}, "cooldown_until claimed progress lease_end ceiling; strikes 0, last_error status_500, owner failed"},
		"blocked": {func(p *plane) {
			ended(p, first, ownership.Ending{Phase: ownership.Ineffective})
			ended(p, second, ownership.Ending{Phase: ownership.Ineffective})
		}, "blocked_until claimed progress lease_end ceiling; strikes 2, last_error <nil>, owner ineffective"},
		"forgotten": {func(p *plane) {
			p.committed(first)
			if _, err := p.store.Forget(p.t.Context(), key); err != nil {
				p.t.Fatal(err)
			}
		}, "; strikes 0, last_error <nil>, owner <nil>"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlane(t)
			tc.set(p)
			c := p.do(call{path: "/v1/conversations/" + string(key)}).fields
			all := []any{c, c["owner"], c["cancel"]}
			all = append(all, c["checkpoints"].([]any)...)
			var set []string
			for _, name := range times {
				for _, part := range all {
					fields, _ := part.(map[string]any)
					text, ok := fields[name].(string)
					if !ok {
						continue
					}
					if at, err := time.Parse(time.RFC3339, text); err != nil || !strings.HasSuffix(text, "Z") || at.IsZero() {
						t.Errorf("%s is %q", name, text)
					}
					set = append(set, name)
				}
			}
			owner, _ := c["owner"].(map[string]any)
			got := fmt.Sprintf("%s; strikes %v, last_error %v, owner %v", strings.Join(set, " "), c["strikes"], c["last_error"], owner["phase"])
			if got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

func TestDryRun(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	if got := p.do(call{method: "POST", path: "/v1/fold?window=8000", body: `{"model":"m"}`}); got.status != 200 || got.fields["model"] != "8000" || got.fields["body"] != `{"model":"m"}` {
		t.Errorf("got %d %s", got.status, got.body)
	}
	if got := p.do(call{method: "POST", path: "/v1/fold", body: strings.Repeat("x", 2<<10)}); got.status != http.StatusRequestEntityTooLarge {
		t.Errorf("too large: got %d", got.status)
	}
	p.foldError = &admin.BadRequestError{Param: "window", Err: errors.New("not known")}
	if got := p.do(call{method: "POST", path: "/v1/fold", body: "{}"}); got.status != http.StatusBadRequest || !strings.Contains(got.body, `"param":"window"`) {
		t.Errorf("bad request: got %d %s", got.status, got.body)
	}
}
