package redisstore

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// The ports that a URL may leave out.
const (
	serverPort   = "6379"
	sentinelPort = "26379"
)

// ParseURL reads the address of a Redis deployment:
//
//	redis://[user:pass@]host[:port][/db]                      one server
//	redis+cluster://[user:pass@]host:port[,host:port…]        a cluster
//	redis+sentinel://[user:pass@]host[:port][,…]/master[/db]  a group watched by sentinels
//
// with rediss in place of redis for TLS, by the system's roots and the host's
// own name. User and password are percent-encoded and belong to the servers;
// sentinels that ask for their own are given it as sentinel_username and
// sentinel_password in the query. The password alone is written ":pass@".
//
// All problems are reported at once, and none of them repeats a password. The
// result says where the servers are and nothing else; Open adds how to talk to
// them.
func ParseURL(s string) (*redis.UniversalOptions, error) {
	u, err := splitURL(s)
	if err != nil {
		return nil, err
	}
	p := &urlParser{options: &redis.UniversalOptions{}}
	p.scheme(u.scheme)
	p.user(u.user)
	p.hosts(u.hosts)
	p.path(u.path)
	p.query(u.query)
	if len(p.problems) > 0 {
		return nil, errors.Join(p.problems...)
	}
	return p.options, nil
}

// CheckURL reports everything that is wrong with a URL, nil if ParseURL takes
// it. It asks no server.
func CheckURL(s string) error {
	_, err := ParseURL(s)
	return err
}

// urlParts is a URL by its punctuation. net/url refuses the lists of hosts that
// clusters and sentinels need, so the five parts are cut here.
type urlParts struct{ scheme, user, hosts, path, query string }

func splitURL(s string) (urlParts, error) {
	var u urlParts
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok {
		return u, errors.New("redis url: no scheme: begin with redis://, rediss://, redis+cluster:// or redis+sentinel://")
	}
	if strings.ContainsAny(s, " \t\r\n") {
		return u, errors.New("redis url: white space: encode it as %20")
	}
	if strings.Contains(rest, "#") {
		return u, errors.New("redis url: a # begins a fragment, which means nothing here: encode it as %23")
	}
	u.scheme = strings.ToLower(scheme)
	rest, u.query, _ = strings.Cut(rest, "?")
	if strings.Contains(u.query, "@") {
		return u, errors.New("redis url: an @ behind the ?: encode it as %40, or the ? as %3F where it belongs to a password")
	}
	// The last @ ends the user: hosts and paths have none, passwords often do.
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		u.user, rest = rest[:at], rest[at+1:]
		if strings.Contains(u.user, "/") {
			return u, errors.New("redis url: a / in user or password: encode it as %2F")
		}
	}
	u.hosts, u.path, _ = strings.Cut(rest, "/")
	return u, nil
}

type urlParser struct {
	options  *redis.UniversalOptions
	kind     string // "", "cluster" or "sentinel"
	secure   bool
	problems []error
}

func (p *urlParser) problem(format string, args ...any) {
	p.problems = append(p.problems, fmt.Errorf("redis url: "+format, args...))
}

func (p *urlParser) scheme(scheme string) {
	base, kind, _ := strings.Cut(scheme, "+")
	known := (base == "redis" || base == "rediss") && (kind == "" || kind == "cluster" || kind == "sentinel")
	if !known || strings.HasSuffix(scheme, "+") {
		p.problem("scheme %q: use redis, rediss, redis+cluster, rediss+cluster, redis+sentinel or rediss+sentinel", scheme)
		return
	}
	p.kind, p.secure = kind, base == "rediss"
	p.options.IsClusterMode = kind == "cluster"
}

func (p *urlParser) user(user string) {
	if user == "" {
		return
	}
	name, password, _ := strings.Cut(user, ":")
	var err error
	if p.options.Username, err = url.PathUnescape(name); err != nil {
		p.problem("user: not percent-encoded")
	}
	if p.options.Password, err = url.PathUnescape(password); err != nil {
		p.problem("password: not percent-encoded")
	}
	if password == "" {
		p.problem("user without a password: write user:password@, or :password@")
	}
}

func (p *urlParser) hosts(list string) {
	if list == "" {
		p.problem("no host")
		return
	}
	if p.kind == "" && strings.Contains(list, ",") {
		p.problem("several hosts: use redis+cluster:// or redis+sentinel://")
		return
	}
	for entry := range strings.SplitSeq(list, ",") {
		p.host(entry)
	}
	if p.secure && len(p.options.Addrs) > 0 {
		// The name to verify is filled in per host by the dialer of crypto/tls where
		// there are several; with one it is that one.
		p.options.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12}
		if len(p.options.Addrs) == 1 && p.kind == "" {
			p.options.TLSConfig.ServerName, _, _ = net.SplitHostPort(p.options.Addrs[0])
		}
	}
}

func (p *urlParser) host(entry string) {
	host, port, err := cutPort(entry)
	switch {
	case entry == "":
		p.problem("an empty host in the list")
		return
	case err != nil:
		p.problem("host %q: %v", entry, err)
		return
	case host == "":
		p.problem("host %q: no name before the port", entry)
		return
	}
	if port == "" {
		switch p.kind {
		case "cluster":
			p.problem("host %q: no port", entry)
			return
		case "sentinel":
			port = sentinelPort
		default:
			port = serverPort
		}
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		p.problem("host %q: port %q: 1 to 65535", entry, port)
		return
	}
	p.options.Addrs = append(p.options.Addrs, net.JoinHostPort(host, port))
}

// cutPort splits host[:port] and [v6]:port; the port may be missing.
func cutPort(entry string) (host, port string, err error) {
	if inner, ok := strings.CutPrefix(entry, "["); ok {
		host, rest, closed := strings.Cut(inner, "]")
		if !closed || net.ParseIP(host) == nil {
			return "", "", errors.New("an address in brackets is an IPv6 address")
		}
		if rest == "" {
			return host, "", nil
		}
		if !strings.HasPrefix(rest, ":") {
			return "", "", errors.New("only a port may follow the bracket")
		}
		return host, rest[1:], nil
	}
	if strings.Count(entry, ":") > 1 {
		return "", "", errors.New("an IPv6 address stands in brackets")
	}
	host, port, colon := strings.Cut(entry, ":")
	if colon && port == "" {
		return "", "", errors.New("no port after the colon")
	}
	return host, port, nil
}

func (p *urlParser) path(path string) {
	path = strings.TrimSuffix(path, "/")
	switch p.kind {
	case "cluster":
		if path != "" {
			p.problem("database %q: a cluster has only one", path)
		}
	case "sentinel":
		master, db, _ := strings.Cut(path, "/")
		name, err := url.PathUnescape(master)
		if err != nil || name == "" {
			p.problem("no master: the name that the sentinels know follows the hosts, as in …:26379/mymaster")
		}
		p.options.MasterName = name
		p.database(db)
	default:
		p.database(path)
	}
}

func (p *urlParser) database(db string) {
	if db == "" {
		return
	}
	n, err := strconv.Atoi(db)
	if err != nil || n < 0 || strings.HasPrefix(db, "+") {
		p.problem("database %q: a number from 0", db)
		return
	}
	p.options.DB = n
}

func (p *urlParser) query(query string) {
	values, err := url.ParseQuery(query)
	if err != nil {
		p.problem("query: not percent-encoded")
		return
	}
	for name, value := range values {
		switch {
		case p.kind == "sentinel" && name == "sentinel_username":
			p.options.SentinelUsername = value[0]
		case p.kind == "sentinel" && name == "sentinel_password":
			p.options.SentinelPassword = value[0]
		default:
			p.problem("unknown parameter %q", name)
		}
	}
}
