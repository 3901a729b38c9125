package admin

import (
	"crypto/sha256"
	"crypto/subtle"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// guard decides who may ask. See the package documentation.
type guard struct {
	names map[string]bool
	// token is the digest of the bearer, so that comparing takes the same time for
	// every length.
	token [sha256.Size]byte
	open  bool // no token is configured
}

func newGuard(hosts []string, token string) guard {
	g := guard{names: map[string]bool{"localhost": true}, token: sha256.Sum256([]byte(token)), open: token == ""}
	for _, h := range hosts {
		g.names[canonicalHost(h)] = true
	}
	return g
}

// host refuses a request that does not name in Host an address under which this
// plane can be known.
func (g guard) host(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !g.knows(r) {
			refuse(w, problemHost)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (g guard) knows(r *http.Request) bool {
	name := canonicalHost(hostOnly(r.Host))
	if g.names[name] {
		return true
	}
	named, err := netip.ParseAddr(name)
	if err != nil {
		return false
	}
	// The address that this very connection came to is one that we listen on, also
	// when we listen on all of them.
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return false
	}
	reached, err := netip.ParseAddrPort(local.String())
	return err == nil && reached.Addr().Unmap().WithZone("") == named.Unmap()
}

// bearer refuses a request without the token, where there is one.
func (g guard) bearer(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !g.open && !g.authorized(r) {
			w.Header().Set("WWW-Authenticate", `Bearer realm="foldgate"`)
			refuse(w, problemToken)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (g guard) authorized(r *http.Request) bool {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	sum := sha256.Sum256([]byte(strings.TrimSpace(token)))
	return subtle.ConstantTimeCompare(sum[:], g.token[:]) == 1 && strings.EqualFold(scheme, "Bearer")
}

// privileged refuses what needs a token to be configured at all. The bearer was
// checked before.
func (g guard) privileged(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if g.open {
			refuse(w, problemNoToken)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// sameOrigin refuses a change that another site's page sent.
func (g guard) sameOrigin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if foreign(r) {
			refuse(w, problemOrigin)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// foreign reports whether a browser says that the request comes from another
// origin. Programs send neither header.
func foreign(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
	default:
		return true
	}
	for _, origin := range r.Header.Values("Origin") {
		u, err := url.Parse(origin)
		if err != nil || u.Host == "" || !strings.EqualFold(u.Host, r.Host) {
			return true
		}
	}
	return false
}

// json refuses a body of another kind, above all those that a form can send
// without asking first.
func (g guard) json(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
		if err != nil || kind != "application/json" {
			refuse(w, problemContentType)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// quiet sets what every response of the plane says to browsers and caches: load
// nothing, be framed by nobody, keep nothing.
func quiet(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// hostOnly is a Host without its port.
func hostOnly(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return strings.Trim(hostport, "[]")
}

// canonicalHost is the form in which hosts are compared.
func canonicalHost(host string) string {
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}
