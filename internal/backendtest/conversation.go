package backendtest

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Conversation is a request as a client of this backend sends it, of at least so
// many tokens: an agent's, with tools, calls one by one and two at a time, their
// results, and what was said in between. It ends with a user's question, or,
// open, with the results of a loop that goes on. more are further fields of the
// request: name, value, name, value.
func (b Backend) Conversation(tokens int, open bool, more ...any) []byte {
	t := &talk{backend: b}
	t.say("system", "You look after a garden with the tools that you have. Be brief and exact.")
	for round := 0; ; round++ {
		t.say("user", fmt.Sprintf("Question %d: how does bed %d do, and what does it need? %s", round, round%17, prose(round, 45)))
		t.look(round)
		if body := t.request(more); b.Count(body) >= tokens && round > 3 {
			if open {
				return body
			}
			t.say("assistant", fmt.Sprintf("Bed %d is dry; water it on day %d.", round%17, round))
			t.say("user", "What did we decide for bed 3, and what is left to do?")
			return t.request(more)
		}
		t.say("assistant", fmt.Sprintf("Bed %d: %s", round%17, prose(-round, 45)))
	}
}

// Request is the smallest request of a client of this backend.
func (b Backend) Request(more ...any) []byte {
	t := &talk{backend: b}
	t.say("user", "hello <&> é")
	return t.request(more)
}

// Small is a request of a few messages that ends with a user's, of a conversation
// with calls.
func (b Backend) Small(more ...any) []byte {
	t := &talk{backend: b}
	t.say("system", "You look after a garden.")
	t.say("user", "How does bed 3 do?")
	t.look(1)
	t.say("assistant", "It is dry.")
	t.say("user", "And now?")
	return t.request(more)
}

// Adapt is a recorded request in this backend's dialect. It fails where the
// backend has no way to say something in it.
func (b Backend) Adapt(body []byte) ([]byte, error) {
	var r map[string]json.RawMessage
	if err := json.Unmarshal(body, &r); err != nil {
		return nil, fmt.Errorf("reading the request: %w", err)
	}
	var messages []map[string]json.RawMessage
	if err := json.Unmarshal(r["messages"], &messages); err != nil {
		return nil, fmt.Errorf("reading its messages: %w", err)
	}
	for i, m := range messages {
		if b.dialect != nil && !b.dialect(stringOf(m["role"]), m) {
			return nil, fmt.Errorf("message %d cannot be said to %s", i, b.Name)
		}
	}
	r["messages"] = encoded(messages)
	delete(r, "model")
	if b.Model != "" {
		r["model"] = encoded(b.Model)
	}
	return encoded(r), nil
}

// talk makes a conversation message by message.
type talk struct {
	backend  Backend
	messages []json.RawMessage
	calls    int
}

func (t *talk) say(role, content string) {
	t.add(role, map[string]json.RawMessage{"role": encoded(role), "content": encoded(content)})
}

func (t *talk) add(role string, m map[string]json.RawMessage) {
	if t.backend.dialect != nil {
		t.backend.dialect(role, m)
	}
	t.messages = append(t.messages, encoded(m))
}

// look makes the calls of a round: one, or two at once, and every third time one
// more after their results.
func (t *talk) look(round int) {
	t.call(round, 1+round%2)
	if round%3 == 2 {
		t.call(round+100, 1)
	}
}

func (t *talk) call(round, n int) {
	var calls []json.RawMessage
	var ids []string
	for i := range n {
		t.calls++
		id := fmt.Sprintf("call_stub_%04d", t.calls)
		if t.backend.ids != nil {
			id = t.backend.ids(t.calls)
		}
		ids = append(ids, id)
		arguments := string(object("bed", round%17, "what", []string{"moisture", "growth"}[i]))
		calls = append(calls, object("id", id, "type", "function", "function", object("name", "look_at_bed", "arguments", arguments)))
	}
	t.add("assistant", map[string]json.RawMessage{"role": encoded("assistant"), "content": json.RawMessage("null"), "tool_calls": encoded(calls)})
	for i, id := range ids {
		t.add("tool", map[string]json.RawMessage{"role": encoded("tool"), "tool_call_id": encoded(id), "content": encoded(fmt.Sprintf("bed %d: %d %%. %s", round%17, 11+(round*7+i)%80, prose(1000+round*2+i, 60)))})
	}
}

// request is the conversation so far, in the order of keys of no client.
func (t *talk) request(more []any) []byte {
	members := []any{}
	if t.backend.Model != "" {
		members = append(members, "model", t.backend.Model)
	}
	members = append(members, "messages", t.messages)
	if t.calls > 0 {
		parameters := object("type", "object", "properties", object("bed", object("type", "integer"), "what", object("type", "string")))
		members = append(members, "tools", []json.RawMessage{object("type", "function", "function", object("name", "look_at_bed", "description", "Looks at a bed.", "parameters", parameters))})
	}
	if t.backend.Output > 0 {
		members = append(members, "max_tokens", t.backend.Output)
	}
	return object(append(members, more...)...)
}

var vocabulary = strings.Fields(`apple bean carrot dill elder fennel garlic hedge ivy juniper kale leek mint nettle onion parsley
	quince radish sage thyme umbel violet willow yarrow soil water shade frost slug trellis compost harvest`)

// prose is so many words, always the same for a seed.
func prose(seed, n int) string {
	h := uint32(seed)*2654435761 + 12345
	words := make([]string, n)
	for i := range words {
		h = h*1664525 + 1013904223
		words[i] = vocabulary[h>>27]
	}
	return strings.Join(words, " ") + "."
}
