package llm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/foldgate/foldgate/compression/window"
)

const (
	// maxList is how much of one answer is read. The longest list in use has some
	// hundred models and a few megabytes.
	maxList = 16 << 20
	// askTimeout bounds one request for an advertisement.
	askTimeout = 10 * time.Second
	// maxAdvertised is how many models an Advertisement names beside those that
	// were asked for.
	maxAdvertised = 64
	// maxAsked is how many models one call may ask for.
	maxAsked = 32
)

// AdvertisedCall asks an upstream what its models accept.
type AdvertisedCall struct {
	// Base is what stands before /chat/completions in the URL of a request, its
	// query included, which may hold a key. Nothing but its origin is asked.
	Base *url.URL
	// Header is the header of such a request, the credential included; see
	// CallerHeader. It is not changed.
	Header http.Header
	// Models are the names to look for, as callers write them, at most 32.
	Models []string
}

// Advertisement is what an upstream says of its models.
type Advertisement struct {
	// Models holds the limits by name: of those that were asked for under the names
	// that were asked for, and of a few more. A model that the upstream says nothing
	// about is not in it. Sizes that a model was trained with are no limits.
	Models map[string]window.Limits
	// Changing: the limits are those of what the server has loaded now, or of a
	// server nearby that may be started anew any time.
	Changing bool
	// Unloaded: the server knows a model that was asked for and has not loaded it,
	// so that its limit is not decided yet.
	Unloaded bool
}

// Advertised asks an upstream what its models accept: GET …/models, and where
// that answer, or the host, shows a server that says it elsewhere, what that one
// offers: llama.cpp's /props, Ollama's /api/ps, LM Studio's /api/v1/models and
// /api/v0/models, SGLang's /get_model_info, the /info of text-generation-inference.
// Nothing that is asked loads a model. Redirects are not followed.
//
// An upstream that says nothing about limits is no error. The errors are those of
// Summarize: *StatusError, ErrMalformed, the context's cause, the connection's own.
func (c *Client) Advertised(ctx context.Context, call AdvertisedCall) (Advertisement, error) {
	if len(call.Models) > maxAsked {
		call.Models = call.Models[:maxAsked]
	}
	a := &asking{client: c, call: call, found: newFound(call.Models)}
	err := a.list(ctx)
	if !a.found.complete() && (err == nil || a.worthGoingOn(err)) {
		a.others(ctx)
	}
	if err != nil && !a.answered && len(a.found.limits) == 0 {
		return Advertisement{}, err
	}
	return Advertisement{
		Models:   a.found.limits,
		Unloaded: a.found.unloaded && !a.found.complete(),
		Changing: a.found.changing || Nearby(call.Base),
	}, nil
}

// Nearby reports whether a URL's host is this machine or one of a private network,
// as far as its name shows: there a server is asked for more than a list of
// models, since it is somebody's own.
func Nearby(u *url.URL) bool {
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if ip, err := netip.ParseAddr(host); err == nil {
		ip = ip.Unmap()
		return ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast() || ip.IsUnspecified()
	}
	for _, suffix := range [...]string{".localhost", ".local", ".internal", ".lan"} {
		if strings.HasSuffix(host, suffix) {
			return true
		}
	}
	return host != "" && !strings.Contains(host, ".")
}

// asking is one call on its way.
type asking struct {
	client *Client
	call   AdvertisedCall
	found  *found
	// models is the list that the upstream has, as far as it was read.
	models *modelList
	// answered: something was asked that the upstream knew of.
	answered bool
}

// list asks for the list of models.
func (a *asking) list(ctx context.Context) error {
	a.models = newModelList(a.found)
	err := a.get(ctx, a.beside("/models"), a.models.read)
	a.answered = err == nil
	return err
}

// worthGoingOn reports whether a server that has no list may still be asked for
// something else.
func (a *asking) worthGoingOn(err error) bool {
	var status *StatusError
	switch {
	case errors.As(err, &status):
		return status.Status == http.StatusNotFound || status.Status == http.StatusMethodNotAllowed || status.Status == http.StatusNotImplemented
	case errors.Is(err, ErrMalformed):
		return Nearby(a.call.Base)
	}
	return false
}

// beside is the URL of something under the base.
func (a *asking) beside(path string) *url.URL {
	return a.at(strings.TrimSuffix(a.call.Base.EscapedPath(), "/")+path, "")
}

// root is the URL of something beside the base: local servers have their own API
// beside /v1.
func (a *asking) root(path, query string) *url.URL {
	base := strings.TrimSuffix(a.call.Base.EscapedPath(), "/")
	for _, api := range [...]string{"/api/v0", "/v1"} {
		if rest, ok := strings.CutSuffix(base, api); ok {
			base = rest
			break
		}
	}
	return a.at(base+path, query)
}

func (a *asking) at(path, query string) *url.URL {
	u := *a.call.Base
	if a.call.Base.RawQuery != "" && query != "" {
		query = a.call.Base.RawQuery + "&" + query
	} else if query == "" {
		query = a.call.Base.RawQuery
	}
	u.RawQuery, u.Fragment, u.RawFragment, u.Opaque = query, "", "", ""
	if unescaped, err := url.PathUnescape(path); err == nil {
		u.Path, u.RawPath = unescaped, path
	}
	return &u
}

// get asks for u and has the answer read.
func (a *asking) get(ctx context.Context, u *url.URL, read func(io.Reader) error) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return fmt.Errorf("llm: make the request: %w", withoutURL(err))
	}
	carry(req, a.call.Header)
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Accept-Encoding", "identity")
	forAnthropic(req)
	resp, err := a.client.http.Do(req)
	if err != nil {
		return broken(ctx, "ask for the models", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return refused(ctx, resp)
	}
	if coding := resp.Header.Get("Content-Encoding"); coding != "" && coding != "identity" {
		return ErrMalformed
	}
	if err := read(io.LimitReader(resp.Body, maxList)); err != nil {
		if ctx.Err() != nil {
			return broken(ctx, "read the models", err)
		}
		return ErrMalformed // whatever it was: nothing of a foreign text
	}
	return nil
}

// forAnthropic: its chat completions take a bearer, its list of models does not.
func forAnthropic(req *http.Request) {
	if req.URL.Hostname() != "api.anthropic.com" {
		return
	}
	if key, ok := strings.CutPrefix(req.Header.Get("Authorization"), "Bearer "); ok && req.Header.Get("X-Api-Key") == "" {
		req.Header.Set("X-Api-Key", key)
	}
	if req.Header.Get("Anthropic-Version") == "" {
		req.Header.Set("Anthropic-Version", "2023-06-01")
	}
}
