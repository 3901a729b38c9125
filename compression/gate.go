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
	recall  recall
	carrier carrier

	forms   []form   // of the rest
	weights []weight // of the rest
	copy    form     // of the carrier, if it is a copy
	lead    weight   // of a carrier that is not in the rest
	total   weight   // of it all

	handoffCut bool
}

// weight is what a message takes of the two limits: its reference count, and the
// bytes that its form adds to the body (of a message that is not in the body:
// its bytes). Bytes are not measured where the budget has no limit for them.
type weight struct {
	tokens Tokens
	bytes  int
}

// newGate looks at the request with its first covered messages replaced by the
// text of a handoff, and recalled passages before the last user message; covered
// 0: as it is.
func (v *View) newGate(covered int, text string, r recall, b window.Budget) *gate {
	g := &gate{v: v, budget: b, first: v.Head + covered, recall: r, carrier: carrier{source: -1}}
	g.newest, g.user, g.flight = v.landmarks(covered)
	n := len(v.Messages) - g.first
	g.forms, g.weights = make([]form, n), make([]weight, n)
	g.total = weight{tokens: v.fixedCost(), bytes: len(v.Body)}
	for k := range g.weights {
		g.weights[k].tokens = v.costOf(g.first+k, form{})
		g.total.tokens += g.weights[k].tokens
	}
	if covered > 0 {
		g.total.bytes -= g.covered().Len()
		g.carrier = v.carrierFor(covered)
		g.place(text)
	}
	return g
}

// covered is the span of the body that a handoff replaces.
func (g *gate) covered() chat.Span {
	return chat.Span{Start: g.v.Messages[g.v.Head].Span.Start, End: g.v.Messages[g.first].Span.Start}
}

// landmarks are the places in a rest that the gate treats on their own.
func (v *View) landmarks(covered int) (newest, user, flight int) {
	newest = v.Head + max(covered, v.cutUnder(v.Len()))
	user, flight = v.lastSaid(), -1
	for i := len(v.Messages) - 1; i >= v.Head && flight < 0; i-- {
		if m := &v.Messages[i]; len(m.Calls) > 0 && m.MayCall() {
			flight = i
		}
	}
	if v.Len() > 0 && v.cuts()[v.Len()] {
		flight = -1
	}
	return newest, user, flight
}

// lastSaid is the last user message, an index into Messages, or -1.
func (v *View) lastSaid() int {
	for i := len(v.Messages) - 1; i >= v.Head; i-- {
		if v.Messages[i].Role == chat.RoleUser {
			return i
		}
	}
	return -1
}

// place puts the handoff's text into its carrier, and the recalled passages
// before the last user message, which may be the same.
func (g *gate) place(text string) {
	g.handoff = text
	split := len(g.carrier.marker) > 0
	switch {
	case g.carrier.source < 0:
		g.setLead(g.v.weighOwn(text, g.carrier.marker))
	case g.carrier.copied:
		g.copy.lead, g.copy.split = text, split
		if g.carrier.source == g.user {
			g.copy.recall = g.recall.text
		}
		g.setLead(g.weighCopy(g.copy))
	default:
		f := g.forms[0]
		f.lead, f.split = text, split
		if g.first == g.user {
			f.recall = g.recall.text
		}
		g.set(0, f, g.weigh(0, f))
	}
	if k := g.user - g.first; k >= 0 && g.forms[k].recall != g.recall.text {
		f := g.forms[k]
		f.recall = g.recall.text
		g.set(k, f, g.weigh(k, f))
	}
}

func (g *gate) setLead(w weight) {
	g.total.tokens += w.tokens - g.lead.tokens
	g.total.bytes += w.bytes - g.lead.bytes
	g.lead = w
}

func (g *gate) set(k int, f form, w weight) {
	g.total.tokens += w.tokens - g.weights[k].tokens
	g.total.bytes += w.bytes - g.weights[k].bytes
	g.forms[k], g.weights[k] = f, w
}

// weigh weighs message k of the rest in a form.
func (g *gate) weigh(k int, f form) weight {
	w := weight{tokens: g.v.costOf(g.first+k, f)}
	if g.budget.Bytes > 0 {
		w.bytes = g.v.growth(g.first+k, f, g.carrier.marker)
	}
	return w
}

// weighCopy weighs the copy of the carrier in a form, with the comma after it.
func (g *gate) weighCopy(f form) weight {
	i := g.carrier.source
	w := weight{tokens: g.v.costOf(i, f)}
	if g.budget.Bytes > 0 {
		w.bytes = g.v.Messages[i].Span.Len() + g.v.growth(i, f, g.carrier.marker) + 1
	}
	return w
}

// weighOwn weighs a message that holds nothing but the handoff.
func (v *View) weighOwn(text string, marker []byte) weight {
	return weight{tokens: messageFrame + v.tokens(text), bytes: len(ownMessage(text, marker)) + 1}
}

// costOf is the count of message i in a form, its images at the price of the
// family (see For). It is remembered: it depends on nothing but the message, its
// form and whether JSON was asked for.
func (v *View) costOf(i int, f form) Tokens {
	extra := v.surcharge(i, f.media)
	if f == (form{}) {
		return v.reference(i) + extra
	}
	key := v.formKey(i, f)
	if known, ok := v.memo.get(key); ok && known.knows(knowsReference) {
		return Tokens(known.reference) + extra
	}
	n := v.cost(&v.Messages[i], f)
	v.memo.put(key, fact{reference: int32(n), known: knowsReference})
	return n + extra
}

// formKey names message i in a form, as far as its count depends on it.
func (v *View) formKey(i int, f form) memoKey {
	v.fact(i, knowsDigest)
	flags := uint64(0)
	if f.split {
		flags |= 1
	}
	if v.JSONObject {
		flags |= 2
	}
	const numbers = 5 * binary.MaxVarintLen64
	name := append(make([]byte, 0, len(memoKey{})+numbers+len(f.lead)+len(f.recall)), v.keys[i][:]...)
	for _, n := range [...]uint64{uint64(f.text), uint64(f.args), uint64(f.media), flags, uint64(len(f.lead))} {
		name = binary.AppendUvarint(name, n)
	}
	name = append(append(name, f.lead...), f.recall...)
	return v.memo.keyOf(kindShrunk, name)
}

// growth is how many bytes longer message i is in a form than as it came.
func (v *View) growth(i int, f form, marker []byte) int {
	if f == (form{}) {
		return 0
	}
	n := 0
	for _, e := range v.edits(&v.Messages[i], f, marker) {
		n += len(e.With) - e.Span.Len()
	}
	return n
}

// fits reports whether all of it is within both limits. A limit that is unknown
// holds everything.
func (g *gate) fits() bool { return g.within(byTokens) && g.within(byBytes) }

// within reports whether all of it is within one limit.
func (g *gate) within(m measure) bool {
	if m == byBytes {
		return g.budget.Bytes <= 0 || int64(g.total.bytes) <= g.budget.Bytes
	}
	return g.budget.Usable <= 0 || g.budget.Corrected(g.total.tokens) <= g.budget.Usable
}

// body is what is sent.
func (g *gate) body() ([]byte, error) {
	var edits []chat.Edit
	if g.first > g.v.Head {
		edit := chat.Edit{Span: g.covered()}
		switch c := g.carrier; {
		case c.source < 0:
			edit.With = ownMessage(g.handoff, c.marker)
		case c.copied:
			copied, err := g.v.render(c.source, g.copy, c.marker)
			if err != nil {
				return nil, err
			}
			edit.With = copied
		}
		edits = append(edits, edit)
		if len(edit.With) > 0 { // by itself, since a byte more would copy all of it
			end := edit.Span.End
			edits = append(edits, chat.Edit{Span: chat.Span{Start: end, End: end}, With: []byte{','}})
		}
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
