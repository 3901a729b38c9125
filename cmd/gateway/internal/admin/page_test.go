package admin_test

import (
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
)

// policy is what the page's files say of what the page may do.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// names are the paths of the page's files.
func names(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir("page")
	if err != nil {
		t.Fatal(err)
	}
	paths := []string{"/"}
	for _, e := range entries {
		if e.Name() != "index.html" {
			paths = append(paths, "/assets/"+e.Name())
		}
	}
	if len(paths) < 10 {
		t.Fatalf("found only %q", paths)
	}
	return paths
}

// The page's files need no token, are asked for each time, and come once.
func TestPageFiles(t *testing.T) {
	t.Parallel()
	p := newPlane(t, withToken)
	kinds := map[string]string{"js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8", "svg": "image/svg+xml", "/": "text/html; charset=utf-8"}
	tags := map[string]bool{}
	for _, path := range names(t) {
		got := p.do(call{path: path})
		kind := kinds[path[strings.LastIndexByte(path, '.')+1:]]
		if got.status != http.StatusOK || got.header.Get("Content-Type") != kind || got.body == "" {
			t.Errorf("%s: got %d %q", path, got.status, got.header.Get("Content-Type"))
		}
		tag := got.header.Get("ETag")
		for name, want := range map[string]string{
			"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "Cache-Control": "no-cache",
			"Referrer-Policy": "no-referrer", "Cross-Origin-Resource-Policy": "same-origin",
		} {
			if got.header.Get(name) != want {
				t.Errorf("%s: %s is %q", path, name, got.header.Get(name))
			}
		}
		if tags[tag] {
			t.Errorf("%s: the tag %s is another file's", path, tag)
		}
		tags[tag] = true
		head := p.do(call{method: http.MethodHead, path: path})
		if head.status != http.StatusOK || head.body != "" || head.header.Get("ETag") != tag || head.header.Get("Content-Length") != got.header.Get("Content-Length") {
			t.Errorf("HEAD %s: got %d, %v", path, head.status, head.header)
		}
		for _, has := range []string{tag, "W/" + tag, `"other", ` + tag, "*"} {
			if again := p.do(call{path: path, header: map[string]string{"If-None-Match": has}}); again.status != http.StatusNotModified || again.body != "" || again.header.Get("ETag") != tag {
				t.Errorf("%s with %s: got %d", path, has, again.status)
			}
		}
		for _, has := range []string{`"other"`, strings.Trim(tag, `"`), tag + "x"} {
			if again := p.do(call{path: path, header: map[string]string{"If-None-Match": has}}); again.status != http.StatusOK {
				t.Errorf("%s with %s: got %d", path, has, again.status)
			}
		}
	}
}

func TestNoOtherFiles(t *testing.T) {
	t.Parallel()
	p := newPlane(t, withToken)
	for _, path := range []string{"/assets/", "/assets/none.js", "/assets/index.html", "/assets/..%2fpage.go", "/assets/%2e%2e", "/assets/app.js/x"} {
		if got := p.do(call{path: path, header: bearer(nil)}); got.status != http.StatusNotFound || got.code() != "not_found" {
			t.Errorf("%s: got %d %s", path, got.status, got.body)
		}
	}
	for _, path := range []string{"/", "/assets/app.js"} {
		if got := p.do(call{method: http.MethodPost, path: path, header: bearer(nil)}); got.status != http.StatusMethodNotAllowed || strings.Join(got.header.Values("Allow"), ",") != "GET,HEAD" {
			t.Errorf("%s: got %d %v", path, got.status, got.header.Values("Allow"))
		}
	}
}

// What the policy forbids is not in the files, nor is any way to make HTML of text,
// to keep the token, or to load from elsewhere.
func TestPageKeepsItsRules(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	forbidden := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacent|document\.write|DOMParser|\beval\(|new Function|localStorage|sessionStorage|indexedDB|document\.cookie|\son[a-z]+=|\sstyle=|https?://[^w]|javascript:|data:`)
	imported := regexp.MustCompile(`(?:from|href|src)[ =]["'](?:\./|assets/)([a-z.]+)["']`)
	paths := names(t)
	used := map[string]bool{"/": true}
	for _, path := range paths {
		body := p.do(call{path: path}).body
		if bad := forbidden.FindString(body); bad != "" {
			t.Errorf("%s holds %q", path, bad)
		}
		for _, m := range imported.FindAllStringSubmatch(body, -1) {
			used["/assets/"+m[1]] = true
			if got := p.do(call{path: "/assets/" + m[1]}); got.status != http.StatusOK {
				t.Errorf("%s uses %s: got %d", path, m[1], got.status)
			}
		}
	}
	for _, path := range paths {
		if !used[path] {
			t.Errorf("nothing uses %s", path)
		}
	}
}
