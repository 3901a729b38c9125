package config

import (
	"fmt"
	"strconv"
	"time"

	"github.com/goccy/go-yaml/ast"
)

// readRoutes reads summarizer.routes, the one setting whose elements have
// fields of their own.
func (d *document) readRoutes(n ast.Node) {
	seq, ok := n.(*ast.SequenceNode)
	if !ok {
		d.problem(pathRoutes, n, kind(n), "a list of routes")
		return
	}
	for i, item := range seq.Values {
		d.routes = append(d.routes, d.route(i, d.unwrap(item)))
	}
	d.give(pathRoutes, n)
}

func (d *document) route(index int, n ast.Node) Route {
	path := fmt.Sprintf("%s[%d]", pathRoutes, index)
	var r Route
	entries, ok := d.entries(n)
	if !ok {
		d.problem(path, n, kind(n), "a route with name, url, model")
		// A name, so that one mistake is one problem and the others keep their index.
		return Route{Name: "route-" + strconv.Itoa(index)}
	}
	seen := map[string]bool{}
	for _, e := range entries {
		key, value := path+"."+e.key, d.unwrap(e.value)
		if seen[e.key] {
			d.problem(key, e.node, "it twice", "each key once")
			continue
		}
		seen[e.key] = true
		if isNull(value) {
			continue
		}
		text, ok := scalar(value)
		if !ok {
			d.problem(key, value, kind(value), "a single value")
			continue
		}
		if got, want := setRoute(&r, e.key, text); want != "" {
			d.problem(key, e.node, got, want)
		}
	}
	return r
}

// setRoute sets one field of a route, or says what was wrong with it.
func setRoute(r *Route, key, text string) (got, want string) {
	switch key {
	case "name":
		r.Name = text
	case "url":
		r.URL = text
	case "model":
		r.Model = text
	case "api_key_env":
		r.APIKeyEnv = text
	case "api_key_file":
		r.APIKeyFile = text
	case "window":
		x, err := parseTokens(text)
		if err != nil {
			return strconv.Quote(text), wantTokens
		}
		r.Window = x
	case "idle":
		x, err := time.ParseDuration(text)
		if err != nil {
			return strconv.Quote(text), wantDuration
		}
		r.Idle = x
	default:
		return "an unknown key", "name, url, model, api_key_env, api_key_file, window or idle"
	}
	return "", ""
}
