package compression

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Sizes of what is looked up.
const (
	passageMax = 700 // bytes of a passage
	vainTries  = 16  // passages that did not fit, after which it is full
)

// scored is a passage of the middle with the terms of the question in it.
type scored struct {
	passage
	length int32 // terms, all of them
	hits   []hit
	own    int64 // by its own words
	score  int64 // by its neighbours' as well
}

type hit struct{ term, times int32 }

// choose is the choice itself: the best passages of the covered messages, best
// first, with their frame in at most room tokens.
func (v *View) choose(h Handoff, question string, asker int, room Tokens) []passage {
	q := newQuery(question)
	if len(q.terms) == 0 {
		return nil
	}
	texts, all := v.search(q, h.Covered, asker)
	q.weigh(len(all))
	if !q.asks(all) {
		return nil
	}
	q.score(all)
	return v.fill(texts, all, h.Text, room)
}

// search divides the first covered messages into passages and counts the terms
// of the question in each.
func (v *View) search(q *query, covered, asker int) (texts []string, all []scored) {
	texts = make([]string, covered)
	times := make([]int32, len(q.terms))
	var hits []hit
	for p := range covered {
		if p == asker {
			continue
		}
		texts[p] = v.told(p)
		passages(texts[p], func(start, end int) {
			s := scored{passage: passage{int32(p), int32(start), int32(end)}}
			from := len(hits)
			eachTerm(texts[p][start:end], func(t string, _ termKind) {
				s.length++
				id, ok := q.find(t)
				if !ok {
					return
				}
				if times[id]++; times[id] == 1 {
					hits = append(hits, hit{term: id})
				}
			})
			s.hits = hits[from:len(hits):len(hits)]
			for i := range s.hits {
				id := s.hits[i].term
				s.hits[i].times, times[id] = times[id], 0
				q.terms[id].passages++
			}
			all = append(all, s)
		})
	}
	return texts, all
}

// passages divides a text into pieces of at most passageMax bytes, at line ends,
// else at sentence ends, else at spaces, else between words, and calls visit for
// those that are not blank. A run without any such place is data: a piece of it
// would read as a name of its own, so it is in no passage.
func passages(text string, visit func(start, end int)) {
	for at := 0; at < len(text); {
		end := len(text)
		if end-at > passageMax {
			n := divide(text[at:])
			if n == 0 {
				at = wordStart(text, at+passageMax)
				continue
			}
			end = at + n
		}
		piece := text[at:end]
		left := len(piece) - len(strings.TrimLeft(piece, " \t\r\n"))
		if body := strings.TrimRight(piece[left:], " \t\r\n"); body != "" {
			visit(at+left, at+left+len(body))
		}
		at = end
	}
}

// divide is where the first piece of a text that is too long ends: the last best
// place in its second half, else between two words; 0 where one run fills it.
func divide(s string) int {
	best, rank := wordEnd(s, passageMax), 0
	for i := passageMax / 2; i < passageMax-1; i++ {
		r := 0
		switch c := s[i]; {
		case c == '\n':
			r = 4
		case c == 'n' && s[i-1] == '\\' && !pathOf(s[:i-1]): // a line end inside JSON
			r = 3
		case (c == '.' || c == '!' || c == '?' || c == ';' || c == '}') && (s[i+1] == ' ' || s[i+1] == ','):
			r = 2
		case strings.HasPrefix(s[i:], "。"), strings.HasPrefix(s[i:], "！"), strings.HasPrefix(s[i:], "？"), strings.HasPrefix(s[i:], "।"):
			i += utf8.UTFMax - 2 // all are three bytes; at the last
			r = 2
		case c == ' ':
			r = 1
		}
		if r > 0 && r >= rank && i < passageMax {
			best, rank = i+1, r
		}
	}
	return best
}

// pathOf reports whether s ends inside a path with backslashes, C:\dir, or with a
// backslash that is written as two: what follows is a name then, and no escape.
func pathOf(s string) bool {
	if strings.HasSuffix(s, `\`) {
		return true
	}
	run := s[max(0, len(s)-maxTerm):]
	run = run[strings.LastIndexAny(run, " \t\r\n")+1:]
	for i := 1; i < len(run); i++ {
		drive := run[i] == ':' && letter(run[i-1]) && (i == 1 || !letterOrDigit(run[i-2]))
		if drive && (i+1 == len(run) || run[i+1] == '\\') {
			return true
		}
	}
	return false
}

// score ranks by BM25 (k1 1.2, b 0.5), and gives each passage seven tenths of its
// better neighbour's: an answer stands beside what it answers.
func (q *query) score(all []scored) {
	sum := int64(0)
	for i := range all {
		sum += int64(all[i].length)
	}
	average := max(1, sum/int64(max(1, len(all))))
	for i := range all {
		s := &all[i]
		for _, h := range s.hits {
			times := int64(h.times)
			s.own += q.terms[h.term].weight * 1024 * (22 * times * average) / (10*times*average + 6*average + 6*int64(s.length))
		}
	}
	for i := range all {
		near := int64(0)
		if i > 0 {
			near = all[i-1].own
		}
		if i+1 < len(all) {
			near = max(near, all[i+1].own)
		}
		all[i].score = all[i].own + near*7/10
	}
}

// fill takes the best passages until room is full, but for those that the
// handoff tells already or that came already.
func (v *View) fill(texts []string, all []scored, handoff string, room Tokens) []passage {
	order := make([]int32, 0, len(all))
	for i := range all {
		if all[i].score > 0 {
			order = append(order, int32(i))
		}
	}
	slices.SortFunc(order, func(a, b int32) int { // of equals the newer first
		return cmp.Or(cmp.Compare(all[b].score, all[a].score), cmp.Compare(b, a))
	})
	f := fitting(recallFrames(), room)
	left := room - v.tokens(f.head+f.tail)
	seen := make(map[string]bool)
	var chosen []passage
	for vain := 0; len(order) > 0 && vain < vainTries && left > 0; order = order[1:] {
		p := all[order[0]].passage
		text := texts[p.message][p.start:p.end]
		if seen[text] || said(handoff, text) {
			continue
		}
		n := v.tokens(v.quotation(p, texts[p.message])) + 1
		if n > left {
			vain++
			continue
		}
		seen[text] = true
		left -= n
		chosen = append(chosen, p)
	}
	return v.within(f, chosen, room)
}

// within is the best of the passages that take at most room together: counted
// apart they may have come to less. What is too much goes in few steps, since each
// counts all that is left.
func (v *View) within(f frame, chosen []passage, room Tokens) []passage {
	for len(chosen) > 0 {
		n := v.tokens(v.quote(f, chosen).text)
		if n <= room {
			break
		}
		chosen = chosen[:min(len(chosen)-1, int(int64(len(chosen))*int64(room)/int64(n)))]
	}
	return chosen
}

// said reports whether a handoff holds every sentence of a passage.
func said(handoff, text string) bool {
	all := true
	sentences(text, func(s string) {
		all = all && strings.Contains(handoff, oneLine(s))
	})
	return all
}
