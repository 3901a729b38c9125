package compression

import "github.com/foldgate/foldgate/compression/chat"

// measure names one of the two limits.
type measure uint8

const (
	byTokens measure = iota // what the window takes
	byBytes                 // what the upstream takes as a body
)

// of is the part of a weight that the limit is about.
func (m measure) of(w weight) int {
	if m == byBytes {
		return w.bytes
	}
	return int(w.tokens)
}

// shrink applies what there is, in order, until it fits or all is applied.
// Recalled passages go first, so that nothing that the caller sent pays for them:
// the worse half, again the worse half, then all; then, for the limit of bytes,
// media; then the levels.
func (g *gate) shrink() {
	for _, left := range [...]int{len(g.recall.best) / 2, len(g.recall.best) / 4, 0} {
		if g.fits() {
			return
		}
		if left < len(g.recall.best) {
			g.recall = g.v.less(g.recall, left)
			g.place(g.handoff)
		}
	}
	g.shrinkMedia()
	g.shrinkTo(byTokens)
	g.shrinkTo(byBytes)
}

// shrinkTo applies the levels in their order until one limit is kept, or all are
// applied: tool results, arguments, images, texts, oldest first; the newest
// group after all others, then the handoff's notes and the last user message's
// media; its text never.
func (g *gate) shrinkTo(m measure) {
	older := g.newest - g.first
	for _, scope := range [...][2]int{{0, older}, {older, len(g.forms)}} {
		if g.within(m) {
			return
		}
		g.shrinkScope(m, scope[0], scope[1])
		if scope[0] == 0 {
			g.shrinkHandoff(m)
		}
	}
	g.cutHandoff(m, handoffLevels[:]) // where head and tools leave it less than its share
	if !g.within(m) && g.user >= 0 {
		g.change(g.user, m, func(f *form) { f.media = allMedia })
	}
}

// shrinkScope applies every level to the messages of the rest from to to.
func (g *gate) shrinkScope(by measure, from, to int) {
	results := func(m *chat.Message, i int) bool { return m.Role.Result() }
	calls := func(m *chat.Message, i int) bool { return len(m.Calls) > 0 && m.MayCall() && i != g.flight }
	others := func(m *chat.Message, i int) bool { return i != g.user }
	said := func(m *chat.Message, i int) bool {
		return m.Role == chat.RoleAssistant || m.Role == chat.RoleUser && i != g.user
	}
	for _, limit := range textLevels {
		g.sweep(by, from, to, limit, results, func(f *form) { f.text = limit })
	}
	for _, limit := range argumentLevels {
		g.sweep(by, from, to, limit, calls, func(f *form) { f.args = limit })
	}
	g.sweep(by, from, to, 0, others, func(f *form) { f.media = allMedia })
	for _, limit := range textLevels {
		g.sweep(by, from, to, limit, said, func(f *form) { f.text = limit })
	}
}

// sweep changes the form of the messages that which names, oldest first, until
// the limit is kept. Messages of no more than size bytes have nothing to cut. A
// copied carrier is the oldest of all.
func (g *gate) sweep(by measure, from, to, size int, which func(*chat.Message, int) bool, change func(*form)) {
	visit := func(i int) {
		if m := &g.v.Messages[i]; m.Span.Len() > size && which(m, i) {
			g.change(i, by, change)
		}
	}
	if from == 0 && g.carrier.copied && !g.within(by) {
		visit(g.carrier.source)
	}
	for k := from; k < to && !g.within(by); k++ {
		visit(g.first + k)
	}
}

// change changes the form of message i if that makes it smaller. A message that
// is not sent has none.
func (g *gate) change(i int, by measure, change func(*form)) {
	switch {
	case i >= g.first:
		k := i - g.first
		f := g.forms[k]
		if change(&f); f == g.forms[k] {
			return
		}
		if w := g.weigh(k, f); by.of(w) < by.of(g.weights[k]) {
			g.set(k, f, w)
		}
	case g.carrier.copied && i == g.carrier.source:
		f := g.copy
		if change(&f); f == g.copy {
			return
		}
		if w := g.weighCopy(f); by.of(w) < by.of(g.lead) {
			g.copy = f
			g.setLead(w)
		}
	}
}

// shrinkHandoff cuts a handoff that was written for a larger window.
func (g *gate) shrinkHandoff(by measure) {
	_, body, _, _, ok := unwrap(g.handoff)
	if ok && g.v.tokens(body) > max(handoffTokens(g.budget), deterministicTokens(g.budget)) {
		g.cutHandoff(by, textLevels[:])
	}
}

// cutHandoff cuts a handoff's body to fixed levels until one limit is kept.
func (g *gate) cutHandoff(by measure, levels []int) {
	f, body, rules, suffix, ok := unwrap(g.handoff)
	if !ok {
		return
	}
	for _, limit := range levels {
		if g.within(by) {
			return
		}
		if short := shorten(body, limit, g.v.lasting()); len(short) < len(body) {
			g.place(f.wrap(short, rules) + suffix)
			g.handoffCut = true
		}
	}
}

// shrinkMedia turns as many pictures, sounds and files into notes as the limit
// of bytes asks for: oldest first, those of the last user message after all
// others, and last of all the newest one there is.
func (g *gate) shrinkMedia() {
	if g.within(byBytes) {
		return
	}
	newest, user := -1, -1
	var sent []int
	if g.carrier.copied {
		sent = append(sent, g.carrier.source)
	}
	for k := range g.forms {
		sent = append(sent, g.first+k)
	}
	for _, i := range sent {
		if g.v.mediaCount(i) > 0 {
			newest = i
		}
	}
	for _, i := range sent {
		if i == g.user {
			user = i
			continue
		}
		g.noteMedia(i, i == newest)
	}
	if user >= 0 {
		g.noteMedia(user, user == newest)
	}
	if newest >= 0 && !g.within(byBytes) {
		g.change(newest, byBytes, func(f *form) { f.media = allMedia })
	}
}

// mediaCount is the number of pictures, sounds and files in message i.
func (v *View) mediaCount(i int) int {
	n := 0
	for k := range v.Messages[i].Parts {
		if p := &v.Messages[i].Parts[k]; p.Text.Empty() && media(*p) {
			n++
		}
	}
	return n
}

// noteMedia turns the first media of message i into notes, as many as the limit
// of bytes asks for; spare: all but the last.
func (g *gate) noteMedia(i int, spare bool) {
	most := g.v.mediaCount(i)
	if spare {
		most--
	}
	over := int64(g.total.bytes) - g.budget.Bytes
	if most <= 0 || over <= 0 || g.budget.Bytes <= 0 {
		return
	}
	n := 0
	m := &g.v.Messages[i]
	for k := 0; k < len(m.Parts) && n < most && over > 0; k++ {
		p := &m.Parts[k]
		if !p.Text.Empty() || !media(*p) {
			continue
		}
		n++
		over -= int64(p.Span.Len() - len(g.v.notePart(p)))
	}
	g.change(i, byBytes, func(f *form) { f.media = max(f.media, n) })
}
