package compression

import (
	"hash/maphash"
	"strings"
	"unicode/utf8"
)

// How much of a question is read.
const (
	questionPart = 4 << 10 // bytes at its beginning, and at its end
	questionMost = 512     // terms
)

// query is what a question asks for, and how rare that is in the middle.
type query struct {
	index map[uint64]struct{}
	terms []queryTerm
}

type queryTerm struct {
	hash     uint64 // the name that it has in runs
	kind     termKind
	pair     bool // two characters of a script without spaces
	filler   bool
	passages int32
	weight   int64 // how rare it is, in 256ths of a bit
	telling  int64 // the same as far as it shows what is asked for; 0: common
}

// eachTerm calls visit for the terms of s: those of scanTerms, and the words
// inside identifiers, since a question seldom spells them out.
func eachTerm(s string, visit func(string, termKind)) {
	var whole string
	scanTerms(s, func(t string, kind termKind) {
		visit(t, kind)
		if kind == termWord || kind == termBare || strings.HasSuffix(whole, t) {
			return
		}
		whole = t
		splitWords(t, func(word string, kind termKind) {
			if len(word) < len(t) {
				visit(word, kind)
			}
		})
	})
}

func newQuery(question string, seed maphash.Seed) *query {
	q := &query{index: make(map[uint64]struct{})}
	var folds []byte
	head, tail := clipWords(question, questionPart, questionPart)
	for _, part := range [...]string{head, tail} {
		eachTerm(part, func(t string, kind termKind) {
			folds = folded(folds[:0], t)
			hash := maphash.Bytes(seed, folds)
			if _, ok := q.index[hash]; ok || len(q.terms) == questionMost {
				return
			}
			q.index[hash] = struct{}{}
			r, size := utf8.DecodeRuneInString(t)
			q.terms = append(q.terms, queryTerm{hash: hash, kind: kind, pair: size < len(t) && unspaced(r), filler: filler(string(folds))})
		})
	}
	return q
}

// folded appends a term in small letters. Only the scripts of two bytes a letter
// and less are folded: those beyond have no case that matters.
func folded(dst []byte, t string) []byte {
	for i := 0; i < len(t); i++ {
		c := t[i]
		switch {
		case c >= 0xE0:
			return append(dst, t[i:]...)
		case c >= utf8.RuneSelf:
			return append(dst, strings.ToLower(t[i:])...)
		case capital(c):
			c += 'a' - 'A'
		}
		dst = append(dst, c)
	}
	return dst
}

// weigh fixes how rare each term is among n passages.
func (q *query) weigh(n int) {
	for i := range q.terms {
		t := &q.terms[i]
		if t.passages == 0 {
			continue
		}
		t.weight = rarity(n, t.passages)
		if t.passages <= max(askSeldom, int32(n/askShare)) {
			t.telling = rarity(max(n, askLeast), t.passages)
		}
	}
}

// rarity is the logarithm of (n+1)/(k+1/2), for a term in k of n passages.
func rarity(n int, k int32) int64 {
	const play = 16 // so that the quotient of integers has some
	return max(0, log2(uint64(n+1)*2*play/uint64(2*k+1))-log2(play))
}

// What shows that a message asks for something that was said: one passage holds
// an identifier of it, or words of it that seldom come together and are not all
// filler. Measured over recorded questions, and over words such as "continue" in
// nine languages.
const (
	askShare  = 4       // a term in more than a quarter of the passages tells nothing,
	askSeldom = 2       // but for two
	askLeast  = 64      // passages that a small middle counts as
	askHalf   = 3       // halves of a word; a pair of characters is half a word
	askBits   = 7 * 256 // together as rare as one passage in 128
	askNamed  = 3 * 256 // an identifier in an eighth of the passages and less
)

// filler reports whether a word is of those with which people drive on, agree,
// greet and thank. In other languages than English such messages are so few words
// that they ask for nothing by the measure above.
func filler(word string) bool {
	switch word {
	case "again", "ahead", "alright", "and", "any", "anything", "are", "awesome", "can", "carry", "continue", "cool", "correct", "could",
		"did", "does", "doing", "done", "everything", "exactly", "excellent", "fine", "finish", "fix", "for", "from", "going", "good", "great",
		"have", "hello", "help", "hey", "how", "just", "keep", "let", "like", "look", "looks", "make", "more", "morning", "much", "need", "next",
		"nice", "not", "now", "okay", "one", "perfect", "please", "proceed", "ready", "right", "should", "sounds", "start", "step", "steps", "stop",
		"sure", "task", "thank", "thanks", "that", "the", "then", "there", "these", "thing", "things", "this", "try", "until", "very", "want", "was",
		"well", "were", "what", "when", "which", "will", "with", "work", "works", "would", "wrong", "yeah", "yes", "you", "your":
		return true
	}
	return false
}
