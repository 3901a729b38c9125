package llm_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/foldgate/foldgate/compression/llm"
)

func TestEndpointURL(t *testing.T) {
	tests := []struct{ base, want string }{
		{"https://api.example.com", "https://api.example.com/v1/chat/completions"},
		{"https://api.example.com/", "https://api.example.com/v1/chat/completions"},
		{" https://api.example.com/v1 ", "https://api.example.com/v1/chat/completions"},
		{"https://api.example.com/v1/", "https://api.example.com/v1/chat/completions"},
		{"https://api.example.com/openai/v1", "https://api.example.com/openai/v1/chat/completions"},
		{"https://api.example.com/v1/chat/completions", "https://api.example.com/v1/chat/completions"},
		{"https://api.example.com/v1/chat/completions/", "https://api.example.com/v1/chat/completions"},
		{"https://api.example.com?api-version=2&x=a%2Fb", "https://api.example.com/v1/chat/completions?api-version=2&x=a%2Fb"},
		{"https://r.example.com/openai/deployments/d/chat/completions?api-version=2", "https://r.example.com/openai/deployments/d/chat/completions?api-version=2"},
		{"http://127.0.0.1:8000#frag", "http://127.0.0.1:8000/v1/chat/completions"},
		{"http://[::1]:8000", "http://[::1]:8000/v1/chat/completions"},
		{"https://h/models%2Fx/v1", "https://h/models%2Fx/v1/chat/completions"},
		{"", ""},
		{"api.example.com/v1", ""},
		{"ftp://h", ""},
		{"http://", ""},
		{"http:opaque", ""},
		{"https://h/%zz", ""},
		{"https://:80", ""},
	}
	for _, tt := range tests {
		got, err := llm.EndpointURL(tt.base)
		if got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%q: got %q, %v, want %q", tt.base, got, err, tt.want)
		}
	}
}

func TestEndpointURLErrorHoldsNoSecret(t *testing.T) {
	for _, base := range []string{"https://user:secret@h/%zz", "h?key=secret", "http://secret:x:y"} {
		if _, err := llm.EndpointURL(base); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", base, err)
		}
	}
}

func TestCallerHeader(t *testing.T) {
	h := http.Header{
		"Authorization":            {"Bearer k"},
		"Api-Key":                  {"k"},
		"Openai-Organization":      {"o"},
		"User-Agent":               {"sdk/1"},
		"X-Request-Id":             {"a", "b"},
		"Connection":               {"close, X-Hop", "x-other"},
		"X-Hop":                    {"1"},
		"X-Other":                  {"1"},
		"Keep-Alive":               {"1"},
		"Proxy-Authorization":      {"1"},
		"Proxy-Connection":         {"1"},
		"Te":                       {"trailers"},
		"Trailer":                  {"X"},
		"Transfer-Encoding":        {"chunked"},
		"Upgrade":                  {"h2c"},
		"Expect":                   {"100-continue"},
		"Host":                     {"h"},
		"Accept":                   {"*/*"},
		"Accept-Encoding":          {"gzip"},
		"Accept-Language":          {"de"},
		"Content-Type":             {"application/json"},
		"Content-Length":           {"5"},
		"Content-Encoding":         {"gzip"},
		"content-md5":              {"x"},
		"Idempotency-Key":          {"i"},
		"X-Stainless-Lang":         {"go"},
		"x-stainless-read-timeout": {"600"},
		"Foldgate-Conversation":    {"c"},
		"Foldgate-Bypass":          {"?1"},
	}
	before := h.Clone()
	got := llm.CallerHeader(h)
	want := http.Header{
		"Authorization": {"Bearer k"}, "Api-Key": {"k"}, "Openai-Organization": {"o"}, "User-Agent": {"sdk/1"},
		"X-Request-Id": {"a", "b"}, "Accept-Language": {"de"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got["X-Request-Id"][0] = "changed"
	if diff := cmp.Diff(before, h); diff != "" {
		t.Errorf("the original was changed:\n%s", diff)
	}
	if got := llm.CallerHeader(nil); len(got) != 0 {
		t.Errorf("nil gives %v", got)
	}
}
