package compression

import (
	"cmp"
	"slices"
	"strings"

	"github.com/foldgate/foldgate/compression/window"
)

// Recalled is what Fold recalls under a handoff, in its frame, and where the
// tokens of the message that it goes before are known already, what they are.
func (v *View) Recalled(h Handoff, b window.Budget) (text string, known, counted Tokens) {
	r := v.recall(h, b)
	if r.text == "" {
		return "", 0, 0
	}
	i, f := v.lastSaid(), form{recall: r.text}
	counted = v.cost(&v.Messages[i], f)
	if found, ok := v.memo.get(v.formKey(i, f)); ok {
		return r.text, Tokens(found.reference), counted
	}
	return r.text, counted, counted
}

// PlainRecalled is the text of Recalled by the plain way: every message is read,
// every term compared as text, all passages sorted, and nothing remembered.
func (v *View) PlainRecalled(h Handoff, b window.Budget) string {
	room, user := recallTokens(b), v.lastSaid()
	if room <= 0 || user < 0 || !leadable(&v.Messages[user]) {
		return ""
	}
	p := &plain{v: v, handoff: h.Text, index: map[string]int32{}}
	p.asker = user - v.Head
	p.ask(OwnText(v.Text(user)))
	p.search(h.Covered)
	p.weigh(len(p.all))
	if len(p.terms) == 0 || !p.asks() {
		return ""
	}
	p.rank()
	return p.fill(room)
}

// plain is a question that is looked up the plain way.
type plain struct {
	query
	v       *View
	handoff string
	asker   int
	index   map[string]int32 // of terms in small letters
	texts   []string
	all     []scored
}

type scored struct {
	passage
	length int64
	times  map[int32]int64 // of each term
	own    int64           // by its own words
	score  int64           // by its neighbours' as well
}

func (p *plain) ask(question string) {
	head, tail := clipWords(question, questionPart, questionPart)
	for _, part := range [...]string{head, tail} {
		eachTerm(part, func(t string, kind termKind) {
			fold := string(folded(nil, t))
			if _, ok := p.index[fold]; ok || len(p.terms) == questionMost {
				return
			}
			p.index[fold] = int32(len(p.terms))
			runes := []rune(t)
			p.terms = append(p.terms, queryTerm{kind: kind, pair: len(runes) > 1 && unspaced(runes[0]), filler: filler(fold)})
		})
	}
}

func (p *plain) search(covered int) {
	p.texts = make([]string, covered)
	for m := range covered {
		if m == p.asker {
			continue
		}
		p.texts[m] = p.v.told(m)
		passages(p.texts[m], func(start, end int) {
			s := scored{passage: passage{int32(m), int32(start), int32(end)}, times: map[int32]int64{}}
			eachTerm(p.texts[m][start:end], func(t string, _ termKind) {
				s.length++
				if id, ok := p.index[string(folded(nil, t))]; ok {
					s.times[id]++
				}
			})
			for id := range s.times {
				p.terms[id].passages++
			}
			p.all = append(p.all, s)
		})
	}
}

func (p *plain) asks() bool {
	for i := range p.all {
		bits, halves, own := int64(0), 0, false
		for id := range p.all[i].times {
			switch t := &p.terms[id]; {
			case t.telling == 0:
			case t.kind >= termJoin && t.telling >= askNamed:
				return true
			case t.pair:
				bits, halves, own = bits+t.telling/2, halves+1, true
			default:
				bits, halves, own = bits+t.telling, halves+2, own || !t.filler
			}
		}
		if own && halves >= askHalf && bits >= askBits {
			return true
		}
	}
	return false
}

func (p *plain) rank() {
	sum := int64(0)
	for i := range p.all {
		sum += p.all[i].length
	}
	average := max(1, sum/int64(max(1, len(p.all))))
	for i := range p.all {
		s := &p.all[i]
		for id, times := range s.times {
			s.own += p.terms[id].weight * 1024 * (22 * times * average) / (10*times*average + 6*average + 6*s.length)
		}
	}
	for i := range p.all {
		near := int64(0)
		if i > 0 {
			near = p.all[i-1].own
		}
		if i+1 < len(p.all) {
			near = max(near, p.all[i+1].own)
		}
		p.all[i].score = p.all[i].own + near*7/10
	}
}

func (p *plain) fill(room Tokens) string {
	order := make([]int, 0, len(p.all))
	for i := range p.all {
		if p.all[i].score > 0 {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(p.all[b].score, p.all[a].score), cmp.Compare(b, a))
	})
	f := fitting(recallFrames(), room)
	left := room - p.v.tokens(f.head+f.tail)
	seen := make(map[string]bool)
	var chosen []passage
	for vain := 0; len(order) > 0 && vain < vainTries && left > 0; order = order[1:] {
		s := p.all[order[0]].passage
		text := p.texts[s.message][s.start:s.end]
		if seen[text] || p.said(text) {
			continue
		}
		n := p.v.tokens(p.v.quotation(s.message, text)) + 1
		if n > left {
			vain++
			continue
		}
		seen[text] = true
		left -= n
		chosen = append(chosen, s)
	}
	r, _ := p.v.within(&tellings{view: p.v}, f, chosen, room)
	return r.text
}

func (p *plain) said(text string) bool {
	all := true
	sentences(text, func(s string) { all = all && strings.Contains(p.handoff, oneLine(s)) })
	return all
}
