package middleware_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/foldgate/foldgate/compression/window"
	"github.com/foldgate/foldgate/internal/backendtest"
	"github.com/foldgate/foldgate/middleware"
)

// Every backend of package backendtest behind a whole gateway, whose summaries
// are written by that backend too. What came out is the table of docs/backends.md.

// The window of the models, in their own tokens, and what fills it.
const (
	backendWindow = 5000
	overfull      = 2 * backendWindow
)

// behind is a gateway in front of one backend.
type behind struct {
	*gateway
	backend backendtest.Backend
	server  *backendtest.Server
}

// inFrontOf starts a gateway that knows no window but what change tells it.
func inFrontOf(t *testing.T, b backendtest.Backend, size int, change func(*options)) behind {
	t.Helper()
	server := b.Serve(size)
	o := options{
		up: newStub(t, func(w http.ResponseWriter, r *http.Request, c stubCall) {
			r.Body = io.NopCloser(bytes.NewReader(c.Body))
			server.ServeHTTP(w, r)
		}),
		window: window.BookConfig{Rules: []window.Rule{{Glob: "none of these", Total: 9999}}},
	}
	config := o.config
	o.config = func(c *middleware.Config) {
		c.Routes = []middleware.SummarizerRoute{{Name: "upstream"}}
		if config != nil {
			config(c)
		}
	}
	if change != nil {
		change(&o)
	}
	return behind{gateway: newGateway(t, o), backend: b, server: server}
}

// configured tells the gateway the window of every model.
func configured(o *options) {
	o.window = window.BookConfig{Rules: []window.Rule{{Total: backendWindow}}}
}

// ask sends a chat request as a client of the backend does.
func (x behind) ask(t *testing.T, base string, body []byte) answer {
	t.Helper()
	return x.do(t, base, http.MethodPost, x.backend.Path, backendtest.Secret, body)
}

func (x behind) do(t *testing.T, base, method, path, secret string, body []byte) answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, base+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if x.backend.Auth != "" {
		r.Header.Set(x.backend.Auth, x.backend.Scheme+secret)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{status: res.StatusCode, header: res.Header, body: got}
}

// through sends a request through the gateway.
func (x behind) through(t *testing.T, body []byte) answer {
	t.Helper()
	return x.ask(t, x.url, body)
}

// direct sends it to the backend itself.
func (x behind) direct(t *testing.T, body []byte) answer {
	t.Helper()
	return x.ask(t, x.up.URL, body)
}

// taken fails where the backend refused anything since the given exchange, and
// hands on the last one.
func (x behind) taken(t *testing.T, since int) backendtest.Exchange {
	t.Helper()
	all := x.server.Exchanges()[since:]
	for _, e := range all {
		if e.Refused != "" {
			t.Errorf("the backend refused (%d): %s", e.Status, e.Refused)
		}
	}
	if len(all) == 0 {
		t.Fatal("the backend was asked nothing")
	}
	return x.lastTalk(t)
}

// lastTalk is the last request that asks for no summary: that is one message.
func (x behind) lastTalk(t *testing.T) backendtest.Exchange {
	t.Helper()
	all := x.server.Exchanges()
	for i := len(all) - 1; i >= 0; i-- {
		if len(sent(t, all[i].Body)) > 1 {
			return all[i]
		}
	}
	t.Fatal("no conversation came")
	return backendtest.Exchange{}
}

// fold is what Foldgate-Fold says, with all parameters.
func foldOf(a answer) string { return a.header.Get("Foldgate-Fold") }

// sourceOf is where the window came from.
func sourceOf(a answer) string {
	_, source, _ := strings.Cut(a.header.Get("Foldgate-Tokens"), "source=")
	source, _, _ = strings.Cut(source, ",")
	return source
}

// streamed are further fields of a request for a stream.
var streamed = []any{"stream", true}

// TestBackends writes, or compares, the table of docs/backends.md at its end.
func TestBackends(t *testing.T) {
	var m matrix
	for _, b := range backendtest.All() {
		row := m.add(b)
		t.Run(b.Slug(), func(t *testing.T) {
			for _, c := range backendCases() {
				t.Run(c.slug, func(t *testing.T) { row[c.slug] = c.run(t, b) })
			}
		})
	}
	if t.Failed() {
		return // a table of what did not work is none
	}
	m.compare(t)
}

// backendCase is a column of the table: what it says of a backend is what run
// saw. A backend of which the question makes no sense says so.
type backendCase struct {
	slug, title string
	run         func(*testing.T, backendtest.Backend) string
}

func backendCases() []backendCase {
	return []backendCase{
		{"passes", "passes", backendPasses},
		{"folds", "folds", backendFolds},
		{"overflow", "overflow", backendOverflow},
		{"refusal", "refused fold", backendRefusal},
		{"streams", "streams", backendStreams},
		{"errors", "errors after 200", backendErrors},
		{"asked", "window when asked", backendAsked},
	}
}
