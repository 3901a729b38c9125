package refusal_test

import (
	"strings"
	"testing"

	"github.com/foldgate/foldgate/compression/refusal"
)

func TestReadUsage(t *testing.T) {
	tests := []struct {
		name, data string
		want       refusal.Usage
		ok         bool
	}{
		{"response", `{"id":"x","choices":[{"message":{"content":"hi"}}],"usage":{"prompt_tokens":20,"completion_tokens":2,"total_tokens":22}}`, refusal.Usage{PromptTokens: 20, CompletionTokens: 2}, true},
		{"usage first", `{"usage":{"prompt_tokens":20,"completion_tokens":2},"choices":[]}`, refusal.Usage{PromptTokens: 20, CompletionTokens: 2}, true},
		{"white space", "{ \"usage\" :\n {\t\"prompt_tokens\" : 7 } }", refusal.Usage{PromptTokens: 7}, true},
		{"details", `{"usage":{"completion_tokens_details":{"reasoning_tokens":1},"prompt_tokens_details":{"cached_tokens":5,"prompt_tokens":99},"completion_tokens":3,"prompt_tokens":8}}`, refusal.Usage{PromptTokens: 8, CompletionTokens: 3}, true},
		{"null after a chunk with counts", `{"usage":{"prompt_tokens":8},"x":{"usage":null}}`, refusal.Usage{PromptTokens: 8}, true},
		{"inside x_groq", `{"choices":[],"x_groq":{"id":"r","usage":{"prompt_tokens":8,"completion_tokens":1}}}`, refusal.Usage{PromptTokens: 8, CompletionTokens: 1}, true},
		{"null", `{"choices":[{"delta":{}}],"usage":null}`, refusal.Usage{}, false},
		{"none", `{"choices":[]}`, refusal.Usage{}, false},
		{"empty object", `{"usage":{}}`, refusal.Usage{}, false},
		{"zeros", `{"usage":{"prompt_tokens":0,"completion_tokens":0}}`, refusal.Usage{}, false},
		{"wrong types", `{"usage":{"prompt_tokens":"8","completion_tokens":[1]}}`, refusal.Usage{}, false},
		{"negative", `{"usage":{"prompt_tokens":-8,"completion_tokens":1}}`, refusal.Usage{CompletionTokens: 1}, true},
		{"absurd", `{"usage":{"prompt_tokens":1e300}}`, refusal.Usage{}, false},
		{"cut", `{"usage":{"prompt_tokens":8,"compl`, refusal.Usage{PromptTokens: 8}, true},
		{"ends after the key", `{"usage"`, refusal.Usage{}, false},
		{"quoted by the answer", `{"choices":[{"message":{"content":"{\"usage\":{\"prompt_tokens\":1}}"}}]}`, refusal.Usage{}, false},
		{"a string of that word", `{"usage":{"prompt_tokens":8},"type":"usage"}`, refusal.Usage{PromptTokens: 8}, true},
		{"nothing", ``, refusal.Usage{}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := refusal.ReadUsage([]byte(tt.data))
			if got != tt.want || ok != tt.ok {
				t.Errorf("got %+v, %v, want %+v, %v", got, ok, tt.want, tt.ok)
			}
		})
	}
}

// Benchmarks bound what observing an answer costs.
func BenchmarkReadUsage(b *testing.B) {
	text := strings.Repeat("some words of an answer, \\\"quoted\\\" ones too. ", 20000)
	for _, bench := range []struct{ name, data string }{
		{"chunk", `{"id":"chatcmpl-1","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"content":" word"},"finish_reason":null}],"usage":null}`},
		{"usage-chunk", `{"id":"chatcmpl-1","choices":[],"usage":{"prompt_tokens":20,"completion_tokens":2,"total_tokens":22,"prompt_tokens_details":{"cached_tokens":0}}}`},
		{"large-answer", `{"choices":[{"message":{"content":"` + text + `"}}],"usage":{"prompt_tokens":20,"completion_tokens":2}}`},
		{"large-answer-without", `{"choices":[{"message":{"content":"` + text + `"}}]}`},
	} {
		b.Run(bench.name, func(b *testing.B) {
			data := []byte(bench.data)
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				refusal.ReadUsage(data)
			}
		})
	}
}

func BenchmarkInStream(b *testing.B) {
	data := []byte(`{"id":"chatcmpl-1","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"content":" word"},"finish_reason":null}],"usage":null}`)
	b.ReportAllocs()
	for b.Loop() {
		refusal.InStream(data)
	}
}

// BenchmarkClassify: an error as it comes, and the worst that an upstream can send.
func BenchmarkClassify(b *testing.B) {
	for _, bench := range []struct{ name, body string }{
		{"openai", openAI("This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.")},
		{"unknown", openAI("The model does not exist.")},
		{"hostile", openAI(strings.Repeat("context tool_use maximum context length is 1 token you requested too large {", 860))},
	} {
		b.Run(bench.name, func(b *testing.B) {
			body := []byte(bench.body)
			b.ReportAllocs()
			for b.Loop() {
				refusal.Classify(400, body)
			}
		})
	}
}
