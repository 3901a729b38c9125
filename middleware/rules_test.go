package middleware_test

import (
	"encoding/json"
	"fmt"
	"strings"
)

// brokenRules judges a forwarded body by section 5.2, from outside: it knows
// neither the plan nor the handoff.
func brokenRules(original, forwarded []byte) []string {
	var was, sent struct{ Messages []msg }
	if err := json.Unmarshal(original, &was); err != nil {
		return []string{"the original is no JSON: " + err.Error()}
	}
	if err := json.Unmarshal(forwarded, &sent); err != nil {
		return []string{"what was forwarded is no JSON: " + err.Error()}
	}
	var bad []string
	say := func(format string, args ...any) { bad = append(bad, fmt.Sprintf(format, args...)) }

	had := faults(was.Messages)
	for fault, n := range faults(sent.Messages) {
		if n > had[fault] {
			say("%s: %d times, %d in the original", fault, n, had[fault])
		}
	}
	head := leading(was.Messages)
	if got := leading(sent.Messages); got != head {
		say("%d leading system messages, %d in the original", got, head)
	} else {
		for i := range head {
			if !equal(was.Messages[i], sent.Messages[i]) {
				say("leading message %d changed", i)
			}
		}
	}
	if len(sent.Messages) == 0 || len(was.Messages) == 0 {
		return append(bad, "no messages")
	}
	last, lastWas := sent.Messages[len(sent.Messages)-1], was.Messages[len(was.Messages)-1]
	if last["role"] != lastWas["role"] {
		say("the last message's role is %v, was %v", last["role"], lastWas["role"])
	}
	if u := lastUser(was.Messages); u != nil && !strings.Contains(allText(sent.Messages), contentText(u)) {
		say("the last user message's text is not there verbatim")
	}
	return bad
}

func leading(messages []msg) int {
	n := 0
	for n < len(messages) && (messages[n]["role"] == "system" || messages[n]["role"] == "developer") {
		n++
	}
	return n
}

// faults counts what breaks the pairing of calls and results, adjacent roles and
// arguments that are no JSON.
func faults(messages []msg) map[string]int {
	out := map[string]int{}
	pending := map[any]bool{}
	for i, m := range messages {
		if m["role"] == "tool" {
			if !pending[m["tool_call_id"]] {
				out["a result without its call"]++
			}
			delete(pending, m["tool_call_id"])
			continue
		}
		out["a call without its result"] += len(pending)
		clear(pending)
		calls, _ := m["tool_calls"].([]any)
		for _, c := range calls {
			call, _ := c.(map[string]any)
			pending[call["id"]] = true
			function, _ := call["function"].(map[string]any)
			if arguments, ok := function["arguments"].(string); ok && arguments != "" && !json.Valid([]byte(arguments)) {
				out["arguments that are no JSON"]++
			}
		}
		if i > 0 && m["role"] == messages[i-1]["role"] {
			out[fmt.Sprintf("two %v messages in a row", m["role"])]++
		}
		if i >= leading(messages) && (m["role"] == "system" || m["role"] == "developer") {
			out["a system message in the middle"]++
		}
	}
	return out
}

func lastUser(messages []msg) msg {
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i]["role"] == "user" {
			return messages[i]
		}
	}
	return nil
}

func contentText(m msg) string {
	if s, ok := m["content"].(string); ok {
		return s
	}
	parts, _ := m["content"].([]any)
	var texts []string
	for _, p := range parts {
		part, _ := p.(map[string]any)
		if s, ok := part["text"].(string); ok {
			texts = append(texts, s)
		}
	}
	return strings.Join(texts, "\n")
}

func allText(messages []msg) string {
	var b strings.Builder
	for _, m := range messages {
		if m["role"] == "user" {
			b.WriteString(contentText(m) + "\n")
		}
	}
	return b.String()
}
