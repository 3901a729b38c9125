package backendtest

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// The checks look at one thing each and know no backend's words.

func noModel(r *request) *finding {
	if r.model == "" {
		return &finding{}
	}
	return nil
}

// noMessages: there is no array of them.
func noMessages(r *request) *finding {
	if raw := r.fields["messages"]; len(raw) > 0 && raw[0] == '[' {
		return nil
	}
	return &finding{}
}

func emptyMessages(r *request) *finding {
	if len(r.messages) == 0 {
		return &finding{}
	}
	return nil
}

// roleOutside: a role that is none of these.
func roleOutside(known ...string) func(*request) *finding {
	return func(r *request) *finding {
		for i, m := range r.messages {
			if !slices.Contains(known, m.role) {
				return &finding{at: i, role: m.role}
			}
		}
		return nil
	}
}

// fieldOutside: a field of the request that is none of these.
func fieldOutside(known ...string) func(*request) *finding {
	return func(r *request) *finding {
		var unknown []string
		for name := range r.fields {
			if !slices.Contains(known, name) {
				unknown = append(unknown, name)
			}
		}
		if len(unknown) == 0 {
			return nil
		}
		slices.Sort(unknown)
		return &finding{names: unknown[:1]}
	}
}

// noContent: a message without content that may not be. Assistants with calls may.
func noContent(r *request) *finding {
	for i, m := range r.messages {
		missing := m.content.form == absent || m.content.form == null
		if missing && len(m.calls) == 0 && !has(m.fields, "function_call") && !has(m.fields, "audio") && !has(m.fields, "refusal") {
			return &finding{at: i, role: m.role}
		}
	}
	return nil
}

// otherContent: content that is neither text nor parts.
func otherContent(r *request) *finding {
	for i, m := range r.messages {
		if m.content.form == other {
			return &finding{at: i, role: m.role}
		}
	}
	return nil
}

// partsAnywhere: content that is an array, of a backend that takes text only.
func partsAnywhere(r *request) *finding {
	for i, m := range r.messages {
		if m.content.form == list {
			return &finding{at: i, role: m.role}
		}
	}
	return nil
}

func emptyParts(r *request) *finding {
	for i, m := range r.messages {
		if m.content.form == list && len(m.content.parts) == 0 {
			return &finding{at: i, role: m.role}
		}
	}
	return nil
}

// partOutside: a part that messages of its role do not have.
func partOutside(known map[string][]string) func(*request) *finding {
	return func(r *request) *finding {
		for i, m := range r.messages {
			kinds, ruled := known[m.role]
			for k, p := range m.content.parts {
				if ruled && !slices.Contains(kinds, p.kind) || p.kind == "text" && !p.has {
					return &finding{at: i, part: k, role: m.role, names: []string{p.kind}}
				}
			}
		}
		return nil
	}
}

// blank: text that is empty or white space only, or a message with nothing in it.
func blank(r *request) *finding {
	for i, m := range r.messages {
		for k, p := range m.content.parts {
			if p.has && strings.TrimSpace(p.text) == "" {
				return &finding{at: i, part: k, role: m.role}
			}
		}
		if m.content.form != list && strings.TrimSpace(m.content.text) == "" && len(m.calls) == 0 {
			return &finding{at: i, role: m.role}
		}
	}
	return nil
}

func noCallID(r *request) *finding {
	for i, m := range r.messages {
		if m.role == "tool" && m.callID == "" {
			return &finding{at: i, role: m.role}
		}
	}
	return nil
}

// orphan: a result that answers no call of the assistant's message which its run
// of results follows.
func orphan(r *request) *finding {
	var open []string
	for i, m := range r.messages {
		switch {
		case m.role != "tool":
			open = open[:0]
			for _, c := range m.calls {
				open = append(open, c.id)
			}
		case !slices.Contains(open, m.callID):
			return &finding{at: i, role: m.role, prev: before(r, i), names: []string{m.callID}}
		}
	}
	return nil
}

// unanswered: calls whose results do not follow directly.
func unanswered(r *request) *finding {
	for i, m := range r.messages {
		var open []string
		for _, c := range m.calls {
			open = append(open, c.id)
		}
		for _, later := range r.messages[i+1:] {
			if later.role != "tool" {
				break
			}
			open = slices.DeleteFunc(open, func(id string) bool { return id == later.callID })
		}
		if len(open) > 0 {
			return &finding{at: i, role: m.role, names: open}
		}
	}
	return nil
}

func before(r *request, i int) string {
	if i == 0 {
		return ""
	}
	return r.messages[i-1].role
}

// takesTurns: after the leading system message user and assistant take turns,
// the user first. counts says which messages the template counts.
func takesTurns(counts func(message) bool) func(*request) *finding {
	return func(r *request) *finding {
		seen := 0
		for i, m := range r.messages {
			if i == 0 && m.system() || !counts(m) {
				continue
			}
			if want := [...]string{"user", "assistant"}[seen%2]; m.role != want {
				return &finding{at: i, role: m.role, prev: before(r, i)}
			}
			seen++
		}
		return nil
	}
}

// spoken leaves out calls and their results, as templates with tools do.
func spoken(m message) bool { return m.role != "tool" && len(m.calls) == 0 }

func lateSystem(r *request) *finding {
	for i, m := range r.messages {
		if i > 0 && m.system() {
			return &finding{at: i, role: m.role, prev: before(r, i)}
		}
	}
	return nil
}

func noUser(r *request) *finding {
	for _, m := range r.messages {
		if m.role == "user" {
			return nil
		}
	}
	return &finding{}
}

// lastOutside: the last message is of none of these roles, and no prefill.
func lastOutside(known ...string) func(*request) *finding {
	return func(r *request) *finding {
		if len(r.messages) == 0 {
			return nil
		}
		last := r.messages[len(r.messages)-1]
		if slices.Contains(known, last.role) || string(last.fields["prefix"]) == "true" {
			return nil
		}
		return &finding{at: len(r.messages) - 1, role: last.role}
	}
}

// follows: a message of one role directly after one of another.
func follows(role, prev string) func(*request) *finding {
	return func(r *request) *finding {
		for i, m := range r.messages {
			if m.role == role && before(r, i) == prev {
				return &finding{at: i, role: role, prev: prev}
			}
		}
		return nil
	}
}

func twoAssistantsAtTheEnd(r *request) *finding {
	if n := len(r.messages); n > 1 && r.messages[n-1].role == "assistant" && r.messages[n-2].role == "assistant" {
		return &finding{at: n - 1}
	}
	return nil
}

// idOutside: an id of a call or a result that is not of this form.
func idOutside(shape *regexp.Regexp) func(*request) *finding {
	return func(r *request) *finding {
		for i, m := range r.messages {
			for k, c := range m.calls {
				if !shape.MatchString(c.id) {
					return &finding{at: i, part: k, names: []string{c.id}}
				}
			}
			if m.role == "tool" && !shape.MatchString(m.callID) {
				return &finding{at: i, names: []string{m.callID}}
			}
		}
		return nil
	}
}

var functionName = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)

func badFunctionName(r *request) *finding {
	for i, m := range r.messages {
		for k, c := range m.calls {
			if has(c.fields, "function") && !functionName.MatchString(c.name) {
				return &finding{at: i, part: k, names: []string{c.name}}
			}
		}
	}
	return nil
}

// argumentsNoJSON: arguments of a call that the server reads and cannot.
func argumentsNoJSON(r *request) *finding {
	for i, m := range r.messages {
		for k, c := range m.calls {
			if has(c.fields, "function") && !json.Valid([]byte(c.arguments)) {
				return &finding{at: i, part: k, names: []string{c.arguments}}
			}
		}
	}
	return nil
}
