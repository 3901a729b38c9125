package contracttest

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

const (
	key       = "4f1d0c9b8a7e6f5d4c3b2a190817263544536271"
	uuid      = "01890a5d-ac96-774b-bcce-b302099a8057"
	emptyList = `{"attempts":[]}`
	draining  = `{"error":{"message":"no","type":"server_error","param":null,"code":"draining"}}` + "\n"
)

// told collects what a test would fail with.
type told struct{ said []string }

func (r *told) Helper() {}
func (r *told) Errorf(format string, args ...any) {
	r.said = append(r.said, fmt.Sprintf(format, args...))
}

// try is one exchange. fields are name: value.
type try struct {
	name, method, path string
	status             int
	fields             string
	body               string
	breach             string // part of what is said; empty: nothing is
}

func (c try) answer(w http.ResponseWriter, _ *http.Request) {
	for line := range strings.SplitSeq(c.fields, "\n") {
		if name, value, ok := strings.Cut(line, ": "); ok {
			w.Header().Add(name, value)
		}
	}
	w.WriteHeader(c.status)
	_, _ = io.WriteString(w, c.body)
}

func judge(t *testing.T, d *Description, wrap func(Reporter, http.Handler) http.Handler, cases []try) {
	t.Helper()
	for _, c := range cases {
		var r told
		wrap(&r, http.HandlerFunc(c.answer)).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(c.method, c.path, nil))
		said := strings.Join(r.said, "\n")
		if (c.breach == "") != (said == "") || !strings.Contains(said, c.breach) {
			t.Errorf("%s: got %q, want %q", c.name, said, c.breach)
		}
	}
}

func TestAdmin(t *testing.T) {
	t.Parallel()
	d := MustLoad()
	const json = "Content-Type: application/json"
	refusal := func(code string) string {
		return `{"error":{"message":"no","type":"invalid_request_error","param":null,"code":"` + code + `"}}`
	}
	judge(t, d, d.Admin, []try{
		{"as documented", "GET", "/v1/attempts", 200, json, emptyList, ""},
		{"HEAD has no body", "HEAD", "/v1/attempts", 200, json, "", ""},
		{"a status", "GET", "/v1/attempts", 201, json, emptyList, "the status is not documented"},
		{"a media type", "GET", "/v1/attempts", 200, "Content-Type: text/plain", emptyList, `the media type "text/plain" is not documented`},
		{"no media type", "GET", "/v1/attempts", 200, "", emptyList, `the media type "" is not documented`},
		{"no JSON", "GET", "/v1/attempts", 200, json, "{", "no JSON"},
		{"two values", "GET", "/v1/attempts", 200, json, emptyList + "{}", "more than one value"},
		{"a property", "GET", "/v1/attempts", 200, json, `{"attempts":[],"x":1}`, `property "x" is unsupported`},
		{"a property inside", "GET", "/v1/conversations", 200, json, `{"conversations":[{"conversation":"` + key + `","last_seen":null,"kind":"none","before":0,"after":0,"covered":0,"x":1}]}`, `property "x" is unsupported`},
		{"a property inside, as documented", "GET", "/v1/conversations", 200, json, `{"conversations":[{"conversation":"` + key + `","last_seen":null,"kind":"none","before":0,"after":0,"covered":0}]}`, ""},
		{"a word", "GET", "/v1/conversations", 200, json, `{"conversations":[{"conversation":"` + key + `","last_seen":null,"kind":"folded","before":0,"after":0,"covered":0}]}`, "folded"},
		{"a moment", "GET", "/v1/conversations", 200, json, `{"conversations":[{"conversation":"` + key + `","last_seen":"2026-01-02 03:04","kind":"none","before":0,"after":0,"covered":0}]}`, "last_seen"},
		{"no property", "GET", "/v1/attempts", 200, json, `{}`, "attempts"},
		{"a code", "GET", "/v1/attempts", 400, json, refusal("invalid_body"), "code"},
		{"a code of the path", "GET", "/v1/attempts", 400, json, refusal("invalid_limit"), ""},
		{"a property of an error", "GET", "/v1/attempts", 400, json, strings.Replace(refusal("invalid_limit"), `"param"`, `"x":1,"param"`, 1), `property "x" is unsupported`},
		{"no field", "GET", "/v1/attempts", 401, json, refusal("invalid_token"), "WWW-Authenticate is missing"},
		{"a field that is wrong", "GET", "/v1/attempts", 401, json + "\nWWW-Authenticate: Basic", refusal("invalid_token"), "WWW-Authenticate"},
		{"a field twice", "GET", "/v1/conversations/" + key, 503, json + "\nRetry-After: 1\nRetry-After: 2", refusal("store_unavailable"), "2 times"},
		{"a field that is no number", "GET", "/v1/conversations/" + key, 503, json + "\nRetry-After: soon", refusal("store_unavailable"), "Retry-After"},
		{"a field of ours", "GET", "/v1/attempts", 200, json + "\nFoldgate-Fold: none", emptyList, "Foldgate-Fold is not documented"},
		{"a body where there is none", "DELETE", "/v1/conversations/" + key, 204, json, "{}", "where none is documented"},
		{"a path that is none", "GET", "/v1/other", 404, json, refusal("not_found"), ""},
		{"a path that is none, found", "GET", "/v1/other", 200, json, emptyList, "error"},
		{"a path that is none, another code", "GET", "/v1/other", 404, json, refusal("not_here"), "not_here"},
		{"a method that is none", "PUT", "/v1/attempts", 405, json + "\nAllow: GET", refusal("method_not_allowed"), ""},
		{"a method that is none, no Allow", "PUT", "/v1/attempts", 405, json, refusal("method_not_allowed"), "Allow is missing"},
		{"a method that is none, taken", "PUT", "/v1/attempts", 200, json, emptyList, "error"},
	})
}

func TestData(t *testing.T) {
	t.Parallel()
	d := MustLoad()
	const (
		chat = "/v1/chat/completions"
		both = "Foldgate-Fold: none; reason=\"under\"\nFoldgate-Tokens: source=unknown"
	)
	field := func(name, value string) string { return both + "\n" + name + ": " + value }
	fold := func(value string) string { return "Foldgate-Tokens: source=unknown\nFoldgate-Fold: " + value }
	judge(t, d, d.Data, []try{
		{"as documented", "POST", chat, 200, both, "whatever", ""},
		{"another base path", "POST", "/x" + chat, 200, both, "", ""},
		{"what is no chat request", "GET", "/v1/models", 200, "X-Foldgate-Fold: a", "", ""},
		{"fields on what is no chat request", "GET", "/v1/models", 200, both, "", "no chat request"},
		{"no fields", "POST", chat, 200, "Foldgate-Fold: none", "", "Foldgate-Tokens is missing"},
		{"a field twice", "POST", chat, 200, field("Foldgate-Fold", "none"), "", "2 times"},
		{"a field that is none of ours", "POST", chat, 200, field("Foldgate-Cost", "1"), "", "Foldgate-Cost is not documented"},
		{"all of a fold", "POST", chat, 200, fold(`fallback; reason="timeout"; retried`), "", ""},
		{"a kind", "POST", chat, 200, fold("folded"), "", "against its grammar"},
		{"a reason", "POST", chat, 200, fold(`none; reason="because"`), "", "against its grammar"},
		{"a reason without quotes", "POST", chat, 200, fold(`none; reason=under`), "", "against its grammar"},
		{"a parameter", "POST", chat, 200, fold(`none; twice`), "", "against its grammar"},
		{"another order", "POST", chat, 200, fold(`none; retried; reason="under"`), "", "against its grammar"},
		{"an attempt", "POST", chat, 200, field("Foldgate-Attempt", `id="`+uuid+`", generation=0, outcome=unfenced, joined`), "", ""},
		{"an outcome", "POST", chat, 200, field("Foldgate-Attempt", `id="`+uuid+`", generation=1, outcome=settled`), "", "against its grammar"},
		{"a number with a zero before it", "POST", chat, 200, field("Foldgate-Attempt", `id="`+uuid+`", generation=01, outcome=lost`), "", "against its grammar"},
		{"a key without quotes", "POST", chat, 200, field("Foldgate-Key", key), "", "against its grammar"},
		{"half of the tokens", "POST", chat, 200, "Foldgate-Fold: none\nFoldgate-Tokens: before=1, source=table", "", "against its grammar"},
		{"a late field", "POST", chat, 200, fold("pending"), ": foldgate\n\n: Foldgate-Fold: committed\n\ndata: x\n\n", ""},
		{"a late field that is wrong", "POST", chat, 200, fold("pending"), ": foldgate\n\n: Foldgate-Fold: done\n\n", "against its grammar"},
		{"an error of ours", "POST", chat, 503, both + "\nContent-Type: application/json\nRetry-After: 1", draining, ""},
		{"without a field", "POST", chat, 503, both + "\nContent-Type: application/json", draining, "Retry-After is missing"},
		{"with another status", "POST", chat, 502, both + "\nContent-Type: application/json", draining, "502 draining is not documented"},
		{"with another code", "POST", chat, 503, both + "\nContent-Type: application/json\nRetry-After: 1", strings.Replace(draining, "draining", "tired", 1), "503 tired is not documented"},
		{"with another media type", "POST", chat, 503, both + "\nContent-Type: text/plain", draining, "text/plain"},
		{"with a property", "POST", chat, 503, both + "\nContent-Type: application/json", strings.Replace(draining, `,"code"`, `,"x":1,"code"`, 1), "'x' not allowed"},
		{"an error of the upstream", "POST", chat, 418, both, `{"error":{"code":"teapot","message":"I am one"}}`, ""},
	})
}

// A trailer is judged as a field is.
func TestTrailers(t *testing.T) {
	t.Parallel()
	d := MustLoad()
	var r told
	h := d.Data(&r, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Foldgate-Fold", "pending")
		w.Header().Set("Foldgate-Tokens", "source=unknown")
		w.WriteHeader(http.StatusOK)
		w.Header().Set("Foldgate-Fold", "done")
	}))
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("POST", chatPath, nil))
	if len(r.said) != 1 || !strings.Contains(r.said[0], `"done", against its grammar`) {
		t.Errorf("got %q", r.said)
	}
}

// A client's request fails where the response is not as documented.
func TestTransport(t *testing.T) {
	t.Parallel()
	d := MustLoad()
	for _, c := range []try{
		{"admin, as documented", "GET", "/v1/attempts", 200, "Content-Type: application/json", emptyList, ""},
		{"admin, not as documented", "GET", "/v1/attempts", 200, "Content-Type: application/json", `{}`, "attempts"},
		{"admin, by its header", "GET", "/v1/other", 200, "Content-Security-Policy: frame-ancestors 'none'", "", "error"},
		{"chat", "POST", chatPath, 200, "Foldgate-Fold: none", "", "Foldgate-Tokens is missing"},
		{"anything else", "GET", "/v1/models", 200, "", "whatever", ""},
	} {
		s := httptest.NewServer(http.HandlerFunc(c.answer))
		r, err := http.NewRequestWithContext(t.Context(), c.method, s.URL+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := (&http.Client{Transport: d.Transport(s.Client().Transport)}).Do(r)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		s.Close()
		if string(body) != c.body || (err == nil) != (c.breach == "") || err != nil && !strings.Contains(err.Error(), c.breach) {
			t.Errorf("%s: got %q, %v, want %q", c.name, body, err, c.breach)
		}
	}
}

// What was seen is no longer missing; the rest fails a whole run that passed.
func TestUnseen(t *testing.T) {
	t.Parallel()
	d := MustLoad()
	judge(t, d, d.Admin, []try{{"seen", "GET", "/v1/attempts", 200, "Content-Type: application/json", emptyList, ""}})
	judge(t, d, d.Data, []try{{"seen", "POST", chatPath, 200, "Foldgate-Fold: none; retried\nFoldgate-Tokens: source=table", "", ""}})
	for p, parts := range map[Plane]map[string]bool{
		AdminPlane: {
			"GET /v1/attempts 200": false, "GET /v1/attempts 400 invalid_limit": true, "POST /v1/chat/completions default": false,
			"DELETE /v1/conversations/{key} 204": true, "POST /v1/conversations/{key}/restore 409 nothing_to_restore": true,
		},
		DataPlane: {
			"POST /v1/chat/completions default": false, "POST /v1/chat/completions 503 draining": true, "GET /v1/attempts 400 invalid_limit": false,
			"Foldgate-Fold none": false, "Foldgate-Fold retried": false, "Foldgate-Fold reused": true, "Foldgate-Fold too-large": true,
			"Foldgate-Tokens table": false, "Foldgate-Tokens config": true, "Foldgate-Attempt joined": true,
		},
	} {
		missing := d.Unseen(p)
		for part, want := range parts {
			if slices.Contains(missing, part) != want {
				t.Errorf("%s is missing: %v, want %v, of %q", part, !want, want, missing)
			}
		}
		var out bytes.Buffer
		if got := d.verdict(p, 0, &out, true); got != 1 || strings.Count(out.String(), "\n\t") != len(missing) {
			t.Errorf("a whole run ends with %d and says %s", got, out.String())
		}
		if got := d.verdict(p, 0, &out, false); got != 0 {
			t.Errorf("a part of a run ends with %d", got)
		}
		if got := d.verdict(p, 2, &out, true); got != 2 {
			t.Errorf("a run that failed ends with %d", got)
		}
	}
}

func TestIsWhole(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]bool{"": true, "-test.run=X": false, "-test.skip=X": false, "-test.list=.": false, "-test.short": false, "-test.v": true} {
		flags := flag.NewFlagSet("", flag.ContinueOnError)
		flags.String("test.run", "", "")
		flags.String("test.skip", "", "")
		flags.String("test.list", "", "")
		flags.Bool("test.short", false, "")
		flags.Bool("test.v", false, "")
		if err := flags.Parse(strings.Fields(args)); err != nil {
			t.Fatal(err)
		}
		if got := isWhole(flags); got != want {
			t.Errorf("%q: got %v, want %v", args, got, want)
		}
	}
}
