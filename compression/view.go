package compression

import (
	"slices"

	"github.com/foldgate/foldgate/compression/chat"
	"github.com/foldgate/foldgate/compression/tokens"
)

// anchorBytes is how much canonical text makes two conversations that begin with
// the same greeting two.
const anchorBytes = 2 << 10

// View is one request, measured. What it needs it computes when it is asked, or
// finds in its Memo. Not for concurrent use. Positions are counted from the
// first message after the head.
//
// A View that Look made has its Messages only after Open. What counts and names
// them does not need them; the methods that fold open it themselves.
type View struct {
	*chat.Request
	memo    *Memo
	counter *tokens.Counter

	count    int           // messages, head included
	marks    []mark        // by message, head included
	elements int           // messages, parts and calls
	tail     *chat.Request // before Open: the messages from number unread on, no others
	unread   int           // before Open: the messages that were not read
	names    []chat.BlockName
	pages    int   // how many of the named blocks the ledger knew,
	recalled int   // how many messages end in them,
	known    uint8 // and what it knew of all of these

	keys  []memoKey // by message, head included; filled with facts
	facts []fact
	chain []chat.Digest // chain[n]: the first n messages after the head
	sums  []Tokens      // sums[n]: the reference count of the first n, nil until asked
	legal []bool        // where a cut may stand, nil until asked
	under []int         // under[p]: the last legal cut before p, nil until asked
	users []int         // users[p]: what a copy would be made of, see lastUser
	fixed Tokens        // head, tools, response format and the answer's start; -1 until asked

	pricing    pricing    // of images, where it differs from the reference
	surcharges []Tokens   // surcharges[n]: what that costs the first n more, nil until asked
	fixedName  memoKey    // names head, tools and response format, zero until asked
	extras     [2]memoKey // name tools and response format, zero until asked
}

// mark is what has to be known of a message that was not read.
type mark struct {
	role     chat.Role
	media    bool
	elements int32 // itself, its parts and its calls
}

func markOf(m *chat.Message) mark {
	return mark{role: m.Role, media: hasMedia(m), elements: int32(1 + len(m.Parts) + len(m.Calls))} //nolint:gosec // MaxElements
}

func newView(m *Memo, r *chat.Request, messages int) *View {
	return &View{
		Request: r,
		memo:    m,
		counter: tokens.Shared(),
		count:   messages,
		marks:   make([]mark, messages),
		facts:   make([]fact, messages),
		chain:   []chat.Digest{{}},
		fixed:   -1,
	}
}

// Open reads the Messages, where a Look has left that out. It may be called more
// than once.
func (v *View) Open() {
	if v.tail == nil {
		return
	}
	first, err := chat.ParseSome(v.Body, v.Envelope, 0, v.unread)
	if err != nil { // these bytes were read before, and a MAC says that they are these
		panic("compression: messages that were read before cannot be read: " + err.Error())
	}
	v.Messages, v.tail, v.unread = slices.Concat(first, v.tail.Messages), nil, 0
}

// Elements is the number of messages, content parts and calls, and how many of them
// were read, or have to be before all is counted (see For), which takes memory: all
// of them after Open.
func (v *View) Elements() (all, read int) {
	all, read = v.elements, v.elements
	if v.countingOpens() {
		return all, read
	}
	for i := range v.unread {
		read -= int(v.marks[i].elements)
	}
	return all, read
}

// countingOpens reports whether something of what was not read has yet to be
// counted: then all of it is read.
func (v *View) countingOpens() bool {
	for i := range v.unread {
		if !v.facts[i].knows(everything&^knowsChain) || v.marks[i].media && v.pricing.scheme != 0 {
			return true
		}
	}
	return false
}

// read is the message i, as message at of r.
func (v *View) read(i int) (r *chat.Request, at int) {
	if v.tail != nil && i >= v.unread {
		return v.tail, i - v.unread
	}
	v.Open()
	return v.Request, i
}

// span is where message i stands.
func (v *View) span(i int) chat.Span {
	if v.tail != nil {
		return v.Found(i)
	}
	return v.Messages[i].Span
}

// Len is the number of messages after the head.
func (v *View) Len() int { return v.count - v.Head }

// Chain is the chain digest of the first n messages after the head; n is bounded
// to what there is. It names a prefix for exactly the requests that share it.
func (v *View) Chain(n int) chat.Digest {
	n = min(max(n, 0), v.Len())
	for at := len(v.chain); at <= n; at++ {
		v.chain = append(v.chain, chat.Extend(v.chain[at-1], v.digest(v.Head+at-1)))
	}
	return v.chain[n]
}

// Anchor is the chain digest of the shortest run of leading messages, those of
// the system and of developers left out, whose canonical form has at least 2
// KiB; of all of them if there is less. It does not change with later turns, the
// model or the window.
func (v *View) Anchor() chat.Digest {
	var d chat.Digest
	size := 0
	for i := range v.marks {
		if v.marks[i].role.Leading() {
			continue
		}
		d = chat.Extend(d, v.digest(i))
		if size += int(v.facts[i].canonical); size >= anchorBytes {
			break
		}
	}
	return d
}

// fact brings what is known of message i up to at least what is asked.
func (v *View) fact(i int, what uint8) *fact {
	f := &v.facts[i]
	if f.knows(what) {
		return f
	}
	if v.keys == nil {
		v.keys = make([]memoKey, v.count)
	}
	if v.keys[i] == (memoKey{}) {
		v.keys[i] = v.memo.keyOf(kindMessage, v.span(i).Of(v.Body))
		if known, ok := v.memo.get(v.keys[i]); ok {
			*f = f.with(known)
		}
	}
	if missing := what &^ f.known; missing != 0 {
		v.learn(i, f, missing)
		v.memo.put(v.keys[i], *f)
	}
	return f
}

// learn computes what the memo did not know.
func (v *View) learn(i int, f *fact, missing uint8) {
	r, at := v.read(i)
	m := &r.Messages[at]
	if missing&knowsDigest != 0 {
		canonical := r.Canonical(nil, at)
		f.digest, f.canonical = chat.MessageDigest(canonical), int32(len(canonical))
	}
	if missing&knowsBounds != 0 {
		low, high := v.bounds(m)
		f.low, f.high = int32(low), int32(high)
	}
	if missing&knowsReference != 0 {
		f.reference = int32(v.cost(m, form{}))
	}
	f.known |= missing
}

func (v *View) digest(i int) chat.Digest { return v.fact(i, knowsDigest).digest }

// reference is the reference count of message i, head included.
func (v *View) reference(i int) Tokens { return Tokens(v.fact(i, knowsReference).reference) }

// Legal reports whether the messages may be cut before the one at position n:
// what stands behind such a cut may stand alone.
func (v *View) Legal(n int) bool {
	v.Open()
	return n >= 0 && n <= v.Len() && v.cuts()[n]
}

// TextTokens is the reference count of a text by itself.
func (v *View) TextTokens(text string) Tokens { return v.tokens(text) }

// Reference is the reference count of message i after the head: a pure function
// of its bytes.
func (v *View) Reference(i int) Tokens { return v.reference(v.Head + i) }

// sum is the reference count of the first n messages after the head.
func (v *View) sum(n int) Tokens {
	if v.sums == nil {
		v.sums = make([]Tokens, v.Len()+1)
		for i := range v.Len() {
			v.sums[i+1] = v.sums[i] + v.Reference(i)
		}
	}
	return v.sums[n]
}

// Total is the count of the whole request: messages with their framing, tools,
// response format, images by the price of the family (see For).
func (v *View) Total() Tokens { return v.counted(v.Len()) }

// counted is Total with only the first n messages after the head.
func (v *View) counted(n int) Tokens { return v.fixedCost() + v.sum(n) + v.surchargeOf(n) }

// Prefix names the request with only its first n messages after the head, and
// counts it as Total does; n is bounded to what there is. Head, tools, response
// format and the canonical form of the messages make the name, so that a later
// turn of the conversation finds the earlier one. It does not depend on the model,
// and means something only beside names from the same Memo.
func (v *View) Prefix(n int) (name chat.Digest, counted Tokens) {
	n = min(max(n, 0), v.Len())
	if v.fixedName == (memoKey{}) {
		v.fixedName = v.nameFixed()
	}
	chain := v.Chain(n)
	key := v.memo.keyOf(kindPrefix, append(v.fixedName[:], chain[:]...))
	copy(name[:], key[:])
	return name, v.counted(n)
}

// nameFixed names what no fold can change.
func (v *View) nameFixed() memoKey {
	var parts []byte
	for i := range v.Head {
		d := v.digest(i)
		parts = append(parts, d[:]...)
	}
	for i := range v.extras {
		key := v.extraKey(i)
		parts = append(parts, key[:]...)
	}
	return v.memo.keyOf(kindFixed, parts)
}

// Bounds is between what and what Total lies. It is cheap: no text is counted.
func (v *View) Bounds() (low, high Tokens) {
	low, high = answerStart, answerStart
	for i := range v.count {
		f := v.fact(i, knowsBounds)
		low += Tokens(f.low)
		high += Tokens(f.high) + max(0, v.surcharge(i, 0))
	}
	for i := range v.extras {
		if v.extraSpan(i).Empty() {
			continue
		}
		f := v.extra(i, knowsBounds)
		low += Tokens(f.low)
		high += Tokens(f.high)
	}
	return low, high
}
