package middleware_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foldgate/foldgate/internal/backendtest"
	"github.com/foldgate/foldgate/middleware"
	"github.com/foldgate/foldgate/ownership"
)

// backendPasses: what is not folded reaches the backend as the same bytes, and
// what it answers reaches the client as the same bytes, its refusals included.
func backendPasses(t *testing.T, b backendtest.Backend) string {
	x := inFrontOf(t, b, 0, nil)
	bodies := map[string][]byte{
		"whole": b.Small(), "stream": b.Small(streamed...), "usage": b.Small("stream", true, "stream_options", map[string]bool{"include_usage": true}),
		"no JSON": []byte("{"), "empty": {}, "long": b.Conversation(overfull, false), "open": b.Conversation(overfull, true, streamed...),
	}
	for _, bad := range b.Malformed() {
		bodies[bad.Name] = bad.Body
	}
	for name, body := range bodies {
		want := x.direct(t, body)
		got := x.through(t, body)
		if last := x.up.last(t); !bytes.Equal(last.Body, body) || last.Path != b.Path {
			t.Errorf("%s: the backend was asked at %s: %.200s", name, last.Path, last.Body)
		}
		sameAnswer(t, name, got, want)
	}
	for name, r := range map[string]struct{ method, path, secret string }{
		"a wrong credential": {http.MethodPost, b.Path, "sk-wrong"},
		"no such path":       {http.MethodPost, "/v1/nowhere", backendtest.Secret},
		"the list of models": {http.MethodGet, strings.TrimSuffix(b.Path, "/chat/completions") + "/models", backendtest.Secret},
		"another deployment": {http.MethodPost, strings.Replace(b.Path, "/house-deployment/", "/other/", 1), backendtest.Secret},
		"without its query":  {http.MethodPost, strings.Split(b.Path, "?")[0], backendtest.Secret},
	} {
		sameAnswer(t, name, x.do(t, x.url, r.method, r.path, r.secret, b.Small()), x.do(t, x.up.URL, r.method, r.path, r.secret, b.Small()))
	}
	return "same bytes"
}

// sameAnswer fails where a client could tell the gateway from the backend, by
// anything but the gateway's own fields.
func sameAnswer(t *testing.T, name string, got, want answer) {
	t.Helper()
	if got.status != want.status || !bytes.Equal(got.body, want.body) {
		t.Errorf("%s: got %d %.300s\nwant %d %.300s", name, got.status, got.body, want.status, want.body)
	}
	for field := range got.header {
		if !strings.HasPrefix(field, "Foldgate-") && field != "Date" && strings.Join(got.header[field], ",") != strings.Join(want.header[field], ",") {
			t.Errorf("%s: %s: %q, want %q", name, field, got.header[field], want.header[field])
		}
	}
	for field := range want.header {
		if len(got.header[field]) == 0 {
			t.Errorf("%s: %s is missing", name, field)
		}
	}
}

// backendFolds: an oversized conversation that the backend takes, but for its
// size, becomes one that it takes whole; so does its next turn.
func backendFolds(t *testing.T, b backendtest.Backend) string {
	said := ""
	for name, body := range map[string][]byte{
		"whole": b.Conversation(overfull, false), "a stream in an open loop": b.Conversation(overfull, true, streamed...),
	} {
		if a := b.Check(body); a != nil {
			t.Fatalf("%s: the backend refuses the original: %s", name, a.Body)
		}
		x := inFrontOf(t, b, backendWindow, configured)
		for turn, want := range []string{"committed", "reused"} {
			since := len(x.server.Exchanges())
			a := x.through(t, body)
			if a.status != http.StatusOK || !bytes.Contains(a.body, []byte("STUB-REPLY")) {
				t.Fatalf("%s: %d %s: %s", name, a.status, foldOf(a), a.body)
			}
			if foldOf(a) != want {
				t.Errorf("%s, turn %d: Foldgate-Fold: %s, want %s", name, turn, foldOf(a), want)
			}
			e := x.taken(t, since)
			if turn == 0 {
				said = a.fold()
			}
			for _, breach := range brokenRules(body, e.Body) {
				t.Errorf("%s: %s", name, breach)
			}
		}
	}
	return "`" + said + "`"
}

// backendOverflow: nothing knows the window until the backend says in its own
// words that the request is too large. Then it is folded and sent once more,
// and the next turn is folded beforehand.
func backendOverflow(t *testing.T, b backendtest.Backend) string {
	said := ""
	for name, more := range map[string][]any{"whole": nil, "stream": streamed} {
		body := b.Conversation(overfull, false, more...)
		x := inFrontOf(t, b, backendWindow, nil)
		a := x.through(t, body)
		if a.status != http.StatusOK || !bytes.Contains(a.body, []byte("STUB-REPLY")) {
			t.Fatalf("%s: %d %s: %s", name, a.status, foldOf(a), a.body)
		}
		if b.Silent() {
			if foldOf(a) != `none; reason="unknown-window"` {
				t.Errorf("%s: Foldgate-Fold: %s", name, foldOf(a))
			}
			said = "cuts, and says nothing"
			continue
		}
		e := x.server.Exchanges()
		if e[0].Refused == "" || !bytes.Equal(e[0].Body, body) {
			t.Fatalf("%s: the first request was not the original, or was taken", name)
		}
		x.taken(t, 1)
		if !strings.HasSuffix(foldOf(a), "retried") {
			t.Errorf("%s: Foldgate-Fold: %s", name, foldOf(a))
		}
		since := len(x.server.Exchanges())
		next := x.through(t, body)
		learned := sourceOf(next) == "learned"
		if learned {
			x.taken(t, since)
		} else if next.status != http.StatusOK || !strings.HasSuffix(foldOf(next), "retried") {
			t.Errorf("%s, once more: %d %s", name, next.status, foldOf(next))
		}
		this := "`" + foldOf(a) + "`, guessed"
		if learned {
			this = "`" + foldOf(a) + "`, learned"
			if next.fold() != "reused" {
				t.Errorf("%s, the next turn: %s, %s", name, foldOf(next), next.header.Get("Foldgate-Tokens"))
			}
		}
		if said != "" && said != this {
			t.Errorf("%s: %s, but before %s", name, this, said)
		}
		said = this
	}
	return said
}

// backendRefusal: a folded request whose form the backend refuses is sent once
// more without the checkpoint, which is taken back, once.
func backendRefusal(t *testing.T, b backendtest.Backend) string {
	if !b.Orderly() {
		return takesAnyOrder(t, b)
	}
	said := ""
	for name, more := range map[string][]any{"whole": nil, "stream": streamed} {
		body := b.Conversation(overfull, false, more...)
		x := inFrontOf(t, b, backendWindow, configured)
		restores := &restoreCounter{Store: x.store.Store}
		x.store.Store = restores
		x.server.Distrust("STUB-REPLY")
		a := x.through(t, body)
		if a.status != http.StatusOK || !bytes.Contains(a.body, []byte("STUB-REPLY")) {
			t.Fatalf("%s: %d %s: %s", name, a.status, foldOf(a), a.body)
		}
		if foldOf(a) != "fallback; retried" {
			t.Errorf("%s: Foldgate-Fold: %s", name, foldOf(a))
		}
		waitFor(t, x.gateway, a.key(), "restore", func(v ownership.View) bool {
			return len(v.State.Checkpoints) == 0 && v.Owner != nil && v.Owner.Phase == ownership.Restored
		})
		since := len(x.server.Exchanges())
		next := x.through(t, body)
		x.taken(t, since)
		if next.status != http.StatusOK || next.fold() != "fallback" || restores.n.Load() != 1 {
			t.Errorf("%s, once more: %d %s after %d restores", name, next.status, foldOf(next), restores.n.Load())
		}
		said = "restored once, `" + foldOf(a) + "`"
	}
	return said
}

// takesAnyOrder: a backend that refuses no order has nothing to be restored from.
func takesAnyOrder(t *testing.T, b backendtest.Backend) string {
	order := 0
	for _, m := range b.Malformed() {
		switch m.Name {
		case "a result without its call", "a call without its results", "two users", "an assistant first", "a system message in the middle", "no user", "empty text":
			order++
			if a := b.Check(m.Body); a != nil {
				t.Errorf("%s: %s", m.Name, a.Body)
			}
		}
	}
	if order != 7 {
		t.Errorf("%d of the orders are known", order)
	}
	return "refuses no order"
}

// restoreCounter counts the restores that a store is asked for.
type restoreCounter struct {
	ownership.Store
	n atomic.Int64
}

func (s *restoreCounter) Restore(ctx context.Context, k ownership.Key, f ownership.Fence, charge *ownership.Failure) (ownership.Done, error) {
	s.n.Add(1)
	return s.Store.Restore(ctx, k, f, charge)
}

// backendStreams: a stream of a folded conversation, which is held until its
// first event, has the bytes that the backend wrote; so has one that breaks off.
func backendStreams(t *testing.T, b backendtest.Backend) string {
	x := inFrontOf(t, b, backendWindow, configured)
	body := b.Conversation(overfull, false, streamed...)
	x.through(t, body) // from here on it is reused
	for _, breaks := range []bool{false, true} {
		x.server.BreakStreams(breaks)
		got := x.through(t, body)
		if got.fold() != "reused" {
			t.Fatalf("Foldgate-Fold: %s", foldOf(got))
		}
		want := x.direct(t, x.lastTalk(t).Body)
		sameAnswer(t, fmt.Sprintf("breaks: %v", breaks), got, want)
		if whole := bytes.Contains(got.body, []byte("spring.")); whole == breaks {
			t.Errorf("breaks: %v, whole: %v", breaks, whole)
		}
	}
	return b.Framing()
}

// backendErrors: where refusals come inside an answer of status 200, the cases
// above have met them there.
func backendErrors(t *testing.T, b backendtest.Backend) string {
	x := inFrontOf(t, b, backendWindow, nil)
	var where []string
	for name, more := range map[string][]any{"whole": nil, "stream": streamed} {
		x.server.Distrust("bed 3")
		a := x.through(t, b.Small(more...))
		inside := a.status == http.StatusOK && bytes.Contains(a.body, []byte("error"))
		if inside != (b.After200() && (name == "stream" || b.WholeAfter200())) {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
		if inside {
			where = append(where, name)
		}
	}
	switch {
	case len(where) == 2:
		return "read, whole and in streams"
	case len(where) == 1:
		return "read, in streams"
	}
	return "by status only"
}

// backendAsked: what the backend says of its models is known before anything
// overflows.
func backendAsked(t *testing.T, b backendtest.Backend) string {
	asked := make(notedHandler, 1)
	x := inFrontOf(t, b, backendWindow, func(o *options) {
		config := o.config
		o.config = func(c *middleware.Config) {
			config(c)
			c.IgnoreAdvertised = false
			c.Logger = slog.New(asked)
		}
	})
	if a := x.through(t, b.Conversation(backendWindow/2, false)); a.status != http.StatusOK {
		t.Fatalf("%d %s", a.status, a.body)
	}
	select {
	case <-asked: // beside the request
	case <-time.After(patience):
		t.Fatal("the backend was not asked")
	}
	a := x.through(t, b.Small())
	if sourceOf(a) != "advertised" {
		if b.TellsWindow() {
			t.Errorf("the window is not known: %s", a.header.Get("Foldgate-Tokens"))
		}
		return "not told"
	}
	since := len(x.server.Exchanges())
	if a = x.through(t, b.Conversation(overfull, false)); a.status != http.StatusOK || a.fold() != "committed" {
		t.Fatalf("%d %s: %s", a.status, foldOf(a), a.body)
	}
	x.taken(t, since)
	return "`advertised`"
}

// notedHandler is told when an upstream has been asked for its windows.
type notedHandler chan struct{}

func (h notedHandler) Enabled(context.Context, slog.Level) bool { return true }
func (h notedHandler) WithAttrs([]slog.Attr) slog.Handler       { return h }
func (h notedHandler) WithGroup(string) slog.Handler            { return h }

func (h notedHandler) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "asked the upstream for its windows" {
		select {
		case h <- struct{}{}:
		default:
		}
	}
	return nil
}
