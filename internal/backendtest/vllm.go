package backendtest

import (
	"fmt"
	"strings"
)

func vLLM() Backend {
	return Backend{
		Name: "vLLM", Strict: true, Path: "/v1/chat/completions", Auth: "Authorization", Scheme: "Bearer ", Model: "house-model",
		Window:    "`GET /v1/models` tells `max_model_len`; else an overflow error, whose count is a lower bound in newer releases",
		Note:      "What is refused is up to the model's chat template, here one that wants the system message first and a user's message somewhere. Arguments of calls must be JSON. An error in a stream is an event of its own before `[DONE]`.",
		Output:    256,
		rules:     vLLMRules(),
		shape:     vLLMShape,
		bad:       fault{message: "[{'type': 'json_invalid', 'loc': ('body', 0), 'msg': 'JSON decode error', 'input': {}}]", kind: "Bad Request"},
		denied:    fault{status: 401, message: "Unauthorized", kind: "unauthorized"},
		nowhere:   fault{status: 404, message: "Not Found", kind: "not found"},
		structure: fault{message: "System message must be at the beginning."},
		overflow: func(s size) fault {
			return fault{
				message: fmt.Sprintf("This model's maximum context length is %d tokens. However, you requested %d output tokens and your prompt contains at least %d input tokens, for a total of at least %d tokens. Please reduce the length of the input prompt or the number of requested output tokens. (parameter=input_tokens, value=%d)",
					s.window, s.output, s.window-s.output+1, s.window+1, s.window-s.output+1),
				param: "input_tokens",
			}
		},
		tells: true,
		models: func(model string, window int) map[string]string {
			return map[string]string{"/v1/models": modelList(object("id", model, "object", "model", "created", answerTime, "owned_by", "vllm", "root", model, "max_model_len", window))}
		},
	}
}

// vLLMShape: the code is a number, the status once more.
func vLLMShape(f fault) string {
	status, kind := f.status, f.kind
	if status == 0 {
		status = 400
	}
	switch kind {
	case "unauthorized":
		return string(object("error", f.message))
	case "not found":
		return string(object("detail", f.message))
	case "":
		kind = "BadRequestError"
	}
	return string(object("error", object("message", f.message, "type", kind, "param", nullable(f.param), "code", status)))
}

func vLLMRules() []rule {
	missing := func(name string) func(finding) fault {
		return always(fault{message: fmt.Sprintf("[{'type': 'missing', 'loc': ('body', '%s'), 'msg': 'Field required', 'input': {}}]", name), kind: "Bad Request"})
	}
	return []rule{
		{noMessages, missing("messages")},
		{otherModel("house-model"), func(f finding) fault {
			return fault{status: 404, message: fmt.Sprintf("The model `%s` does not exist.", f.names[0]), kind: "NotFoundError", param: "model"}
		}},
		{choiceWithoutTools, always(fault{message: "When using `tool_choice`, `tools` must be set."})},
		{bothPrompts, always(fault{message: "Cannot set both `continue_final_message` and `add_generation_prompt` to True."})},
		{otherContent, func(f finding) fault {
			return fault{message: fmt.Sprintf("[{'type': 'string_type', 'loc': ('body', 'messages', %d, 'content'), 'msg': 'Input should be a valid string'}]", f.at), kind: "Bad Request"}
		}},
		{anyPartOutside("text", "image_url", "input_audio", "audio_url", "video_url", "refusal", "thinking"), func(f finding) fault {
			return fault{message: fmt.Sprintf("Unknown part type: %s", f.names[0])}
		}},
		{argumentsNoJSON, always(fault{message: "Expecting value: line 1 column 1 (char 0)"})},
		{lateSystem, always(fault{message: "System message must be at the beginning."})},
		{noUser, always(fault{message: "No user query found in messages."})},
		{roleOutside("system", "user", "assistant", "tool"), always(fault{message: "Unexpected message role."})},
	}
}

// otherModel: one that the server does not serve.
func otherModel(served string) func(*request) *finding {
	return func(r *request) *finding {
		if r.model != "" && r.model != served {
			return &finding{names: []string{r.model}}
		}
		return nil
	}
}

// anyPartOutside is partOutside whatever the role.
func anyPartOutside(known ...string) func(*request) *finding {
	list := " " + strings.Join(known, " ") + " "
	return func(r *request) *finding {
		for i, m := range r.messages {
			for k, p := range m.content.parts {
				if !strings.Contains(list, " "+p.kind+" ") {
					return &finding{at: i, part: k, role: m.role, names: []string{p.kind}}
				}
			}
		}
		return nil
	}
}
