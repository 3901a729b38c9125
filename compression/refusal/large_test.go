package refusal_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/foldgate/foldgate/compression/refusal"
)

func tooLarge(bytes int64) refusal.Refusal {
	return refusal.Refusal{Kind: refusal.TooLarge, Bytes: bytes}
}

func TestTooManyBytes(t *testing.T) {
	page := func(title, server string) string {
		return "<html>\r\n<head><title>" + title + "</title></head>\r\n<body>\r\n<center><h1>" + title + "</h1></center>\r\n<hr><center>" + server + "</center>\r\n</body>\r\n</html>\r\n"
	}
	tests := []struct {
		name   string
		status int
		body   string
		want   refusal.Refusal
	}{
		{"nginx", 413, page("413 Request Entity Too Large", "nginx/1.25.3"), tooLarge(0)},
		{"cloudflare", 413, page("413 Payload Too Large", "cloudflare"), tooLarge(0)},
		{"a page with another status", 400, page("400 Request Entity Too Large", "proxy"), tooLarge(0)},
		{"plain text", 413, "413 Request Entity Too Large\n", tooLarge(0)},
		{"nothing at all", 413, "", tooLarge(0)},
		{"an empty object", 413, "{}", tooLarge(0)},
		{"a broken parse", 413, `{"error":{"message":"failed to parse request","code":""}}`, tooLarge(0)},
		{"API gateway", 413, `{"message":"Request Too Long"}`, tooLarge(0)},
		{"anthropic", 413, `{"error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`, tooLarge(0)},
		{"anthropic with its limit", 413, `{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum allowed number of bytes. The maximum request size is 32 MB."}}`, tooLarge(32_000_000)},
		{"anthropic behind a 400", 400, `{"error":{"message":"{\"type\":\"error\",\"error\":{\"type\":\"request_too_large\",\"message\":\"no\"}}","code":400}}`, tooLarge(0)},
		{"bedrock", 413, `{"message":"Request exceeds the maximum allowed size"}`, tooLarge(0)},
		{"gemini", 400, `[{"error":{"code":400,"message":"Request payload size exceeds the limit: 20971520 bytes.","status":"INVALID_ARGUMENT"}}]`, tooLarge(20971520)},
		{"gemini, object", 400, `{"error":{"code":400,"message":"Request payload size exceeds the limit: 4194304 bytes. Please use the File API.","status":"INVALID_ARGUMENT"}}`, tooLarge(4194304)},
		{"fastify", 413, `{"error":{"message":"Maximum request body size 1048576 exceeded, actual body size 1056562","code":413,"status":"Request Entity Too Large"}}`, tooLarge(1048576)},
		{"dashscope", 400, `{"error":{"message":"Exceeded limit on max bytes to request body : 6291456","type":"invalid_request_error"}}`, tooLarge(6291456)},
		{"dashscope, the other buffer", 400, `{"code":"BadRequest","message":"Exceeded limit on max bytes to buffer : 6291456"}`, tooLarge(6291456)},
		{"express", 413, `{"message":"request entity too large","type":"entity.too.large"}`, tooLarge(0)},
		{"express, code alone", 400, `{"error":{"type":"entity.too.large","message":"no"}}`, tooLarge(0)},
		{"express, as a trace", 413, "PayloadTooLargeError: request entity too large\n    at readStream", tooLarge(0)},
		{"go", 413, "http: request body too large\n", tooLarge(0)},
		{"axum", 413, "Failed to buffer the request body: length limit exceeded", tooLarge(0)},
		{"next", 413, "Body exceeded 1mb limit", tooLarge(1_000_000)},
		{"with kibibytes", 413, `{"error":"Request body too large. Max 512KiB allowed."}`, tooLarge(512 << 10)},
		{"with kilobytes", 413, `{"error":"Request body too large. Max 50KB allowed."}`, tooLarge(50_000)},
		{"litellm", 400, `{"error":{"message":"Request size is too large. Request size is 12.5 MB. Max size is 4.5 MB"}}`, tooLarge(4_500_000)},
		{"vercel", 413, `{"error":{"code":"FUNCTION_PAYLOAD_TOO_LARGE","message":"Request Entity Too Large"}}`, tooLarge(0)},
		{"azure", 413, `{"error":{"code":"RequestEntityTooLarge","message":"The request entity is too large."}}`, tooLarge(0)},
		{"RFC 9110", 413, "Content Too Large", tooLarge(0)},
		{"one image", 413, `{"error":{"message":"image too large: at most 5 MB"}}`, refusal.Refusal{}},
		{"one file", 413, `{"detail":"File size exceeds 20MB"}`, refusal.Refusal{}},
		{"in a stream that began", 200, `{"error":{"message":"Request payload size exceeds the limit: 20971520 bytes.","code":400}}`, tooLarge(20971520)},
		{"a limit that cannot be", 400, `{"error":{"message":"Request payload size exceeds the limit: 12 bytes."}}`, tooLarge(0)},
		{"a limit out of this world", 400, `{"error":{"message":"Request payload size exceeds the limit: 99999999999999 bytes."}}`, tooLarge(0)},

		// Tokens, in the words of bytes.
		{"github models", 413, `{"error":{"code":"tokens_limit_reached","message":"Request body too large for gpt-4o model. Max size: 8000 tokens.","details":"Request body too large for gpt-4o model. Max size: 8000 tokens."}}`, overInput(8000, 0)},
		{"413 about tokens", 413, `{"error":{"message":"the prompt has too many tokens"}}`, overflow(0, 0)},
		{"cerebras", 413, `{"message":"Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192"}`, overflow(8192, 9000)},

		// False friends.
		{"groq TPM", 413, `{"error":{"message":"Request too large for model x in organization y service tier z on tokens per minute (TPM): Limit 6000, Requested 14810, please reduce your message size and try again.","type":"tokens","code":"rate_limit_exceeded"}}`, refusal.Refusal{}},
		{"openai TPM", 429, `{"error":{"message":"Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 61337.","type":"tokens","code":"rate_limit_exceeded"}}`, refusal.Refusal{}},
		{"one image", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"messages.58.content.2.image.source.base64: image exceeds 5 MB maximum: 6500712 bytes > 5242880 bytes"}}`, refusal.Refusal{}},
		{"one string", 400, `{"error":{"message":"Invalid 'messages[1].content': string too long. Expected a string with maximum length 10485760, but got a string with length 10500000 instead.","code":"string_above_max_length"}}`, refusal.Refusal{}},
		{"one message", 400, `{"error":{"message":"content is too long, at most 4000 characters"}}`, refusal.Refusal{}},
		{"a server at fault", 502, page("502 Request Entity Too Large", "proxy"), refusal.Refusal{}},
		{"an answer about it", 200, `{"choices":[{"message":{"content":"nginx says \"error\": request entity too large"}}]}`, refusal.Refusal{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, refusal.Classify(tt.status, []byte(tt.body))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// An answer that holds nothing because the input filled the window was refused,
// whatever its status says. One that holds anything is an answer.
func TestAnswersThatTheWindowEnded(t *testing.T) {
	const reason = "model_context_window_exceeded"
	tests := map[string]struct {
		data string
		want refusal.Kind
	}{
		"whole, empty":       {`{"choices":[{"index":0,"message":{"role":"assistant","content":""},"finish_reason":"` + reason + `"}],"usage":{"prompt_tokens":200001,"completion_tokens":0}}`, refusal.Overflow},
		"whole, null":        {`{"choices":[{"message":{"role":"assistant","content":null},"finish_reason":"` + reason + `"}]}`, refusal.Overflow},
		"first event":        {`{"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason": "` + reason + `"}]}`, refusal.Overflow},
		"anthropic":          {`{"type":"message","content":[],"stop_reason":"` + reason + `"}`, refusal.Overflow},
		"cut in the middle":  {`{"choices":[{"message":{"content":"so far"},"finish_reason":"` + reason + `"}]}`, refusal.None},
		"after reasoning":    {`{"choices":[{"message":{"content":"","reasoning_content":"hm"},"finish_reason":"` + reason + `"}]}`, refusal.None},
		"after a call":       {`{"choices":[{"message":{"content":null,"tool_calls":[{"id":"c"}]},"finish_reason":"` + reason + `"}]}`, refusal.None},
		"an answer about it": {`{"choices":[{"message":{"content":"\"finish_reason\":\"` + reason + `\""},"finish_reason":"stop"}]}`, refusal.None},
		"by length":          {`{"choices":[{"message":{"content":""},"finish_reason":"length"}]}`, refusal.None},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := refusal.InStream([]byte(tt.data)); got.Kind != tt.want || got.Limit != 0 {
				t.Errorf("in a stream: %+v, want %v", got, tt.want)
			}
			if got := refusal.Classify(200, []byte(tt.data)); got.Kind != tt.want {
				t.Errorf("whole: %+v, want %v", got, tt.want)
			}
		})
	}
}

// One case for every backend of the reference's table of overflow errors, in the
// status and the form in which it sends them.
func TestEveryBackendOfTheTable(t *testing.T) {
	vllm := func(m string) string {
		return `{"error":{"message":` + quoted(m) + `,"type":"BadRequestError","param":"input_tokens","code":400}}`
	}
	const most = "This model's maximum context length is "
	tests := []struct {
		name   string
		status int
		body   string
		want   refusal.Refusal
	}{
		{"OpenAI Chat", 400, `{"error":{"message":"` + most + `8192 tokens. However, your messages resulted in 9001 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, overflow(8192, 9001)},
		{"OpenAI Chat, parts", 400, `{"error":{"message":"` + most + `8192 tokens. However, you requested 9000 tokens (8000 in the messages, 1000 in the completion).","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, both(refusal.Overflow, 8192, 8000, 1000)},
		{"OpenAI Chat, input limit", 400, `{"error":{"message":"Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 310000 tokens.","code":"context_length_exceeded"}}`, overInput(272000, 310000)},
		{"OpenAI Responses", 200, `{"type":"error","error":{"type":"invalid_request_error","code":"context_length_exceeded","message":"Your input exceeds the context window of this model. Please adjust your input and try again.","param":"input"}}`, overflow(0, 0)},
		{"Azure OpenAI", 400, `{"error":{"message":"` + most + `128000 tokens. However, your messages resulted in 131000 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, overflow(128000, 131000)},
		{"vLLM 0.9", 400, `{"object":"error","message":"` + most + `4096 tokens. However, you requested 5000 tokens (4000 in the messages, 1000 in the completion).","type":"BadRequestError","param":null,"code":400}`, both(refusal.Overflow, 4096, 4000, 1000)},
		{"vLLM 0.10", 400, vllm(most + "4096 tokens. However, your request has 5000 input tokens."), overflow(4096, 5000)},
		{"vLLM 0.10, output", 400, vllm("'max_tokens' or 'max_completion_tokens' is too large: 4000. " + most + "4096 tokens and your request has 500 input tokens (4000 > 4096 - 500)."), both(refusal.OutputCap, 4096, 500, 4000)},
		{"vLLM main", 400, vllm(most + "4096 tokens. However, you requested 100 output tokens and your prompt contains at least 3997 input tokens, for a total of at least 4097 tokens."), refusal.Refusal{Kind: refusal.Overflow, Limit: 4096, Actual: 3997, Output: 100, LowerBound: true}},
		{"vLLM main, characters", 400, vllm("You passed 90000 input characters and requested 100 output tokens. However, the model's context length is only 4096 tokens."), both(refusal.Overflow, 4096, 0, 100)},
		{"llama.cpp", 400, `{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":5000,"n_ctx":4096}}`, overflow(4096, 5000)},
		{"llama.cpp, first builds", 500, `{"error":{"code":500,"message":"the request exceeds the available context size","type":"exceed_context_size_error","n_prompt_tokens":5000,"n_ctx":4096}}`, overflow(4096, 5000)},
		{"llama-cpp-python", 400, openAI("Requested tokens (5000) exceed context window of 4096"), overflow(4096, 5000)},
		{"Ollama", 400, openAI("the prompt is longer than the context length currently available"), overflow(0, 0)},
		{"Ollama, other builds", 400, openAI("prompt too long; exceeded max context length by 904 tokens"), overflow(0, 0)},
		{"LM Studio", 400, `{"error":"Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens"}`, overflow(4096, 5000)},
		{"LM Studio, named event", 400, `{"error":{"message":"The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 5000>= n_ctx: 4096)."}}`, overflow(4096, 5000)},
		{"Anthropic", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"},"request_id":"r"}`, overflow(200000, 210000)},
		{"Anthropic, sum", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"input length and ` + "`max_tokens`" + ` exceed context limit: 190000 + 20000 > 200000"}}`, both(refusal.Overflow, 200000, 190000, 20000)},
		{"Anthropic, bytes", 413, `{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`, tooLarge(0)},
		{"Anthropic, in the stream", 200, `{"choices":[{"delta":{},"finish_reason":"model_context_window_exceeded"}]}`, overflow(0, 0)},
		{"Bedrock", 400, `{"message":"Input is too long for requested model"}`, overflow(0, 0)},
		{"Bedrock, after 200", 200, `{"error":{"message":"Input is too long for requested model","type":"ValidationException"}}`, overflow(0, 0)},
		{"Bedrock throttling", 429, `{"message":"Too many tokens, please wait before trying again."}`, refusal.Refusal{}},
		{"Gemini, array", 400, `[{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}]`, overInput(1048576, 1200000)},
		{"Vertex", 400, `{"error":{"code":400,"message":"The input token count is 40000 but model only supports up to 32768","status":"INVALID_ARGUMENT"}}`, overInput(32768, 40000)},
		{"OpenRouter", 400, `{"error":{"message":"This endpoint's maximum context length is 32768 tokens. However, you requested about 40000 tokens (39000 of text input, 1000 in the output).","code":400,"metadata":{"provider_name":null}}}`, both(refusal.Overflow, 32768, 0, 1000)},
		{"OpenRouter, in the body", 200, `{"error":{"message":"Provider returned error","code":400,"metadata":{"provider_name":"x","raw":` + quoted(openAI("prompt is too long: 210000 tokens > 200000 maximum")) + `}}}`, overflow(200000, 210000)},
		{"Groq", 400, `{"error":{"message":"Please reduce the length of the messages or completion.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, overflow(0, 0)},
		{"Groq TPM", 413, `{"error":{"message":"Request too large for model x on tokens per minute (TPM): Limit 6000, Requested 14810, please reduce your message size and try again.","type":"tokens","code":"rate_limit_exceeded"}}`, refusal.Refusal{}},
		{"DeepSeek", 400, `{"error":{"message":"` + most + `131072 tokens. However, you requested 140000 tokens (132000 in the messages, 8000 in the completion).","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}`, both(refusal.Overflow, 131072, 132000, 8000)},
		{"Mistral", 400, `{"object":"error","message":"Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length","type":"invalid_request_prompt","param":null,"code":"3051"}`, overflow(32768, 40000)},
		{"Together", 422, openAI("The input (40000 tokens) is longer than the model's context length (32768 tokens)."), overflow(32768, 40000)},
		{"SGLang", 400, openAI("Requested token count exceeds the model's maximum context length of 32768 tokens."), overflow(32768, 0)},
		{"TGI", 422, `{"error":"Input validation error: ` + "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000 `inputs` tokens and 500 `max_new_tokens`" + `","error_type":"validation"}`, both(refusal.Overflow, 4096, 4000, 500)},
		{"TGI, inputs", 422, `{"error":"Input validation error: ` + "`inputs`" + ` must have less than 2048 tokens. Given: 3000","error_type":"validation"}`, overInput(2048, 3000)},
		{"xAI", 400, quoted("This model's maximum prompt length is 131072 but the request contains 136973 tokens."), overInput(131072, 136973)},
		{"Cerebras", 400, `{"message":"Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192","type":"invalid_request_error","code":"context_length_exceeded"}`, overflow(8192, 9000)},
		{"Kimi", 400, openAI("Invalid request: Your request exceeded model token limit: 262144 (requested: 269030)"), overflow(262144, 0)},
		{"MiniMax", 400, openAI("invalid params, context window exceeds limit"), overflow(0, 0)},
		{"Copilot", 400, `{"error":{"message":"prompt token count of 138898 exceeds the limit of 64000","code":"model_max_prompt_tokens_exceeded"}}`, overInput(64000, 138898)},
		{"SiliconFlow", 400, `{"code":20015,"message":"length of prompt_tokens (40000) must be less than max_seq_len (32768)."}`, overflow(32768, 40000)},
		{"DashScope", 400, `{"code":"InvalidParameter","message":"Range of input length should be [1, 6000]","request_id":"r"}`, overInput(6000, 0)},
		{"Poolside", 400, openAI("Input length 140000 exceeds the maximum allowed input length of 131072 tokens"), overInput(131072, 140000)},
		{"z.ai", 200, `{"choices":[{"message":{"role":"assistant","content":""},"finish_reason":"model_context_window_exceeded"}]}`, overflow(0, 0)},
		{"LiteLLM in front", 400, openAI("litellm.ContextWindowExceededError: litellm.BadRequestError: AnthropicException - " + openAI("prompt is too long: 210000 tokens > 200000 maximum")), overflow(200000, 210000)},

		// Output caps, which must never be taken for a window's overflow.
		{"output over the window", 400, vllm("max_completion_tokens=9000 cannot be greater than max_model_len=8192."), both(refusal.OutputCap, 8192, 0, 9000)},
		{"DashScope's output", 400, openAI("Range of max_tokens should be [1, 8192]"), refusal.Refusal{Kind: refusal.OutputCap}},
		{"OpenAI's output", 400, openAI("max_tokens is too large: 100000. This model supports at most 16384 completion tokens, whereas you provided 100000."), both(refusal.OutputCap, 0, 0, 100000)},
		{"most of the window asked for", 400, openAI("This endpoint's maximum context length is 131072 tokens. However, you requested about 141607 tokens (10535 of text input, 131072 in the output)."), both(refusal.OutputCap, 131072, 0, 131072)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, refusal.Classify(tt.status, []byte(tt.body))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if tt.status == 200 || !strings.Contains(tt.body, `"error":`) || tt.status == 429 || tt.status == 413 {
				return
			}
			got := refusal.InStream([]byte(tt.body)) // the same error object, after a 200
			if got.Kind != tt.want.Kind || got.Limit != tt.want.Limit {
				t.Errorf("after a 200: %+v, want %+v", got, tt.want)
			}
		})
	}
}
