package admin_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/foldgate/foldgate/cmd/gateway/internal/admin"
	"github.com/foldgate/foldgate/ownership"
)

const (
	cancelPath  = "/v1/conversations/" + string(key) + "/cancel"
	restorePath = "/v1/conversations/" + string(key) + "/restore"
)

func named(f ownership.Fence) string {
	return fmt.Sprintf(`{"generation":%d,"attempt":%q,"reason":"too slow"}`, f.Generation, f.Attempt)
}

func TestCancel(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name   string
		set    func(p *plane) string // prepares the store, returns the body
		status int
		code   string
	}{
		{"the owner is read first", func(p *plane) string { p.working(first); return `{"reason":"too slow"}` }, 202, ""},
		{"an empty body", func(p *plane) string { p.working(first); return "" }, 202, ""},
		{"the owner is named", func(p *plane) string { return named(p.working(first)) }, 202, ""},
		{"another attempt is named", func(p *plane) string {
			return named(ownership.Fence{Generation: p.working(first).Generation, Attempt: second})
		}, 409, "not_current"},
		{"an earlier generation is named", func(p *plane) string {
			f := p.working(first)
			_, err := p.store.Clear(p.t.Context(), key, f)
			if err != nil {
				p.t.Fatal(err)
			}
			p.working(second)
			return named(f)
		}, 409, "not_current"},
		{"it has committed", func(p *plane) string { p.committed(first); return "{}" }, 409, "attempt_committed"},
		{"it has ended", func(p *plane) string {
			f := p.working(first)
			if err := p.store.Finish(p.t.Context(), key, f, ownership.Ending{Phase: ownership.Ineffective}); err != nil {
				p.t.Fatal(err)
			}
			return "{}"
		}, 409, "attempt_ended"},
		{"nobody ever claimed it", func(*plane) string { return "{}" }, 404, "conversation_not_found"},
		{"it was forgotten", func(p *plane) string {
			p.working(first)
			if _, err := p.store.Forget(p.t.Context(), key); err != nil {
				p.t.Fatal(err)
			}
			return "{}"
		}, 409, "not_current"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			p := newPlane(t)
			body := tc.set(p)
			got := p.do(call{method: "POST", path: cancelPath, body: body})
			if got.status != tc.status || got.code() != tc.code {
				t.Fatalf("got %d %s, want %d %s", got.status, got.body, tc.status, tc.code)
			}
			raised := p.view().Cancel
			if (raised != nil) != (tc.status == 202) {
				t.Errorf("the flag is %+v", raised)
			}
			if tc.status == 202 {
				if want := map[bool]string{true: "operator", false: "too slow"}[body == ""]; raised.Reason != want {
					t.Errorf("got reason %q, want %q", raised.Reason, want)
				}
				shown := p.do(call{path: "/v1/conversations/" + string(key)}).fields["cancel"].(map[string]any)
				if shown["attempt"] != string(first) || got.fields["attempt"] != string(first) {
					t.Errorf("got %v, shown %v", got.fields, shown)
				}
			}
			if !strings.Contains(p.log.String(), `"operation":"cancel"`) {
				t.Errorf("no audit line: %s", p.log.String())
			}
		})
	}
}

func TestRestore(t *testing.T) {
	t.Parallel()
	t.Run("one checkpoint back, under a new generation", func(t *testing.T) {
		t.Parallel()
		p := newPlane(t, withToken)
		p.committed(first)
		got := p.do(call{method: "POST", path: restorePath, body: "{}", header: bearer(nil)})
		if got.status != http.StatusOK || got.fields["generation"] != 2.0 {
			t.Fatalf("got %d %s", got.status, got.body)
		}
		v := p.view()
		if len(v.State.Checkpoints) != 0 || v.Owner.Phase != ownership.Abandoned || v.Owner.Fence.Generation != 2 {
			t.Errorf("the store has %+v", v)
		}
		if len(p.dropped) != 1 || p.dropped[0] != key {
			t.Errorf("the replica was told of %v", p.dropped)
		}
		again := p.do(call{method: "POST", path: restorePath, body: "{}", header: bearer(nil)})
		if again.status != http.StatusConflict || again.code() != "nothing_to_restore" || p.view().Generation != 2 || len(p.dropped) != 1 {
			t.Errorf("with nothing left: got %d %s, the store has %+v", again.status, again.body, p.view())
		}
	})
	t.Run("the owner changed since it was seen", func(t *testing.T) {
		t.Parallel()
		p := newPlane(t, withToken)
		seen := p.committed(first)
		p.working(second)
		got := p.do(call{method: "POST", path: restorePath, body: named(seen), header: bearer(nil)})
		if got.status != http.StatusConflict || got.code() != "not_current" || len(p.view().State.Checkpoints) != 1 || len(p.dropped) != 0 {
			t.Errorf("got %d %s, the store has %+v", got.status, got.body, p.view())
		}
	})
	t.Run("nobody ever claimed it", func(t *testing.T) {
		t.Parallel()
		p := newPlane(t, withToken)
		got := p.do(call{method: "POST", path: restorePath, body: "{}", header: bearer(nil)})
		if got.status != http.StatusNotFound || p.view().Generation != 0 {
			t.Errorf("got %d %s", got.status, got.body)
		}
	})
}

func TestForget(t *testing.T) {
	t.Parallel()
	p := newPlane(t, withToken)
	p.committed(first)
	// A DELETE needs no content type.
	got := p.do(call{method: "DELETE", path: "/v1/conversations/" + string(key), header: bearer(nil)})
	if got.status != http.StatusNoContent || got.body != "" {
		t.Fatalf("got %d %q", got.status, got.body)
	}
	v := p.view()
	if v.Generation != 2 || v.Owner != nil || len(v.State.Checkpoints) != 0 {
		t.Errorf("the store has %+v", v)
	}
	if len(p.dropped) != 1 || !strings.Contains(p.log.String(), `"operation":"forget"`) {
		t.Errorf("dropped %v, log %s", p.dropped, p.log.String())
	}
	if got := p.do(call{method: "DELETE", path: "/v1/conversations/x", header: bearer(nil)}); got.status != http.StatusBadRequest {
		t.Errorf("a malformed key: got %d", got.status)
	}
}

func TestChangesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	p.working(first)
	for name, tc := range map[string]struct {
		body   string
		status int
	}{
		"no JSON":                     {"{", 400},
		"no object":                   {"[]", 400},
		"two values":                  {"{} {}", 400},
		"an unknown field":            {`{"raeson":"x"}`, 400},
		"a field in another case":     {`{"Reason":"x"}`, 400},
		"a field twice":               {`{"reason":"x","reason":"y"}`, 400},
		"nothing":                     {"null", 400},
		"a text":                      {`"{}"`, 400},
		"a second object":             {"{}{}", 400},
		"no UTF-8":                    {"{\"reason\":\"\xff\"}", 400},
		"a generation that is none":   {`{"generation":1.5,"attempt":"` + string(first) + `"}`, 400},
		"a generation too far":        {`{"generation":18446744073709551616,"attempt":"` + string(first) + `"}`, 400},
		"an attempt in upper case":    {`{"generation":1,"attempt":"` + strings.ToUpper(string(first)) + `"}`, 400},
		"deep nesting":                {`{"reason":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}`, 400},
		"a generation alone":          {`{"generation":1}`, 400},
		"an attempt alone":            {`{"attempt":"` + string(first) + `"}`, 400},
		"a generation of zero":        {`{"generation":0,"attempt":"` + string(first) + `"}`, 400},
		"a negative generation":       {`{"generation":-1,"attempt":"` + string(first) + `"}`, 400},
		"a generation as text":        {`{"generation":"1","attempt":"` + string(first) + `"}`, 400},
		"an attempt that is none":     {`{"generation":1,"attempt":"x"}`, 400},
		"a reason that is too long":   {`{"reason":"` + strings.Repeat("x", 256) + `"}`, 400},
		"a reason that is no text":    {`{"reason":{}}`, 400},
		"a body that is far too long": {`{"reason":"` + strings.Repeat("x", 70<<10) + `"}`, 413},
	} {
		got := p.do(call{method: "POST", path: cancelPath, body: tc.body})
		if got.status != tc.status || p.view().Cancel != nil {
			t.Errorf("%s: got %d %s", name, got.status, got.body)
		}
	}
}

// brokenStore fails every call in the same way.
type brokenStore struct{ err error }

func (s brokenStore) Read(context.Context, ownership.Key, []ownership.Fence) (ownership.View, error) {
	return ownership.View{}, s.err
}

func (s brokenStore) Raise(context.Context, ownership.Key, ownership.Fence, string) error {
	return s.err
}

func (s brokenStore) RestoreOperator(context.Context, ownership.Key, ownership.Fence, ownership.AttemptID) (ownership.Done, error) {
	return 0, s.err
}

func (s brokenStore) Forget(context.Context, ownership.Key) (ownership.Generation, error) {
	return 0, s.err
}

func TestAStoreThatFails(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		err    error
		status int
		code   string
	}{
		{"not asked", fmt.Errorf("claim: %w: dial secret-host", ownership.ErrUnavailable), 503, "store_unavailable"},
		{"no answer", fmt.Errorf("claim: %w: secret-host", ownership.ErrIndeterminate), 503, "store_no_answer"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			p := newPlane(t, withToken, func(c *admin.Config) { c.Store = brokenStore{tc.err} })
			for _, c := range []call{
				{path: "/v1/conversations/" + string(key)},
				{method: "DELETE", path: "/v1/conversations/" + string(key)},
				{method: "POST", path: cancelPath},
				{method: "POST", path: cancelPath, body: `{"generation":1,"attempt":"` + string(first) + `"}`},
				{method: "POST", path: restorePath},
			} {
				c.header = bearer(nil)
				got := p.do(c)
				if got.status != tc.status || got.code() != tc.code || got.header.Get("Retry-After") == "" {
					t.Errorf("%s %s: got %d %s", c.method, c.path, got.status, got.body)
				}
				if strings.Contains(got.body, "secret-host") {
					t.Errorf("the store's text reaches the caller: %s", got.body)
				}
			}
			// What may have changed is asked for again; what cannot have is not.
			if want := map[string]int{"store_no_answer": 1, "store_unavailable": 0}[tc.code]; len(p.dropped) != want {
				t.Errorf("dropped %v, want %d", p.dropped, want)
			}
		})
	}
}
