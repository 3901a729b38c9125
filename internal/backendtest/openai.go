package backendtest

import (
	"encoding/json"
	"fmt"
	"strings"
)

const invalidRequest = "invalid_request_error"

// openAIShape is the error object of OpenAI and of all who repeat it.
func openAIShape(f fault) string {
	kind := f.kind
	if kind == "" {
		kind = invalidRequest
	}
	return indented(object("error", object("message", f.message, "type", kind, "param", nullable(f.param), "code", nullable(f.code))))
}

func openAI() Backend {
	return Backend{
		Name: "OpenAI", Strict: true, Path: "/v1/chat/completions", Auth: "Authorization", Scheme: "Bearer ", Model: "house-model",
		Window:    "the built-in table of models; an overflow error where it allows less",
		Note:      "A message with `tool_calls` needs all its results directly behind it. Newer models name their input limit, which is less than the window. An unknown top-level field is refused, so none is added.",
		rules:     openAIRules(),
		shape:     openAIShape,
		bad:       fault{message: "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP library correctly.)"},
		denied:    fault{status: 401, message: "Incorrect API key provided: sk-*****. You can find your API key in your account settings.", code: "invalid_api_key"},
		nowhere:   fault{status: 404, message: "Invalid URL (POST /v1/nowhere)"},
		structure: fault{message: "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.", param: "messages.[1].role"},
		overflow:  openAIOverflow,
		models: func(model string, _ int) map[string]string {
			return map[string]string{"/v1/models": modelList(object("id", model, "object", "model", "created", answerTime, "owned_by", "house"))}
		},
	}
}

func openAIOverflow(s size) fault {
	message := fmt.Sprintf("This model's maximum context length is %d tokens. However, your messages resulted in %d tokens. Please reduce the length of the messages.", s.window, s.input)
	if s.output > 0 {
		message = fmt.Sprintf("This model's maximum context length is %d tokens. However, you requested %d tokens (%d in the messages, %d in the completion). Please reduce the length of the messages or completion.", s.window, s.input+s.output, s.input, s.output)
	}
	return fault{message: message, param: "messages", code: "context_length_exceeded"}
}

// openAIFields are the fields of a request, as the published description names them.
var openAIFields = strings.Fields(`audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens max_tokens
	messages metadata modalities model moderation n parallel_tool_calls prediction presence_penalty prompt_cache_key
	prompt_cache_options prompt_cache_retention reasoning_effort response_format safety_identifier seed service_tier stop store
	stream stream_options temperature tool_choice tools top_logprobs top_p user verbosity web_search_options`)

var openAIParts = map[string][]string{
	"system": {"text"}, "developer": {"text"}, "tool": {"text"}, "assistant": {"text", "refusal"},
	"user": {"text", "image_url", "input_audio", "file"},
}

func openAIRules() []rule {
	return append([]rule{
		{noModel, always(fault{message: "you must provide a model parameter"})},
		{fieldOutside(openAIFields...), func(f finding) fault {
			return fault{message: fmt.Sprintf("Unknown parameter: '%s'.", f.names[0]), param: f.names[0], code: "unknown_parameter"}
		}},
	}, openAIMessageRules()...)
}

// openAIMessageRules are those that Azure shares, where the path names the model.
func openAIMessageRules() []rule {
	at := func(f finding, field string) string { return fmt.Sprintf("messages[%d].%s", f.at, field) }
	return []rule{
		{noMessages, always(fault{message: "Missing required parameter: 'messages'.", param: "messages", code: "missing_required_parameter"})},
		{emptyMessages, always(fault{message: "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.", param: "messages", code: "empty_array"})},
		{roleOutside("system", "developer", "user", "assistant", "tool", "function"), func(f finding) fault {
			return fault{
				message: fmt.Sprintf("Invalid value: '%s'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'.", f.role),
				param:   at(f, "role"), code: "invalid_value",
			}
		}},
		{otherContent, func(f finding) fault {
			return fault{message: fmt.Sprintf("Invalid type for '%s': expected one of a string or array of objects, but got an object instead.", at(f, "content")), param: at(f, "content"), code: "invalid_type"}
		}},
		{noContent, func(f finding) fault {
			return fault{message: fmt.Sprintf("Invalid value for 'content': expected a string, got null. (%s)", at(f, "content")), param: at(f, "content")}
		}},
		{emptyParts, func(f finding) fault {
			return fault{message: fmt.Sprintf("Invalid '%s': empty array. Expected an array with minimum length 1, but got an empty array instead.", at(f, "content")), param: at(f, "content"), code: "empty_array"}
		}},
		{partOutside(openAIParts), func(f finding) fault {
			where := fmt.Sprintf("messages[%d]", f.at)
			return fault{message: fmt.Sprintf("Invalid '%s'. Content blocks are expected to be either text or image_url type.", where), param: where, code: "invalid_value"}
		}},
		{noCallID, func(f finding) fault {
			return fault{message: fmt.Sprintf("Missing required parameter: '%s'.", at(f, "tool_call_id")), param: at(f, "tool_call_id"), code: "missing_required_parameter"}
		}},
		{badFunctionName, func(f finding) fault {
			name := fmt.Sprintf("messages[%d].tool_calls[%d].function.name", f.at, f.part)
			return fault{message: fmt.Sprintf("Invalid '%s': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.", name), param: name, code: "invalid_value"}
		}},
		{unanswered, func(f finding) fault {
			return fault{
				message: "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: " + strings.Join(f.names, ", "),
				param:   "messages",
			}
		}},
		{orphan, func(f finding) fault {
			return fault{message: "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.", param: fmt.Sprintf("messages.[%d].role", f.at)}
		}},
		{choiceWithoutTools, always(fault{message: "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.", param: "tool_choice"})},
		{noJSONWord, always(fault{message: "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.", param: "messages"})},
		{oldOutputCap, always(fault{message: "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", param: "max_tokens", code: "unsupported_parameter"})},
		{outputOver(128000), always(fault{message: "max_tokens is too large. This model supports at most 128000 completion tokens.", param: "max_tokens", code: "invalid_value"})},
	}
}

// modelList is what GET …/models answers.
func modelList(models ...json.RawMessage) string {
	return string(object("object", "list", "data", models))
}
