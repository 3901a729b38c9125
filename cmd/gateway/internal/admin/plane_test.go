package admin_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/foldgate/foldgate"
	"github.com/foldgate/foldgate/cmd/gateway/internal/admin"
	"github.com/foldgate/foldgate/internal/contracttest"
	"github.com/foldgate/foldgate/ownership"
	"github.com/foldgate/foldgate/ownership/memstore"
)

// described is openapi.yaml: whatever a plane of these tests answers is held
// against it.
var described = contracttest.MustLoad()

// TestMain also fails a whole run in which the document's admin plane was not
// seen as a whole.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) { described.Exit(contracttest.AdminPlane, code) }))
}

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
	totals    admin.Totals
	unread    error // why the metrics cannot be read
	record    admin.Record
	dropped   []ownership.Key
	log       bytes.Buffer
}

type option func(*admin.Config)

func withToken(c *admin.Config) { c.Token = token }

func newPlane(t *testing.T, options ...option) *plane {
	t.Helper()
	p := &plane{t: t, store: memstore.New(memstore.Options{})}
	h, err := admin.New(p.config(options...))
	if err != nil {
		t.Fatal(err)
	}
	p.server = httptest.NewUnstartedServer(described.Admin(t, h))
	p.server.Config.DisableGeneralOptionsHandler = true // as the program's
	p.server.Start()
	t.Cleanup(p.server.Close)
	return p
}

// config is that of a plane with these parts.
func (p *plane) config(options ...option) admin.Config {
	c := admin.Config{
		Conversations: p, Attempts: fakeAttempts{p}, Store: p.store, Health: p, Folder: p,
		Dropped: func(k ownership.Key) { p.dropped = append(p.dropped, k) },
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
			_, _ = io.WriteString(w, "foldgate_folds_total 1\n")
		}),
		Totals:    func() (admin.Totals, error) { return p.totals, p.unread },
		Record:    &p.record,
		About:     admin.About{Replica: "r", Version: "v1", Mode: "fold", Started: time.Unix(1, 0)},
		OpenAPI:   foldgate.OpenAPI,
		Hosts:     []string{"Gate.Internal"},
		BodyLimit: 1 << 10,
		Logger:    slog.New(slog.NewJSONHandler(&p.log, nil)),
	}
	for _, o := range options {
		o(&c)
	}
	return c
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
		"usable": 0, "trigger": 0, "messages": 0, "head": 0, "covered": 0, "shrunk": 0, "recalled": 0, "took_ms": 0.5, "body": string(body),
		"outline": map[string]any{"messages": []any{}, "handoff": "", "recall": "", "carrier": ""},
	}, nil
}

type fakeAttempts struct{ *plane }

func (f fakeAttempts) Attempts(limit int) []ownership.Info {
	return f.attempts[:min(limit, len(f.attempts))]
}

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

// do sends c. The plane holds its response against openapi.yaml.
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
	return got
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

// send writes raw bytes on a connection of its own and reads one response.
func (p *plane) send(raw string) reply {
	p.t.Helper()
	conn, err := net.Dial("tcp", p.server.Listener.Addr().String())
	if err != nil {
		p.t.Fatal(err)
	}
	defer conn.Close()
	if _, err = io.WriteString(conn, raw); err != nil {
		p.t.Fatal(err)
	}
	// The body ends here, whatever was announced.
	if err = conn.(*net.TCPConn).CloseWrite(); err != nil {
		p.t.Fatal(err)
	}
	return readReply(p.t, conn)
}

func readReply(t *testing.T, from io.Reader) reply {
	t.Helper()
	res, err := http.ReadResponse(bufio.NewReader(from), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	got := reply{status: res.StatusCode, header: res.Header, body: string(body)}
	_ = json.Unmarshal(body, &got.fields) // not every body is JSON
	return got
}

// audited are the audit lines that were written.
func (p *plane) audited() (lines []map[string]any) {
	p.t.Helper()
	for line := range strings.Lines(p.log.String()) {
		var l map[string]any
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			p.t.Fatal(err)
		}
		if l["msg"] == "admin audit" {
			lines = append(lines, l)
		}
	}
	return lines
}

func bearer(header map[string]string) map[string]string {
	out := map[string]string{"Authorization": "Bearer " + token}
	for k, v := range header {
		out[k] = v
	}
	return out
}
