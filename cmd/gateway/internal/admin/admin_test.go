package admin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"
	"go.uber.org/goleak"

	"github.com/foldgate/foldgate"
	"github.com/foldgate/foldgate/cmd/gateway/internal/admin"
	"github.com/foldgate/foldgate/ownership"
	"github.com/foldgate/foldgate/ownership/memstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	key     = ownership.Key("0123456789abcdef0123456789abcdef01234567")
	unseen  = ownership.Key("ffffffffffffffffffffffffffffffffffffffff")
	first   = ownership.AttemptID("01890a5d-ac96-774b-bcce-b302099a8057")
	second  = ownership.AttemptID("01890a5d-ac96-774b-bcce-b302099a8058")
	token   = "the-token"
	handoff = "what was said before"
)

// plane is an admin plane under test, with the parts behind it.
type plane struct {
	t         *testing.T
	server    *httptest.Server
	store     *memstore.Store
	recent    []admin.Touched
	attempts  []ownership.Info
	draining  bool
	foldError error
	dropped   []ownership.Key
	log       bytes.Buffer
	router    routers.Router
}

type option func(*admin.Config)

func withToken(c *admin.Config) { c.Token = token }

func newPlane(t *testing.T, options ...option) *plane {
	t.Helper()
	operations, err := router()
	if err != nil {
		t.Fatal(err)
	}
	p := &plane{t: t, store: memstore.New(memstore.Options{}), router: operations}
	c := admin.Config{
		Conversations: p, Attempts: fakeAttempts{p}, Store: p.store, Health: p, Folder: p,
		Dropped:   func(k ownership.Key) { p.dropped = append(p.dropped, k) },
		Metrics:   http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "foldgate_folds_total 1\n") }),
		OpenAPI:   foldgate.OpenAPI,
		Hosts:     []string{"Gate.Internal"},
		BodyLimit: 1 << 10,
		Logger:    slog.New(slog.NewJSONHandler(&p.log, nil)),
	}
	for _, o := range options {
		o(&c)
	}
	h, err := admin.New(c)
	if err != nil {
		t.Fatal(err)
	}
	p.server = httptest.NewServer(h)
	t.Cleanup(p.server.Close)
	return p
}

func (p *plane) Recent(limit int) []admin.Touched { return p.recent[:min(limit, len(p.recent))] }
func (p *plane) Draining() bool                   { return p.draining }
func (p *plane) Parts() map[string]string         { return map[string]string{"store": "ok"} }

func (p *plane) Fold(_ context.Context, body []byte, window string) (any, error) {
	if p.foldError != nil {
		return nil, p.foldError
	}
	return map[string]any{
		"kind": "none", "reason": "under", "model": window, "before": len(body), "after": 0, "window": 0, "source": "config",
		"usable": 0, "trigger": 0, "messages": 0, "head": 0, "covered": 0, "shrunk": 0, "body": string(body),
	}, nil
}

type fakeAttempts struct{ *plane }

func (f fakeAttempts) Attempts(limit int) []ownership.Info {
	return f.attempts[:min(limit, len(f.attempts))]
}

// router finds the operation of openapi.yaml that a request is about.
var router = sync.OnceValues(func() (routers.Router, error) {
	doc, err := openapi3.NewLoader().LoadFromData(foldgate.OpenAPI)
	if err != nil {
		return nil, err
	}
	doc.Servers = nil
	for _, item := range doc.Paths.Map() {
		item.Servers = nil
	}
	return legacy.NewRouter(doc)
})

// call is one request to the plane.
type call struct {
	method, path string
	body         string
	header       map[string]string // an empty value removes the field
	host         string
}

// reply is what came back; fields are those of its JSON object.
type reply struct {
	status int
	header http.Header
	body   string
	fields map[string]any
}

func (r reply) code() string {
	e, _ := r.fields["error"].(map[string]any)
	code, _ := e["code"].(string)
	return code
}

// do sends c, and holds the response against openapi.yaml.
func (p *plane) do(c call) reply {
	p.t.Helper()
	if c.method == "" {
		c.method = http.MethodGet
	}
	r, err := http.NewRequestWithContext(p.t.Context(), c.method, p.server.URL+c.path, strings.NewReader(c.body))
	if err != nil {
		p.t.Fatal(err)
	}
	if c.method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	for name, value := range c.header {
		if value == "" {
			r.Header.Del(name)
			continue
		}
		r.Header.Set(name, value)
	}
	if c.host != "" {
		r.Host = c.host
	}
	res, err := p.server.Client().Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	got := reply{status: res.StatusCode, header: res.Header, body: string(body)}
	_ = json.Unmarshal(body, &got.fields) // not every body is JSON
	p.conform(r, res, body)
	return got
}

// conform fails the test where a response is not what openapi.yaml says.
func (p *plane) conform(r *http.Request, res *http.Response, body []byte) {
	p.t.Helper()
	route, params, err := p.router.FindRoute(r)
	if err != nil {
		return // no operation: the test looks at the status
	}
	err = openapi3filter.ValidateResponse(p.t.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: r, PathParams: params, Route: route},
		Status:                 res.StatusCode, Header: res.Header, Body: io.NopCloser(bytes.NewReader(body)),
		Options: &openapi3filter.Options{
			IncludeResponseStatus: true,
			ExcludeResponseBody:   !strings.HasPrefix(res.Header.Get("Content-Type"), "application/json"),
		},
	})
	if err != nil {
		p.t.Errorf("%s %s is not as openapi.yaml says: %v\n%.500s", r.Method, r.URL.Path, err, body)
	}
}

// working makes the first attempt the owner of the conversation.
func (p *plane) working(id ownership.AttemptID) ownership.Fence {
	p.t.Helper()
	claimed, err := p.store.Claim(p.t.Context(), key, ownership.Claim{
		Attempt: id, Target: ownership.Target{Covered: 4, Digest: ownership.Digest{1, byte(id[len(id)-1])}},
		Replica: "r", Route: "primary", Lease: time.Minute, Ceiling: time.Hour,
	})
	if err != nil || claimed.Verdict != ownership.VerdictClaimed {
		p.t.Fatalf("claim: %+v, %v", claimed, err)
	}
	return claimed.Fence
}

// committed publishes a checkpoint of the attempt.
func (p *plane) committed(id ownership.AttemptID) ownership.Fence {
	p.t.Helper()
	f := p.working(id)
	_, err := p.store.Commit(p.t.Context(), key, f, ownership.Commit{Checkpoint: ownership.Checkpoint{
		Target: ownership.Target{Covered: 4, Digest: ownership.Digest{1, byte(id[len(id)-1])}},
		Tokens: 12, Route: "primary", Step: 1, Handoff: []byte(handoff),
	}})
	if err != nil {
		p.t.Fatalf("commit: %v", err)
	}
	return f
}

func (p *plane) view() ownership.View {
	p.t.Helper()
	v, err := p.store.Read(p.t.Context(), key, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	return v
}

func bearer(header map[string]string) map[string]string {
	out := map[string]string{"Authorization": "Bearer " + token}
	for k, v := range header {
		out[k] = v
	}
	return out
}

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
		{"/", "text/html", "/v1/attempts", 200},
		{"/livez", "application/json", `"live"`, 200},
		{"/readyz", "application/json", `"parts":{"store":"ok"}`, 200},
		{"/metrics", "text/plain", "foldgate_folds_total", 200},
		{"/openapi.yaml", "application/yaml", "openapi: 3.1", 200},
		{"/v1/conversations", "application/json", `{"conversations":[]}`, 200},
		{"/v1/attempts", "application/json", `{"attempts":[]}`, 200},
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
		"/v1/conversations/" + string(unseen):               http.StatusNotFound,
		"/v1/conversations/short":                           http.StatusBadRequest,
		"/v1/conversations/" + strings.Repeat("G", 40):      http.StatusBadRequest,
		"/v1/conversations/..%2f..%2fetc":                   http.StatusBadRequest,
		"/v1/conversations/" + string(key) + "?handoff=1":   http.StatusForbidden,
		"/v1/conversations/" + string(unseen) + "?handoff=": http.StatusNotFound,
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
	for _, limit := range []string{"0", "-1", "x", "1001", "1e3"} {
		if got := p.do(call{path: "/v1/attempts?limit=" + limit}); got.status != http.StatusBadRequest || got.code() != "invalid_limit" {
			t.Errorf("limit %s: got %d %s", limit, got.status, got.body)
		}
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
