package backendtest

import (
	"encoding/json"
	"fmt"
)

func ollama() Backend {
	return Backend{
		Name: "Ollama, `/v1`", Path: "/v1/chat/completions", Model: "house-model:latest",
		Window: "`GET /api/ps` tells the `context_length` of what is loaded; else `windows` must say it, since no error ever does",
		Note:   "What does not fit is cut without a word, the oldest messages first, and `usage` then reports what was left of them. The default is as little as 4096 tokens; `OLLAMA_CONTEXT_LENGTH` sets it.",
		rules: []rule{
			{emptyMessages, always(fault{message: "[] is too short - 'messages'"})},
			{otherModel("house-model:latest"), func(f finding) fault {
				return fault{status: 404, message: fmt.Sprintf("model '%s' not found", f.names[0]), kind: "not_found_error"}
			}},
			{noContent, always(fault{message: "invalid message content type: <nil>"})},
			{otherContent, always(fault{message: "invalid message content type: map[string]interface {}"})},
			{anyPartOutside("text", "image_url"), always(fault{message: "invalid message format"})},
			{argumentsNoJSON, always(fault{message: "invalid tool call arguments"})},
		},
		shape: func(f fault) string {
			kind := f.kind
			if kind == "" {
				kind = invalidRequest
			}
			return string(object("error", object("message", f.message, "type", kind, "param", nil, "code", nil)))
		},
		bad:     fault{message: "invalid character 'x' looking for beginning of value"},
		nowhere: fault{status: 404, message: "404 page not found", kind: "not_found_error"},
		tells:   true,
		models: func(model string, window int) map[string]string {
			list := func(more ...any) string {
				return string(object("models", []json.RawMessage{object(append([]any{"name", model, "model", model}, more...)...)}))
			}
			return map[string]string{
				"/v1/models": modelList(object("id", model, "object", "model", "created", answerTime, "owned_by", "library")),
				"/api/tags":  list(),
				"/api/ps":    list("context_length", window),
			}
		},
	}
}

func lmStudio() Backend {
	return Backend{
		Name: "LM Studio", Path: "/v1/chat/completions", Model: "house-model",
		Window: "`GET /api/v1/models` tells the `context_length` of what is loaded; an overflow error",
		Note:   "An error of a stream comes as an event named error after a status of 200, else with status 400 and a bare string. Some engines answer an empty stream instead, and then `windows` has to say what fits.",
		rules: []rule{
			{noMessages, always(fault{message: "'messages' field is required"})},
			{takesTurns(spoken), always(fault{message: `Error rendering prompt with jinja template: "Conversation roles must alternate user/assistant/user/assistant/...". This is usually an issue with the model's prompt template.`})},
		},
		shape:     func(f fault) string { return string(object("error", f.message)) },
		late:      func(f fault) string { return string(object("error", object("message", f.message))) },
		bad:       fault{message: "Invalid JSON in the request body"},
		nowhere:   fault{status: 404, message: "Unexpected endpoint or method."},
		structure: fault{message: `Error rendering prompt with jinja template: "Conversation roles must alternate user/assistant/user/assistant/...". This is usually an issue with the model's prompt template.`},
		overflow: func(s size) fault {
			return fault{message: fmt.Sprintf("The number of tokens to keep from the initial prompt is greater than the context length (n_keep: %d>= n_ctx: %d). Try to load the model with a larger context length, or provide a shorter input.", s.input, s.window)}
		},
		inBand: inStreams,
		frames: framing{event: true, noDoneAfterError: true},
		tells:  true,
		models: func(model string, window int) map[string]string {
			instance := object("id", model, "config", object("context_length", window))
			return map[string]string{
				"/v1/models":     modelList(object("id", model, "object", "model", "owned_by", "organization_owner")),
				"/api/v1/models": string(object("models", []json.RawMessage{object("type", "llm", "key", model, "max_context_length", 131072, "loaded_instances", []json.RawMessage{instance})})),
			}
		},
	}
}
