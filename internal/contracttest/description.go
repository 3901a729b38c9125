package contracttest

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/foldgate/foldgate"
)

// Description is openapi.yaml and what was seen of it. It is safe for concurrent
// use.
type Description struct {
	doc *openapi3.T
	// grammars are those of our own fields, by name.
	grammars map[string]*regexp.Regexp

	mu   sync.Mutex
	seen map[string]bool
}

// The paths and tags that the package looks for.
const (
	chatPath  = "/v1/chat/completions"
	chatEnd   = "/chat/completions"
	adminTag  = "admin plane"
	ownPrefix = "Foldgate-"
	jsonKind  = "application/json"
)

// Load reads openapi.yaml, with nothing seen.
func Load() (*Description, error) {
	doc, err := openapi3.NewLoader().LoadFromData(foldgate.OpenAPI)
	if err != nil {
		return nil, fmt.Errorf("read openapi.yaml: %w", err)
	}
	d := &Description{doc: doc, grammars: map[string]*regexp.Regexp{}, seen: map[string]bool{}}
	for name, h := range doc.Components.Headers {
		if !strings.HasPrefix(name, ownPrefix) {
			continue
		}
		if d.grammars[name], err = regexp.Compile(h.Value.Schema.Value.Pattern); err != nil {
			return nil, fmt.Errorf("read the grammar of %s: %w", name, err)
		}
	}
	d.closeSchemas()
	return d, nil
}

// closeSchemas makes every object with properties one that has no others.
func (d *Description) closeSchemas() {
	shut := false
	done := map[*openapi3.Schema]bool{}
	var walk func(refs ...*openapi3.SchemaRef)
	walk = func(refs ...*openapi3.SchemaRef) {
		for _, ref := range refs {
			if ref == nil || ref.Value == nil || done[ref.Value] {
				continue
			}
			s := ref.Value
			done[s] = true
			if s.Type.Is(openapi3.TypeObject) && len(s.Properties) > 0 && s.AdditionalProperties.Schema == nil {
				s.AdditionalProperties.Has = &shut
			}
			for _, p := range s.Properties {
				walk(p)
			}
			walk(s.Items)
			walk(slices.Concat(s.AllOf, s.OneOf, s.AnyOf)...)
		}
	}
	for _, s := range d.doc.Components.Schemas {
		walk(s)
	}
	d.operations(func(_ string, _ string, op *openapi3.Operation) {
		for _, r := range op.Responses.Map() {
			for _, media := range r.Value.Content {
				walk(media.Schema)
			}
		}
	})
}

// operations visits every operation of the document.
func (d *Description) operations(visit func(method, path string, op *openapi3.Operation)) {
	for path, item := range d.doc.Paths.Map() {
		for method, op := range item.Operations() {
			visit(method, path, op)
		}
	}
}

// operation finds what a request to the admin plane is about. The path is empty
// where no path fits, the operation nil where the path does not take the method.
func (d *Description) operation(method, path string) (template string, op *openapi3.Operation) {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	for t, item := range d.doc.Paths.Map() {
		if !fits(t, path) || t == chatPath {
			continue
		}
		return t, item.GetOperation(method)
	}
	return "", nil
}

// fits reports whether a path is one of the template's.
func fits(template, path string) bool {
	want, got := strings.Split(template, "/"), strings.Split(path, "/")
	return slices.EqualFunc(want, got, func(w, g string) bool {
		return w == g || strings.HasPrefix(w, "{") && g != ""
	})
}

// note remembers that a part of the document was seen.
func (d *Description) note(parts ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.seen[strings.Join(parts, " ")] = true
}

// Unseen lists what the document says of a plane and no response showed: every
// operation with every status and, of an error, every code; of the data plane
// also every word of our own fields.
func (d *Description) Unseen(p Plane) []string {
	var missing []string
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, part := range d.documented(p) {
		if !d.seen[part] {
			missing = append(missing, part)
		}
	}
	slices.Sort(missing)
	return missing
}

// documented names the parts of a plane, as note does.
func (d *Description) documented(p Plane) (parts []string) {
	d.operations(func(method, path string, op *openapi3.Operation) {
		if (p == AdminPlane) != slices.Contains(op.Tags, adminTag) {
			return
		}
		for status, r := range op.Responses.Map() {
			codes := codesOf(r.Value)
			if len(codes) == 0 {
				codes = []string{""}
			}
			for _, code := range codes {
				parts = append(parts, strings.TrimSpace(method+" "+path+" "+status+" "+code))
			}
		}
	})
	if p == DataPlane {
		for name, g := range d.grammars {
			for _, words := range wordsOf(g) {
				for _, w := range words {
					parts = append(parts, name+" "+w)
				}
			}
		}
	}
	return parts
}

// codesOf are the values that a response's error code may have.
func codesOf(r *openapi3.Response) (codes []string) {
	media := r.Content.Get(jsonKind)
	if media == nil {
		return nil
	}
	for _, part := range media.Schema.Value.AllOf {
		envelope := part.Value.Properties["error"]
		if envelope == nil || envelope.Value.Properties["code"] == nil {
			continue
		}
		for _, v := range envelope.Value.Properties["code"].Value.Enum {
			codes = append(codes, fmt.Sprint(v))
		}
	}
	return codes
}

// wordsOf are the words that each group of a grammar may hold.
func wordsOf(g *regexp.Regexp) (groups [][]string) {
	for _, group := range regexp.MustCompile(`\(([a-z|-]+)\)`).FindAllStringSubmatch(g.String(), -1) {
		groups = append(groups, strings.Split(group[1], "|"))
	}
	return groups
}
