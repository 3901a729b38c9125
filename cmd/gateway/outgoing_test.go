package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/foldgate/foldgate/cmd/gateway/internal/config"
)

// trap is a server that nobody should ever connect to.
type trap struct {
	addr   string
	caught atomic.Int64
}

func newTrap(t *testing.T) *trap {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	x := &trap{addr: l.Addr().String()}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			x.caught.Add(1)
			_ = c.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return x
}

// raw sends bytes as they are and reads one response; nil: there was none.
func raw(t *testing.T, base, text string) *http.Response {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if _, err := io.WriteString(c, text); err != nil {
		return nil
	}
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return nil
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	return res
}

// No request can choose where the gateway connects: whatever names another place, in
// the target, a header or the body, goes to the upstream or is refused.
func TestNoRequestChoosesWhereToConnect(t *testing.T) {
	t.Parallel()
	elsewhere := newTrap(t)
	var mu sync.Mutex
	var hosts, targets []string
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		hosts, targets = append(hosts, r.Host), append(targets, r.RequestURI)
		fmt.Fprint(w, "{}")
	}))
	t.Cleanup(up.Close)
	for _, mode := range []config.Mode{config.ModeFold, config.ModeOff} {
		g := start(t, nil, "--upstream", up.URL, "--window", "4000", "--mode", string(mode), "--prepare=false", "--wait", "0")
		for _, tc := range []struct {
			name, line, header string
			target             string // what the upstream is asked; empty: the request is refused
		}{
			{"absolute form", "GET http://TRAP/v1/models HTTP/1.1", "Host: x", "/v1/models"},
			{"absolute form of another scheme", "GET https://TRAP/v1/models HTTP/1.1", "Host: x", "/v1/models"},
			{"absolute form with userinfo", "GET http://upstream@TRAP/v1/models HTTP/1.1", "Host: x", "/v1/models"},
			{"absolute form of a chat", "POST http://TRAP/v1/chat/completions HTTP/1.1", "Host: x", "/v1/chat/completions"},
			{"absolute form without a path", "GET http://TRAP HTTP/1.1", "Host: x", "/"},
			{"a file", "GET file:///etc/passwd HTTP/1.1", "Host: x", "/etc/passwd"},
			{"opaque", "GET mailto:TRAP HTTP/1.1", "Host: x", "/"},
			{"CONNECT", "CONNECT TRAP HTTP/1.1", "Host: TRAP", "/"},
			{"asterisk", "OPTIONS * HTTP/1.1", "Host: x", "/*"},
			{"asterisk of another method", "GET * HTTP/1.1", "Host: TRAP", "/*"},
			{"two slashes", "GET //TRAP/v1/models HTTP/1.1", "Host: x", "//TRAP/v1/models"},
			{"two slashes of a chat", "POST //TRAP/v1/chat/completions HTTP/1.1", "Host: x", "//TRAP/v1/chat/completions"},
			{"three slashes", "GET ///TRAP/x HTTP/1.1", "Host: x", "///TRAP/x"},
			{"backslashes", `GET \\TRAP\x HTTP/1.1`, "Host: x", ""},
			{"a slash and backslashes", `GET /\\TRAP/x HTTP/1.1`, "Host: x", `/\\TRAP/x`},
			{"an at", "GET @TRAP/x HTTP/1.1", "Host: x", ""},
			{"an at in the path", "GET /@TRAP/x HTTP/1.1", "Host: x", "/@TRAP/x"},
			{"dots", "GET /../../TRAP/x HTTP/1.1", "Host: x", "/../../TRAP/x"},
			{"escaped slashes", "GET /%2f%2fTRAP/x HTTP/1.1", "Host: x", "/%2f%2fTRAP/x"},
			{"a URL in the path", "GET /http://TRAP/x HTTP/1.1", "Host: x", "/http://TRAP/x"},
			{"a URL in the query", "GET /v1/models?url=http://TRAP/ HTTP/1.1", "Host: x", "/v1/models?url=http://TRAP/"},
			{"a path that is a host's", "GET :80/x HTTP/1.1", "Host: x", ""},
			{"no path", "GET ?x=TRAP HTTP/1.1", "Host: x", ""},
			{"Host", "GET /v1/models HTTP/1.1", "Host: TRAP", "/v1/models"},
			{"Host with userinfo", "GET /v1/models HTTP/1.1", "Host: upstream@TRAP", ""},
			{"two Hosts", "GET /v1/models HTTP/1.1", "Host: x\r\nHost: TRAP", ""},
			{"Host of a chat", "POST /v1/chat/completions HTTP/1.1", "Host: TRAP", "/v1/chat/completions"},
			{"X-Forwarded-Host", "GET /v1/models HTTP/1.1", "Host: x\r\nX-Forwarded-Host: TRAP\r\nX-Forwarded-Server: TRAP\r\nX-Host: TRAP\r\nForwarded: host=TRAP", "/v1/models"},
			{"X-Original-URL", "GET /v1/models HTTP/1.1", "Host: x\r\nX-Original-URL: http://TRAP/\r\nX-Rewrite-URL: http://TRAP/\r\nDestination: http://TRAP/", "/v1/models"},
			{"Proxy", "GET /v1/models HTTP/1.1", "Host: x\r\nProxy: http://TRAP\r\nProxy-Connection: keep-alive", "/v1/models"},
			{"Referer and Origin", "GET /v1/models HTTP/1.1", "Host: x\r\nReferer: http://TRAP/\r\nOrigin: http://TRAP", "/v1/models"},
			{"Location", "GET /v1/models HTTP/1.1", "Host: x\r\nLocation: http://TRAP/\r\nRefresh: 0; url=http://TRAP/", "/v1/models"},
			{"Alt-Svc", "GET /v1/models HTTP/1.1", `Host: x` + "\r\n" + `Alt-Svc: h2="TRAP"`, "/v1/models"},
			{"a method that is none of ours", "PROPFIND http://TRAP/x HTTP/1.1", "Host: TRAP", "/x"},
			{"HTTP/1.0", "GET http://TRAP/x HTTP/1.0", "Host: TRAP", "/x"},
		} {
			t.Run(string(mode)+"/"+tc.name, func(t *testing.T) {
				mu.Lock()
				hosts, targets = nil, nil
				mu.Unlock()
				fill := func(s string) string { return strings.ReplaceAll(s, "TRAP", elsewhere.addr) }
				body := `{"model":"m","messages":[{"role":"user","content":"hi"}],"url":"http://` + elsewhere.addr + `/","base_url":"http://` + elsewhere.addr + `/"}`
				length := fmt.Sprintf("\r\nContent-Length: %d", len(body))
				if strings.HasPrefix(tc.line, "GET") || strings.HasPrefix(tc.line, "OPTIONS") || strings.HasPrefix(tc.line, "CONNECT") {
					body, length = "", ""
				}
				res := raw(t, g.data, fill(tc.line)+"\r\n"+fill(tc.header)+length+"\r\n\r\n"+body)
				mu.Lock()
				defer mu.Unlock()
				for _, h := range hosts {
					if h != strings.TrimPrefix(up.URL, "http://") {
						t.Errorf("the upstream is told that it is %q", h)
					}
				}
				switch {
				case tc.target == "" && len(targets) > 0:
					t.Errorf("the upstream is asked %q, want nothing", targets)
				case tc.target != "" && (len(targets) != 1 || targets[0] != fill(tc.target)):
					t.Errorf("the upstream is asked %q, want %q; answer %v", targets, fill(tc.target), res)
				}
			})
		}
	}
	if n := elsewhere.caught.Load(); n > 0 {
		t.Errorf("%d connections went elsewhere", n)
	}
}

// A redirect is the caller's to follow: of the upstream it comes as it was sent, of a
// summarizer and of a list of models it is an answer like any refusal. Nobody's
// credential goes where it points.
func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	elsewhere := newTrap(t)
	for _, status := range []int{301, 302, 303, 307, 308} {
		for _, where := range []string{"http://" + elsewhere.addr + "/v1/chat/completions", "//" + elsewhere.addr + "/x"} {
			redirect := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", where)
				w.WriteHeader(status)
			})
			var asked sync.Map // paths
			noted := func(h http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					asked.Store(r.Method+r.URL.Path, true)
					h.ServeHTTP(w, r)
				})
			}
			up, sum := httptest.NewServer(noted(redirect)), httptest.NewServer(noted(redirect))
			t.Cleanup(up.Close)
			t.Cleanup(sum.Close)
			g := start(t, []string{"ROUTE_KEY=sk-route"}, "--upstream", up.URL, "--summarizer-url", sum.URL+"/sum")
			for _, r := range []struct{ method, path, body string }{
				{"GET", "/v1/models", ""}, {"POST", "/v1/embeddings", "{}"}, {"POST", "/v1/chat/completions", longChat("small", 1)},
				{"POST", "/v1/chat/completions", longChat("large", 400)},
			} {
				res := raw(t, g.data, fmt.Sprintf("%s %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer sk-caller\r\nContent-Length: %d\r\n\r\n%s", r.method, r.path, len(r.body), r.body))
				if res == nil || res.StatusCode != status || res.Header.Get("Location") != where {
					t.Errorf("%d %s %s: %v", status, r.method, r.path, res)
				}
			}
			g.stop()
			w := start(t, nil, "--upstream", up.URL, "--summarizer-url", sum.URL+"/sum", "--window", "4000")
			if res := raw(t, w.data, fmt.Sprintf("POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer sk-caller\r\nContent-Length: %d\r\n\r\n%s", len(longChat("fold", overTurns)), longChat("fold", overTurns))); res == nil ||
				res.StatusCode != status || !strings.Contains(res.Header.Get("Foldgate-Fold"), `fallback; reason="routes"`) {
				t.Errorf("%d, folded: %v", status, res)
			}
			w.stop()
			for _, path := range []string{"GET/v1/models", "POST/sum/chat/completions", "POST/v1/chat/completions"} {
				if _, ok := asked.Load(path); !ok {
					t.Errorf("%d: %s was never asked", status, path)
				}
			}
		}
	}
	if n := elsewhere.caught.Load(); n > 0 {
		t.Errorf("%d connections went elsewhere", n)
	}
}

// A route's key goes to that route, the caller's credential to the upstream's origin,
// and neither to the other, whatever a redirect says.
func TestEachKeyGoesToItsOwnPlace(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	got := map[string]map[string]bool{} // by place, the credentials that came
	place := func(name string, answer http.HandlerFunc) *httptest.Server {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			if got[name] == nil {
				got[name] = map[string]bool{}
			}
			for _, field := range []string{"Authorization", "Api-Key", "X-Api-Key", "Cookie", "Openai-Organization"} {
				if v := r.Header.Get(field); v != "" {
					got[name][v] = true
				}
			}
			mu.Unlock()
			answer(w, r)
		}))
		t.Cleanup(s.Close)
		return s
	}
	up := place("upstream", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "{}") })
	third := place("third", func(w http.ResponseWriter, r *http.Request) {
		stream(w, "SUMMARY: all is said, nothing is open.", "stop")
	})
	first := place("first", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, third.URL+"/v1/chat/completions", http.StatusTemporaryRedirect)
	})
	second := place("second", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	file := t.TempDir() + "/foldgate.yaml"
	replaceFile(t, file, fmt.Sprintf(`
upstream: %s
windows: {"*": 4000}
summarizer:
  routes:
    - {name: first, url: "%s", api_key_env: FIRST}
    - {name: second, url: "%s"}
    - {name: third, url: "%s", api_key_env: THIRD}
`, up.URL, first.URL, second.URL, third.URL))
	g := start(t, []string{"FIRST=key-first", "THIRD=key-third"}, "--config", file)
	a := g.chat(longChat("keys", overTurns), "Authorization", "Bearer key-caller", "Api-Key", "key-caller-2", "Cookie", "key-cookie", "Openai-Organization", "org")
	if !strings.HasPrefix(a.header.Get("Foldgate-Fold"), "committed") {
		t.Errorf("%d %v", a.status, a.header)
	}
	mu.Lock()
	defer mu.Unlock()
	want := map[string]string{"upstream": "Bearer key-caller key-caller-2 key-cookie org", "first": "Bearer key-first", "second": "", "third": "Bearer key-third"}
	for name, credentials := range want {
		if _, asked := got[name]; !asked {
			t.Errorf("%s was never asked", name)
		}
		for c := range got[name] {
			if !strings.Contains(credentials, c) {
				t.Errorf("%s got %q", name, c)
			}
			credentials = strings.ReplaceAll(credentials, c, "")
		}
		if strings.TrimSpace(credentials) != "" {
			t.Errorf("%s lacks %q", name, credentials)
		}
	}
}
