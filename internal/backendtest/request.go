package backendtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// request is a chat request as a backend reads it.
type request struct {
	fields   map[string]json.RawMessage
	model    string
	stream   bool
	output   int // max_tokens or max_completion_tokens, 0 if there is none
	messages []message
}

type message struct {
	fields  map[string]json.RawMessage
	role    string
	content content
	calls   []call
	callID  string // of a result
}

// content is what stands under a message's key of that name.
type content struct {
	form  form
	text  string // of a string, or of all parts that have one
	parts []part
}

// form is which kind of JSON a content is.
type form uint8

const (
	absent form = iota
	null
	text
	list
	other
)

type part struct {
	kind string
	text string
	has  bool // it has a text
}

type call struct {
	fields    map[string]json.RawMessage
	id        string
	name      string
	arguments string
}

// errNotJSON is what every backend refuses in words of its own.
var errNotJSON = errors.New("no JSON object")

// read opens a request. Only what is no JSON object is an error: everything else
// is for the rules to judge.
func read(body []byte) (*request, error) {
	r := &request{}
	if !utf8.Valid(body) {
		return nil, fmt.Errorf("%w: invalid UTF-8", errNotJSON)
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	if err := dec.Decode(&r.fields); err != nil || r.fields == nil {
		return nil, errNotJSON
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errNotJSON
	}
	r.model = stringOf(r.fields["model"])
	r.stream = string(r.fields["stream"]) == "true"
	for _, name := range []string{"max_tokens", "max_completion_tokens"} {
		var n int
		if json.Unmarshal(r.fields[name], &n) == nil && n > 0 {
			r.output = n
		}
	}
	var raw []json.RawMessage
	if json.Unmarshal(r.fields["messages"], &raw) == nil {
		for _, m := range raw {
			r.messages = append(r.messages, readMessage(m))
		}
	}
	return r, nil
}

func readMessage(raw json.RawMessage) message {
	var m message
	if json.Unmarshal(raw, &m.fields) != nil {
		m.fields = map[string]json.RawMessage{}
	}
	m.role = stringOf(m.fields["role"])
	m.callID = stringOf(m.fields["tool_call_id"])
	m.content = readContent(m.fields["content"])
	var calls []json.RawMessage
	if json.Unmarshal(m.fields["tool_calls"], &calls) == nil {
		for _, c := range calls {
			m.calls = append(m.calls, readCall(c))
		}
	}
	return m
}

func readContent(raw json.RawMessage) content {
	raw = bytes.TrimSpace(raw)
	switch {
	case len(raw) == 0:
		return content{form: absent}
	case raw[0] == 'n':
		return content{form: null}
	case raw[0] == '"':
		return content{form: text, text: stringOf(raw)}
	case raw[0] != '[':
		return content{form: other}
	}
	c := content{form: list}
	var parts []struct {
		Type string
		Text *string
	}
	if json.Unmarshal(raw, &parts) != nil {
		return content{form: other}
	}
	var texts []string
	for _, p := range parts {
		one := part{kind: p.Type}
		if p.Text != nil {
			one.text, one.has = *p.Text, true
			texts = append(texts, *p.Text)
		}
		c.parts = append(c.parts, one)
	}
	c.text = strings.Join(texts, "\n")
	return c
}

func readCall(raw json.RawMessage) call {
	var c call
	if json.Unmarshal(raw, &c.fields) != nil {
		return c
	}
	var function map[string]json.RawMessage
	_ = json.Unmarshal(c.fields["function"], &function) // a custom call has none
	c.id = stringOf(c.fields["id"])
	c.name = stringOf(function["name"])
	c.arguments = stringOf(function["arguments"])
	return c
}

// stringOf is the text of a JSON string, "" of anything else.
func stringOf(raw json.RawMessage) string {
	var s string
	_ = json.Unmarshal(raw, &s)
	return s
}

// has reports whether a field is there and not null.
func has(fields map[string]json.RawMessage, name string) bool {
	raw, ok := fields[name]
	return ok && string(raw) != "null"
}

func (m message) system() bool { return m.role == "system" || m.role == "developer" }
