package semconv

import "strings"

// Method is http.request.method for a request's method, and the name by which a
// span is called that has no route.
func Method(method string) (attribute, span string) {
	for _, known := range Methods() {
		if method == known {
			return known, known
		}
	}
	if method == "" { // what net/http takes for GET
		return "GET", "GET"
	}
	return MethodOther, SpanHTTP
}

// ChatRoute is http.route of a request, and its span's name after the method; empty
// where it is no chat request. What comes before the part that all of them share is
// the caller's to choose, a deployment's name for example, and stays out of names.
func ChatRoute(method, path string) string {
	const shared = "/chat/completions"
	switch {
	case method != "POST" || !strings.HasSuffix(path, shared):
		return ""
	case path == shared: // and not path itself, which would keep a request's URL in memory
		return shared
	case path == "/v1"+shared:
		return "/v1" + shared
	}
	return "{prefix}" + shared
}

// Methods are the request methods that the conventions know.
func Methods() []string {
	return []string{"GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "QUERY"}
}

// maxModelName is the longest name of a model in a trace, in bytes.
const maxModelName = 256

// ModelName reports whether a trace names that model. Callers and servers write
// whatever they like where the name belongs; what cannot be one stays out.
func ModelName(model string) bool {
	odd := func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 }
	return model != "" && len(model) <= maxModelName && strings.ToValidUTF8(model, "") == model && !strings.ContainsFunc(model, odd)
}

// SummarySpan is the name of the span of a call for a summary.
func SummarySpan(model string) string {
	if !ModelName(model) {
		return OperationChat
	}
	return OperationChat + " " + model
}

// FinishReasons are the words of servers for why an answer ended.
func FinishReasons() []string {
	return []string{
		"stop", "length", "content_filter", "tool_calls", "function_call", "error",
		"end_turn", "stop_sequence", "max_tokens", "tool_use", "refusal", "eos", "eos_token", "abort",
	}
}

// FinishReason is one of FinishReasons, or ErrorOther for whatever else a server
// writes in its place.
func FinishReason(said string) string {
	for _, known := range FinishReasons() {
		if said == known {
			return known
		}
	}
	return ErrorOther
}

// The providers that hosts tell, by the end of the host's name.
func providers() [][2]string {
	return [][2]string{
		{"openai.azure.com", "azure.ai.openai"},
		{"cognitiveservices.azure.com", "azure.ai.openai"},
		{"services.ai.azure.com", "azure.ai.inference"},
		{"anthropic.com", "anthropic"},
		{"amazonaws.com", "aws.bedrock"},
		{"aiplatform.googleapis.com", "gcp.vertex_ai"},
		{"generativelanguage.googleapis.com", "gcp.gemini"},
		{"cohere.com", "cohere"},
		{"cohere.ai", "cohere"},
		{"deepseek.com", "deepseek"},
		{"groq.com", "groq"},
		{"mistral.ai", "mistral_ai"},
		{"moonshot.ai", "moonshot_ai"},
		{"moonshot.cn", "moonshot_ai"},
		{"perplexity.ai", "perplexity"},
		{"x.ai", "x_ai"},
	}
}

// DefaultProvider is gen_ai.provider.name of a host that says nothing: it is
// spoken to in OpenAI's format, which is what the attribute tells readers.
const DefaultProvider = "openai"

// Provider is gen_ai.provider.name of a host.
func Provider(host string) string {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	for _, p := range providers() {
		if name, ok := strings.CutSuffix(host, p[0]); ok && (name == "" || strings.HasSuffix(name, ".") || p[0] == "aiplatform.googleapis.com") {
			return p[1]
		}
	}
	return DefaultProvider
}
