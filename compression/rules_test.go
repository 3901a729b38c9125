package compression_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/foldgate/foldgate/compression"
	"github.com/foldgate/foldgate/compression/window"
)

// This file judges a folded request by section 5.2 of the design on its own: it
// shares no code with the package, and reads JSON with another reader.

type judgedMessage struct {
	raw     json.RawMessage
	fields  map[string]json.RawMessage
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
	CallID  string          `json:"tool_call_id"`
	Calls   []judgedCall    `json:"tool_calls"`
	Single  *struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function_call"`
}

type judgedCall struct {
	ID       string `json:"id"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// judged takes a body apart: what stands before the messages, the messages, and
// what stands after.
func judged(body []byte) (before, after string, out []judgedMessage, err error) {
	d := json.NewDecoder(bytes.NewReader(body))
	if _, err := d.Token(); err != nil {
		return "", "", nil, err
	}
	found := false
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return "", "", nil, err
		}
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return "", "", nil, err
		}
		if key != "messages" {
			continue
		}
		found = true
		end := int(d.InputOffset())
		before, after = string(body[:end-len(raw)]), string(body[end:])
		var raws []json.RawMessage
		if err := json.Unmarshal(raw, &raws); err != nil {
			return "", "", nil, err
		}
		for _, r := range raws {
			m := judgedMessage{raw: r}
			if err := json.Unmarshal(r, &m); err != nil {
				return "", "", nil, fmt.Errorf("message %s: %w", r, err)
			}
			if err := json.Unmarshal(r, &m.fields); err != nil {
				return "", "", nil, err
			}
			out = append(out, m)
		}
	}
	if _, err := d.Token(); err != nil {
		return "", "", nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return "", "", nil, fmt.Errorf("more than one value")
	}
	if !found {
		return "", "", nil, fmt.Errorf("no messages")
	}
	return before, after, out, nil
}

// texts are the texts of a content: the string, or the parts that have one.
func (m judgedMessage) texts() []string {
	var s string
	if json.Unmarshal(m.Content, &s) == nil {
		return []string{s}
	}
	var parts []json.RawMessage
	if json.Unmarshal(m.Content, &parts) != nil {
		return nil
	}
	var out []string
	for _, raw := range parts {
		var p struct {
			Text *string `json:"text"`
		}
		if json.Unmarshal(raw, &p) == nil && p.Text != nil {
			out = append(out, *p.Text)
		}
	}
	return out
}

func (m judgedMessage) leading() bool { return m.Role == "system" || m.Role == "developer" }

// carries reports whether the message can carry a handoff before its own text.
func (m judgedMessage) carries() bool {
	c := bytes.TrimSpace(m.Content)
	return m.Role == "user" && len(c) > 0 && (c[0] == '"' || c[0] == '[')
}

// markers are the cache markers of a message, in order.
func (m judgedMessage) markers() []string {
	var out []string
	var parts []map[string]json.RawMessage
	_ = json.Unmarshal(m.Content, &parts)
	for _, fields := range append(parts, m.fields) {
		if v, ok := fields["cache_control"]; ok {
			out = append(out, string(v))
		}
	}
	return out
}

// structure is what breaks the pairing of calls and results, each under a name
// that is the same in the original.
func structure(messages []judgedMessage) map[string]int {
	bad := map[string]int{}
	pending := map[string]int{}
	for i, m := range messages {
		if m.Role == "tool" || m.Role == "function" {
			if pending[m.CallID] == 0 {
				bad["result without call "+m.CallID]++
			} else {
				pending[m.CallID]--
			}
			continue
		}
		for id, n := range pending {
			if n > 0 {
				bad["call without result "+id] += n
			}
		}
		clear(pending)
		for _, c := range m.Calls {
			pending[c.ID]++
		}
		if m.Single != nil {
			pending[""]++
		}
		if i > 0 && m.Role == messages[i-1].Role {
			bad["adjacent "+m.Role]++
		}
	}
	return bad
}

// breaches lists what a folded request breaks.
func breaches(orig []byte, f compression.Folded, text string, b window.Budget) []string {
	var bad []string
	say := func(format string, args ...any) { bad = append(bad, fmt.Sprintf(format, args...)) }
	before, after, was, err := judged(orig)
	if err != nil {
		return []string{"the original: " + err.Error()}
	}
	sentBefore, sentAfter, sent, err := judged(f.Body)
	if err != nil {
		return []string{"not one valid JSON value: " + err.Error()}
	}
	if before != sentBefore || after != sentAfter {
		say("a field outside messages changed")
	}
	head := 0
	for head < len(was) && was[head].leading() {
		head++
	}
	middle, rest := was[head:head+f.Covered], was[head+f.Covered:]
	if len(sent) < head+len(rest) || len(sent) > head+len(rest)+1 {
		return append(bad, fmt.Sprintf("%d messages sent, head %d, rest %d", len(sent), head, len(rest)))
	}
	for i := range head {
		if !bytes.Equal(was[i].raw, sent[i].raw) {
			say("head message %d changed", i)
		}
	}
	tail := sent[len(sent)-len(rest):]
	var carrier *judgedMessage
	own := judgedMessage{}
	switch extra := len(sent) - head - len(rest); {
	case f.Covered == 0 && extra > 0:
		say("a message was added where nothing is covered")
	case f.Covered > 0 && extra == 0:
		carrier, own = &tail[0], rest[0]
		if !rest[0].carries() {
			say("the first message of the rest carries the handoff and is no user's")
		}
	case f.Covered > 0:
		carrier = &sent[head]
		if rest[0].carries() {
			say("the rest begins with a user's message, and another carries the handoff")
		}
		for i := len(middle) - 1; i >= 0; i-- {
			if middle[i].carries() {
				own = middle[i]
				break
			}
		}
	}
	if carrier != nil {
		bad = append(bad, judgeCarrier(*carrier, own, middle, text, f.Shrunk > 0)...)
	}
	for i := range tail {
		if carrier == &tail[i] {
			continue
		}
		bad = append(bad, judgeKept(rest[i], tail[i], f.Shrunk > 0)...)
	}
	had := structure(was)
	for name, n := range structure(sent) {
		if had[name] < n {
			say("%s (%d times, before %d)", name, n, had[name])
		}
	}
	bad = append(bad, judgeUsers(was, sent)...)
	if strings.Contains(before+after, "json_object") && saysJSON(was) && !saysJSON(sent) {
		say("the word json is gone")
	}
	if b.Usable > 0 && f.Fits != (f.Tokens <= b.Usable) {
		say("fits is %v with %d tokens of %d usable", f.Fits, f.Tokens, b.Usable)
	}
	return bad
}

// judgeCarrier judges the message that the handoff leads; own is what it was.
func judgeCarrier(c, own judgedMessage, middle []judgedMessage, text string, shrunk bool) []string {
	var bad []string
	if c.Role != "user" {
		bad = append(bad, "the handoff stands in a message of role "+c.Role)
	}
	texts := c.texts()
	if len(texts) == 0 || !shrunk && !strings.HasPrefix(texts[0], text) {
		bad = append(bad, "the handoff is not the first text")
	}
	var gone []string
	for _, m := range middle {
		if !bytes.Equal(m.raw, own.raw) {
			gone = append(gone, m.markers()...)
		}
	}
	if markers := c.markers(); len(gone) > 0 && !slices.Contains(markers, gone[len(gone)-1]) {
		bad = append(bad, "the last marker of the middle is gone")
	}
	if own.raw == nil {
		if len(texts) != 1 {
			bad = append(bad, "the gateway's own message has more than the handoff")
		}
		if len(gone) == 0 && bytes.TrimSpace(c.Content)[0] != '"' {
			bad = append(bad, "the gateway's own message has no string content")
		}
		return bad
	}
	for k, v := range own.fields {
		if k != "content" && !bytes.Equal(v, c.fields[k]) {
			bad = append(bad, "field "+k+" of the carrier changed")
		}
	}
	if shrunk {
		return bad
	}
	if bytes.TrimSpace(own.Content)[0] == '[' {
		inner := strings.TrimSpace(string(own.Content))[1:]
		if !strings.HasSuffix(string(c.Content), inner) {
			bad = append(bad, "the parts of the carrier changed")
		}
		return bad
	}
	raw := string(own.Content)
	if bytes.TrimSpace(c.Content)[0] == '[' {
		if !strings.HasSuffix(string(c.Content), `"text":`+raw+`}]`) {
			bad = append(bad, "the text of the carrier changed")
		}
	} else if !strings.HasSuffix(string(c.Content), raw[1:]) {
		bad = append(bad, "the text of the carrier changed")
	}
	return bad
}

// judgeKept judges a message of the tail that carries nothing.
func judgeKept(was, sent judgedMessage, shrunk bool) []string {
	if bytes.Equal(was.raw, sent.raw) {
		return nil
	}
	if !shrunk {
		return []string{"a message changed that was not shrunk: " + string(was.raw)}
	}
	var bad []string
	for k, v := range was.fields {
		if k != "content" && k != "tool_calls" && k != "function_call" && !bytes.Equal(v, sent.fields[k]) {
			bad = append(bad, "field "+k+" changed")
		}
	}
	if len(was.fields) != len(sent.fields) || len(sent.raw) >= len(was.raw)+64 {
		bad = append(bad, "shrinking added something")
	}
	if len(was.Calls) != len(sent.Calls) {
		return append(bad, "a call is gone")
	}
	for i := range was.Calls {
		a, b := was.Calls[i], sent.Calls[i]
		if a.ID != b.ID || a.Function.Name != b.Function.Name {
			bad = append(bad, "a call's id or name changed")
		}
		if json.Valid([]byte(a.Function.Arguments)) && !json.Valid([]byte(b.Function.Arguments)) {
			bad = append(bad, "arguments are no JSON any more")
		}
		if !json.Valid([]byte(a.Function.Arguments)) && a.Function.Arguments != b.Function.Arguments {
			bad = append(bad, "arguments that are no JSON changed")
		}
	}
	return bad
}

// judgeUsers judges that the user's last words are there, and where they were
// last they are last.
func judgeUsers(was, sent []judgedMessage) []string {
	var bad []string
	last := -1
	for i, m := range was {
		if m.Role == "user" {
			last = i
		}
	}
	if last < 0 {
		return nil
	}
	found := false
	for _, m := range sent {
		if m.Role != "user" {
			continue
		}
		have := strings.Join(m.texts(), "\x00")
		all := true
		for _, t := range was[last].texts() {
			all = all && strings.Contains(have, t)
		}
		found = found || all
	}
	if !found {
		bad = append(bad, "the last user message's text is not there verbatim")
	}
	if sent[len(sent)-1].Role != was[len(was)-1].Role {
		bad = append(bad, "the last message has another role")
	}
	// Calls in flight at the end are as they came.
	end := was[len(was)-1]
	if (len(end.Calls) > 0 || end.Single != nil) && !slices.EqualFunc(end.Calls, sent[len(sent)-1].Calls, func(a, b judgedCall) bool { return a == b }) {
		bad = append(bad, "a call in flight changed")
	}
	return bad
}

func saysJSON(messages []judgedMessage) bool {
	for _, m := range messages {
		if strings.Contains(strings.ToLower(strings.Join(m.texts(), " ")), "json") {
			return true
		}
	}
	return false
}
