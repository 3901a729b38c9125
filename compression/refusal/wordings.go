package refusal

// A wording is one way in which upstreams say that they refuse. The table is
// asked from top to bottom, and the first that matches wins: those with numbers
// stand before those without, and what could be taken for something else stands
// after it.
//
// A pattern is a regular expression over text in lower case, in which these
// stand for numbers (with separators of thousands or without):
//
//	{limit}   what the upstream calls its limit
//	{input}   the input's size
//	{output}  what is set aside for the answer
//	{n}       any other number
//	{bytes}   the longest body, with a fraction or without one, in
//	{unit}    bytes or a multiple of them
//
// Three groups have a meaning of their own. Where (?P<least>...) matches, the
// input's size is a lower bound; where (?P<about>...) does, sizes are estimates.
// (?P<parts>...) holds the sizes of the parts of a request, such as "8 in the
// messages, 4 in the completion".
type wording struct {
	needs   string // text without which the pattern cannot match
	pattern string
	kind    Kind
	flags   flag
}

type flag uint8

const (
	// inputLimit: the limit is for the input alone.
	inputLimit flag = 1 << iota
	// template: a chat template raises it, which some servers answer with 500.
	template
)

// table is every wording that is known, in the order in which they are asked.
func table() []wording {
	var all []wording
	for _, group := range [][]wording{overflows(), outputCaps(), structures(), tooLarge(), looseOverflows()} {
		all = append(all, group...)
	}
	return all
}

// overflows are the wordings for a request that does not fit. Where they also
// name the output, the numbers tell whether it is the output that is too large.
func overflows() []wording {
	return []wording{
		// OpenAI, Azure OpenAI, and the many that repeat their words.
		{needs: "your messages resulted in", pattern: `maximum context length is {limit} tokens?\b.{0,40}your messages resulted in {input}`, kind: Overflow},
		{needs: "configured limit of", pattern: `input tokens exceed the configured limit of {limit} tokens?\b(?:.{0,40}resulted in {input})?`, kind: Overflow, flags: inputLimit},
		{needs: "exceeds the context window of this model", pattern: `input exceeds the context window of this model`, kind: Overflow},

		// OpenAI, DeepSeek, vLLM up to 0.9, and OpenRouter, whose sizes are estimates.
		{needs: "you requested", pattern: `maximum context length is {limit} tokens?\b.{0,40}you requested (?P<about>about )?{n} tokens \((?P<parts>[^()]{0,200})\)`, kind: Overflow},

		// vLLM 0.10 and 0.11.
		{needs: "is too large", pattern: `max_(?:completion_)?tokens. is too large: {output}\..{0,40}maximum context length is {limit} tokens?\b.{0,20}your request has {input} input tokens`, kind: OutputCap},
		{needs: "your request has", pattern: `maximum context length is {limit} tokens?\b.{0,40}your request has {input} input tokens(?: plus {output})?`, kind: Overflow},
		// vLLM 0.2x and later; "at least" is where its tokenizer stopped.
		{needs: "your prompt contains", pattern: `maximum context length is {limit} tokens?\b.{0,40}you requested {output} output tokens and your prompt contains (?P<least>at least )?{input} input tokens`, kind: Overflow},
		{needs: "your prompt contains", pattern: `maximum context length is {limit} tokens?\b.{0,40}you requested {output} output tokens and your prompt contains {n} characters`, kind: Overflow},
		{needs: "input tokens and requested", pattern: `you passed (?P<least>at least )?{input} input tokens and requested {output} output tokens.{0,60}context length is (?:only )?{limit}`, kind: Overflow},
		{needs: "input characters and requested", pattern: `you passed {n} input characters and requested {output} output tokens.{0,60}context length is (?:only )?{limit}`, kind: Overflow},
		{needs: "longer than the maximum model length", pattern: `prompt \((?:total )?length {input}\) is longer than the maximum model length of {limit}`, kind: Overflow},

		// SGLang and Together.
		{needs: "requested token count", pattern: `requested token count exceeds the model.{1,3}s maximum context length of {limit} tokens(?:.{0,60}?{input} tokens from the input messages and {output} tokens for the completion)?`, kind: Overflow},
		{needs: "is longer than the model", pattern: `the input \({input} tokens?\) is longer than the model.{1,3}s context length \({limit}`, kind: Overflow},

		// llama.cpp (older builds give their numbers in fields), llama-cpp-python, Ollama, LM Studio, Kronk.
		{needs: "exceeds the available context size", pattern: `request \({input} tokens?\) exceeds the available context size \({limit} tokens?\)`, kind: Overflow},
		{needs: "exceeds the available context size", pattern: `exceeds the available context size`, kind: Overflow},
		{needs: "exceed context window of", pattern: `requested tokens \({input}\) exceed context window of {limit}`, kind: Overflow},
		{needs: "context length currently available", pattern: `prompt is longer than the context length currently available`, kind: Overflow},
		{needs: "exceeded max context length", pattern: `prompt too long; exceeded max context length by {n} tokens?`, kind: Overflow},
		{needs: "n_keep", pattern: `greater than the context length \(n_keep: ?{input} ?>= ?n_ctx: ?{limit}`, kind: Overflow},
		{needs: "tokens to keep from the initial prompt", pattern: `tokens to keep from the initial prompt is greater than the context length`, kind: Overflow},
		{needs: "trying to keep the first", pattern: `trying to keep the first {input} tokens.{0,120}context length of (?:only )?{limit}`, kind: Overflow},
		{needs: "context window is full", pattern: `context window is full`, kind: Overflow},

		// Anthropic and Bedrock.
		{needs: "prompt is too long", pattern: `prompt is too long: {input} tokens? > {limit} maximum`, kind: Overflow},
		{needs: "exceed context limit", pattern: `input length and .{0,20} exceed context limit: {input} \+ {output} > {limit}`, kind: Overflow},
		{needs: "input is too long for requested model", pattern: `input is too long for requested model`, kind: Overflow},

		// Gemini, and Vertex.
		{needs: "input token count", pattern: `input token count \(?{input}\)? exceeds the maximum number of tokens allowed(?: \(?{limit})?`, kind: Overflow, flags: inputLimit},
		{needs: "model only supports up to", pattern: `token count is {input} but model only supports up to {limit}`, kind: Overflow, flags: inputLimit},

		// Mistral, TGI, xAI, Cerebras, Kimi, MiniMax, Copilot, SiliconFlow, DashScope, Poolside.
		{needs: "too large for model with", pattern: `prompt contains {input} tokens?\b.{0,60}too large for model with {limit} maximum context length`, kind: Overflow},
		{needs: "max_new_tokens", pattern: "`?inputs`? tokens \\+ `?max_new_tokens`? must be <= {limit}\\. given: {input} `?inputs`? tokens and {output}", kind: Overflow},
		{needs: "must have less than", pattern: "`?inputs`? must have less than {limit} tokens?\\. given: {input}", kind: Overflow, flags: inputLimit},
		{needs: "maximum prompt length is", pattern: `maximum prompt length is {limit} but the request contains {input} tokens`, kind: Overflow, flags: inputLimit},
		{needs: "while limit is", pattern: `current length is {input} while limit is {limit}`, kind: Overflow},
		{needs: "exceeded model token limit", pattern: `exceeded model token limit:? ?{limit}`, kind: Overflow}, // what was "requested" may hold the output
		{needs: "context window exceeds limit", pattern: `context window exceeds limit`, kind: Overflow},
		{needs: "prompt token count of", pattern: `prompt token count of {input} exceeds the limit of {limit}`, kind: Overflow, flags: inputLimit},
		{needs: "must be less than max_seq_len", pattern: `length of prompt_tokens \({input}\) must be less than max_seq_len \({limit}\)`, kind: Overflow},
		{needs: "range of input length", pattern: `range of input length should be \[{n}, ?{limit}\]`, kind: Overflow, flags: inputLimit},
		{needs: "maximum allowed input length", pattern: `input length {input} exceeds the maximum allowed input length of {limit}`, kind: Overflow, flags: inputLimit},
		// GitHub Models, in the words of a refused body.
		{needs: "request body too large for", pattern: `request body too large for .{1,100}max size: {limit} tokens`, kind: Overflow, flags: inputLimit},
	}
}

// outputCaps are the wordings for an output that is too large by itself, or
// where the window is not named, so that no number can tell.
func outputCaps() []wording {
	return []wording{
		{needs: "cannot be greater than max_model_len", pattern: `max_(?:completion_)?tokens ?= ?{output} cannot be greater than max_model_len ?= ?(?:[a-z_]+ ?= ?)?{limit}`, kind: OutputCap},
		{needs: "range of max_tokens should be", pattern: `range of max_tokens should be`, kind: OutputCap},
		{needs: "too large", pattern: `max_(?:completion_|new_|output_)?tokens.{0,60} (?:is|are) too large(?:: {output})?`, kind: OutputCap},
		{needs: "output tokens", pattern: `max_(?:completion_|output_)?tokens: {output} > {n}, which is the maximum allowed number of output tokens`, kind: OutputCap},
		{needs: "completion tokens", pattern: `supports at most {n} completion tokens`, kind: OutputCap},
	}
}

// looseOverflows are asked last: they say what it is about, and not much more.
func looseOverflows() []wording {
	return []wording{
		{needs: "maximum context length", pattern: `maximum context length (?:is|of) {limit} tokens?\b`, kind: Overflow},
		{needs: "reduce the length of the", pattern: `please reduce the length of the (?:input )?(?:messages|prompt)`, kind: Overflow},
		{needs: "context", pattern: `exceed(?:s|ed|ing)? (?:the |this |your |model.{1,3}s |maximum |max |available |allowed )*context (?:length|window|size|limit)`, kind: Overflow},
		{needs: "context", pattern: `context (?:length|window|size|limit) (?:is |was |has been )?exceeded`, kind: Overflow},
		{needs: "contextwindowexceedederror", pattern: `contextwindowexceedederror`, kind: Overflow},
		{needs: "context_length_exceeded", pattern: `context_length_exceeded`, kind: Overflow},
		{needs: "too long", pattern: `\b(?:prompt|input) is too long\b`, kind: Overflow},
	}
}

// overflowCodes are what tells an overflow where no wording did.
func overflowCodes() []string {
	return []string{"context_length_exceeded", typedOverflow, "model_max_prompt_tokens_exceeded", "tokens_limit_reached"}
}

// typedOverflow is the type of llama.cpp's error, of which early builds
// answered a status of 500.
const typedOverflow = "exceed_context_size_error"
