package compression

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/foldgate/foldgate/compression/chat"
	"github.com/foldgate/foldgate/compression/window"
)

// recall is what goes before the last user message when something was folded:
// passages of the covered messages, in their frame. The zero recall is none.
type recall struct {
	text  string
	frame frame
	best  []passage // those that are in it, best first
	told  *tellings
}

// passage is a piece of what a covered message says, by its place in told.
type passage struct {
	message    int32 // counted from the first message after the head
	start, end int32
}

// recall looks up the passages of the covered messages that bear on the last
// user message, wherever that stands. It is a function of the covered messages,
// the handoff, that message's own text and the room for it, so it is the same
// through all tool rounds of a turn. A message that asks for nothing that was
// said, or that nothing can go before, recalls nothing.
func (v *View) recall(h Handoff, b window.Budget) recall {
	room := recallTokens(b)
	user := v.lastSaid()
	if room <= 0 || user < 0 || !leadable(&v.Messages[user]) {
		return recall{}
	}
	question := OwnText(v.Text(user))
	if question == "" {
		return recall{}
	}
	asker := -1
	if user < v.Head+h.Covered {
		asker = user - v.Head // stands there verbatim
	}
	handoff := v.memo.keyOf(kindHandoff, []byte(h.Text))
	key := v.memo.recallKey(h, handoff, question, asker, room)
	t := &tellings{view: v}
	if chosen, known := v.memo.choices.get(key); known {
		return v.quote(t, fitting(recallFrames(), room), chosen)
	}
	r, n := v.choose(t, v.teller(h.Text, handoff), h.Covered, question, asker, room)
	v.memo.choices.put(key, r.best)
	v.learnRecalled(user, r, n)
	return r
}

// recallTokens is the most that recalled passages may take, frame included, in
// reference units.
func recallTokens(b window.Budget) Tokens {
	if b.Usable <= 0 {
		return 0
	}
	return Tokens(float64(b.Recall) / stepOf(b))
}

// recallKey names everything that a choice depends on.
func (m *Memo) recallKey(h Handoff, handoff memoKey, question string, asker int, room Tokens) memoKey {
	name := append([]byte(nil), h.Digest[:]...)
	name = append(name, handoff[:]...)
	for _, n := range [...]int{h.Covered, asker, int(room)} {
		name = binary.AppendVarint(name, int64(n))
	}
	return m.keyOf(kindRecall, append(name, question...))
}

// told is what the message at position p says, as passages are cut from it: its
// own text, then each call with its arguments. Nothing is redacted: it goes to
// where the caller sent it, in the same request, and is kept nowhere.
func (v *View) told(p int) string {
	m := &v.Messages[v.Head+p]
	text := v.Text(v.Head + p)
	if m.Role == chat.RoleUser {
		text = OwnText(text)
	}
	if len(m.Calls) == 0 {
		return text
	}
	var b strings.Builder
	b.WriteString(text)
	for i := range m.Calls {
		c := &m.Calls[i]
		if c.Arguments.Empty() {
			continue // of a kind unknown here: its name is whatever stands last, and no part of its digest
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(chat.Valid(c.Name))
		b.WriteByte('(')
		b.WriteString(v.Decode(c.Arguments))
		b.WriteByte(')')
	}
	return b.String()
}

// tellings is what messages say, each read once for a request.
type tellings struct {
	view  *View
	texts map[int32]string
}

func (t *tellings) all(message int32) string {
	text, ok := t.texts[message]
	if !ok {
		if t.texts == nil {
			t.texts = make(map[int32]string)
		}
		text = t.view.told(int(message))
		t.texts[message] = text
	}
	return text
}

// of is what a passage says.
func (t *tellings) of(p passage) string {
	text := t.all(p.message)
	start, end := min(int(p.start), len(text)), min(int(p.end), len(text))
	return text[start:max(start, end)]
}

// less is the recall with so many of its best passages.
func (v *View) less(r recall, n int) recall { return v.quote(r.told, r.frame, r.best[:n]) }

// quote writes passages, given best first, in a frame and in the order of the conversation.
// Neighbours in one message are one quotation.
func (v *View) quote(t *tellings, f frame, best []passage) recall {
	if len(best) == 0 {
		return recall{}
	}
	chosen := slices.Clone(best)
	slices.SortFunc(chosen, func(a, b passage) int {
		return cmp.Or(cmp.Compare(a.message, b.message), cmp.Compare(a.start, b.start))
	})
	var b strings.Builder
	size := len(f.head) + len(f.tail)
	for _, p := range chosen {
		size += labelGuess + int(p.end-p.start)
	}
	b.Grow(size)
	b.WriteString(f.head)
	for i := 0; i < len(chosen); {
		message := chosen[i].message
		text := t.all(message)
		for ; i < len(chosen) && chosen[i].message == message; i++ {
			start := chosen[i].start
			for i+1 < len(chosen) && chosen[i+1].message == message && blank(text, chosen[i].end, chosen[i+1].start) {
				i++
			}
			if b.Len() > len(f.head) {
				b.WriteByte('\n')
			}
			b.WriteString(v.quotation(message, t.of(passage{message, start, chosen[i].end})))
		}
	}
	b.WriteString(f.tail)
	return recall{text: b.String(), frame: f, best: best, told: t}
}

// labelGuess is about what a label and what stands between quotations takes.
const labelGuess = 24

// gapMost is the most white space between two passages that are one quotation, in
// bytes: a line's end and how deep the next one is indented. More would cost what
// no passage was counted for.
const gapMost = 64

// blank reports whether a stretch of a text is white space, or none, and short.
func blank(text string, from, to int32) bool {
	return from <= to && to-from <= gapMost && int(to) <= len(text) && strings.TrimSpace(text[from:to]) == ""
}

// quotation is a passage with its role and position.
func (v *View) quotation(message int32, text string) string {
	return v.speaker(int(message)) + quoted(text)
}

// quoted is a passage as it may stand in the frame: nothing in it reads as a
// frame, or as another passage's label.
func quoted(s string) string {
	s = unframed(s)
	var b strings.Builder
	from := 0
	for i := nextByte(s, 0, '#'); i < len(s); i = nextByte(s, i+1, '#') {
		if labelled(s[i:]) && beginsLine(s[:i]) {
			b.WriteString(s[from:i])
			from = i + 1
		}
	}
	if from == 0 {
		return s
	}
	b.WriteString(s[from:])
	return b.String()
}

// nextByte is the first place from at on where c stands in s; len(s) where none does.
func nextByte(s string, at int, c byte) int {
	if i := strings.IndexByte(s[at:], c); i >= 0 {
		return at + i
	}
	return len(s)
}

// beginsLine reports whether what follows s is the first on its line that can be
// seen. Whatever shows as the end of a line is one.
func beginsLine(s string) bool {
	for len(s) > 0 {
		r, size := utf8.DecodeLastRuneInString(s)
		switch {
		case strings.ContainsRune("\n\r\v\f\u0085\u2028\u2029", r):
			return true
		case !unicode.IsSpace(r) && !unicode.Is(unicode.Cf, r):
			return false
		}
		s = s[:len(s)-size]
	}
	return true
}

// labelled reports whether s begins as a label does: a number sign, digits, and
// a word that says who.
func labelled(s string) bool {
	after, ok := strings.CutPrefix(s, "#")
	rest := strings.TrimLeft(after, "0123456789")
	if !ok || len(rest) == len(after) {
		return false
	}
	for _, who := range [...]string{" user", " assistant", " system", " tool", " other"} {
		if strings.HasPrefix(rest, who) {
			return true
		}
	}
	return false
}

// speaker is the label of a passage: where it stands and who said it.
func (v *View) speaker(p int) string {
	m := &v.Messages[v.Head+p]
	who := "other"
	switch {
	case m.Role == chat.RoleUser, m.Role == chat.RoleAssistant:
		who = m.RoleName
	case m.Role.Leading():
		who = "system"
	case m.Role.Result():
		who = "tool"
	}
	if m.Role == chat.RoleUser && m.Name != "" {
		who += " " + cutEnd(unframed(oneLine(chat.Valid(m.Name))), 40)
	}
	return "#" + strconv.Itoa(p+1) + " " + who + ": "
}
