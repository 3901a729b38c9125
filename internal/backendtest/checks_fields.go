package backendtest

import (
	"encoding/json"
	"strings"
)

func choiceWithoutTools(r *request) *finding {
	if has(r.fields, "tool_choice") && !hasTools(r) {
		return &finding{}
	}
	return nil
}

// blocksWithoutTools: there are calls or results, and no tools that they are of.
func blocksWithoutTools(r *request) *finding {
	if hasTools(r) {
		return nil
	}
	for i, m := range r.messages {
		if m.role == "tool" || len(m.calls) > 0 {
			return &finding{at: i}
		}
	}
	return nil
}

func hasTools(r *request) bool {
	var tools []json.RawMessage
	return json.Unmarshal(r.fields["tools"], &tools) == nil && len(tools) > 0
}

// noJSONWord: an object of JSON is asked for, and no message says so.
func noJSONWord(r *request) *finding {
	var format struct{ Type string }
	if json.Unmarshal(r.fields["response_format"], &format) != nil || format.Type != "json_object" {
		return nil
	}
	for _, m := range r.messages {
		if strings.Contains(strings.ToLower(m.content.text), "json") {
			return nil
		}
	}
	return &finding{}
}

// oldOutputCap: max_tokens, to a model that thinks.
func oldOutputCap(r *request) *finding {
	if !has(r.fields, "max_tokens") {
		return nil
	}
	for _, family := range []string{"o1", "o3", "o4", "gpt-5"} {
		if strings.HasPrefix(r.model, family) {
			return &finding{}
		}
	}
	return nil
}

// bothPrompts: the last message is to be gone on with and to be answered.
func bothPrompts(r *request) *finding {
	if string(r.fields["continue_final_message"]) == "true" && string(r.fields["add_generation_prompt"]) != "false" {
		return &finding{}
	}
	return nil
}

// unthought: a call of the loop that is going on came without the thoughts that
// led to it. A loop begins behind the last user's message.
func unthought(r *request) *finding {
	for i := range r.loop() {
		m := r.messages[i]
		if len(m.calls) > 0 && !has(m.fields, "reasoning_content") {
			return &finding{at: i}
		}
	}
	return nil
}

// unsigned: the first call of a step of the loop that is going on has no signature.
func unsigned(r *request) *finding {
	for i := range r.loop() {
		m := r.messages[i]
		if len(m.calls) == 0 {
			continue
		}
		var extra struct {
			Google struct {
				Signature string `json:"thought_signature"`
			}
		}
		if json.Unmarshal(m.calls[0].fields["extra_content"], &extra) != nil || extra.Google.Signature == "" {
			return &finding{at: i, names: []string{m.calls[0].name}}
		}
	}
	return nil
}

// loop yields the indexes of what stands behind the last user's message.
func (r *request) loop() func(func(int) bool) {
	from := 0
	for i, m := range r.messages {
		if m.role == "user" {
			from = i + 1
		}
	}
	return func(yield func(int) bool) {
		for i := from; i < len(r.messages); i++ {
			if !yield(i) {
				return
			}
		}
	}
}

// outputOver: more output is asked for than the model gives at once.
func outputOver(most int) func(*request) *finding {
	return func(r *request) *finding {
		if r.output > most {
			return &finding{}
		}
		return nil
	}
}
