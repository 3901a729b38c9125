package foldgate_test

import (
	"bytes"
	"context"
	"slices"
	"strconv"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/foldgate/foldgate"
	"github.com/foldgate/foldgate/middleware"
)

func description(t *testing.T) *openapi3.T {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(foldgate.OpenAPI)
	if err != nil {
		t.Fatalf("read openapi.yaml: %v", err)
	}
	return doc
}

func TestOpenAPIIsValid(t *testing.T) {
	t.Parallel()
	doc := description(t)
	if err := doc.Validate(context.Background()); err != nil {
		t.Errorf("openapi.yaml: %v", err)
	}
	if doc.OpenAPI != "3.1.0" {
		t.Errorf("got version %q", doc.OpenAPI)
	}
}

// What a reader or a generator of clients needs is there, and nothing that is not
// used. scripts/lint-openapi.sh asks for more, with a linter of its own.
func TestOpenAPIDescribesEverything(t *testing.T) {
	t.Parallel()
	doc := description(t)
	ids := map[string]bool{}
	var tags []string
	for _, tag := range doc.Tags {
		tags = append(tags, tag.Name)
	}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			at := method + " " + path
			if op.OperationID == "" || ids[op.OperationID] || op.Summary == "" || op.Description == "" {
				t.Errorf("%s: operationId %q, summary %q, description %q", at, op.OperationID, op.Summary, op.Description)
			}
			ids[op.OperationID] = true
			if len(op.Tags) != 1 || !slices.Contains(tags, op.Tags[0]) {
				t.Errorf("%s has the tags %q", at, op.Tags)
			}
			for _, p := range slices.Concat(item.Parameters, op.Parameters) {
				if p.Value.Description == "" {
					t.Errorf("%s: the parameter %s is not described", at, p.Value.Name)
				}
			}
			for status, r := range op.Responses.Map() {
				if r.Value.Description == nil || *r.Value.Description == "" {
					t.Errorf("%s: %s is not described", at, status)
				}
			}
		}
	}
	used := func(kind, name string) {
		if !bytes.Contains(foldgate.OpenAPI, []byte("'#/components/"+kind+"/"+name+"'")) {
			t.Errorf("the component %s of the %s is not used", name, kind)
		}
	}
	for name, s := range doc.Components.Schemas {
		used("schemas", name)
		if s.Value.Description == "" {
			t.Errorf("the schema %s is not described", name)
		}
	}
	for name, h := range doc.Components.Headers {
		used("headers", name)
		if h.Value.Description == "" || h.Value.Example == nil {
			t.Errorf("the header %s: description %q, example %v", name, h.Value.Description, h.Value.Example)
		}
	}
	for name := range doc.Components.Responses {
		used("responses", name)
	}
	for name := range doc.Components.Parameters {
		used("parameters", name)
	}
	for name := range doc.Components.RequestBodies {
		used("requestBodies", name)
	}
}

// The examples are what they are examples of.
func TestOpenAPIExamples(t *testing.T) {
	t.Parallel()
	seen := 0
	check := func(at string, schema *openapi3.SchemaRef, example any) {
		if example == nil {
			return
		}
		seen++
		if err := schema.Value.VisitJSON(example, openapi3.EnableJSONSchema2020()); err != nil {
			t.Errorf("the example of %s: %v", at, err)
		}
	}
	doc := description(t)
	for name, h := range doc.Components.Headers {
		check(name, h.Value.Schema, h.Value.Example)
	}
	for name, b := range doc.Components.RequestBodies {
		for _, media := range b.Value.Content {
			check(name, media.Schema, media.Example)
		}
	}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			for _, p := range op.Parameters {
				check(method+" "+path+" "+p.Value.Name, p.Value.Schema, p.Value.Example)
			}
			for status, r := range op.Responses.Map() {
				for _, media := range r.Value.Content {
					check(method+" "+path+" "+status, media.Schema, media.Example)
				}
			}
		}
	}
	if seen < 15 {
		t.Errorf("only %d examples were looked at", seen)
	}
}

// The errors of the data plane are those of the middleware's table, both ways.
func TestOpenAPIListsTheErrorsOfTheTable(t *testing.T) {
	t.Parallel()
	var got, want []string
	for status, response := range description(t).Paths.Value("/v1/chat/completions").Post.Responses.Map() {
		if status == "default" {
			continue
		}
		for _, code := range codes(t, status, response.Value) {
			got = append(got, status+" "+code)
		}
	}
	for _, e := range middleware.ErrorTable() {
		want = append(want, strconv.Itoa(e.Status)+" "+e.Code)
		if e.RetryAfter > 0 {
			response := description(t).Paths.Value("/v1/chat/completions").Post.Responses.Status(e.Status)
			if response == nil || response.Value.Headers["Retry-After"] == nil {
				t.Errorf("%d %s has no Retry-After", e.Status, e.Code)
			}
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("openapi.yaml has the errors %q, the table has %q", got, want)
	}
}

// codes are the values that a response's error code may have.
func codes(t *testing.T, status string, r *openapi3.Response) []string {
	t.Helper()
	media := r.Content.Get("application/json")
	if media == nil {
		t.Fatalf("%s: no application/json", status)
	}
	var all []string
	for _, part := range media.Schema.Value.AllOf {
		if part.Value.Properties["error"] == nil || part.Value.Properties["error"].Value.Properties["code"] == nil {
			continue
		}
		for _, v := range part.Value.Properties["error"].Value.Properties["code"].Value.Enum {
			all = append(all, v.(string))
		}
	}
	if len(all) == 0 {
		t.Errorf("%s: no codes are listed", status)
	}
	return all
}
