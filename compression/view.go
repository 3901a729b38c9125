package compression

import (
	"github.com/foldgate/foldgate/compression/chat"
	"github.com/foldgate/foldgate/compression/tokens"
)

// anchorBytes is how much canonical text makes two conversations that begin with
// the same greeting two.
const anchorBytes = 2 << 10

// View is one request, measured. What it needs it computes when it is asked, or
// finds in its Memo. Not for concurrent use. Positions are counted from the
// first message after the head.
type View struct {
	*chat.Request
	memo    *Memo
	counter *tokens.Counter

	keys  []memoKey // by message, head included; filled with facts
	facts []fact
	chain []chat.Digest // chain[n]: the first n messages after the head
	sums  []Tokens      // sums[n]: the reference count of the first n, nil until asked
	legal []bool        // where a cut may stand, nil until asked
	under []int         // under[p]: the last legal cut before p, nil until asked
	users []int         // users[p]: what a copy would be made of, see lastUser
	fixed Tokens        // head, tools, response format and the answer's start; -1 until asked

	pricing    pricing  // of images, where it differs from the reference
	surcharges []Tokens // surcharges[n]: what that costs the first n more, nil until asked
	fixedName  memoKey  // names head, tools and response format, zero until asked
}

func newView(m *Memo, r *chat.Request) *View {
	return &View{
		Request: r,
		memo:    m,
		counter: tokens.Shared(),
		facts:   make([]fact, len(r.Messages)),
		chain:   []chat.Digest{{}},
		fixed:   -1,
	}
}

// Len is the number of messages after the head.
func (v *View) Len() int { return len(v.Messages) - v.Head }

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
	for i := range v.Messages {
		if v.Messages[i].Role.Leading() {
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
	raw := v.Messages[i].Span.Of(v.Body)
	if v.keys == nil {
		v.keys = make([]memoKey, len(v.Messages))
	}
	if v.keys[i] == (memoKey{}) {
		v.keys[i] = v.memo.keyOf(kindMessage, raw)
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
	if missing&knowsDigest != 0 {
		canonical := v.Canonical(nil, i)
		f.digest, f.canonical = chat.MessageDigest(canonical), int32(len(canonical))
	}
	if missing&knowsBounds != 0 {
		low, high := v.bounds(&v.Messages[i])
		f.low, f.high = int32(low), int32(high)
	}
	if missing&knowsReference != 0 {
		f.reference = int32(v.count(&v.Messages[i], form{}))
	}
	f.known |= missing
}

func (v *View) digest(i int) chat.Digest { return v.fact(i, knowsDigest).digest }

// reference is the reference count of message i, head included.
func (v *View) reference(i int) Tokens { return Tokens(v.fact(i, knowsReference).reference) }

// Legal reports whether the messages may be cut before the one at position n:
// what stands behind such a cut may stand alone.
func (v *View) Legal(n int) bool { return n >= 0 && n <= v.Len() && v.cuts()[n] }

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
	for _, s := range [...]chat.Span{v.Tools, v.ResponseFormat} {
		key := v.memo.keyOf(kindExtra, s.Of(v.Body))
		parts = append(parts, key[:]...)
	}
	return v.memo.keyOf(kindFixed, parts)
}

// Bounds is between what and what Total lies. It is cheap: no text is counted.
func (v *View) Bounds() (low, high Tokens) {
	low, high = answerStart, answerStart
	for i := range v.Messages {
		f := v.fact(i, knowsBounds)
		low += Tokens(f.low)
		high += Tokens(f.high) + max(0, v.surcharge(i, 0))
	}
	for _, s := range [...]chat.Span{v.Tools, v.ResponseFormat} {
		if s.Empty() {
			continue
		}
		f := v.extra(s, knowsBounds)
		low += Tokens(f.low)
		high += Tokens(f.high)
	}
	return low, high
}

// fixedTokens is what no fold can change: head, tools, response format.
func (v *View) fixedTokens() Tokens {
	if v.fixed >= 0 {
		return v.fixed
	}
	sum := Tokens(answerStart)
	for i := range v.Head {
		sum += v.reference(i)
	}
	for _, s := range [...]chat.Span{v.Tools, v.ResponseFormat} {
		if !s.Empty() {
			sum += Tokens(v.extra(s, knowsReference).reference)
		}
	}
	v.fixed = sum
	return sum
}

// extra is what is known of tools or a response format.
func (v *View) extra(s chat.Span, what uint8) fact {
	raw := s.Of(v.Body)
	key := v.memo.keyOf(kindExtra, raw)
	f, _ := v.memo.get(key)
	if f.knows(what) {
		return f
	}
	if what&knowsBounds != 0 {
		low, high := tokens.Bounds(raw)
		f.low, f.high = int32(low), int32(high)
	}
	if what&knowsReference != 0 {
		f.reference = int32(v.counter.Count(raw))
	}
	f.known |= what
	v.memo.put(key, f)
	return f
}
