package compression

import (
	"strconv"
	"strings"

	"github.com/foldgate/foldgate/compression/chat"
)

// notes is what a handoff without a model is written from: the covered messages
// as units, and their terms. It is built once and can be written at any length.
type notes struct {
	sources []source
	units   []unit
	lexicon *lexicon
	older   string // the body of the handoff before, or empty
	calls   bool
}

// takeNotes reads the messages after the head from position from to position to.
func (v *View) takeNotes(from, to int, older string) *notes {
	n := &notes{sources: v.sources(from, to), lexicon: newLexicon(), older: older}
	seen := map[string]bool{}
	for i := range n.sources {
		s := &n.sources[i]
		n.calls = n.calls || len(s.calls) > 0
		n.count(int32(i), s)
		unitsOf(i, s, seen, func(u unit) { n.units = append(n.units, u) })
	}
	n.lexicon.weigh(len(n.sources))
	var arena []int32
	for i := range n.units {
		start := len(arena)
		arena = n.termsOf(arena, n.units[i].text)
		n.units[i].terms = arena[start:len(arena):len(arena)]
	}
	return n
}

// count notes the terms of a message.
func (n *notes) count(message int32, s *source) {
	spoken := !s.role.Result()
	head, tail := clip(s.text, sourceHead, sourceTail)
	n.lexicon.count(head, message, spoken, false)
	n.lexicon.count(tail, message, spoken, false)
	for i := range s.calls {
		c := &s.calls[i]
		n.lexicon.count(c.name, message, true, false)
		head, tail = clip(c.arguments, sourceHead, sourceTail)
		short := len(c.arguments) <= 2*valueMax
		n.lexicon.count(head, message, false, short)
		n.lexicon.count(tail, message, false, short)
	}
}

// termsOf appends the terms of a unit, each once.
func (n *notes) termsOf(dst []int32, text string) []int32 {
	start := len(dst)
	scanTerms(text, func(t string, kind termKind) {
		id := n.lexicon.id(t, kind)
		for _, had := range dst[start:] {
			if had == id {
				return
			}
		}
		dst = append(dst, id)
	})
	return dst
}

// sources reads messages as text, with what became of their calls.
func (v *View) sources(from, to int) []source {
	out := make([]source, 0, to-from)
	type place struct{ source, call int }
	byID := map[string]place{}
	for p := from; p < to; p++ {
		m := &v.Messages[v.Head+p]
		s := source{position: p, role: m.Role, name: m.Name, text: v.Text(v.Head + p)}
		for i := range m.Calls {
			c := &m.Calls[i]
			s.calls = append(s.calls, sourceCall{name: c.Name, arguments: v.Decode(c.Arguments)})
			byID[callKey(c.ID, c.Name)] = place{len(out), i}
		}
		if m.Role.Result() {
			if at, ok := byID[callKey(m.ToolCallID, m.Name)]; ok {
				c := &out[at.source].calls[at.call]
				c.outcome, c.answered = outcome(s.text), true
			}
		}
		out = append(out, s)
	}
	return out
}

// callKey joins a call and its result: by id, or by name where there is none.
func callKey(id, name string) string {
	if id != "" {
		return "i" + id
	}
	return "n" + name
}

// Shares of a handoff, in percent of its bytes.
const (
	olderShare   = 45 // the handoff before it
	requestShare = 25 // the user's requests
	indexShare   = 40 // the most that identifiers take, beside indexFree and indexPart
	indexPart    = 15
	indexFree    = 1500 // bytes
	chatIndex    = 10   // where nothing was called, names are in the sentences
	requestMax   = 900  // bytes of one request
	requestMin   = 160
	requestCount = 12 // the newest that are sure to be told; older ones compete
	labelMax     = 24 // bytes of a label without a name
)

// write writes the body of a handoff in about room bytes.
func (n *notes) write(room int) string {
	for i := range n.lexicon.terms {
		n.lexicon.terms[i].covered = false
	}
	var b strings.Builder
	if n.older != "" {
		section(&b, "Earlier notes", cutText(n.older, room*olderShare/100))
		n.coverText(b.String())
		room -= b.Len()
	}
	requests := n.requests(room * requestShare / 100)
	room -= len(requests)
	index := min(room*indexShare/100, indexFree+room*indexPart/100)
	if !n.calls {
		index = room * chatIndex / 100
	}
	chosen := n.lexicon.choose(n.units, room-index)
	names := n.names(index)
	if left := index - len(names); left > unitMin {
		chosen = append(chosen, n.lexicon.choose(n.units, left)...)
	}
	section(&b, "What the user asked", requests)
	section(&b, "What was said and done, in order", n.print(chosen))
	section(&b, "Names and numbers that came up", names)
	return b.String()
}

// section appends a part of the body under its title.
func section(b *strings.Builder, title, text string) {
	if text == "" {
		return
	}
	if b.Len() > 0 {
		b.WriteString("\n\n")
	}
	b.WriteString(title)
	b.WriteString(":\n")
	b.WriteString(text)
}

// coverText marks what a text holds as told.
func (n *notes) coverText(s string) {
	scanTerms(s, func(t string, kind termKind) {
		id := n.lexicon.id(t, kind) // first: it may move the terms
		n.lexicon.terms[id].covered = true
	})
}

// requests are the user's messages: whole where they are short, by beginning and
// end where they are long; the first and the newest where there are many.
func (n *notes) requests(room int) string {
	var users []int
	for i := range n.sources {
		if n.sources[i].role == chat.RoleUser && strings.TrimSpace(n.sources[i].text) != "" {
			users = append(users, i)
		}
	}
	if len(users) == 0 {
		return ""
	}
	each := min(max(room/len(users), requestMin), requestMax, max(0, room/2-labelMax))
	lines := make([]string, len(users))
	take := func(k int) bool {
		s := &n.sources[users[k]]
		head, tail := clip(s.text, 2*requestMax, requestMax)
		line := label(s) + cutText(oneLine(head+" "+tail), each) + "\n"
		if len(line) > room {
			return false
		}
		room -= len(line)
		lines[k] = line
		n.coverText(line)
		return true
	}
	if take(len(users)-1) && len(users) > 1 && take(0) {
		for k := len(users) - 2; k > max(0, len(users)-requestCount) && take(k); k-- {
		}
	}
	return strings.TrimSuffix(strings.Join(lines, ""), "\n")
}

// label says where a line comes from.
func label(s *source) string {
	who := "tool"
	switch s.role {
	case chat.RoleUser:
		who = "user"
	case chat.RoleAssistant:
		who = "assistant"
	case chat.RoleOther:
		who = "other"
	}
	if s.role == chat.RoleUser && s.name != "" {
		who += " " + cutEnd(oneLine(s.name), 40)
	}
	return "#" + strconv.Itoa(s.position+1) + " " + who + ": "
}

// print is the chosen units in the order of the conversation.
func (n *notes) print(chosen []int32) string {
	taken := make([]bool, len(n.units))
	for _, u := range chosen {
		taken[u] = true
	}
	var b strings.Builder
	last := -1
	for i := range n.units {
		if !taken[i] {
			continue
		}
		u := &n.units[i]
		switch {
		case u.source != last && last >= 0:
			b.WriteByte('\n')
			b.WriteString(label(&n.sources[u.source]))
		case u.source != last:
			b.WriteString(label(&n.sources[u.source]))
		default:
			b.WriteString(" | ")
		}
		b.WriteString(oneLine(u.text))
		last = u.source
	}
	return b.String()
}

// names are the identifiers that nothing chosen holds.
func (n *notes) names(room int) string {
	return strings.Join(n.lexicon.identifiers(len(n.sources), room), ", ")
}
