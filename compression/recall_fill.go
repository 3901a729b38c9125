package compression

import (
	"container/heap"
	"strings"
	"unicode/utf8"

	"github.com/foldgate/foldgate/compression/chat"
)

// vainTries is how many passages did not fit when a room counts as full.
const vainTries = 16

// best is a queue of passages by their number, the best first, of equals the newer.
type best struct {
	numbers []int32
	score   []int64 // of all
}

// queue is the passages that bear on the question.
func (r *ranking) queue() *best {
	b := &best{make([]int32, 0, r.n), r.score}
	for i, score := range r.score {
		if score > 0 {
			b.numbers = append(b.numbers, int32(i)) //nolint:gosec // passages are few
		}
	}
	heap.Init(b)
	return b
}

func (b *best) Len() int { return len(b.numbers) }
func (b *best) Less(i, j int) bool {
	m, n := b.numbers[i], b.numbers[j]
	if b.score[m] != b.score[n] {
		return b.score[m] > b.score[n]
	}
	return m > n
}
func (b *best) Swap(i, j int) { b.numbers[i], b.numbers[j] = b.numbers[j], b.numbers[i] }
func (b *best) Push(x any)    { b.numbers = append(b.numbers, x.(int32)) }
func (b *best) Pop() any {
	last := len(b.numbers) - 1
	x := b.numbers[last]
	b.numbers = b.numbers[:last]
	return x
}

// fill takes the best passages until room is full, but for those that the
// handoff tells already or that came already.
func (v *View) fill(t *tellings, r *ranking, tells teller, room Tokens) (recall, Tokens) {
	f := fitting(recallFrames(), room)
	left := room - v.tokens(f.head+f.tail)
	seen := make(map[string]bool)
	var chosen []passage
	q := r.queue()
	for vain := 0; q.Len() > 0 && vain < vainTries && left > 0; heap.Pop(q) {
		known, i := r.at(int(q.numbers[0]))
		p := known.passages[i]
		text := t.of(p)
		if seen[text] || tells.said(text) {
			continue
		}
		n := v.quotationCost(known, i, text) + 1
		if n > left {
			vain++
			continue
		}
		seen[text] = true
		left -= n
		chosen = append(chosen, p)
	}
	return v.within(t, f, chosen, room)
}

// quotationCost counts a passage as it is quoted, once.
func (v *View) quotationCost(known *run, i int, text string) Tokens {
	if n := known.costs[i].Load(); n > 0 {
		return Tokens(n)
	}
	n := v.tokens(v.quotation(known.passages[i].message, text))
	known.costs[i].Store(uint32(n)) //nolint:gosec // a passage is short
	return n
}

// within is the best of the passages that take at most room together, and how much
// they take: counted apart they may have come to less. What is too much goes in few
// steps, since each counts all that is left.
func (v *View) within(t *tellings, f frame, chosen []passage, room Tokens) (recall, Tokens) {
	for len(chosen) > 0 {
		r := v.quote(t, f, chosen)
		n := v.tokens(r.text)
		if n <= room {
			return r, n
		}
		chosen = chosen[:min(len(chosen)-1, int(int64(len(chosen))*int64(room)/int64(n)))]
	}
	return recall{}, 0
}

// learnRecalled remembers what the user message i costs with passages before it
// that take n tokens, where that is known without counting them again: no token
// goes over from a line end to what neither is white space nor a slash.
func (v *View) learnRecalled(i int, r recall, n Tokens) {
	if r.text == "" || v.Messages[i].ContentKind != chat.ContentString {
		return
	}
	if text := v.Text(i); text == "" || text[0] <= ' ' || text[0] >= utf8.RuneSelf || text[0] == '/' {
		return
	}
	end := strings.TrimLeft(r.frame.tail, "\n")
	n += v.reference(i) - v.tokens(end) + v.tokens(end+gap)
	v.memo.put(v.formKey(i, form{recall: r.text}), fact{reference: int32(n), known: knowsReference}) //nolint:gosec // fewer than bytes
}
