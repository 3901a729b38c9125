package compression

import (
	"bytes"
	"strings"

	"github.com/foldgate/foldgate/compression/chat"
	"github.com/foldgate/foldgate/compression/tokens"
)

// What stands around the texts, in tokens, as OpenAI's published recipe has it.
const (
	messageFrame = 4 // three around each message, one for its role
	nameFrame    = 1
	callFrame    = 4
	answerStart  = 3 // the start of the answer, once per request
)

// form says how a message is sent: as it came (the zero form), or as the exit
// gate and the handoff changed it.
type form struct {
	text   int    // texts are cut to this many bytes; 0: whole
	args   int    // string values of arguments likewise
	media  int    // that many of its images, sounds and files became notes, from the first on
	lead   string // a handoff that goes before its own text
	recall string // recalled passages that go between the two
	split  bool   // the lead is a part of its own, also before a string
}

// before is what goes before the message's own text, in order.
func (f form) before() []string {
	if f.lead == "" && f.recall == "" {
		return nil
	}
	out := make([]string, 0, 2)
	for _, s := range [...]string{f.lead, f.recall} {
		if s != "" {
			out = append(out, s)
		}
	}
	return out
}

// bare is the form without what goes before the message's own text.
func (f form) bare() form {
	f.lead, f.recall, f.split = "", "", false
	return f
}

// piece is something that costs tokens: a text, or a part with a price.
type piece struct {
	text  string
	media bool
	price price
}

// pieces calls visit for everything in m that costs tokens beside its framing.
func (v *View) pieces(m *chat.Message, f form, visit func(piece)) {
	if m.Name != "" {
		visit(piece{text: m.Name})
	}
	switch m.ContentKind {
	case chat.ContentString:
		texts := append(f.before(), v.shortened(v.Decode(m.Content), f))
		if !f.split {
			texts = []string{strings.Join(texts, gap)}
		}
		for _, text := range texts {
			visit(piece{text: text})
		}
	case chat.ContentArray:
		for _, text := range f.before() {
			visit(piece{text: text})
		}
		limited := f.perPart(m)
		for i := range m.Parts {
			if reasoning(&m.Parts[i]) {
				continue
			}
			visit(v.partPiece(&m.Parts[i], limited))
			if limited.media > 0 && m.Parts[i].Text.Empty() && media(m.Parts[i]) {
				limited.media--
			}
		}
	case chat.ContentOther:
		visit(piece{text: string(m.Content.Of(v.Body))})
	}
	if !m.Refusal.Empty() {
		visit(piece{text: v.Decode(m.Refusal)})
	}
	for i := range m.Calls {
		c := &m.Calls[i]
		if c.Arguments.Empty() { // of a kind unknown here
			visit(piece{text: string(c.Span.Of(v.Body))})
			continue
		}
		visit(piece{text: c.Name})
		visit(piece{text: v.arguments(m, c, f)})
	}
}

// reasoning reports whether a part echoes what a model thought. Upstreams leave
// such echoes out of what they count, or count them by rules of their own, which
// the correction learns.
func reasoning(p *chat.Part) bool {
	switch p.Type {
	case "thinking", "redacted_thinking", "reasoning":
		return true
	}
	return false
}

// partPiece is what one part costs.
func (v *View) partPiece(p *chat.Part, f form) piece {
	switch {
	case !p.Text.Empty():
		return piece{text: v.shortened(v.Decode(p.Text), f)}
	case media(*p) && f.media > 0:
		return piece{text: v.mediaNote(p)}
	case media(*p):
		return piece{media: true, price: priceOf(*p, v.Decode(p.URL))}
	}
	raw := p.Span.Of(v.Body)
	if bytes.Contains(raw, []byte("base64")) { // a document of a kind unknown here
		return piece{media: true, price: price{imageFlat, mediaLow, imageFlat}}
	}
	return piece{text: string(raw)}
}

// perPart is the form that each part takes, so that all together keep the limit.
func (f form) perPart(m *chat.Message) form {
	if f.text > 0 && len(m.Parts) > 1 {
		f.text = max(f.text/len(m.Parts), leastText)
	}
	return f
}

// cost is the reference count of m in a form.
func (v *View) cost(m *chat.Message, f form) Tokens {
	n := Tokens(messageFrame + callFrame*len(m.Calls))
	if m.Name != "" {
		n += nameFrame
	}
	v.pieces(m, f, func(p piece) {
		if p.media {
			n += p.price.reference
			return
		}
		n += Tokens(v.counter.Count([]byte(p.text)))
	})
	return n
}

// bounds is between what and what cost lies.
func (v *View) bounds(m *chat.Message) (low, high Tokens) {
	n := Tokens(messageFrame + callFrame*len(m.Calls))
	if m.Name != "" {
		n += nameFrame
	}
	low, high = n, n
	v.pieces(m, form{}, func(p piece) {
		if p.media {
			low += p.price.low
			high += p.price.high
			return
		}
		l, h := tokens.Bounds([]byte(p.text))
		low += Tokens(l)
		high += Tokens(h)
	})
	return low, high
}

// least is a lower bound of what any upstream counts for m in a form. No
// vocabulary that serves general text gets by with less than half of what
// o200k_base needs for ASCII; for scripts that it covers badly a vocabulary made
// for them may, so there a quarter is taken.
func (v *View) least(m *chat.Message, f form) Tokens {
	var n Tokens
	v.pieces(m, f, func(p piece) {
		if p.media {
			n += p.price.low
			return
		}
		n += leastOf([]byte(p.text), v.counter.Count([]byte(p.text)))
	})
	return n
}

// leastOf is the lower bound for one text of which the reference count is known.
func leastOf(text []byte, reference int) Tokens {
	foreign := 0
	for _, c := range text {
		if c >= 0x80 {
			foreign++
		}
	}
	if foreign*10 > len(text) {
		return Tokens(reference / 4)
	}
	return Tokens(reference / 2)
}
