package compression

import (
	"encoding/binary"

	"github.com/foldgate/foldgate/compression/chat"
	"github.com/foldgate/foldgate/compression/window"
)

// gate is the exit gate (section 3.7): it knows what is about to be sent, and
// shrinks it until it fits.
type gate struct {
	v       *View
	budget  window.Budget
	first   int // where the rest begins, an index into Messages
	newest  int // where its newest group begins
	user    int // the last user message, -1 if there is none: its text stays whole
	flight  int // the message whose calls wait for results, -1 if there is none
	handoff string
	carrier carrier

	forms []form   // of the rest
	costs []Tokens // of the rest
	copy  form     // of the carrier, if it is a copy
	lead  Tokens   // cost of a carrier that is not in the rest
	total Tokens   // reference count of it all

	handoffCut bool
}

// newGate looks at the request with its first covered messages replaced by the
// text of a handoff; covered 0: as it is.
func (v *View) newGate(covered int, text string, b window.Budget) *gate {
	g := &gate{v: v, budget: b, first: v.Head + covered, handoff: text, carrier: carrier{source: -1}}
	g.newest, g.user, g.flight = v.landmarks(covered)
	n := len(v.Messages) - g.first
	g.forms, g.costs = make([]form, n), make([]Tokens, n)
	g.total = v.fixedTokens()
	for k := range g.costs {
		g.costs[k] = v.reference(g.first + k)
		g.total += g.costs[k]
	}
	if covered > 0 {
		g.carrier = v.carrierFor(covered)
		g.place(text)
	}
	return g
}

// landmarks are the places in a rest that the gate treats on their own.
func (v *View) landmarks(covered int) (newest, user, flight int) {
	newest = v.Head + max(covered, v.cutUnder(v.Len()))
	user, flight = -1, -1
	for i := len(v.Messages) - 1; i >= v.Head && (user < 0 || flight < 0); i-- {
		if user < 0 && v.Messages[i].Role == chat.RoleUser {
			user = i
		}
		if flight < 0 && len(v.Messages[i].Calls) > 0 {
			flight = i
		}
	}
	if v.Len() > 0 && v.cuts()[v.Len()] {
		flight = -1
	}
	return newest, user, flight
}

// place puts the handoff's text into its carrier.
func (g *gate) place(text string) {
	g.handoff = text
	split := len(g.carrier.marker) > 0
	switch {
	case g.carrier.source < 0:
		g.setLead(Tokens(messageFrame + g.v.counter.Count([]byte(text))))
	case g.carrier.copied:
		g.copy.lead, g.copy.split = text, split
		g.setLead(g.v.costOf(g.carrier.source, g.copy))
	default:
		f := g.forms[0]
		f.lead, f.split = text, split
		g.set(0, f, g.v.costOf(g.first, f))
	}
}

func (g *gate) setLead(cost Tokens) {
	g.total += cost - g.lead
	g.lead = cost
}

func (g *gate) set(k int, f form, cost Tokens) {
	g.total += cost - g.costs[k]
	g.forms[k], g.costs[k] = f, cost
}

// costOf is the reference count of message i in a form. Without a lead it is
// remembered: it depends on nothing but message and levels.
func (v *View) costOf(i int, f form) Tokens {
	if f == (form{}) {
		return v.reference(i)
	}
	if f.lead != "" || v.JSONObject {
		return v.count(&v.Messages[i], f)
	}
	v.fact(i, knowsDigest)
	name := append([]byte(nil), v.keys[i][:]...)
	name = binary.AppendUvarint(name, uint64(f.text))
	name = binary.AppendUvarint(name, uint64(f.args))
	if f.media {
		name = append(name, 1)
	}
	key := keyOf(kindShrunk, name)
	if known, ok := v.memo.get(key); ok && known.knows(knowsReference) {
		return Tokens(known.reference)
	}
	n := v.count(&v.Messages[i], f)
	v.memo.put(key, fact{reference: int32(n), known: knowsReference})
	return n
}

// fits reports whether all of it is within usable. A window that is unknown
// holds everything.
func (g *gate) fits() bool {
	return g.budget.Usable <= 0 || g.budget.Corrected(g.total) <= g.budget.Usable
}

// shrink applies the levels in their order until it fits, or all are applied:
// tool results, arguments, images, texts, oldest first; the newest group after
// all others; the last user message's text never.
func (g *gate) shrink() {
	older := g.newest - g.first
	for _, scope := range [...][2]int{{0, older}, {older, len(g.forms)}} {
		if g.fits() {
			return
		}
		g.shrinkScope(scope[0], scope[1])
		if scope[0] == 0 {
			g.shrinkHandoff()
		}
	}
	if g.fits() || g.user < 0 {
		return
	}
	media := func(f *form) { f.media = true }
	if g.user >= g.first {
		g.apply(g.user-g.first, media)
	} else {
		g.applyCopy(media)
	}
}

// shrinkScope applies every level to the messages of the rest from to to.
func (g *gate) shrinkScope(from, to int) {
	results := func(m *chat.Message, i int) bool { return m.Role.Result() }
	calls := func(m *chat.Message, i int) bool { return len(m.Calls) > 0 && i != g.flight }
	others := func(m *chat.Message, i int) bool { return i != g.user }
	said := func(m *chat.Message, i int) bool {
		return m.Role == chat.RoleAssistant || m.Role == chat.RoleUser && i != g.user
	}
	for _, limit := range textLevels {
		g.sweep(from, to, limit, results, func(f *form) { f.text = limit })
	}
	for _, limit := range argumentLevels {
		g.sweep(from, to, limit, calls, func(f *form) { f.args = limit })
	}
	g.sweep(from, to, 0, others, func(f *form) { f.media = true })
	for _, limit := range textLevels {
		g.sweep(from, to, limit, said, func(f *form) { f.text = limit })
	}
}

// sweep changes the form of the messages that which names, oldest first, until
// it fits. Messages of no more than size bytes have nothing to cut. A copied
// carrier is the oldest of all.
func (g *gate) sweep(from, to, size int, which func(*chat.Message, int) bool, change func(*form)) {
	if c := g.carrier; from == 0 && c.copied && !g.fits() {
		if m := &g.v.Messages[c.source]; m.Span.Len() > size && which(m, c.source) {
			g.applyCopy(change)
		}
	}
	for k := from; k < to && !g.fits(); k++ {
		if m := &g.v.Messages[g.first+k]; m.Span.Len() > size && which(m, g.first+k) {
			g.apply(k, change)
		}
	}
}

// apply changes the form of message k of the rest if that makes it smaller.
func (g *gate) apply(k int, change func(*form)) {
	f := g.forms[k]
	change(&f)
	if f == g.forms[k] {
		return
	}
	cost := g.v.costOf(g.first+k, f)
	if cost >= g.costs[k] {
		return
	}
	g.set(k, f, cost)
}

// applyCopy is apply for a carrier that is a copy.
func (g *gate) applyCopy(change func(*form)) {
	if !g.carrier.copied {
		return
	}
	f := g.copy
	change(&f)
	if cost := g.v.costOf(g.carrier.source, f); f != g.copy && cost < g.lead {
		g.copy = f
		g.setLead(cost)
	}
}

// shrinkHandoff cuts a handoff that was written for a larger window.
func (g *gate) shrinkHandoff() {
	body, rules, suffix, ok := unwrap(g.handoff)
	if !ok || g.v.tokens(body) <= max(handoffTokens(g.budget), deterministicTokens(g.budget)) {
		return
	}
	for _, limit := range textLevels {
		if g.fits() {
			return
		}
		if short := shorten(body, limit, ""); len(short) < len(body) {
			g.place(wrap(short, rules) + suffix)
			g.handoffCut = true
		}
	}
}

// body is what is sent.
func (g *gate) body() ([]byte, error) {
	var edits []chat.Edit
	if g.first > g.v.Head {
		edit := chat.Edit{Span: chat.Span{Start: g.v.Messages[g.v.Head].Span.Start, End: g.v.Messages[g.first].Span.Start}}
		switch c := g.carrier; {
		case c.source < 0:
			edit.With = append(ownMessage(g.handoff, c.marker), ',')
		case c.copied:
			copied, err := g.v.render(c.source, g.copy, c.marker)
			if err != nil {
				return nil, err
			}
			edit.With = append(copied, ',')
		}
		edits = append(edits, edit)
	}
	for k, f := range g.forms {
		if f != (form{}) {
			edits = append(edits, g.v.edits(&g.v.Messages[g.first+k], f, g.carrier.marker)...)
		}
	}
	if len(edits) == 0 {
		return g.v.Body, nil
	}
	return chat.Splice(g.v.Body, edits)
}
