package llm

import (
	"errors"
	"fmt"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"
)

const endpoint = "/chat/completions"

// EndpointURL makes the URL of the chat-completions endpoint of a base URL as
// SDKs take it: /chat/completions is appended unless it is there, and a URL
// without a path gets /v1 first. The query stays. It must be an absolute http or
// https URL. The error does not repeat the URL, which may hold a key.
func EndpointURL(base string) (string, error) {
	u, err := url.Parse(strings.TrimSpace(base))
	if err != nil {
		return "", errors.New("llm: parse the route's url: not a URL")
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return "", fmt.Errorf("llm: parse the route's url: the scheme is %q, want http or https", u.Scheme)
	}
	if u.Hostname() == "" {
		return "", errors.New("llm: parse the route's url: no host")
	}
	path := strings.TrimRight(u.EscapedPath(), "/")
	switch {
	case path == "":
		path = "/v1" + endpoint
	case !strings.HasSuffix(path, endpoint):
		path += endpoint
	}
	if u.Path, err = url.PathUnescape(path); err != nil {
		return "", errors.New("llm: parse the route's url: not a URL")
	}
	u.RawPath = path // kept by String only where Path alone would be written otherwise
	u.Fragment, u.RawFragment = "", ""
	return u.String(), nil
}

// callersOwn names the headers that are for one connection, or for the body or
// the host of the request that they came with.
func callersOwn(key string) bool {
	switch key {
	case "Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization",
		"Te", "Trailer", "Transfer-Encoding", "Upgrade", "Expect",
		"Host", "Accept", "Accept-Encoding", "Idempotency-Key":
		return true
	}
	for _, prefix := range []string{"Content-", "X-Stainless-", "Foldgate-"} {
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return false
}

// CallerHeader makes the header of a summary call that is made in the name of a
// caller: a copy of h without what belongs to the caller's connection, body or
// retries, and without what is addressed to the gateway. The credential stays,
// so the result must only go to the upstream's own origin.
func CallerHeader(h http.Header) http.Header {
	named := make(map[string]bool)
	for key, values := range h {
		if textproto.CanonicalMIMEHeaderKey(key) != "Connection" {
			continue
		}
		for _, value := range values {
			for name := range strings.SplitSeq(value, ",") {
				named[textproto.CanonicalMIMEHeaderKey(strings.TrimSpace(name))] = true
			}
		}
	}
	kept := make(http.Header, len(h))
	for key, values := range h {
		if canonical := textproto.CanonicalMIMEHeaderKey(key); !callersOwn(canonical) && !named[canonical] {
			kept[key] = append([]string(nil), values...)
		}
	}
	return kept
}
