package semconv_test

import (
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	upstream "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/foldgate/foldgate/internal/semconv"
)

// The general names are those of the version that is named.
func TestNamesFollowTheirVersion(t *testing.T) {
	t.Parallel()
	if semconv.SchemaURL != upstream.SchemaURL {
		t.Errorf("schema %s, want %s", semconv.SchemaURL, upstream.SchemaURL)
	}
	for ours, theirs := range map[attribute.Key]attribute.Key{
		semconv.KeyErrorType:              upstream.ErrorTypeKey,
		semconv.KeyHTTPRequestMethod:      upstream.HTTPRequestMethodKey,
		semconv.KeyHTTPRequestMethodOrig:  upstream.HTTPRequestMethodOriginalKey,
		semconv.KeyHTTPResponseStatusCode: upstream.HTTPResponseStatusCodeKey,
		semconv.KeyHTTPRoute:              upstream.HTTPRouteKey,
		semconv.KeyProtocolVersion:        upstream.NetworkProtocolVersionKey,
		semconv.KeyServerAddress:          upstream.ServerAddressKey,
		semconv.KeyServerPort:             upstream.ServerPortKey,
		semconv.KeyServiceInstanceID:      upstream.ServiceInstanceIDKey,
		semconv.KeyServiceName:            upstream.ServiceNameKey,
		semconv.KeyServiceVersion:         upstream.ServiceVersionKey,
		semconv.KeyURLFull:                upstream.URLFullKey,
		semconv.KeyURLPath:                upstream.URLPathKey,
		semconv.KeyURLScheme:              upstream.URLSchemeKey,
	} {
		if ours != theirs {
			t.Errorf("%s, want %s", ours, theirs)
		}
	}
	if semconv.MethodOther != upstream.HTTPRequestMethodOther.Value.AsString() || semconv.ErrorOther != upstream.ErrorTypeOther.Value.AsString() {
		t.Error("the words for anything else differ")
	}
}

func TestMethod(t *testing.T) {
	t.Parallel()
	for method, want := range map[string][2]string{
		"GET": {"GET", "GET"}, "": {"GET", "GET"}, "get": {"_OTHER", "HTTP"}, "BREW": {"_OTHER", "HTTP"}, "QUERY": {"QUERY", "QUERY"},
	} {
		if attribute, span := semconv.Method(method); attribute != want[0] || span != want[1] {
			t.Errorf("%q: got %s and %s", method, attribute, span)
		}
	}
}

func TestChatRoute(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ method, path, want string }{
		{"POST", "/v1/chat/completions", "/v1/chat/completions"},
		{"POST", "/chat/completions", "/chat/completions"},
		{"POST", "/openai/deployments/a/chat/completions", "{prefix}/chat/completions"},
		{"GET", "/v1/chat/completions", ""},
		{"POST", "/v1/chat/completions/x", ""},
		{"POST", "/v1/embeddings", ""},
	} {
		if got := semconv.ChatRoute(tc.method, tc.path); got != tc.want {
			t.Errorf("%s %s: got %q, want %q", tc.method, tc.path, got, tc.want)
		}
	}
}

func TestSummarySpan(t *testing.T) {
	t.Parallel()
	for model, want := range map[string]string{
		"gpt-4o": "chat gpt-4o", "": "chat", "a model/x.gguf": "chat a model/x.gguf", "modèle": "chat modèle",
		"two\nlines": "chat", "\xff": "chat", strings.Repeat("m", 256): "chat " + strings.Repeat("m", 256), strings.Repeat("m", 257): "chat",
	} {
		if got := semconv.SummarySpan(model); got != want {
			t.Errorf("%.40q: got %.40q, want %.40q", model, got, want)
		}
	}
}

func TestFinishReason(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{"stop": "stop", "length": "length", "because I say so": "_OTHER"} {
		if got := semconv.FinishReason(said); got != want {
			t.Errorf("%s: got %s, want %s", said, got, want)
		}
	}
}

func TestProvider(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]string{
		"api.openai.com":                          "openai",
		"mine.openai.azure.com":                   "azure.ai.openai",
		"API.Anthropic.com.":                      "anthropic",
		"bedrock-runtime.us-east-1.amazonaws.com": "aws.bedrock",
		"europe-west1-aiplatform.googleapis.com":  "gcp.vertex_ai",
		"generativelanguage.googleapis.com":       "gcp.gemini",
		"api.x.ai":                                "x_ai",
		"apex.ai":                                 "openai",
		"127.0.0.1":                               "openai",
		"":                                        "openai",
	} {
		if got := semconv.Provider(host); got != want {
			t.Errorf("%s: got %s, want %s", host, got, want)
		}
	}
}
