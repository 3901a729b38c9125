package compression

import (
	"cmp"
	"strings"

	"github.com/foldgate/foldgate/compression/chat"
	"github.com/foldgate/foldgate/compression/redact"
)

// source is one covered message as text. Secrets are taken out as it is read, so
// that nothing written from it can hold one, and no cut can leave a part of one
// that is not recognised any more.
type source struct {
	position int // of the message after the head, -1 for a line of an earlier handoff
	role     chat.Role
	name     string
	text     string
	calls    []sourceCall
	// later: a result that a newer one repeats to the byte. It is told there.
	later bool
	// verbatim: a user message of which a copy stands after the handoff.
	verbatim bool
	// asked: of a user message before the others nothing but the request is told.
	asked bool
	// notes is what a line of an earlier handoff weighs, 0 for a message; heading
	// is the one that it stood under, if any.
	notes   int64
	heading string
}

// sourceCall is a call with what became of it.
type sourceCall struct {
	name      string
	arguments string
	result    int // the source of its result, -1 if it has none
}

// sources reads the messages after the head from position from to position to,
// behind those that are there already.
func (v *View) sources(out []source, from, to int) []source {
	type place struct{ source, call int }
	byID := map[string]place{}
	newest := map[string]int{}
	for p := from; p < to; p++ {
		m := &v.Messages[v.Head+p]
		s := source{position: p, role: m.Role, name: speaker(m.Name), text: v.said(v.Head + p)}
		for i := range m.Calls {
			c := &m.Calls[i]
			s.calls = append(s.calls, sourceCall{
				name: redact.Text(chat.Valid(cmp.Or(c.Name, c.Type))), arguments: redact.Text(v.Decode(c.Arguments)), result: -1,
			})
		}
		if m.Role.Result() {
			if at, ok := byID[callKey(m.ToolCallID, m.Name)]; ok {
				out[at.source].calls[at.call].result = len(out)
			}
			if len(s.text) > outcomeMax {
				if before, ok := newest[s.text]; ok {
					out[before].later = true
				}
				newest[s.text] = len(out)
			}
		}
		if m.Role == chat.RoleUser {
			out = readNotes(out, handoffIn(v.Text(v.Head+p)))
		}
		for i := range m.Calls { // last: a message of any role may call, and a result answer itself
			byID[callKey(m.Calls[i].ID, m.Calls[i].Name)] = place{len(out), i}
		}
		out = append(out, s)
	}
	return out
}

// requested reads the user's messages among the first n after the head.
func (v *View) requested(out []source, n int) []source {
	for p := range n {
		if m := &v.Messages[v.Head+p]; m.Role == chat.RoleUser {
			out = append(out, source{position: p, role: m.Role, name: speaker(m.Name), text: v.said(v.Head + p), asked: true})
		}
	}
	return out
}

// said is the text of message i without secrets, thoughts and what this package
// put before it, and with its images, sounds and files by name.
func (v *View) said(i int) string {
	m := &v.Messages[i]
	text := v.Text(i)
	switch m.Role {
	case chat.RoleUser:
		text = OwnText(text)
	case chat.RoleAssistant:
		text = withoutThoughts(text)
	case chat.RoleTool, chat.RoleFunction:
		text = withoutEscapes(text)
	}
	if m.ContentKind != chat.ContentArray && m.Refusal.Empty() && m.Audio.Empty() {
		return redact.Text(text)
	}
	lines := []string{text}
	for k := range m.Parts {
		switch p := &m.Parts[k]; {
		case !p.Text.Empty() || reasoning(p):
		case media(*p):
			lines = append(lines, "["+mediaName(*p, v.Decode(p.URL))+"]")
		case p.Type != "":
			lines = append(lines, "[a part of type "+cutEnd(chat.Valid(p.Type), nameMost)+"]")
		}
	}
	if !m.Refusal.Empty() {
		lines = append(lines, "[refused] "+v.Decode(m.Refusal))
	}
	if !m.Audio.Empty() {
		lines = append(lines, "[audio]")
	}
	if text == "" {
		lines = lines[1:]
	}
	return redact.Text(strings.Join(lines, "\n"))
}

// callKey joins a call and its result: by id, or by name where there is none.
func callKey(id, name string) string {
	if id != "" {
		return "i" + id
	}
	return "n" + name
}

// speaker is the name beside a user's role. It can end no label.
func speaker(name string) string {
	return cutEnd(strings.ReplaceAll(oneLine(redact.Text(chat.Valid(name))), ":", ""), nameMost)
}

// Labels say where a line comes from. A line holds nothing of anybody else, but
// for a call's, which ends with what came of it.
const (
	labelCall   = "call: "
	labelResult = "tool: "
	labelSame   = "- " // another message of the one who spoke in the line before
)

// label is what a line of this message begins with.
func (s *source) label() string {
	switch {
	case s.role == chat.RoleUser && s.name != "":
		return "user " + s.name + ": "
	case s.role == chat.RoleUser:
		return "user: "
	case s.role == chat.RoleAssistant:
		return "assistant: "
	case s.role.Result():
		return labelResult
	}
	return "other: "
}
