package refusal_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/foldgate/foldgate/compression/refusal"
)

// openAI is an error in OpenAI's envelope.
func openAI(message string) string {
	b, err := json.Marshal(map[string]any{"error": map[string]any{
		"message": message, "type": "invalid_request_error", "param": "messages", "code": nil,
	}})
	if err != nil {
		panic(err)
	}
	return string(b)
}

// quoted is s as a JSON string.
func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func overflow(limit, actual int) refusal.Refusal {
	return refusal.Refusal{Kind: refusal.Overflow, Limit: limit, Actual: actual}
}

func overInput(limit, actual int) refusal.Refusal {
	return refusal.Refusal{Kind: refusal.Overflow, Limit: limit, Actual: actual, InputLimit: true}
}

func both(kind refusal.Kind, limit, actual, output int) refusal.Refusal {
	return refusal.Refusal{Kind: kind, Limit: limit, Actual: actual, Output: output}
}

var structure = refusal.Refusal{Kind: refusal.Structure}

func TestClassifyWordings(t *testing.T) {
	const max = "This model's maximum context length is "
	tests := []struct {
		name, message string
		want          refusal.Refusal
	}{
		// OpenAI and Azure OpenAI.
		{"openai messages", max + "8192 tokens. However, your messages resulted in 9001 tokens. Please reduce the length of the messages.", overflow(8192, 9001)},
		{"openai functions", max + "128000 tokens. However, your messages resulted in 130101 tokens (130000 in the messages, 101 in the functions). Please reduce the length of the messages or functions.", overflow(128000, 130101)},
		{"openai with completion", max + "8192 tokens. However, you requested 8500 tokens (7000 in the messages, 500 in the functions, and 1000 in the completion). Please reduce the length of the messages, functions, or completion.", both(refusal.Overflow, 8192, 7500, 1000)},
		{"openai configured limit", "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens. Please reduce the length of the messages.", overInput(272000, 300000)},
		{"openai responses", "Your input exceeds the context window of this model. Please adjust your input and try again.", overflow(0, 0)},
		{"azure deployment limit", max + "128000 tokens. However, your messages resulted in 200000 tokens. Please reduce the length of the messages.", overflow(128000, 200000)},
		{"separators", max + "1,048,576 tokens. However, your messages resulted in 2_000_000 tokens.", overflow(1048576, 2000000)},

		// vLLM.
		{"vllm 0.9", max + "16384 tokens. However, you requested 20000 tokens (18000 in the messages, 2000 in the completion). Please reduce the length of the messages or completion.", both(refusal.Overflow, 16384, 18000, 2000)},
		{"vllm 0.9 prompt", "The decoder prompt (length 5000) is longer than the maximum model length of 4096. Make sure that `max_model_len` is no smaller.", overflow(4096, 5000)},
		{"vllm 0.10 input", max + "16384 tokens. However, your request has 18225 input tokens. Please reduce the length of the input messages.", overflow(16384, 18225)},
		{"vllm 0.10 cap", "'max_tokens' or 'max_completion_tokens' is too large: 8000. This model's maximum context length is 8192 tokens and your request has 500 input tokens (8000 > 8192 - 500).", both(refusal.OutputCap, 8192, 500, 8000)},
		{"vllm 0.10 cap that a fold cures", "'max_tokens' or 'max_completion_tokens' is too large: 1000. This model's maximum context length is 8192 tokens and your request has 7500 input tokens (1000 > 8192 - 7500).", both(refusal.Overflow, 8192, 7500, 1000)},
		{"vllm both", max + "8192 tokens. However, your request has 8000 input tokens plus 2045 'max_tokens'. Please reduce one or the other.", both(refusal.Overflow, 8192, 8000, 2045)},
		{"vllm main", max + "32768 tokens. However, you requested 1000 output tokens and your prompt contains 40000 input tokens, for a total of 41000 tokens. Please reduce the length of the input prompt or the number of requested output tokens.", both(refusal.Overflow, 32768, 40000, 1000)},
		{"vllm main at least", max + "32768 tokens. However, you requested 1000 output tokens and your prompt contains at least 31769 input tokens, for a total of at least 32769 tokens.", refusal.Refusal{Kind: refusal.Overflow, Limit: 32768, Actual: 31769, Output: 1000, LowerBound: true}},
		{"vllm main characters", max + "32768 tokens. However, you requested 1000 output tokens and your prompt contains 900000 characters (more than 400000 characters, which is the upper bound for 31768 input tokens).", both(refusal.Overflow, 32768, 0, 1000)},
		{"vllm passed", "You passed 5000 input tokens and requested 256 output tokens. However, the model's context length is only 4096 tokens, resulting in a maximum input length of 3840 tokens.", both(refusal.Overflow, 4096, 5000, 256)},
		{"vllm passed characters", "You passed 90000 input characters and requested 256 output tokens. However, the model's context length is only 4096 tokens.", both(refusal.Overflow, 4096, 0, 256)},
		{"vllm output over the model", "max_completion_tokens=9000 cannot be greater than max_model_len=8192. Please request fewer output tokens.", both(refusal.OutputCap, 8192, 0, 9000)},
		{"vllm output over the total", "max_tokens=9000 cannot be greater than max_model_len=max_total_tokens=8192.", both(refusal.OutputCap, 8192, 0, 9000)},

		// Others.
		{"openrouter estimates", "This endpoint's maximum context length is 131072 tokens. However, you requested about 140000 tokens (120000 of text input, 10000 of tool input, 10000 in the output). Please reduce the length of either one.", both(refusal.Overflow, 131072, 0, 10000)},
		{"openrouter cap", "This endpoint's maximum context length is 131072 tokens. However, you requested about 141607 tokens (10535 of text input, 131072 in the output).", both(refusal.OutputCap, 131072, 0, 131072)},
		{"sglang", "Requested token count exceeds the model's maximum context length of 32768 tokens. You requested a total of 33000 tokens: 32000 tokens from the input messages and 1000 tokens for the completion.", both(refusal.Overflow, 32768, 32000, 1000)},
		{"together", "The input (40000 tokens) is longer than the model's context length (32768 tokens).", overflow(32768, 40000)},
		{"llama.cpp with numbers", "request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it", overflow(4096, 5000)},
		{"llama-cpp-python", "Requested tokens (5000) exceed context window of 4096", overflow(4096, 5000)},
		{"ollama", "the prompt is longer than the context length currently available", overflow(0, 0)},
		{"ollama by", "prompt too long; exceeded max context length by 512 tokens", overflow(0, 0)},
		{"lm studio n_keep", "The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 5000>= n_ctx: 4096). Try to load the model with a larger context length", overflow(4096, 5000)},
		{"lm studio keep first", "Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens", overflow(4096, 5000)},
		{"anthropic", "prompt is too long: 210000 tokens > 200000 maximum", overflow(200000, 210000)},
		{"anthropic sum", "input length and `max_tokens` exceed context limit: 195000 + 8192 > 200000, decrease input length or `max_tokens` and try again", both(refusal.Overflow, 200000, 195000, 8192)},
		{"bedrock", "Input is too long for requested model.", overflow(0, 0)},
		{"gemini", "The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).", overInput(1048576, 1200293)},
		{"vertex", "The input token count is 40000 but model only supports up to 32768", overInput(32768, 40000)},
		{"groq", "Please reduce the length of the messages or completion.", overflow(0, 0)},
		{"mistral", "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length", overflow(32768, 40000)},
		{"tgi sum", "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000 `inputs` tokens and 500 `max_new_tokens`", both(refusal.Overflow, 4096, 4000, 500)},
		{"tgi inputs", "Input validation error: `inputs` must have less than 2048 tokens. Given: 3000", overInput(2048, 3000)},
		{"xai", "This model's maximum prompt length is 131072 but the request contains 136973 tokens.", overInput(131072, 136973)},
		{"cerebras", "Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192", overflow(8192, 9000)},
		{"kimi", "Invalid request: Your request exceeded model token limit: 262144 (requested: 269030)", overflow(262144, 0)},
		{"minimax", "invalid params, context window exceeds limit", overflow(0, 0)},
		{"copilot", "prompt token count of 138898 exceeds the limit of 64000", overInput(64000, 138898)},
		{"siliconflow", "length of prompt_tokens (40000) must be less than max_seq_len (32768).", overflow(32768, 40000)},
		{"dashscope", "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 983616]", overInput(983616, 0)},
		{"poolside", "Input length 140000 exceeds the maximum allowed input length of 131072 tokens", overInput(131072, 140000)},
		{"litellm", "litellm.ContextWindowExceededError: OpenAIException - something else", overflow(0, 0)},
		{"limit and nothing else", max + "4096 tokens.", overflow(4096, 0)},

		// Output caps.
		{"openai cap", "max_tokens is too large: 100000. This model supports at most 16384 completion tokens, whereas you provided 100000.", both(refusal.OutputCap, 0, 0, 100000)},
		{"dashscope cap", "Range of max_tokens should be [1, 8192]", refusal.Refusal{Kind: refusal.OutputCap}},
		{"anthropic cap", "max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens for this model", both(refusal.OutputCap, 0, 0, 100000)},
		{"both too large", max + "8192 tokens. However, you requested 20000 tokens (10000 in the messages, 10000 in the completion).", both(refusal.Overflow, 8192, 10000, 10000)},

		// Implausible limits are no limits.
		{"limit too small", max + "3 tokens. However, your request has 8 input tokens. Please reduce the length of the input messages.", overflow(0, 8)},
		{"limit too large", max + "99000000 tokens. However, your messages resulted in 99000001 tokens.", overflow(0, 99000001)},
		{"limit absurd", max + "99999999999999999999999 tokens.", overflow(0, 0)},

		// Structure.
		{"result without call", "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.", structure},
		{"result without call, spelled right", "messages with role 'tool' must be a response to a preceding message with 'tool_calls'.", structure},
		{"call without result", "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: call_1", structure},
		{"anthropic result", "messages.4.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1.", structure},
		{"anthropic call", "messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1", structure},
		{"mistral order", "Unexpected role 'tool' after role 'system'", structure},
		{"mistral count", "Not the same number of function calls and responses", structure},
		{"mistral last", "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant", structure},
		{"gemini", "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.", structure},
		{"alternate", "Conversation roles must alternate user/assistant/user/assistant/...", structure},
		{"system first", "System message must be at the beginning.", structure},
		{"empty text", "messages: text content blocks must be non-empty", structure},
		{"moonshot empty", "Invalid request: text content is empty", structure},
		{"prefill", "This model does not support assistant message prefill. The conversation must end with a user message.", structure},
		{"bedrock tools", "The toolConfig field must be defined when using toolUse and toolResult content blocks.", structure},
		{"bedrock call", "Expected toolResult blocks at messages.2.content for the following Ids: tooluse_1, tooluse_2", structure},        // agno#6698
		{"bedrock turn", "messages.4.content: Conversation blocks and tool result blocks cannot be provided in the same turn.", structure}, // langchain-aws#141
		{"bedrock alternates", "A conversation must alternate between user and assistant roles. Make sure the conversation alternates between user and assistant roles and try again.", structure},
		{"bedrock first", "A conversation must start with a user message. Try again with a conversation that starts with a user message.", structure},
		{"gemini empty", "* GenerateContentRequest.contents[1].parts: contents.parts must not be empty.", structure},
		{"mistral empty", "Assistant message must have either content or tool_calls, but not none.", structure},
		{"lm studio template", "Error rendering prompt with jinja template: \"Only user and assistant roles are supported!\".", structure},
		{"deepseek reasoning", "The `reasoning_content` in the thinking mode must be passed back to the API.", structure},

		// Neither.
		{"model not found", "The model `x` does not exist or you do not have access to it.", refusal.Refusal{}},
		{"wrong value", "Invalid 'messages[3]'. Content blocks are expected to be either text or image_url type.", refusal.Refusal{}},
		{"tokens per minute", "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 61337. The input or output tokens must be reduced in order to run successfully.", refusal.Refusal{}},
		{"throttled", "Too many tokens, please wait before trying again.", refusal.Refusal{}},
		{"empty", "", refusal.Refusal{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, refusal.Classify(400, []byte(openAI(tt.message)))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.want, refusal.InStream([]byte(openAI(tt.message)))); diff != "" {
				t.Errorf("in a stream (-want +got):\n%s", diff)
			}
		})
	}
}

// Every shape that carries the same words must give the same answer.
func TestClassifyShapes(t *testing.T) {
	const message = `This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.`
	inner := openAI(message)
	tests := map[string]string{
		"error object":       inner,
		"error string":       `{"error":` + quoted(message) + `}`,
		"bare error":         `{"object":"error","message":` + quoted(message) + `,"type":"BadRequestError","param":null,"code":400}`,
		"array of one":       `[` + inner + `]`,
		"detail string":      `{"detail":` + quoted(message) + `}`,
		"detail list":        `{"detail":[{"loc":["body"],"msg":` + quoted(message) + `}]}`,
		"typed error":        `{"type":"error","error":{"type":"invalid_request_error","message":` + quoted(message) + `},"request_id":"r"}`,
		"message only":       `{"message":` + quoted(message) + `}`,
		"plain text":         message,
		"plain JSON string":  quoted(message),
		"in a page":          "<html><body><p>" + message + "</p></body></html>",
		"white space":        "\n\n  " + inner + "\n",
		"byte order mark":    "\xef\xbb\xbf" + inner,
		"string in message":  openAI("Error from provider(x: 400): " + inner),
		"twice in strings":   openAI("upstream {a} said " + openAI("provider said: "+inner)),
		"metadata.raw":       `{"error":{"message":"Provider returned error","code":400,"metadata":{"provider_name":"x","raw":` + quoted(inner) + `}}}`,
		"python printout":    openAI(`litellm.BadRequestError: Error code: 400 - {'error': {'message': "` + message + `", 'code': 'x'}}`),
		"cut short":          inner[:strings.Index(inner, "resulted in 9001")+len("resulted in 9001 tokens")],
		"invalid UTF-8":      strings.Replace(inner, "However", "How\xffever", 1),
		"doubled keys":       `{"error":{"message":"x","message":` + quoted(message) + `}}`,
		"unknown depth":      `{"error":{"details":{"errors":[{"innererror":{"message":` + quoted(message) + `}}]}}}`,
		"with a large quote": `{"error":{"failed":` + quoted(strings.Repeat("x", 10000)) + `,"message":` + quoted(message) + `}}`,
	}
	for name, body := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(overflow(8192, 9001), refusal.Classify(400, []byte(body))); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", body, diff)
			}
		})
	}
}

func TestClassifyCodesAndStatuses(t *testing.T) {
	const words = `This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.`
	jinja := `{"error":{"code":500,"message":"Jinja Exception: System message must be at the beginning.","type":"server_error"}}`
	tests := []struct {
		name   string
		status int
		body   string
		want   refusal.Refusal
	}{
		{"code alone", 400, `{"error":{"message":"no","code":"context_length_exceeded"}}`, overflow(0, 0)},
		{"code in a nested string", 400, openAI(`{"error":{"code":"context_length_exceeded","message":""}}`), overflow(0, 0)},
		{"copilot code", 400, `{"error":{"code":"model_max_prompt_tokens_exceeded"}}`, overflow(0, 0)},
		{"llama.cpp fields", 400, `{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error","n_prompt_tokens":5000,"n_ctx":4096}}`, overflow(4096, 5000)},
		{"llama.cpp fields, early builds", 500, `{"error":{"code":500,"message":"too big","type":"exceed_context_size_error","n_prompt_tokens":5000,"n_ctx":4096}}`, overflow(4096, 5000)},
		{"mistral order by type", 400, `{"object":"error","message":"no","type":"invalid_request_message_order","code":"3230"}`, structure},
		{"template 500", 500, jinja, structure},
		{"template 400", 400, jinja, structure},
		{"template of llama.cpp's own engine, 2026", 500, `{"error":{"code":500,"message":"Unable to generate parser for this template. Automatic parser generation failed: \n------------\nWhile executing CallExpression at line 10, column 27 in source:\nError: Jinja Exception: only this and that role","type":"server_error"}}`, structure},
		{"other 500", 500, openAI(words), refusal.Refusal{}},
		{"other 503", 503, openAI("An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'."), refusal.Refusal{}},
		{"429", 429, openAI(words), refusal.Refusal{}},
		{"401 quotes anything", 401, openAI(words), refusal.Refusal{}},
		{"402 speaks of max_tokens", 402, openAI("This request requires more credits, or fewer max_tokens. max_tokens is too large"), refusal.Refusal{}},
		{"413 with words", 413, openAI(words), overflow(8192, 9001)},
		{"413 by bytes", 413, `{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`, refusal.Refusal{Kind: refusal.TooLarge}},
		{"422", 422, `{"error":"Input validation error: ` + "`inputs`" + ` must have less than 2048 tokens. Given: 3000","error_type":"validation"}`, overInput(2048, 3000)},
		{"type tokens", 413, `{"error":{"message":"` + words + `","type":"tokens","code":"x"}}`, refusal.Refusal{}},
		{"rate limit code", 400, `{"error":{"message":"` + words + `","code":"rate_limit_exceeded"}}`, refusal.Refusal{}},
		{"429 inside", 400, `{"error":{"message":"` + words + `","code":429}}`, refusal.Refusal{}},
		{"quoted request", 422, `{"detail":[{"msg":"Field required","input":{"messages":[{"content":"` + words + `"}]}}]}`, refusal.Refusal{}},
		{"empty", 400, ``, refusal.Refusal{}},
		{"null", 400, `null`, refusal.Refusal{}},
		{"redirect", 302, openAI(words), refusal.Refusal{}},
		{"no status", 0, openAI(words), refusal.Refusal{}},

		{"200 with an error", 200, openAI(words), overflow(8192, 9001)},
		{"200 with a bare error", 200, `{"object":"error","message":"` + words + `","code":400}`, overflow(8192, 9001)},
		{"200 with an error beside choices", 200, `{"id":"x","choices":[{"finish_reason":"error"}],"error":{"message":"` + words + `","code":400}}`, overflow(8192, 9001)},
		{"200 with a code and a message", 200, `{"code":"InvalidParameter","message":"Range of input length should be [1, 6000]","request_id":"r"}`, overInput(6000, 0)},
		{"200 with an answer that says so", 200, `{"choices":[{"message":{"content":"` + words + ` \"error\" \"code\""},"finish_reason":"stop"}]}`, refusal.Refusal{}},
		{"200 with a null error", 200, `{"error":null,"choices":[{"message":{"content":"` + words + `"}}]}`, refusal.Refusal{}},
		{"200 with an empty error", 200, `{"error":{},"message":"` + words + `"}`, refusal.Refusal{}},
		{"200 with text", 200, words, refusal.Refusal{}},
		{"200 with a rate limit", 200, `{"code":"Throttling.AllocationQuota","message":"` + words + `"}`, refusal.Refusal{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, refusal.Classify(tt.status, []byte(tt.body))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestErrorObject(t *testing.T) {
	tests := []struct {
		data   string
		status int
		ok     bool
	}{
		{`{"error":{"message":"no","code":502}}`, 502, true},
		{`{"error":{"message":"no","code":"429"}}`, 429, true},
		{`{"error":{"message":"no","code":"server_error"}}`, 0, true},
		{`{"error":"no"}`, 0, true},
		{`{"code":"Throttling","message":"no"}`, 0, true},
		{`{"type":"error","error":{"type":"overloaded_error"}}`, 0, true},
		{`{"error":null,"choices":[]}`, 0, false},
		{`{"choices":[{"delta":{"content":"error"}}]}`, 0, false},
		{`{"choices":[{"delta":{"content":"\"error\":{\"message\":\"x\"}"}}]}`, 0, false},
		{`[DONE]`, 0, false},
		{``, 0, false},
	}
	for _, tt := range tests {
		status, ok := refusal.ErrorObject([]byte(tt.data))
		if status != tt.status || ok != tt.ok {
			t.Errorf("%s: got %d, %v", tt.data, status, ok)
		}
	}
}

// What lies behind the first 64 KiB, or very deep, is not looked at, and costs
// nothing that grows with it.
func TestClassifyIsBounded(t *testing.T) {
	const words = `prompt is too long: 9000 tokens > 8192 maximum`
	deep := strings.Repeat(`{"error":`, 5000) + `"` + words + `"`
	tests := map[string]struct {
		body string
		want refusal.Kind
	}{
		"behind the bound":  {openAI(strings.Repeat("x", 64<<10) + words), refusal.None},
		"deep":              {deep, refusal.Overflow}, // as plain text: nothing else was found
		"deeper":            {strings.Repeat(deep, 100), refusal.Overflow},
		"many nested JSON":  {openAI(strings.Repeat(`{"error":"`, 5000) + words), refusal.Overflow},
		"very many codes":   {`{"error":[` + strings.Repeat(`{"code":"x"},`, 4000) + `{"message":"` + words + `"}]}`, refusal.Overflow},
		"brackets":          {strings.Repeat("[", 1<<20), refusal.None},
		"braces in strings": {openAI(strings.Repeat("{", 60000) + words), refusal.Overflow},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			for _, status := range []int{200, 400} {
				got := refusal.Classify(status, []byte(tt.body))
				if status == 400 && got.Kind != tt.want {
					t.Errorf("got %v, want %v", got.Kind, tt.want)
				}
			}
		})
	}
}

func TestKindString(t *testing.T) {
	var all []string
	for _, k := range []refusal.Kind{refusal.None, refusal.Overflow, refusal.OutputCap, refusal.Structure, refusal.TooLarge, 99} {
		all = append(all, k.String())
	}
	if got, want := fmt.Sprint(all), "[none overflow output-cap structure too-large none]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
