package foldgate_test

import (
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
