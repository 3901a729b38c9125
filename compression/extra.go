package compression

import (
	"github.com/foldgate/foldgate/compression/chat"
	"github.com/foldgate/foldgate/compression/tokens"
)

// fixedTokens is what no fold can change: head, tools, response format.
func (v *View) fixedTokens() Tokens {
	if v.fixed >= 0 {
		return v.fixed
	}
	sum := Tokens(answerStart)
	for i := range v.Head {
		sum += v.reference(i)
	}
	for i := range v.extras {
		if !v.extraSpan(i).Empty() {
			sum += Tokens(v.extra(i, knowsReference).reference)
		}
	}
	v.fixed = sum
	return sum
}

// extraSpan is where the tools (0) or the response format (1) stand.
func (v *View) extraSpan(i int) chat.Span {
	return [len(v.extras)]chat.Span{v.Tools, v.ResponseFormat}[i]
}

// extraKey names them.
func (v *View) extraKey(i int) memoKey {
	if v.extras[i] == (memoKey{}) {
		v.extras[i] = v.memo.keyOf(kindExtra, v.extraSpan(i).Of(v.Body))
	}
	return v.extras[i]
}

// extra is what is known of them.
func (v *View) extra(i int, what uint8) fact {
	raw, key := v.extraSpan(i).Of(v.Body), v.extraKey(i)
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
