package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/foldgate/foldgate/compression/window"
	"github.com/foldgate/foldgate/redisstore"
)

// minimum values. Below them the program would run and not work.
const (
	minLease           = time.Second
	minRetention       = time.Minute
	minUpstreamTimeout = time.Second
	minBodyLimit       = 1 << 10
	maxRecall          = 0.10
	maxAttempts        = 10000
)

// validate checks every value and how they go together.
func (l *loader) validate() []error {
	v := validator{Config: l.config, sources: l.sources}
	v.addresses(l.Purpose)
	v.shares()
	v.durations()
	v.sizes()
	v.routes()
	v.windowRules()
	return v.problems
}

// Validate reports every problem of a configuration that was not loaded from
// text, as Load does for one that was.
func (c Config) Validate(p Purpose) error {
	l := loader{Input: Input{Purpose: p}, config: &c}
	return errors.Join(l.validate()...)
}

type validator struct {
	*Config
	sources  sources
	problems []error
}

func (v *validator) add(key, got, want string) {
	v.problems = append(v.problems, &Problem{Key: key, Source: v.sources.of(key), Got: got, Want: want})
}

// refuse is add for what the table says is allowed.
func (v *validator) refuse(key, got string) {
	s, _ := settingNamed(key)
	v.add(key, got, s.Allowed)
}

func (v *validator) addresses(p Purpose) {
	v.address("listen", v.Listen)
	v.address("admin_listen", v.AdminListen)
	if host, _, err := net.SplitHostPort(v.AdminListen); err == nil && !loopback(host) && v.AdminToken == "" {
		v.add(pathAdminToken, "none", "a token, since admin_listen "+strconv.Quote(v.AdminListen)+" is not loopback")
	}
	if !fieldValue(string(v.AdminToken)) {
		v.add(pathAdminToken, hidden, wantFieldValue)
	}
	if v.Listen == v.AdminListen && !strings.HasSuffix(v.Listen, ":0") {
		v.add("admin_listen", strconv.Quote(v.AdminListen), "another address than listen")
	}
	for _, h := range v.AdminHosts {
		if !hostName(h) {
			v.refuse("admin_hosts", strconv.Quote(h))
		}
	}
	v.upstream(p)
	v.redis()
	v.storeKeys()
	if v.TenantHeader != "" && !fieldName(v.TenantHeader) {
		v.refuse("tenant_header", strconv.Quote(v.TenantHeader))
	}
	switch v.Mode {
	case ModeFold, ModeObserve, ModeOff:
	default:
		v.refuse("mode", strconv.Quote(string(v.Mode)))
	}
}

func (v *validator) address(key, addr string) {
	_, port, err := net.SplitHostPort(addr)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		v.refuse(key, strconv.Quote(addr))
	}
}

func (v *validator) upstream(p Purpose) {
	if v.Upstream == "" {
		if p == ForServing {
			v.refuse("upstream", "")
		}
		return
	}
	if problem := webURL(v.Upstream); problem != "" {
		v.refuse("upstream", problem)
	}
}

// webURL says why text is no absolute http or https URL, or nothing. It never
// repeats the text: what cannot be parsed may hold a credential anywhere.
func webURL(text string) (problem string) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return "no URL"
	case u.User != nil:
		return "a URL with credentials"
	case u.Scheme != "http" && u.Scheme != "https":
		return "a URL without http or https"
	case u.Hostname() == "":
		return "a URL without a host"
	case u.Fragment != "" || strings.Contains(text, "#"):
		return "a URL with a fragment"
	}
	return ""
}

func (v *validator) redis() {
	if v.RedisURL == "" {
		return
	}
	if err := redisstore.CheckURL(string(v.RedisURL)); err != nil {
		s, _ := settingNamed(pathRedisURL)
		v.add(pathRedisURL, "", s.Allowed+": "+strings.ReplaceAll(err.Error(), "\n", "; "))
	}
}

// storeKeys tells of problems by their place in the list, and of no key.
func (v *validator) storeKeys() {
	if v.StoreKeys == "" {
		return
	}
	if err := redisstore.CheckKeys(string(v.StoreKeys)); err != nil {
		v.add(pathStoreKeys, hidden, wantStoreKeys+": "+strings.ReplaceAll(err.Error(), "\n", "; "))
	}
}

func (v *validator) shares() {
	c := v.Compression
	if c.Trigger <= 0 || c.Trigger >= 1 {
		v.refuse("compression.trigger", number64(c.Trigger))
	}
	if c.Recall < 0 || c.Recall > maxRecall {
		v.refuse("compression.recall", number64(c.Recall))
	}
	switch {
	case c.KeepRecent < 0:
		v.refuse("compression.keep_recent", number64(c.KeepRecent))
	case c.Trigger > 0 && c.KeepRecent+max(c.Recall, 0) >= c.Trigger:
		v.add("compression.keep_recent", number64(c.KeepRecent), fmt.Sprintf("less than trigger %g less recall %g: what is kept must leave room", c.Trigger, c.Recall))
	}
	if c.ReserveOutput < 0 {
		v.refuse("compression.reserve_output", strconv.Itoa(int(c.ReserveOutput)))
	}
	if v.DefaultWindow != 0 && (v.DefaultWindow < window.MinTotal || v.DefaultWindow > window.MaxTotal) {
		v.refuse("default_window", strconv.Itoa(int(v.DefaultWindow)))
	}
}

func (v *validator) durations() {
	v.atLeast("compression.wait", v.Compression.Wait, 0)
	v.atLeast("hold", v.Hold, 0)
	v.atLeast("keepalive", v.Keepalive, 0)
	v.atLeast("drain_delay", v.DrainDelay, 0)
	v.atLeast("drain", v.Drain, 0)
	v.atLeast("lease", v.Lease, minLease)
	v.atLeast("retention", v.Retention, minRetention)
	v.atLeast("upstream_timeout", v.UpstreamTimeout, minUpstreamTimeout)
	v.atLeast("summarizer.idle", v.Summarizer.Idle, time.Millisecond)
	v.atLeast("summarizer.ceiling", v.Summarizer.Ceiling, time.Second) // also under idle: then the ceiling alone bounds a call
}

func (v *validator) atLeast(key string, d, least time.Duration) {
	if d < least {
		v.refuse(key, strconv.Quote(d.String()))
	}
}

func (v *validator) sizes() {
	if v.BodyLimit < minBodyLimit {
		v.refuse("body_limit", strconv.FormatInt(v.BodyLimit, 10))
	}
	if v.Memory < v.BodyLimit {
		v.add("memory", strconv.FormatInt(v.Memory, 10), fmt.Sprintf("at least body_limit, %d", v.BodyLimit))
	}
	if n := v.Summarizer.MaxAttempts; n < 1 || n > maxAttempts {
		v.refuse("summarizer.max_attempts", strconv.Itoa(n))
	}
}

func (v *validator) routes() {
	names := map[string]bool{}
	for i, r := range v.Summarizer.Routes {
		path := fmt.Sprintf("%s[%d]", pathRoutes, i)
		bad := func(field, got, want string) { v.add(path+"."+field, got, want) }
		switch {
		case !routeName(r.Name):
			bad("name", strconv.Quote(r.Name), wantRouteName)
		case names[r.Name]:
			bad("name", strconv.Quote(r.Name), "a name that no route before it has")
		}
		names[r.Name] = true
		if r.URL != "" {
			if problem := webURL(r.URL); problem != "" {
				bad("url", problem, "an http or https URL without credentials, or none for the upstream")
			}
		}
		if !fieldValue(string(r.Key)) {
			bad("key", hidden, wantFieldValue)
		}
		if r.Window < 0 {
			bad("window", strconv.Itoa(int(r.Window)), wantTokens)
		}
		if r.Idle < 0 || r.Idle > v.Summarizer.Ceiling {
			bad("idle", strconv.Quote(r.Idle.String()), "a duration from 0 to summarizer.ceiling, "+v.Summarizer.Ceiling.String())
		}
	}
}

func (v *validator) windowRules() {
	for _, r := range v.Windows {
		if r.Total < window.MinTotal || r.Input < 0 || r.Input > r.Total {
			v.add(pathWindows, fmt.Sprintf("%q: %d/%d", r.Glob, r.Total, r.Input), fmt.Sprintf("a total of at least %d and an input limit of at most the total", window.MinTotal))
		}
	}
}

// loopback reports whether host can be reached from this machine only. An
// empty host is every address. A name other than localhost may be anything.
func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

func number64(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

func hostName(s string) bool {
	if _, err := netip.ParseAddr(strings.Trim(s, "[]")); err == nil {
		return true
	}
	return s != "" && len(s) <= 253 && only(s, "-._")
}

func routeName(s string) bool { return s != "" && len(s) <= 64 && only(s, "-_.") }

func fieldName(s string) bool { return only(s, "!#$%&'*+-.^_`|~") }

const wantStoreKeys = "id=key, once or more, or the word plain"

const wantFieldValue = "one line without control characters: it is sent in a header"

// fieldValue reports whether s can be sent in a header.
func fieldValue(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}

// only reports whether s has nothing but ASCII letters, digits and extra.
func only(s, extra string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && strings.IndexByte(extra, c) < 0 {
			return false
		}
	}
	return true
}
