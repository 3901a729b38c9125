package backendtest

import (
	"encoding/json"
	"fmt"
	"strings"
)

func deepSeek() Backend {
	return Backend{
		Name: "DeepSeek", Strict: true, Path: "/chat/completions", Auth: "Authorization", Scheme: "Bearer ", Model: "house-model",
		Window:    "the built-in table of models; an overflow error",
		Note:      "Content is a string, never an array, and no role is called developer. In thinking mode the calls of the loop that goes on need the `reasoning_content` that they came with. Blank lines come before a whole answer while it is waited for, comments in a stream.",
		Output:    256,
		rules:     deepSeekRules(),
		shape:     openAIShape,
		bad:       fault{message: "Failed to parse the request body as JSON: expected value at line 1 column 1", code: invalidRequest},
		denied:    fault{status: 401, message: "Authentication Fails, Your api key: ****6789 is invalid", kind: "authentication_error", code: invalidRequest},
		nowhere:   fault{status: 404, message: "Not Found", code: invalidRequest},
		structure: fault{message: "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'", code: invalidRequest},
		overflow: func(s size) fault {
			f := openAIOverflow(s)
			return fault{message: f.message, code: invalidRequest}
		},
		errorType: "application/octet-stream",
		idle:      "\n\n\n",
		frames:    framing{first: []string{": keep-alive"}, pause: ": keep-alive", usage: lastChunk, unasked: true},
		models: func(model string, _ int) map[string]string {
			return map[string]string{"/models": modelList(object("id", model, "object", "model", "owned_by", "deepseek"))}
		},
		dialect: deepSeekDialect,
	}
}

func deepSeekRules() []rule {
	at := func(f finding, format string, args ...any) fault {
		where := fmt.Sprintf("Failed to deserialize the JSON body into the target type: messages[%d]: ", f.at)
		return fault{message: where + fmt.Sprintf(format, args...), code: invalidRequest}
	}
	own := func(message string) func(finding) fault { return always(fault{message: message, code: invalidRequest}) }
	return []rule{
		{noModel, own("Failed to deserialize the JSON body into the target type: missing field `model` at line 1 column 2")},
		{noMessages, own("Failed to deserialize the JSON body into the target type: missing field `messages` at line 1 column 2")},
		{emptyMessages, own("Empty input messages")},
		{roleOutside("system", "user", "assistant", "tool"), func(f finding) fault {
			return at(f, "unknown variant `%s`, expected one of `system`, `user`, `assistant`, `tool`", f.role)
		}},
		{partsAnywhere, func(f finding) fault { return at(f, "invalid type: sequence, expected a string") }},
		{otherContent, func(f finding) fault { return at(f, "invalid type: map, expected a string") }},
		{noContent, func(f finding) fault { return at(f, "missing field `content`") }},
		{noCallID, func(f finding) fault { return at(f, "missing field `tool_call_id`") }},
		{unanswered, own("An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. (insufficient tool messages following tool_calls message)")},
		{orphan, own("Messages with role 'tool' must be a response to a preceding message with 'tool_calls'")},
		{unthought, own("The `reasoning_content` in the thinking mode must be passed back to the API.")},
		{prefillNotLast, own("Invalid assistant message: prefix must be set on the last message only")},
		{noJSONWord, own("Prompt must contain the word 'json' in some form to use 'response_format' of type 'json_object'.")},
		{outputOver(65536), own("Invalid max_tokens value, the valid range of max_tokens is [1, 65536]")},
	}
}

// prefillNotLast: a beginning of the answer that is not the last message.
func prefillNotLast(r *request) *finding {
	for i, m := range r.messages {
		if string(m.fields["prefix"]) == "true" && i < len(r.messages)-1 {
			return &finding{at: i}
		}
	}
	return nil
}

// deepSeekDialect: strings only, and thoughts with every call. A message with
// something that is no text cannot be said there.
func deepSeekDialect(role string, m map[string]json.RawMessage) bool {
	c := readContent(m["content"])
	if c.form == list {
		for _, p := range c.parts {
			if !p.has {
				return false
			}
		}
		m["content"] = encoded(c.text)
	}
	if role == "developer" {
		m["role"] = encoded("system")
	}
	if has(m, "tool_calls") && !has(m, "reasoning_content") {
		m["reasoning_content"] = encoded(strings.TrimSpace("The next step needs a look. " + c.text))
	}
	return true
}
