package contracttest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// Plane is one of the two that the document describes.
type Plane int

// The planes.
const (
	DataPlane Plane = iota + 1
	AdminPlane
)

// response is what there is to judge.
type response struct {
	method, path string
	status       int
	header       http.Header
	trailer      http.Header
	body         []byte // as much of it as was kept
}

// whole reports whether all of the body was kept.
func (r response) whole() bool { return len(r.body) < kept }

func (r response) String() string {
	return fmt.Sprintf("%s %s: %d", r.method, r.path, r.status)
}

// check holds a response against the document.
func (d *Description) check(p Plane, r response) error {
	var err error
	if p == AdminPlane {
		err = d.checkAdmin(r)
	} else {
		err = d.checkData(r)
	}
	if err != nil {
		return fmt.Errorf("%s is not as openapi.yaml says: %w\n%v\n%.500s", r, err, r.header, r.body)
	}
	return nil
}

// checkAdmin is for every response of the admin plane.
func (d *Description) checkAdmin(r response) error {
	path, op := d.operation(r.method, r.path)
	if op == nil {
		return d.checkElsewhere(path, r)
	}
	documented := op.Responses.Value(strconv.Itoa(r.status))
	if documented == nil {
		return errors.New("the status is not documented")
	}
	if err := d.checkResponse(documented.Value, r); err != nil {
		return err
	}
	method := r.method
	if method == http.MethodHead {
		method = http.MethodGet // what it would say is not shown
		if r.status != http.StatusOK {
			return nil
		}
	}
	d.noteResponse(method, path, strconv.Itoa(r.status), documented.Value, r.body)
	return nil
}

// checkElsewhere is for paths and methods that the admin plane does not have:
// the document tells of them in words.
func (d *Description) checkElsewhere(path string, r response) error {
	codes := map[int][]string{
		http.StatusUnauthorized: {"invalid_token"},
		http.StatusForbidden:    {"host_not_allowed"},
		http.StatusNotFound:     {"not_found"},
	}
	if path != "" || !slices.Contains([]string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodDelete}, r.method) {
		codes[http.StatusMethodNotAllowed] = []string{"method_not_allowed"}
	}
	if path != "" {
		delete(codes, http.StatusNotFound)
		if r.status == http.StatusMethodNotAllowed && len(r.header["Allow"]) == 0 {
			return errors.New("the field Allow is missing")
		}
	}
	if r.method == http.MethodHead && codes[r.status] != nil {
		return nil
	}
	code, err := d.checkError(r)
	if err != nil {
		return err
	}
	if !slices.Contains(codes[r.status], code) {
		return fmt.Errorf("a path or method that is none answers %d %s", r.status, code)
	}
	return nil
}

// checkResponse holds header and body against one documented response.
func (d *Description) checkResponse(documented *openapi3.Response, r response) error {
	if err := d.checkHeader(documented, r.header); err != nil {
		return err
	}
	kind := r.header.Get("Content-Type")
	if len(documented.Content) == 0 {
		if kind != "" || len(r.body) > 0 {
			return fmt.Errorf("a body of %q where none is documented", kind)
		}
		return nil
	}
	media := documented.Content.Get(kind)
	if media == nil {
		return fmt.Errorf("the media type %q is not documented", kind)
	}
	if r.method == http.MethodHead || !r.whole() {
		return nil
	}
	return conforms(media.Schema.Value, kind, r.body)
}

// checkHeader holds the documented fields against what came, and ours against
// what is documented.
func (d *Description) checkHeader(documented *openapi3.Response, header http.Header) error {
	for name, h := range documented.Headers {
		values := header.Values(name)
		switch {
		case len(values) == 0 && h.Value.Required:
			return fmt.Errorf("the field %s is missing", name)
		case len(values) > 1:
			return fmt.Errorf("the field %s is there %d times", name, len(values))
		case len(values) == 0:
			continue
		}
		var value any = values[0]
		if h.Value.Schema.Value.Type.Is(openapi3.TypeInteger) {
			n, err := strconv.ParseFloat(values[0], 64)
			if err != nil {
				return fmt.Errorf("the field %s is %q", name, values[0])
			}
			value = n
		}
		if err := visit(h.Value.Schema.Value, value); err != nil {
			return fmt.Errorf("the field %s is %q: %w", name, values[0], err)
		}
	}
	for name := range header {
		if own(name) && documented.Headers[name] == nil {
			return fmt.Errorf("the field %s is not documented", name)
		}
	}
	return nil
}

// checkError holds a body against the envelope of errors and returns its code.
func (d *Description) checkError(r response) (code string, err error) {
	if kind := r.header.Get("Content-Type"); kind != jsonKind {
		return "", fmt.Errorf("the media type of an error is %q", kind)
	}
	if err := conforms(d.doc.Components.Schemas["Error"].Value, jsonKind, r.body); err != nil {
		return "", err
	}
	return codeOf(r.body), nil
}

// noteResponse remembers what a response showed.
func (d *Description) noteResponse(method, path, status string, documented *openapi3.Response, body []byte) {
	if len(codesOf(documented)) > 0 {
		d.note(method, path, status, codeOf(body))
		return
	}
	d.note(method, path, status)
}

// conforms holds a body against a schema. Other bodies than JSON are texts.
func conforms(schema *openapi3.Schema, kind string, body []byte) error {
	var value any = string(body)
	if kind == jsonKind {
		decoder := json.NewDecoder(bytes.NewReader(body))
		if err := decoder.Decode(&value); err != nil {
			return fmt.Errorf("the body is no JSON: %w", err)
		}
		if decoder.More() {
			return errors.New("the body is more than one value")
		}
	}
	return visit(schema, value)
}

func visit(schema *openapi3.Schema, value any) error {
	return schema.VisitJSON(value, openapi3.EnableJSONSchema2020())
}

// codeOf is the code of an error in the envelope, or empty.
func codeOf(body []byte) string {
	var e struct{ Error struct{ Code string } }
	_ = json.Unmarshal(body, &e) // a body that is no error has no code
	return e.Error.Code
}

func own(name string) bool {
	return len(name) > len(ownPrefix) && strings.EqualFold(name[:len(ownPrefix)], ownPrefix)
}
