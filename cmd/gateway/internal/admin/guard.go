package admin

import (
	"crypto/sha256"
	"crypto/subtle"
	"mime"
	"net"
	"net/http"
	"net/netip"
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
		if name := canonicalHost(strings.Trim(h, "[]")); name != "" {
			g.names[name] = true
		}
	}
	return g
}

// check is one rule of who may ask. nil: the request keeps it.
type check func(r *http.Request) *problem

// behind is h for requests that keep all rules.
func (p *plane) behind(h http.HandlerFunc, rules ...check) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if bad := breach(r, rules); bad != nil {
			refuse(w, *bad)
			return
		}
		h(w, r)
	}
}

// breach is the first rule that a request breaks.
func breach(r *http.Request, rules []check) *problem {
	for _, rule := range rules {
		if bad := rule(r); bad != nil {
			return bad
		}
	}
	return nil
}

// host: Host names an address under which this plane can be known.
func (g guard) host(r *http.Request) *problem {
	name := hostOf(r.Host)
	if name == "" || !g.names[name] && !reached(r, name) {
		return &problemHost
	}
	return nil
}

// reached reports whether name is the address that this very connection came to:
// one that we listen on, also when we listen on all of them.
func reached(r *http.Request, name string) bool {
	named, err := netip.ParseAddr(name)
	if err != nil {
		return false
	}
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return false
	}
	here, err := netip.ParseAddrPort(local.String())
	return err == nil && here.Addr().Unmap().WithZone("") == named
}

// bearer: the request carries the token, where there is one.
func (g guard) bearer(r *http.Request) *problem {
	if !g.open && !g.authorized(r) {
		return &problemToken
	}
	return nil
}

// authorized reports whether there is a token and the request carries it. It
// looks at the bearer only: what a browser adds by itself (cookies) or a link can
// hold (a query) is no token.
func (g guard) authorized(r *http.Request) bool {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	sum := sha256.Sum256([]byte(strings.TrimSpace(token)))
	same := subtle.ConstantTimeCompare(sum[:], g.token[:]) == 1
	return same && !g.open && strings.EqualFold(scheme, "Bearer")
}

// privileged: a token is configured at all. The bearer was checked before.
func (g guard) privileged(*http.Request) *problem {
	if g.open {
		return &problemNoToken
	}
	return nil
}

// sameOrigin: no other site's page sent this. Programs send neither header.
func (g guard) sameOrigin(r *http.Request) *problem {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
	default:
		return &problemOrigin
	}
	for _, origin := range r.Header.Values("Origin") {
		if !ownOrigin(origin, r.Host) {
			return &problemOrigin
		}
	}
	return nil
}

// ownOrigin reports whether an Origin is that of the host that was asked. Both
// schemes will do, since something before us may speak TLS; that the page itself
// came over another scheme shows in Sec-Fetch-Site.
func ownOrigin(origin, host string) bool {
	scheme, rest, _ := strings.Cut(origin, "://")
	return (scheme == "http" || scheme == "https") && rest != "" && strings.EqualFold(rest, host)
}

// jsonBody: the body is of a kind that no form can send without asking first.
func jsonBody(r *http.Request) *problem {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		return &problemContentType
	}
	return nil
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

// hostOf is the name or address in a Host, in the form in which hosts are
// compared. Empty: there is none, or it is malformed.
func hostOf(hostport string) string {
	host, port, bracketed := hostport, "", strings.HasPrefix(hostport, "[")
	if end := strings.LastIndexByte(hostport, ']'); bracketed && end > 0 {
		host, port = hostport[1:end], hostport[end+1:]
	} else if colon := strings.IndexByte(hostport, ':'); colon >= 0 {
		host, port = hostport[:colon], hostport[colon:]
	}
	if strings.Trim(strings.TrimPrefix(port, ":"), "0123456789") != "" || port != "" && port[0] != ':' {
		return ""
	}
	if ip, err := netip.ParseAddr(host); bracketed && (err != nil || !ip.Is6() || ip.Zone() != "") {
		return ""
	}
	return canonicalHost(host)
}

// canonicalHost is the form in which hosts are compared: names in lower case and
// without the root's dot, addresses as they are written shortest, those of IPv4
// in IPv6 as IPv4.
func canonicalHost(host string) string {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap().String()
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}
