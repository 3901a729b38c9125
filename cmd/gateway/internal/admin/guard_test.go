package admin_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// A page in a browser on the same machine can send requests to loopback. None
// of them reads or changes anything.
func TestAnAttackersPage(t *testing.T) {
	t.Parallel()
	cancel := "/v1/conversations/" + string(key) + "/cancel"
	cases := []struct {
		name string
		call call
		want string // the error's code
	}{
		{"its name rebound to loopback", call{path: "/v1/conversations", host: "evil.example"}, "host_not_allowed"},
		{"the same with the right port", call{path: "/metrics", host: "evil.example:9090"}, "host_not_allowed"},
		{"an address that is not ours", call{path: "/", host: "10.1.2.3:9090"}, "host_not_allowed"},
		{"a name that begins like ours", call{path: "/", host: "localhost.evil.example"}, "host_not_allowed"},
		{"a name that ends like ours", call{path: "/", host: "evil-localhost"}, "host_not_allowed"},
		{"an address in another notation", call{path: "/", host: "0x7f000001"}, "host_not_allowed"},
		{"a rebound name that also changes", call{method: "POST", path: cancel, body: "{}", host: "evil.example"}, "host_not_allowed"},
		{"a fetch with its own origin", call{method: "POST", path: cancel, body: "{}", header: map[string]string{"Origin": "https://evil.example"}}, "origin_not_allowed"},
		{"a sandboxed frame", call{method: "POST", path: cancel, body: "{}", header: map[string]string{"Origin": "null"}}, "origin_not_allowed"},
		{"another port of this machine", call{method: "POST", path: cancel, body: "{}", header: map[string]string{"Origin": "http://localhost:3000"}}, "origin_not_allowed"},
		{"a browser that only says cross-site", call{method: "POST", path: cancel, body: "{}", header: map[string]string{"Sec-Fetch-Site": "cross-site"}}, "origin_not_allowed"},
		{"a form", call{method: "POST", path: cancel, body: "reason=x", header: map[string]string{"Content-Type": "application/x-www-form-urlencoded"}}, "unsupported_media_type"},
		{"a form that looks like JSON", call{method: "POST", path: cancel, body: "{}", header: map[string]string{"Content-Type": "text/plain"}}, "unsupported_media_type"},
		{"a form of parts", call{method: "POST", path: cancel, body: "{}", header: map[string]string{"Content-Type": "multipart/form-data; boundary=x"}}, "unsupported_media_type"},
		{"no content type", call{method: "POST", path: cancel, body: "{}", header: map[string]string{"Content-Type": ""}}, "unsupported_media_type"},
		{"the dry run by a form", call{method: "POST", path: "/v1/fold", body: "{}", header: map[string]string{"Content-Type": "text/plain"}}, "unsupported_media_type"},
		{"restore without a token configured", call{method: "POST", path: "/v1/conversations/" + string(key) + "/restore", body: "{}"}, "token_not_configured"},
		{"forget without a token configured", call{method: "DELETE", path: "/v1/conversations/" + string(key)}, "token_not_configured"},
		{"forget from its origin", call{method: "DELETE", path: "/v1/conversations/" + string(key), header: map[string]string{"Origin": "https://evil.example"}}, "origin_not_allowed"},
		{"content without a token configured", call{path: "/v1/conversations/" + string(key) + "?handoff=1"}, "token_not_configured"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			p := newPlane(t)
			p.committed(first)
			before := p.view()
			got := p.do(tc.call)
			if got.code() != tc.want || got.status < 400 {
				t.Errorf("got %d %s, want %s", got.status, got.body, tc.want)
			}
			if got.header.Get("Access-Control-Allow-Origin") != "" {
				t.Error("another origin may read the answer")
			}
			if after := p.view(); after.Generation != before.Generation || after.Cancel != nil || len(after.State.Checkpoints) != 1 {
				t.Errorf("the conversation changed: %+v", after)
			}
		})
	}
}

func TestHostsThatAreOurs(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	u, err := url.Parse(p.server.URL)
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{
		u.Host, u.Hostname(), "localhost", "localhost:1", "LOCALHOST:9090", "localhost.", "gate.internal", "GATE.internal:443",
		"[::ffff:127.0.0.1]:9090",
	} {
		if got := p.do(call{path: "/v1/attempts", host: host}); got.status != http.StatusOK {
			t.Errorf("%s: got %d %s", host, got.status, got.body)
		}
	}
	for _, path := range []string{"/livez", "/readyz"} {
		if got := p.do(call{path: path, host: "10.0.0.7:9090"}); got.status != http.StatusOK {
			t.Errorf("%s is asked by balancers under any name: got %d", path, got.status)
		}
	}
}

func TestOurOwnPageMayChange(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	p.working(first)
	got := p.do(call{
		method: "POST", path: "/v1/conversations/" + string(key) + "/cancel", host: "localhost:9090",
		header: map[string]string{"Origin": "http://localhost:9090", "Sec-Fetch-Site": "same-origin"},
	})
	if got.status != http.StatusAccepted {
		t.Errorf("got %d %s", got.status, got.body)
	}
}

func TestToken(t *testing.T) {
	t.Parallel()
	p := newPlane(t, withToken)
	p.committed(first)
	cases := []struct {
		name, path, authorization string
		want                      int
	}{
		{"none", "/v1/attempts", "", 401},
		{"another", "/v1/attempts", "Bearer other", 401},
		{"a prefix", "/v1/attempts", "Bearer " + token[:4], 401},
		{"more than it", "/v1/attempts", "Bearer " + token + "x", 401},
		{"empty", "/v1/attempts", "Bearer ", 401},
		{"another scheme", "/v1/attempts", "Basic " + token, 401},
		{"the right one", "/v1/attempts", "Bearer " + token, 200},
		{"in another case", "/v1/attempts", "bearer " + token, 200},
		{"metrics", "/metrics", "", 401},
		{"description", "/openapi.yaml", "", 401},
		{"conversation", "/v1/conversations/" + string(key), "", 401},
		{"page", "/", "", 200},
		{"livez", "/livez", "", 200},
		{"readyz", "/readyz", "", 200},
	}
	for _, tc := range cases {
		header := map[string]string{}
		if tc.authorization != "" {
			header["Authorization"] = tc.authorization
		}
		got := p.do(call{path: tc.path, header: header})
		if got.status != tc.want {
			t.Errorf("%s: got %d, want %d", tc.name, got.status, tc.want)
		}
		if tc.want == 401 && !strings.HasPrefix(got.header.Get("WWW-Authenticate"), "Bearer") {
			t.Errorf("%s: WWW-Authenticate is %q", tc.name, got.header.Get("WWW-Authenticate"))
		}
	}
	t.Run("the right one does not excuse a foreign host", func(t *testing.T) {
		if got := p.do(call{path: "/v1/attempts", header: bearer(nil), host: "evil.example"}); got.status != http.StatusForbidden {
			t.Errorf("got %d", got.status)
		}
	})
}

func TestWithoutATokenAnyBearerIsIgnored(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	if got := p.do(call{path: "/v1/attempts", header: map[string]string{"Authorization": "Bearer sk-anything"}}); got.status != http.StatusOK {
		t.Errorf("got %d", got.status)
	}
}
