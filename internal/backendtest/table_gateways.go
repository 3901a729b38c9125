package backendtest

import (
	"encoding/json"
	"fmt"
)

func openRouter() Backend {
	provider := func(f fault) fault { // the provider's own error, as a string inside
		return fault{message: "Provider returned error", code: openAIShape(f)}
	}
	return Backend{
		Name: "OpenRouter", Path: "/api/v1/chat/completions", Auth: "Authorization", Scheme: "Bearer ", Model: "house/model",
		Window: "`GET /api/v1/models` tells `context_length` and that of the provider in use, of which the smaller counts; an overflow error",
		Note:   "Errors may come inside a status of 200, whole and in streams, and those of the provider as a string in `metadata.raw`. A stream begins with comments. A request that asks for middle-out goes untouched.",
		rules: []rule{
			{emptyMessages, always(fault{message: "Input required: specify \"prompt\" or \"messages\""})},
			{unanswered, func(f finding) fault {
				return provider(fault{message: "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: " + f.names[0], param: "messages"})
			}},
			{orphan, always(provider(fault{message: "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.", param: "messages"}))},
		},
		shape:     openRouterShape,
		bad:       fault{message: "Unexpected token in JSON at position 0"},
		denied:    fault{status: 401, message: "No auth credentials found"},
		nowhere:   fault{status: 404, message: "Not Found"},
		structure: provider(fault{message: "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.", param: "messages"}),
		overflow: func(s size) fault {
			return fault{message: fmt.Sprintf("This endpoint's maximum context length is %d tokens. However, you requested about %d tokens (%d of text input). Please reduce the length of either one, or use the \"middle-out\" transform to compress your prompt automatically.", s.window, s.input, s.input)}
		},
		inBand: anywhere,
		frames: framing{first: []string{": OPENROUTER PROCESSING", ": OPENROUTER PROCESSING"}, usage: lastChunk, unasked: true, extra: "House", errorChunk: true},
		tells:  true,
		models: func(model string, window int) map[string]string {
			top := object("context_length", window, "max_completion_tokens", 4096)
			return map[string]string{"/api/v1/models": string(object("data", []json.RawMessage{object("id", model, "context_length", 131072, "top_provider", top)}))}
		},
	}
}

// openRouterShape: the code is the status, and a provider's error (here handed
// over in the fault's code) stands as text in the metadata.
func openRouterShape(f fault) string {
	status := f.status
	if status == 0 {
		status = 400
	}
	metadata := object("provider_name", nil)
	if f.code != "" {
		metadata = object("raw", f.code, "provider_name", "House")
	}
	return string(object("error", object("message", f.message, "code", status, "metadata", metadata), "user_id", "user_stub"))
}

func bedrock() Backend {
	own := func(message string) fault {
		return fault{message: "An error occurred (ValidationException) when calling the Converse operation: " + message}
	}
	return Backend{
		Name: "Bedrock behind a gateway", Path: "/api/v1/chat/completions", Auth: "Authorization", Scheme: "Bearer ", Model: "house.model-v1:0",
		Window: "the built-in table of models, or `windows`; its overflow error names no number, so the window is guessed for one request at a time where nothing else knows it",
		Note:   "Some models report an overflow as the first event of a stream, after a status of 200. A conversation with calls needs `tools`, and no text may be blank. Throttling speaks of too many tokens and is no overflow.",
		rules: []rule{
			{blocksWithoutTools, always(own("The toolConfig field must be defined when using toolUse and toolResult content blocks."))},
			{blank, func(f finding) fault {
				return own(fmt.Sprintf("The text field in the ContentBlock object at messages.%d.content.%d is blank. Add text to the text field, and try again.", f.at, f.part))
			}},
			{orphan, func(f finding) fault {
				return own(fmt.Sprintf("The number of toolResult blocks at messages.%d.content exceeds the number of toolUse blocks of previous turn.", f.at))
			}},
			{unanswered, func(f finding) fault {
				return own(fmt.Sprintf("Expected toolResult blocks at messages.%d.content for the following Ids: %s", f.at+1, f.names[0]))
			}},
			{follows("user", "tool"), always(own("messages.4.content: Conversation blocks and tool result blocks cannot be provided in the same turn."))},
			{lastOutside("user", "tool"), always(own("A conversation must end with a user message. Try again with a conversation that ends with a user message."))},
		},
		shape: func(f fault) string { return string(object("detail", f.message)) },
		late: func(f fault) string {
			return string(object("error", object("message", f.message, "type", "ValidationException")))
		},
		bad:       fault{status: 422, message: "JSON decode error"},
		denied:    fault{status: 401, message: "Invalid API Key"},
		nowhere:   fault{status: 404, message: "Not Found"},
		structure: own("The number of toolResult blocks at messages.2.content exceeds the number of toolUse blocks of previous turn."),
		overflow:  func(size) fault { return own("Input is too long for requested model.") },
		inBand:    inStreams,
		frames:    framing{end: "\r\n", media: "text/event-stream; charset=utf-8", usage: ownChunk, noDoneAfterError: true},
		models: func(model string, _ int) map[string]string {
			return map[string]string{"/api/v1/models": modelList(object("id", model, "object", "model", "owned_by", "bedrock"))}
		},
	}
}

func liteLLM() Backend {
	behind := func(f fault) fault {
		return fault{message: "litellm.BadRequestError: OpenAIException - " + f.message, kind: "null", code: "400"}
	}
	rules := openAIMessageRules()
	for i, one := range rules {
		rules[i].say = func(f finding) fault { return behind(one.say(f)) }
	}
	return Backend{
		Name: "LiteLLM proxy", Path: "/v1/chat/completions", Auth: "Authorization", Scheme: "Bearer ", Model: "house-model",
		Window: "by the name that the proxy gives the model: `windows`, the table where it is the model's own, an overflow error of whoever is behind it",
		Note:   "Errors are those of the provider behind it, as text inside its own. Comments come while a stream is waited for, and then a refusal may come inside a status of 200.",
		rules:  rules,
		shape: func(f fault) string {
			kind := nullable(f.kind)
			if f.kind == "null" {
				kind = nil
			}
			return string(object("error", object("message", f.message, "type", kind, "param", nullable(f.param), "code", nullable(f.code))))
		},
		bad:       fault{message: "Invalid JSON payload", kind: "invalid_request_error", code: "400"},
		denied:    fault{status: 401, message: "Authentication Error, Invalid proxy server token passed.", kind: "auth_error", param: "None", code: "401"},
		nowhere:   fault{status: 404, message: "Not Found", kind: "not_found", code: "404"},
		structure: behind(fault{message: "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."}),
		overflow: func(s size) fault {
			f := behind(fault{message: openAIShape(openAIOverflow(s))})
			f.message = "litellm.ContextWindowExceededError: " + f.message
			return f
		},
		inBand: inStreams,
		frames: framing{first: []string{": ping"}, pause: ": ping"},
		models: func(model string, _ int) map[string]string {
			return map[string]string{"/v1/models": modelList(object("id", model, "object", "model", "created", answerTime, "owned_by", "openai"))}
		},
	}
}
