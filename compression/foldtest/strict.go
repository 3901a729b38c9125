package foldtest

import "fmt"

// Strict names a kind of backend by what it refuses.
type Strict uint8

// The strict backends. Each takes what the published chat templates and
// validators of its kind take.
const (
	// OpenAI: every tool message answers a call of the assistant message that its
	// run follows; every call is answered in that run.
	OpenAI Strict = iota
	// Alternating: after the system message user and assistant take turns, the
	// user first. Tool messages and assistants with calls are not counted
	// (Mistral and Devstral templates in llama.cpp and vLLM).
	Alternating
	// PlainAlternating: as Alternating, with every message counted (Gemma).
	PlainAlternating
	// SystemFirst: a system message stands first or nowhere (Qwen).
	SystemFirst
	// NonEmpty: no blank text, and the last message is a user's or a tool's
	// (Anthropic and Bedrock behind a translating gateway).
	NonEmpty
	// MistralAPI: tool messages only after calls or other tool messages, as many
	// as there are calls, and no user directly after them.
	MistralAPI
	stricts
)

var strictNames = [...]string{"openai", "alternating", "plain-alternating", "system-first", "non-empty", "mistral-api"}

// String is the backend's name.
func (s Strict) String() string {
	if s >= stricts {
		return fmt.Sprintf("strict(%d)", uint8(s))
	}
	return strictNames[s]
}

// Stricts are all strict backends.
func Stricts() []Strict {
	out := make([]Strict, stricts)
	for i := range out {
		out[i] = Strict(i)
	}
	return out
}

// Validate lists what a strict backend refuses in a body, nil if it takes it.
// What is no request with messages is refused by all.
func Validate(body []byte, s Strict) []string {
	r, err := read(body)
	if err != nil {
		return []string{err.Error()}
	}
	return validate(r.messages, s)
}

func validate(messages []message, s Strict) []string {
	v := validation{messages: messages}
	switch s {
	case OpenAI:
		v.pairs()
	case Alternating:
		v.alternates(func(m message) bool { return !m.result() && len(m.calls) == 0 && m.single == nil })
	case PlainAlternating:
		v.alternates(func(message) bool { return true })
	case SystemFirst:
		for i, m := range v.messages {
			if i > 0 && m.leading() {
				v.refuse("message %d is a system message and not the first", i)
			}
		}
	case NonEmpty:
		v.nonEmpty()
	case MistralAPI:
		v.mistral()
	}
	return v.bad
}

type validation struct {
	messages []message
	bad      []string
}

func (v *validation) refuse(format string, args ...any) {
	v.bad = append(v.bad, fmt.Sprintf(format, args...))
}

func (v *validation) pairs() {
	for i, f := range faults(v.messages) {
		for _, fault := range f {
			v.refuse("message %d: %s", i, fault)
		}
	}
}

func (v *validation) alternates(counts func(message) bool) {
	seen := 0
	for i, m := range v.messages {
		if i == 0 && m.leading() || !counts(m) {
			continue
		}
		want := "user"
		if seen%2 == 1 {
			want = "assistant"
		}
		if m.role != want {
			v.refuse("message %d is of role %s, not %s", i, m.role, want)
			return
		}
		seen++
	}
}

func (v *validation) nonEmpty() {
	for i, m := range v.messages {
		blank := len(m.calls) == 0 && m.single == nil
		for _, t := range texts(m.content) {
			if t == "" {
				v.refuse("message %d: a text is blank", i)
			}
			blank = false
		}
		if blank && len(parts(m.content)) == 0 {
			v.refuse("message %d has no content", i)
		}
	}
	if n := len(v.messages); n > 0 && v.messages[n-1].role != "user" && v.messages[n-1].role != "tool" {
		v.refuse("the last message is of role %s", v.messages[n-1].role)
	}
}

func (v *validation) mistral() {
	open, after := 0, "" // calls that wait, and what came before
	for i, m := range v.messages {
		switch {
		case m.role == "tool":
			if open == 0 {
				v.refuse("message %d: a tool message after %q", i, after)
				return
			}
			open--
		case open > 0:
			v.refuse("message %d: not the same number of calls and results", i)
			return
		case m.role == "user" && after == "tool":
			v.refuse("message %d: a user after a tool", i)
			return
		}
		if m.role == "assistant" {
			open = len(m.calls)
		}
		after = m.role
	}
	if open > 0 {
		v.refuse("calls without results at the end")
	}
}
