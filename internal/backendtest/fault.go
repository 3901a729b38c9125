package backendtest

import (
	"bytes"
	"encoding/json"
)

// fault is what a backend has against a request, in its own words.
type fault struct {
	status  int // 0: 400
	message string
	kind    string // the error's type; empty: what the backend gives to any
	param   string // empty: null
	code    string // empty: null
}

// finding is what a check found, for words to be made of.
type finding struct {
	at    int    // the message
	part  int    // the part or the call in it
	role  string // its role, and the one before it
	prev  string
	names []string // ids, or whatever else is to be named
}

// rule is one thing that a backend refuses.
type rule struct {
	check func(*request) *finding
	say   func(finding) fault
}

// judge is the first fault that the rules find, in their order.
func judge(r *request, rules []rule) *fault {
	for _, one := range rules {
		if found := one.check(r); found != nil {
			f := one.say(*found)
			if f.status == 0 {
				f.status = 400
			}
			return &f
		}
	}
	return nil
}

// always is for faults whose words do not depend on what was found.
func always(f fault) func(finding) fault { return func(finding) fault { return f } }

// Answer is a response whole.
type Answer struct {
	Status int
	Type   string // Content-Type
	Body   string
}

const jsonType = "application/json"

// nullable is a JSON string, or null for the empty one.
func nullable(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// object is a JSON object with its members in this order: name, value, name, value.
func object(members ...any) json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('{')
	for i := 0; i+1 < len(members); i += 2 {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(encoded(members[i]))
		b.WriteByte(':')
		b.Write(encoded(members[i+1]))
	}
	b.WriteByte('}')
	return b.Bytes()
}

// encoded is a value as JSON, with <, > and & as they are.
func encoded(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("backendtest: " + err.Error()) // only values of this package are encoded
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// indented is the same JSON over several lines, as some servers write it.
func indented(raw json.RawMessage) string {
	var b bytes.Buffer
	if err := json.Indent(&b, raw, "", "  "); err != nil {
		panic("backendtest: " + err.Error())
	}
	return b.String()
}
