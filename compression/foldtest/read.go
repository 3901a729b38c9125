package foldtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// request is a body taken apart: what stands before the messages, the messages,
// and what stands after.
type request struct {
	before, after string
	messages      []message
}

// message is one element of messages. Fields are read by their exact names: a
// reader into structs would take "Role" for "role".
type message struct {
	raw     json.RawMessage
	fields  map[string]json.RawMessage
	role    string
	content json.RawMessage // nil where there is none
	callID  string
	name    string
	calls   []call
	single  *call // function_call
}

// call is one element of tool_calls, or the deprecated function_call.
type call struct {
	raw    json.RawMessage
	fields map[string]json.RawMessage // nil where it is no object
	body   map[string]json.RawMessage // function or custom
	id     string
	name   string
	args   *string
}

// read takes a body apart.
func read(body []byte) (request, error) {
	var r request
	d := json.NewDecoder(bytes.NewReader(body))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return r, fmt.Errorf("no object: %w", errors.Join(err, errNoMessages))
	}
	found := false
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return r, fmt.Errorf("reading a key: %w", err)
		}
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return r, fmt.Errorf("reading a value: %w", err)
		}
		if key != "messages" {
			continue
		}
		if found {
			return r, fmt.Errorf("messages stands twice: %w", errNoMessages)
		}
		found = true
		end := int(d.InputOffset())
		r.before, r.after = string(body[:end-len(raw)]), string(body[end:])
		if r.messages, err = readMessages(raw); err != nil {
			return r, err
		}
	}
	if _, err := d.Token(); err != nil {
		return r, fmt.Errorf("reading the end: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return r, fmt.Errorf("more than one value: %w", errNoMessages)
	}
	if !found {
		return r, errNoMessages
	}
	return r, nil
}

var errNoMessages = errors.New("foldtest: no request with one array of messages")

func readMessages(raw json.RawMessage) ([]message, error) {
	var raws []json.RawMessage
	if err := json.Unmarshal(raw, &raws); err != nil {
		return nil, fmt.Errorf("reading the messages: %w", err)
	}
	out := make([]message, len(raws))
	for i, one := range raws {
		m := message{raw: one}
		if err := json.Unmarshal(one, &m.fields); err != nil || m.fields == nil {
			return nil, fmt.Errorf("message %d is no object: %w", i, errors.Join(err, errNoMessages))
		}
		role, ok := str(m.fields["role"])
		if !ok {
			return nil, fmt.Errorf("message %d has no role: %w", i, errNoMessages)
		}
		m.role = role
		m.content = m.fields["content"]
		m.callID, _ = str(m.fields["tool_call_id"])
		m.name, _ = str(m.fields["name"])
		var calls []json.RawMessage
		if kind(m.fields["tool_calls"]) == '[' {
			_ = json.Unmarshal(m.fields["tool_calls"], &calls)
		}
		for _, c := range calls {
			m.calls = append(m.calls, readCall(c))
		}
		if kind(m.fields["function_call"]) == '{' {
			c := call{raw: m.fields["function_call"]}
			_ = json.Unmarshal(c.raw, &c.body)
			c.readBody()
			m.single = &c
		}
		out[i] = m
	}
	return out, nil
}

func readCall(raw json.RawMessage) call {
	c := call{raw: raw}
	if kind(raw) != '{' {
		return c
	}
	_ = json.Unmarshal(raw, &c.fields)
	c.id, _ = str(c.fields["id"])
	for _, key := range []string{"function", "custom"} {
		if kind(c.fields[key]) == '{' && c.body == nil {
			_ = json.Unmarshal(c.fields[key], &c.body)
		}
	}
	c.readBody()
	return c
}

func (c *call) readBody() {
	c.name, _ = str(c.body["name"])
	for _, key := range []string{"arguments", "input"} {
		if raw := c.body[key]; kind(raw) == '"' && c.args == nil {
			s := text(raw)
			c.args = &s
		}
	}
}

// kind is the first byte of a value that is no white space, 0 where there is none.
func kind(raw json.RawMessage) byte {
	if raw = bytes.TrimSpace(raw); len(raw) > 0 {
		return raw[0]
	}
	return 0
}

// str is the text of a JSON string. Where the string has no exact text (a lone
// surrogate, bytes that are no UTF-8) its spelling stands for it, so that what
// differs stays different.
func str(raw json.RawMessage) (string, bool) {
	var s string
	if kind(raw) != '"' || json.Unmarshal(raw, &s) != nil {
		return "", false
	}
	if strings.ContainsRune(s, '\uFFFD') {
		return string(raw), true
	}
	return s, true
}

// text is the text of a JSON string with replacement characters where it has no
// exact one.
func text(raw json.RawMessage) string {
	var s string
	if kind(raw) == '"' {
		_ = json.Unmarshal(raw, &s)
	}
	return s
}

func (m message) leading() bool { return m.role == "system" || m.role == "developer" }

func (m message) result() bool { return m.role == "tool" || m.role == "function" }

// cannotCall reports whether no API lets the message call.
func (m message) cannotCall() bool { return m.role == "user" || m.leading() || m.result() }

// carries reports whether the message can carry text before its own.
func (m message) carries() bool {
	return m.role == "user" && (kind(m.content) == '"' || kind(m.content) == '[')
}

// parts are the elements of a content array.
func parts(content json.RawMessage) []json.RawMessage {
	var out []json.RawMessage
	if kind(content) == '[' {
		_ = json.Unmarshal(content, &out)
	}
	return out
}

func object(raw json.RawMessage) map[string]json.RawMessage {
	var out map[string]json.RawMessage
	if kind(raw) == '{' {
		_ = json.Unmarshal(raw, &out)
	}
	return out
}

// texts are the texts of a content: the string, or the parts that have one.
func texts(content json.RawMessage) []string {
	if kind(content) == '"' {
		return []string{text(content)}
	}
	var out []string
	for _, raw := range parts(content) {
		if t := object(raw)["text"]; kind(t) == '"' {
			out = append(out, text(t))
		}
	}
	return out
}

var markerKeys = []string{"cache_control", "prompt_cache_breakpoint"}

// markers are the cache markers of a message, as members, the message's own last.
func (m message) markers() []string {
	var out []string
	for _, raw := range parts(m.content) {
		out = append(out, markersOf(object(raw))...)
	}
	return append(out, markersOf(m.fields)...)
}

func markersOf(fields map[string]json.RawMessage) []string {
	var out []string
	for _, key := range markerKeys {
		if v, ok := fields[key]; ok {
			out = append(out, key+":"+string(v))
		}
	}
	return out
}

// ids are all ids that the messages name.
func ids(messages []message) []string {
	var out []string
	for _, m := range messages {
		if _, ok := m.fields["tool_call_id"]; ok {
			out = append(out, m.callID)
		}
		for _, c := range m.calls {
			out = append(out, c.id)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
