package backendtest

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"regexp"
)

// The backends of this file are rows of a table: what their validators have of
// their own, and the words that they use.

func groq() Backend {
	b := openAI()
	b.Name, b.Strict, b.Path = "Groq", false, "/openai/v1/chat/completions"
	b.Window = "`GET …/models` tells `context_window`; its overflow error names no number, so the window is guessed for one request at a time where nothing else knows it"
	b.Note = "A status of 413 is mostly a limit per minute, and no window. An error in a stream is an event named error, with nothing behind it. Usage comes twice."
	b.rules = openAIMessageRules()
	b.overflow = func(size) fault {
		return fault{message: "Please reduce the length of the messages or completion.", param: "messages", code: "context_length_exceeded"}
	}
	b.frames = framing{usage: bothChunks, unasked: true, event: true, noDoneAfterError: true}
	b.tells = true
	b.models = func(model string, window int) map[string]string {
		return map[string]string{"/openai/v1/models": modelList(object("id", model, "object", "model", "owned_by", "house", "active", true, "context_window", window))}
	}
	return b
}

func mistral() Backend {
	own := func(kind, code, message string) func(finding) fault {
		return always(fault{message: message, kind: kind, code: code})
	}
	const order, call = "invalid_request_message_order", "invalid_function_call"
	return Backend{
		Name: "Mistral", Path: "/v1/chat/completions", Auth: "Authorization", Scheme: "Bearer ", Model: "house-model",
		Window: "`GET /v1/models` tells `max_context_length`; an overflow error",
		Note:   "Ids of calls are nine letters and digits, so ids are never changed or made up. A user may not speak directly after a result, and the last message is a user's, a result, or a prefill.",
		rules: []rule{
			{emptyMessages, own("invalid_request_messages", "3001", "Conversation must have at least one message")},
			{idOutside(nineCharacters), func(f finding) fault {
				return fault{message: fmt.Sprintf("Tool call id was %s but must be a-z, A-Z, 0-9, with a length of 9.", f.names[0]), kind: call, code: "3280"}
			}},
			{orphan, func(f finding) fault {
				return fault{message: fmt.Sprintf("Unexpected role 'tool' after role '%s'", f.prev), kind: order, code: "3230"}
			}},
			{unanswered, own(call, "3231", "Not the same number of function calls and responses")},
			{follows("user", "tool"), own(order, "3230", "Unexpected role 'user' after role 'tool'")},
			{lateSystem, func(f finding) fault {
				return fault{message: fmt.Sprintf("Unexpected role 'system' after role '%s'", f.prev), kind: order, code: "3230"}
			}},
			{lastOutside("user", "tool"), func(f finding) fault {
				return fault{message: "Expected last role User or Tool (or Assistant with prefix True) for serving but got " + f.role, kind: order, code: "3230"}
			}},
			{blank, own("invalid_request_message", "3240", "Assistant message must have either content or tool_calls, but not none.")},
		},
		shape: func(f fault) string {
			kind := f.kind
			if kind == "" {
				kind = "invalid_request_error"
			}
			return string(object("object", "error", "message", f.message, "type", kind, "param", nil, "code", nullable(f.code)))
		},
		bad:       fault{status: 422, message: "Input should be a valid dictionary", kind: "invalid_request_error"},
		denied:    fault{status: 401, message: "Unauthorized"},
		nowhere:   fault{status: 404, message: "no Route matched with those values"},
		structure: fault{message: "Unexpected role 'user' after role 'tool'", kind: order, code: "3230"},
		overflow: func(s size) fault {
			return fault{message: fmt.Sprintf("Prompt contains %d tokens and 0 draft tokens, too large for model with %d maximum context length", s.input, s.window), kind: "invalid_request_prompt", code: "3051"}
		},
		frames: framing{usage: lastChunk, unasked: true},
		tells:  true,
		models: func(model string, window int) map[string]string {
			return map[string]string{"/v1/models": modelList(object("id", model, "object", "model", "owned_by", "mistralai", "max_context_length", window))}
		},
		ids:     func(n int) string { return nine(fmt.Sprint(n)) },
		dialect: mistralDialect,
	}
}

var nineCharacters = regexp.MustCompile(`^[a-zA-Z0-9]{9}$`)

// nine is an id of nine characters for another one.
func nine(id string) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(id)))[:9]
}

func mistralDialect(_ string, m map[string]json.RawMessage) bool {
	changeCalls(m, func(c map[string]json.RawMessage) { c["id"] = encoded(nine(stringOf(c["id"]))) })
	if has(m, "tool_call_id") {
		m["tool_call_id"] = encoded(nine(stringOf(m["tool_call_id"])))
	}
	return true
}

// changeCalls rewrites the calls of a message.
func changeCalls(m map[string]json.RawMessage, change func(map[string]json.RawMessage)) {
	var calls []map[string]json.RawMessage
	if json.Unmarshal(m["tool_calls"], &calls) != nil || calls == nil {
		return
	}
	for _, c := range calls {
		change(c)
	}
	m["tool_calls"] = encoded(calls)
}

func gemini() Backend {
	own := func(message string) func(finding) fault { return always(fault{message: message}) }
	return Backend{
		Name: "Gemini, compatible endpoint", Path: "/v1beta/openai/chat/completions", Auth: "Authorization", Scheme: "Bearer ", Model: "house-model",
		Window: "the built-in table of models; an overflow error, which names the input limit and is sometimes wrong, so it holds for 6 h",
		Note:   "Errors come as an array of one. The calls of the turn that goes on carry a signature and stay byte for byte. There are as many results as calls.",
		rules: []rule{
			{emptyMessages, own("* GenerateContentRequest.contents: contents is not specified")},
			{unanswered, own("Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.")},
			{orphan, own("Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.")},
			{unsigned, func(f finding) fault {
				return fault{message: fmt.Sprintf("Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly. Function call `default_api:%s`, position %d.", f.names[0], f.at+1)}
			}},
			{blank, func(f finding) fault {
				return fault{message: fmt.Sprintf("* GenerateContentRequest.contents[%d].parts: contents.parts must not be empty.", f.at)}
			}},
		},
		shape: func(f fault) string {
			status := f.status
			if status == 0 {
				status = 400
			}
			kind := f.kind
			if kind == "" {
				kind = "INVALID_ARGUMENT"
			}
			return indented(encoded([]json.RawMessage{object("error", object("code", status, "message", f.message, "status", kind))}))
		},
		bad:       fault{message: "Invalid JSON payload received. Unexpected end of string."},
		denied:    fault{status: 401, message: "Request had invalid authentication credentials.", kind: "UNAUTHENTICATED"},
		nowhere:   fault{status: 404, message: "Requested entity was not found.", kind: "NOT_FOUND"},
		structure: fault{message: "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn."},
		overflow: func(s size) fault {
			return fault{message: fmt.Sprintf("The input token count (%d) exceeds the maximum number of tokens allowed (%d).", s.input, s.window)}
		},
		frames: framing{usage: lastChunk, unasked: true},
		models: func(model string, _ int) map[string]string {
			return map[string]string{"/v1beta/openai/models": modelList(object("id", "models/"+model, "object", "model", "owned_by", "google"))}
		},
		dialect: func(_ string, m map[string]json.RawMessage) bool {
			changeCalls(m, func(c map[string]json.RawMessage) {
				c["extra_content"] = object("google", object("thought_signature", "c2ln"+nine(stringOf(c["id"]))))
			})
			return true
		},
	}
}

func anthropic() Backend {
	return Backend{
		Name: "Anthropic, compatible endpoint", Path: "/v1/chat/completions", Auth: "Authorization", Scheme: "Bearer ", Model: "house-model",
		Window: "`GET /v1/models` tells `max_input_tokens`; an overflow error",
		Note:   "No text may be blank, results follow their calls in the very next message, and a conversation ends with the user or a result. A body over 32 MB is refused whatever its tokens. Its stream has events named ping, and no end mark.",
		rules: []rule{
			{emptyMessages, always(fault{message: "messages: at least one message is required"})},
			{blank, func(f finding) fault {
				return fault{message: fmt.Sprintf("messages.%d.content.%d: text content blocks must be non-empty", f.at, f.part)}
			}},
			{unanswered, func(f finding) fault {
				return fault{message: fmt.Sprintf("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s. Each `tool_use` block must have a corresponding `tool_result` block in the next message.", f.at, f.names[0])}
			}},
			{orphan, func(f finding) fault {
				return fault{message: fmt.Sprintf("messages.%d.content.0: unexpected `tool_use_id` found in `tool_result` blocks: %s. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.", f.at, f.names[0])}
			}},
			{lastOutside("user", "tool"), always(fault{message: "This model does not support assistant message prefill. The conversation must end with a user message."})},
		},
		shape: func(f fault) string {
			kind := f.kind
			if kind == "" {
				kind = invalidRequest
			}
			return string(object("type", "error", "error", object("type", kind, "message", f.message), "request_id", "req_stub"))
		},
		bad:       fault{message: "The request body is not valid JSON: unexpected character"},
		denied:    fault{status: 401, message: "invalid x-api-key", kind: "authentication_error"},
		nowhere:   fault{status: 404, message: "Not Found", kind: "not_found_error"},
		structure: fault{message: "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_stub."},
		overflow: func(s size) fault {
			return fault{message: fmt.Sprintf("prompt is too long: %d tokens > %d maximum", s.input, s.window)}
		},
		frames: framing{ping: true, usage: ownChunk, noDone: true, event: true},
		tells:  true,
		models: func(model string, window int) map[string]string {
			return map[string]string{"/v1/models": string(object("data", []json.RawMessage{object("type", "model", "id", model, "max_input_tokens", window, "max_tokens", 8192)}, "has_more", false))}
		},
	}
}
