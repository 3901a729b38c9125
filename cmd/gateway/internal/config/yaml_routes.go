package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
)

// RouteKey describes one field of a route in summarizer.routes.
type RouteKey struct {
	// Name is the field's YAML key.
	Name string
	// Allowed says what is a right value, as the end of the sentence "want …".
	Allowed string
	// About says what it does, what it is without a value, and why.
	About string
}

// RouteKeys returns the fields of a route, in the order of the configuration
// reference.
func RouteKeys() []RouteKey {
	var keys []RouteKey
	for _, f := range routeFields() {
		keys = append(keys, f.RouteKey)
	}
	return keys
}

// routeField is a RouteKey with what puts its value into a route.
type routeField struct {
	RouteKey
	set func(r *Route, text string) error
}

const wantRouteName = "1 to 64 letters, digits, '-', '_' or '.'"

func routeFields() []routeField {
	text := func(of func(*Route) *string) func(*Route, string) error {
		return func(r *Route, s string) error { *of(r) = s; return nil }
	}
	return []routeField{
		{
			RouteKey{"name", wantRouteName, "Required, and each once. It stands in owner records, metrics and logs."},
			text(func(r *Route) *string { return &r.Name }),
		},
		{
			RouteKey{"url", "an http or https URL without credentials, or none for the upstream", "A base URL as SDKs take it: `/chat/completions` is appended unless it is there, and a URL without a path gets `/v1` first. None: the upstream, by the path of the caller's own request."},
			text(func(r *Route) *string { return &r.URL }),
		},
		{
			RouteKey{"model", "the name of a model", "The model to ask. None: the request's own."},
			text(func(r *Route) *string { return &r.Model }),
		},
		{
			RouteKey{"api_key_env", "the name of an environment variable that is set", "Where the route's credential is, sent as a bearer. None, and no `api_key_file`: the caller's own on the upstream's origin, no credential elsewhere."},
			text(func(r *Route) *string { return &r.APIKeyEnv }),
		},
		{
			RouteKey{"api_key_file", "a file that holds the key", "The same from a file, which a reload reads again. One of the two at most."},
			text(func(r *Route) *string { return &r.APIKeyFile }),
		},
		{
			RouteKey{"window", wantTokens, "The window of the route's model. A transcript that does not fit it is summarized in steps. None or 0: what is known of the model by its name, else 32768."},
			func(r *Route, s string) (err error) { r.Window, err = parseTokens(s); return err },
		},
		{
			RouteKey{"idle", wantDuration, "Silence allowed on this route, also before its first text. None or 0: `summarizer.idle`. At most `summarizer.ceiling`."},
			func(r *Route, s string) (err error) { r.Idle, err = time.ParseDuration(s); return err },
		},
	}
}

// readRoutes reads summarizer.routes, the one setting whose elements have
// fields of their own.
func (d *document) readRoutes(n ast.Node) {
	seq, ok := n.(*ast.SequenceNode)
	if !ok {
		d.problem(pathRoutes, n, kind(n), "a list of routes")
		return
	}
	for i, item := range seq.Values {
		d.routes = append(d.routes, d.route(i, item))
	}
	d.give(pathRoutes, n)
}

func (d *document) route(index int, n ast.Node) Route {
	path := fmt.Sprintf("%s[%d]", pathRoutes, index)
	d.place(path, n)
	var r Route
	entries, ok := d.entries(n)
	if !ok {
		d.problem(path, n, kind(d.unwrap(n)), "a route with name, url, model")
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
		d.place(key, e.node)
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

// place notes where something that stands inside a value stands.
func (d *document) place(key string, n ast.Node) {
	d.inside[key] = given{source: d.at(n), rank: fromFile}
}

// setRoute sets one field of a route, or says what was wrong with it.
func setRoute(r *Route, key, text string) (got, want string) {
	var names []string
	for _, f := range routeFields() {
		if f.Name == key {
			if f.set(r, text) != nil {
				return strconv.Quote(text), f.Allowed
			}
			return "", ""
		}
		names = append(names, f.Name)
	}
	return "an unknown key", "one of " + strings.Join(names, ", ")
}
