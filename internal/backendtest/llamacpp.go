package backendtest

import "fmt"

// turnsMessage is what templates of Mistral's family raise.
const turnsMessage = "After the optional system message, conversation roles must alternate user and assistant roles except for tool calls and results."

func llamaCPP() Backend {
	return Backend{
		Name: "llama.cpp server", Strict: true, Path: "/v1/chat/completions", Auth: "Authorization", Scheme: "Bearer ", Model: "house-model",
		Window:    "`GET /props` tells `n_ctx`, that of one slot; else an overflow error, which has both numbers in fields",
		Note:      "Chat templates raise their errors as status 500: here one whose roles must alternate, calls and results left out. A template that knows no tools takes no conversation with calls, folded or not. Comments come while a long prompt is read.",
		rules:     llamaRules(),
		shape:     llamaShape,
		bad:       fault{status: 500, message: "[json.exception.parse_error.101] parse error at line 1, column 1: syntax error while parsing value", kind: "server_error"},
		denied:    fault{status: 401, message: "Invalid API Key", kind: "authentication_error"},
		nowhere:   fault{status: 404, message: "File Not Found", kind: "not_found_error"},
		structure: jinja(turnsMessage),
		overflow: func(s size) fault {
			return fault{
				message: fmt.Sprintf("request (%d tokens) exceeds the available context size (%d tokens), try increasing it", s.input, s.window),
				kind:    "exceed_context_size_error", code: fmt.Sprintf("%d/%d", s.input, s.window),
			}
		},
		frames: framing{first: []string{":"}, pause: ":", timings: true},
		tells:  true,
		models: func(model string, window int) map[string]string {
			return map[string]string{
				"/v1/models": modelList(object("id", model, "object", "model", "created", answerTime, "owned_by", "llamacpp", "meta", object("n_ctx_train", 131072))),
				"/props":     string(object("default_generation_settings", object("n_ctx", window), "total_slots", 1, "model_path", model)),
			}
		},
	}
}

// jinja is what the server makes of an exception that a template raises.
func jinja(message string) fault {
	return fault{status: 500, message: "Jinja Exception: " + message, kind: "server_error"}
}

// llamaShape: the code is the status, and an overflow has its two numbers in
// fields (here handed over in the fault's code).
func llamaShape(f fault) string {
	status := f.status
	if status == 0 {
		status = 400
	}
	kind := f.kind
	if kind == "" {
		kind = invalidRequest
	}
	members := []any{"code", status, "message", f.message, "type", kind}
	var prompt, window int
	if n, _ := fmt.Sscanf(f.code, "%d/%d", &prompt, &window); n == 2 {
		members = append(members, "n_prompt_tokens", prompt, "n_ctx", window)
	}
	return string(object("error", object(members...)))
}

func llamaRules() []rule {
	return []rule{
		{noMessages, always(fault{message: "'messages' is required"})},
		{roleOutside("system", "developer", "user", "assistant", "tool"), func(f finding) fault {
			if f.role == "" {
				return fault{message: "Missing 'role' in message"}
			}
			return jinja("Only user, assistant, system and tool roles are supported, got " + f.role + ".")
		}},
		{noContent, always(fault{message: "Expected 'content' or 'tool_calls'"})},
		{otherContent, always(fault{message: "Invalid 'content' type: expected string or array"})},
		{anyPartOutside("text", "image_url", "input_audio", "input_video", "media_marker"), func(f finding) fault {
			return fault{message: "unsupported content[].type"}
		}},
		{argumentsNoJSON, func(f finding) fault {
			return fault{status: 500, message: "Failed to parse tool call arguments as JSON: " + f.names[0], kind: "server_error"}
		}},
		{twoAssistantsAtTheEnd, always(fault{message: "Cannot have 2 or more assistant messages at the end of the list."})},
		{takesTurns(spoken), always(jinja(turnsMessage))},
	}
}
