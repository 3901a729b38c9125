package backendtest

import (
	"fmt"
	"strings"
)

// Pieces of bad requests.
const (
	ask   = `{"role":"user","content":"hi"}`
	said  = `{"role":"assistant","content":"yes"}`
	calls = `{"role":"assistant","content":null,"tool_calls":[{"id":"aaaaaaaa1","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"aaaaaaaa2","type":"function","function":{"name":"f","arguments":"{}"}}]}`
	one   = `{"role":"tool","tool_call_id":"aaaaaaaa1","content":"r"}`
	two   = `{"role":"tool","tool_call_id":"aaaaaaaa2","content":"r"}`
	tools = `"tools":[{"type":"function","function":{"name":"f"}}]`
)

// Malformed is a request that some backend refuses.
type Malformed struct {
	Name string // what is wrong with it
	Body []byte
}

// Malformed are requests with one thing wrong each, for this backend's model. A
// backend takes those of which it has no rule: Check tells.
func (b Backend) Malformed() []Malformed {
	var all []Malformed
	for _, m := range malformed() {
		all = append(all, Malformed{m.name, b.with(m.messages, m.fields)})
	}
	return all
}

// with is a request of these messages and fields.
func (b Backend) with(messages, fields string) []byte {
	var members []string
	if b.Model != "" && !strings.Contains(fields, `"model"`) {
		members = append(members, fmt.Sprintf(`"model":%q`, b.Model))
	}
	if messages != "" {
		members = append(members, `"messages":`+messages)
	}
	if fields != "" {
		members = append(members, fields)
	}
	return []byte("{" + strings.Join(members, ",") + "}")
}

// malformed are the messages, and further fields, by what is wrong with them.
func malformed() []struct{ name, messages, fields string } {
	call := func(id, name, arguments string) string {
		return fmt.Sprintf(`{"role":"assistant","content":null,"tool_calls":[{"id":%q,"type":"function","function":{"name":%q,"arguments":%q}}]}`, id, name, arguments)
	}
	result := func(id string) string { return fmt.Sprintf(`{"role":"tool","tool_call_id":%q,"content":"r"}`, id) }
	list := func(m ...string) string { return "[" + strings.Join(m, ",") + "]" }
	return []struct{ name, messages, fields string }{
		{"no messages", ``, ``},
		{"messages that are no array", `{}`, ``},
		{"an empty array of messages", `[]`, ``},
		{"no role", list(`{"content":"hi"}`), ``},
		{"an unknown role", list(`{"role":"narrator","content":"hi"}`), ``},
		{"a developer", list(`{"role":"developer","content":"s"}`, ask), ``},
		{"a user without content", list(`{"role":"user"}`), ``},
		{"a user with null", list(`{"role":"user","content":null}`), ``},
		{"content that is an object", list(`{"role":"user","content":{}}`), ``},
		{"an empty array of parts", list(`{"role":"user","content":[]}`), ``},
		{"an array of parts", list(`{"role":"user","content":[{"type":"text","text":"hi"}]}`), ``},
		{"an unknown part", list(`{"role":"user","content":[{"type":"smell"}]}`), ``},
		{"a picture in a result", list(ask, calls, one, `{"role":"tool","tool_call_id":"aaaaaaaa2","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]}`), tools},
		{"empty text", list(`{"role":"user","content":""}`), ``},
		{"blank text in a part", list(`{"role":"user","content":[{"type":"text","text":" "}]}`), ``},
		{"a result without its call", list(ask, said, one), tools},
		{"a result after another message", list(ask, calls, one, two, said, two), tools},
		{"a call without its results", list(ask, calls, ask), tools},
		{"a call without one of its results", list(ask, calls, one, ask), tools},
		{"a result without an id", list(ask, calls, one, two, `{"role":"tool","content":"r"}`), tools},
		{"two users", list(ask, ask), ``},
		{"two assistants at the end", list(ask, said, said), ``},
		{"an assistant first", list(said, ask), ``},
		{"a system message in the middle", list(ask, said, `{"role":"system","content":"s"}`, ask), ``},
		{"no user", list(`{"role":"system","content":"s"}`), ``},
		{"an assistant last", list(ask, said), ``},
		{"a user after a result", list(ask, calls, one, two, ask), tools},
		{"a prefill that is not last", list(ask, `{"role":"assistant","content":"y","prefix":true}`, ask), ``},
		{"an id of another form", list(ask, call("call_1", "f", "{}"), result("call_1"), said, ask), tools},
		{"a name with a dot", list(ask, call("aaaaaaaa1", "a.b", "{}"), one, said, ask), tools},
		{"arguments that are no JSON", list(ask, call("aaaaaaaa1", "f", "{"), one, said, ask), tools},
		{"calls without tools", list(ask, calls, one, two, said, ask), ``},
		{"calls without thoughts", list(ask, calls, one, two), tools},
		{"a choice without tools", list(ask), `"tool_choice":"auto"`},
		{"json_object without the word", list(ask), `"response_format":{"type":"json_object"}`},
		{"max_tokens to a model that thinks", list(ask), `"model":"o3-mini","max_tokens":10`},
		{"too much output", list(ask), `"max_tokens":1000000`},
		{"an unknown field", list(ask), `"foldgate":1`},
		{"no model", list(ask), `"model":""`},
		{"another model", list(ask), `"model":"nobody"`},
		{"to go on with and to answer", list(ask), `"continue_final_message":true`},
	}
}
