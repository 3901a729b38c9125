package admin

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"path"
	"strings"

	"github.com/go-chi/chi/v5"
)

// assets are the page and what it is made of. They hold no data: what the page
// shows it asks the plane for, with the token that it was given.
//
//go:embed page
var assets embed.FS

// pagePolicy lets the page load its own scripts, styles and icon, and ask its own
// origin; nothing else. Scripts cannot make HTML of text either: there is no policy
// by which a text could become any.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// file is one of the page's own.
type file struct {
	kind string // media type
	tag  string // ETag, quotes included: it changes with the content only
	body []byte
}

const indexName = "index.html"

// pageFiles reads the embedded files. A build without one of them does not start:
// the patterns above are checked when the program is compiled.
func pageFiles() map[string]file {
	kinds := map[string]string{
		".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8",
		".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
	}
	files := map[string]file{}
	entries, _ := assets.ReadDir("page") // an embedded folder can always be read
	for _, e := range entries {
		body, _ := assets.ReadFile("page/" + e.Name())
		sum := sha256.Sum256(body)
		files[e.Name()] = file{kind: kinds[path.Ext(e.Name())], tag: `"` + hex.EncodeToString(sum[:12]) + `"`, body: body}
	}
	return files
}

// page serves the page itself.
func (p *plane) page(w http.ResponseWriter, r *http.Request) {
	p.files[indexName].serve(w, r)
}

// asset serves a file of the page by its name.
func (p *plane) asset(w http.ResponseWriter, r *http.Request) {
	name := chi.URLParam(r, "name")
	f, known := p.files[name]
	if !known || name == indexName {
		refuse(w, problemNoRoute)
		return
	}
	f.serve(w, r)
}

// serve answers with the file, or with 304 where the browser has it. It is asked
// for each time: after an update nobody sees an old script beside a new page.
func (f file) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", pagePolicy)
	h.Set("Cache-Control", "no-cache")
	h.Set("ETag", f.tag)
	if matches(r.Header.Values("If-None-Match"), f.tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	send(w, http.StatusOK, f.kind, f.body)
}

// matches reports whether a list of tags names one, by the weak comparison.
func matches(lists []string, tag string) bool {
	for _, list := range lists {
		for one := range strings.SplitSeq(list, ",") {
			if one = strings.TrimPrefix(strings.TrimSpace(one), "W/"); one == tag || one == "*" {
				return true
			}
		}
	}
	return false
}
