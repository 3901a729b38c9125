package admin_test

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/foldgate/foldgate/cmd/gateway/internal/admin"
	"github.com/foldgate/foldgate/ownership"
)

// A page in a browser on the same machine can send requests to loopback. None
// of them reads or changes anything.
func TestAnAttackersPage(t *testing.T) {
	t.Parallel()
	const (
		show   = "/v1/conversations/" + string(key)
		aFetch = "Sec-Fetch-Site"
	)
	post := func(header ...string) call {
		c := call{method: "POST", path: cancelPath, body: `{"reason":"evil"}`, header: map[string]string{}}
		for i := 0; i+1 < len(header); i += 2 {
			c.header[header[i]] = header[i+1]
		}
		return c
	}
	with := func(c call, host string) call { c.host = host; return c }
	cases := []struct {
		name string
		call call
		want string // the error's code
	}{
		{"its name rebound to loopback", call{path: "/v1/conversations", host: "evil.example"}, "host_not_allowed"},
		{"the same with the right port", call{path: "/metrics", host: "evil.example:9090"}, "host_not_allowed"},
		{"the same on a path that is none", call{path: "/nothing", host: "evil.example"}, "host_not_allowed"},
		{"the same with a method that is none", call{method: "PUT", path: "/v1/fold", host: "evil.example"}, "host_not_allowed"},
		{"a rebound name that also changes", with(post(), "evil.example"), "host_not_allowed"},
		{"a rebound name that is its own origin", with(post("Origin", "http://evil.example:9090", aFetch, "same-origin"), "evil.example:9090"), "host_not_allowed"},
		{"a rebound name, and a proxy's word for another", with(post("X-Forwarded-Host", "localhost", "X-Host", "localhost", "Forwarded", "host=localhost"), "evil.example"), "host_not_allowed"},
		{"a fetch with its own origin", post("Origin", "https://evil.example"), "origin_not_allowed"},
		{"a sandboxed frame", post("Origin", "null"), "origin_not_allowed"},
		{"an empty origin", post("Origin", " "), "origin_not_allowed"},
		{"another port of this machine", post("Origin", "http://localhost:3000"), "origin_not_allowed"},
		{"this machine under another name", with(post("Origin", "http://127.0.0.1:9090"), "localhost:9090"), "origin_not_allowed"},
		{"a subdomain", with(post("Origin", "http://evil.localhost:9090"), "localhost:9090"), "origin_not_allowed"},
		{"a parent domain", with(post("Origin", "http://internal"), "gate.internal"), "origin_not_allowed"},
		{"a name that ends like ours", with(post("Origin", "http://evil-localhost:9090"), "localhost:9090"), "origin_not_allowed"},
		{"a name that begins like ours", with(post("Origin", "http://localhost:9090.evil.example"), "localhost:9090"), "origin_not_allowed"},
		{"our name as a user's", with(post("Origin", "http://localhost:9090@evil.example"), "localhost:9090"), "origin_not_allowed"},
		{"a user at our name", with(post("Origin", "http://evil@localhost:9090"), "localhost:9090"), "origin_not_allowed"},
		{"our name in a path", with(post("Origin", "http://evil.example/localhost:9090"), "localhost:9090"), "origin_not_allowed"},
		{"an origin with a path", with(post("Origin", "http://localhost:9090/"), "localhost:9090"), "origin_not_allowed"},
		{"two origins in one", with(post("Origin", "http://localhost:9090 https://evil.example"), "localhost:9090"), "origin_not_allowed"},
		{"a browser's extension", with(post("Origin", "chrome-extension://localhost:9090"), "localhost:9090"), "origin_not_allowed"},
		{"a file", post("Origin", "file://"), "origin_not_allowed"},
		{"a browser that only says cross-site", post(aFetch, "cross-site"), "origin_not_allowed"},
		{"our name over another scheme", with(post("Origin", "https://localhost:9090", aFetch, "cross-site"), "localhost:9090"), "origin_not_allowed"},
		{"another port, by the browser's word only", post(aFetch, "same-site"), "origin_not_allowed"},
		{"a word that browsers may learn", post(aFetch, "nested-document"), "origin_not_allowed"},
		{"forget from its origin", call{method: "DELETE", path: show, header: map[string]string{"Origin": "https://evil.example"}}, "origin_not_allowed"},
		{"the dry run from its origin", call{method: "POST", path: "/v1/fold", body: "{}", header: map[string]string{"Origin": "https://evil.example"}}, "origin_not_allowed"},
		{"a form", post("Content-Type", "application/x-www-form-urlencoded"), "unsupported_media_type"},
		{"a form that looks like JSON", post("Content-Type", "text/plain"), "unsupported_media_type"},
		{"the same, with our type as a parameter", post("Content-Type", "text/plain; application/json"), "unsupported_media_type"},
		{"the same, with our type after it", post("Content-Type", "text/plain, application/json"), "unsupported_media_type"},
		{"a form of parts", post("Content-Type", "multipart/form-data; boundary=x"), "unsupported_media_type"},
		{"a fetch without cors", post("Content-Type", "text/plain;charset=UTF-8", aFetch, "none"), "unsupported_media_type"},
		{"a beacon", post("Content-Type", "application/csp-report"), "unsupported_media_type"},
		{"a type that begins like ours", post("Content-Type", "application/json5"), "unsupported_media_type"},
		{"no content type", post("Content-Type", ""), "unsupported_media_type"},
		{"the dry run by a form", call{method: "POST", path: "/v1/fold", body: "{}", header: map[string]string{"Content-Type": "text/plain"}}, "unsupported_media_type"},
		{"an image of a change", call{path: cancelPath}, "method_not_allowed"},
		{"an image with the method in a field", call{path: cancelPath, header: map[string]string{"X-HTTP-Method-Override": "POST", "X-Method-Override": "POST"}}, "method_not_allowed"},
		{"a form with the method in it", call{method: "POST", path: show + "?_method=DELETE", body: "_method=DELETE", header: map[string]string{"X-HTTP-Method-Override": "DELETE", "Content-Type": "application/x-www-form-urlencoded"}}, "method_not_allowed"},
		{"the question before a DELETE", call{method: "OPTIONS", path: show, header: map[string]string{"Origin": "https://evil.example", "Access-Control-Request-Method": "DELETE"}}, "method_not_allowed"},
		{"the question before a POST", call{method: "OPTIONS", path: cancelPath, header: map[string]string{"Origin": "https://evil.example", "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type", "Access-Control-Request-Private-Network": "true"}}, "method_not_allowed"},
		{"restore without a token configured", call{method: "POST", path: restorePath, body: "{}"}, "token_not_configured"},
		{"the same with any bearer", call{method: "POST", path: restorePath, body: "{}", header: map[string]string{"Authorization": "Bearer "}}, "token_not_configured"},
		{"forget without a token configured", call{method: "DELETE", path: show}, "token_not_configured"},
		{"content without a token configured", call{path: show + "?handoff=1"}, "token_not_configured"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			p := newPlane(t)
			p.working(first)
			before := p.view()
			got := p.do(tc.call)
			if got.code() != tc.want || got.status < 400 {
				t.Errorf("got %d %s, want %s", got.status, got.body, tc.want)
			}
			for name := range got.header {
				if strings.HasPrefix(name, "Access-Control-") || name == "Set-Cookie" {
					t.Errorf("the answer has %s", name)
				}
			}
			if after := p.view(); after.Generation != before.Generation || after.Cancel != nil || after.Owner == nil || after.Owner.Phase != ownership.Working {
				t.Errorf("the conversation changed: %+v", after)
			}
		})
	}
}

// Whatever only reads changes nothing, whoever asks for it.
func TestReadsChangeNothing(t *testing.T) {
	t.Parallel()
	p := newPlane(t, withToken)
	p.committed(first)
	before := p.view()
	for _, path := range []string{"/", "/livez", "/readyz", "/metrics", "/openapi.yaml", "/v1/conversations", "/v1/attempts", "/v1/conversations/" + string(key) + "?handoff=1"} {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			got := p.do(call{method: method, path: path, header: bearer(map[string]string{"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"})})
			if got.status != http.StatusOK || (method == http.MethodHead) != (got.body == "") {
				t.Errorf("%s %s: got %d, %d bytes", method, path, got.status, len(got.body))
			}
			if method == http.MethodHead && got.header.Get("Content-Length") == "" && path != "/metrics" {
				t.Errorf("HEAD %s tells no length", path)
			}
		}
	}
	after := p.view()
	before.Now, after.Now = time.Time{}, time.Time{}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("the conversation changed:\n%s", diff)
	}
}

func TestHostsThatAreOurs(t *testing.T) {
	t.Parallel()
	p := newPlane(t, func(c *admin.Config) { c.Hosts = append(c.Hosts, "[2001:db8::7]", "192.0.2.7", "") })
	u, err := url.Parse(p.server.URL)
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{
		u.Host, u.Hostname(), "localhost", "localhost:1", "localhost:", "LOCALHOST:9090", "localhost.", "localhost.:9090", "gate.internal", "GATE.internal:443",
		"[::ffff:127.0.0.1]:9090", "[::FFFF:7f00:1]", "[2001:db8::7]", "[2001:DB8:0::7]:9090", "192.0.2.7", "192.0.2.7:9090", "127.0.0.1.",
	} {
		if got := p.do(call{path: "/v1/attempts", host: host}); got.status != http.StatusOK {
			t.Errorf("%s: got %d %s", host, got.status, got.body)
		}
	}
	for _, host := range []string{
		"evil.example", "evil.example:9090", "10.1.2.3:9090", "127.0.0.2", "[::1]:9090", "[::]", "0.0.0.0", // not this connection's
		"0x7f000001", "2130706433", "127.1", "0177.0.0.1", "127.0.0.1.nip.io", // addresses as browsers take them
		"localhost.evil.example", "evil-localhost", "xlocalhost", "localhostx", "sub.localhost", "localhost..", ".localhost",
		"gate.internal.evil.example", "evil.gate.internal", "internal",
		"[::ffff:127.0.0.1%25lo]", "[127.0.0.1]", "[localhost]", "[127.0.0.1", "127.0.0.1]", "[]", "::ffff:127.0.0.1", "[::ffff:127.0.0.1]x", // brackets and zones
		"localhost:9090:9090", "localhost:x", "localhost:-1", "localhost:9090.evil.example", ":9090", "localhost,evil.example",
	} {
		got := p.send("GET /v1/attempts HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n")
		if got.status != http.StatusForbidden || got.code() != "host_not_allowed" {
			t.Errorf("%s: got %d %s", host, got.status, got.body)
		}
	}
	for _, path := range []string{"/livez", "/readyz"} {
		if got := p.do(call{path: path, host: "10.0.0.7:9090"}); got.status != http.StatusOK {
			t.Errorf("%s is asked by balancers under any name: got %d", path, got.status)
		}
	}
}

// What stands in the request line and how often a field is there, which clients
// of a library cannot choose.
func TestRawRequests(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	p.working(first)
	const (
		host = "Host: localhost\r\nConnection: close\r\n"
		ours = host + "Content-Type: application/json\r\nContent-Length: 2\r\n"
	)
	cases := []struct {
		name, raw string
		status    int
		code      string
	}{
		{"the target names the host, the field another", "GET http://evil.example/v1/attempts HTTP/1.1\r\n" + host + "\r\n", 403, "host_not_allowed"},
		{"the target names ours: the field counts for nothing", "GET http://localhost/v1/attempts HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n", 200, ""},
		{"a target with a user", "GET http://localhost@evil.example/v1/attempts HTTP/1.1\r\n" + host + "\r\n", 403, "host_not_allowed"},
		{"two hosts", "GET /v1/attempts HTTP/1.1\r\n" + host + "Host: evil.example\r\n\r\n", 400, ""},
		{"no host", "GET /v1/attempts HTTP/1.1\r\nConnection: close\r\n\r\n", 400, ""},
		{"an empty host", "GET /v1/attempts HTTP/1.1\r\nHost: \r\nConnection: close\r\n\r\n", 403, "host_not_allowed"},
		{"no host, as the first HTTP may", "GET /v1/attempts HTTP/1.0\r\n\r\n", 403, "host_not_allowed"},
		{"no host, livez", "GET /livez HTTP/1.0\r\n\r\n", 200, ""},
		{"two slashes", "GET //v1/attempts HTTP/1.1\r\n" + host + "\r\n", 404, "not_found"},
		{"two slashes inside", "GET /v1//attempts HTTP/1.1\r\n" + host + "\r\n", 404, "not_found"},
		{"a slash at the end", "GET /v1/attempts/ HTTP/1.1\r\n" + host + "\r\n", 404, "not_found"},
		{"a slash after the key", "GET /v1/conversations/" + string(key) + "/ HTTP/1.1\r\n" + host + "\r\n", 404, "not_found"},
		{"no key", "GET /v1/conversations/ HTTP/1.1\r\n" + host + "\r\n", 404, "not_found"},
		{"upper case", "GET /V1/attempts HTTP/1.1\r\n" + host + "\r\n", 404, "not_found"},
		{"dots", "GET /v1/conversations/../attempts HTTP/1.1\r\n" + host + "\r\n", 404, "not_found"},
		{"encoded dots", "GET /v1/conversations/%2e%2e HTTP/1.1\r\n" + host + "\r\n", 400, "invalid_key"},
		{"an encoded slash", "GET /v1/conversations/" + string(key) + "%2fcancel HTTP/1.1\r\n" + host + "\r\n", 400, "invalid_key"},
		{"an encoded slash in a change", "POST /v1/conversations/x%2f..%2f" + string(key) + "/cancel HTTP/1.1\r\n" + ours + "\r\n{}", 400, "invalid_key"},
		{"an encoded digit", "GET /v1/conversations/%30123456789abcdef0123456789abcdef01234567 HTTP/1.1\r\n" + host + "\r\n", 400, "invalid_key"},
		{"an encoded zero byte", "GET /v1/conversations/" + string(key) + "%00 HTTP/1.1\r\n" + host + "\r\n", 400, "invalid_key"},
		{"an encoded line end", "DELETE /v1/conversations/" + string(key) + "%0d%0a HTTP/1.1\r\n" + host + "\r\n", 403, "token_not_configured"},
		{"a livez that is another path", "GET /livez/../v1/attempts HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n", 403, "host_not_allowed"},
		{"a livez that is encoded", "GET /%6civez HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n", 403, "host_not_allowed"},
		{"a fragment", "GET /livez#/v1/attempts HTTP/1.1\r\n" + host + "\r\n", 404, "not_found"},
		{"the star", "OPTIONS * HTTP/1.1\r\n" + host + "\r\n", 404, "not_found"},
		{"a tunnel", "CONNECT localhost:9090 HTTP/1.1\r\n" + host + "\r\n", 405, "method_not_allowed"},
		{"a method that nobody knows", "PROPFIND /v1/attempts HTTP/1.1\r\n" + host + "\r\n", 405, "method_not_allowed"},
		{"two content types, the first is none", "POST " + cancelPath + " HTTP/1.1\r\n" + host + "Content-Type: text/plain\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}", 415, "unsupported_media_type"},
		{"two origins, one of them ours", "POST " + cancelPath + " HTTP/1.1\r\n" + ours + "Origin: http://localhost\r\nOrigin: http://evil.example\r\n\r\n{}", 403, "origin_not_allowed"},
		{"a body that ends early", "POST " + cancelPath + " HTTP/1.1\r\n" + host + "Content-Type: application/json\r\nContent-Length: 9\r\n\r\n{}", 400, "invalid_body"},
		{"a dry run that ends early", "POST /v1/fold HTTP/1.1\r\n" + host + "Content-Type: application/json\r\nContent-Length: 9\r\n\r\n{}", 400, "invalid_body"},
	}
	for _, tc := range cases {
		got := p.send(tc.raw)
		if got.status != tc.status || got.code() != tc.code {
			t.Errorf("%s: got %d %s, want %d %s", tc.name, got.status, got.body, tc.status, tc.code)
		}
	}
	if v := p.view(); v.Cancel != nil || v.Owner.Phase != ownership.Working {
		t.Errorf("the conversation changed: %+v", v)
	}
}

func TestWhoMayChange(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		host   string
		header map[string]string
	}{
		"our own page":                        {"localhost:9090", map[string]string{"Origin": "http://localhost:9090", "Sec-Fetch-Site": "same-origin"}},
		"our own page under a name":           {"gate.internal", map[string]string{"Origin": "http://gate.internal"}},
		"our own page by its address":         {"[::ffff:127.0.0.1]:9090", map[string]string{"Origin": "http://[::ffff:127.0.0.1]:9090"}},
		"our own page behind something's TLS": {"gate.internal", map[string]string{"Origin": "https://gate.internal", "Sec-Fetch-Site": "same-origin"}},
		"a program":                           {"", nil},
		"a program that names its charset":    {"", map[string]string{"Content-Type": "Application/JSON; charset=utf-8"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlane(t)
			p.working(first)
			if got := p.do(call{method: "POST", path: cancelPath, host: tc.host, header: tc.header}); got.status != http.StatusAccepted {
				t.Errorf("got %d %s", got.status, got.body)
			}
		})
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
		{"a list", "/v1/conversations", "", 401},
		{"a path that is none", "/nothing", "", 401},
		{"a method that is none", cancelPath, "", 401},
		{"in the query", "/v1/attempts?token=" + token + "&access_token=" + token, "", 401},
		{"in the path", "/v1/attempts/" + token, "", 401},
		{"its digest", "/v1/attempts", fmt.Sprintf("Bearer %x", sha256.Sum256([]byte(token))), 401},
		{"in upper case", "/v1/attempts", "Bearer " + strings.ToUpper(token), 401},
		{"without its scheme", "/v1/attempts", token, 401},
		{"after a tab", "/v1/attempts", "Bearer\t" + token, 401},
		{"after two spaces", "/v1/attempts", "Bearer  " + token, 200},
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
	t.Run("where a browser puts it by itself", func(t *testing.T) {
		for name, header := range map[string]map[string]string{
			"a cookie":         {"Cookie": "token=" + token + "; Authorization=Bearer " + token},
			"a field like it":  {"X-Authorization": "Bearer " + token, "X-Api-Key": token, "Api-Key": token},
			"a proxy's":        {"Proxy-Authorization": "Bearer " + token},
			"a user and a key": {"Authorization": "Basic " + base64.StdEncoding.EncodeToString([]byte(token+":"+token))},
		} {
			if got := p.do(call{path: "/v1/attempts", header: header}); got.status != http.StatusUnauthorized {
				t.Errorf("%s: got %d", name, got.status)
			}
		}
	})
	t.Run("twice", func(t *testing.T) {
		got := p.send("GET /v1/attempts HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer x\r\nAuthorization: Bearer " + token + "\r\n\r\n")
		if got.status != http.StatusUnauthorized {
			t.Errorf("got %d", got.status)
		}
	})
	t.Run("the right one does not excuse a foreign origin", func(t *testing.T) {
		got := p.do(call{method: "DELETE", path: "/v1/conversations/" + string(key), header: bearer(map[string]string{"Origin": "https://evil.example"})})
		if got.code() != "origin_not_allowed" || len(p.view().State.Checkpoints) != 1 {
			t.Errorf("got %d %s", got.status, got.body)
		}
	})
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
