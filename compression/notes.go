package compression

import (
	"strings"

	"github.com/foldgate/foldgate/compression/chat"
)

// notes is what a handoff without a model is written from: the covered messages
// as units, and their terms. It is built once and can be written at any length.
type notes struct {
	sources []source
	units   []unit
	lexicon *lexicon
	arena   []int32 // the terms of all units
	calls   bool
	long    []longCall
	shapes  shapes
	tokens  func(string) Tokens
}

// takeNotes reads the messages after the head from position from to position to.
// Of those before it reads what the user asked, and the handoff's body for them.
func (v *View) takeNotes(from, to int, older string) *notes {
	n := &notes{shapes: shapes{}, lexicon: newLexicon(), tokens: v.tokens}
	n.sources = v.sources(v.requested(readNotes(nil, older), from), from, to)
	copied := -1
	if c := v.carrierFor(to); c.copied {
		copied = c.source - v.Head
	}
	for i := range n.sources {
		n.sources[i].verbatim = copied >= 0 && n.sources[i].position == copied
		n.calls = n.calls || len(n.sources[i].calls) > 0
		n.divide(i)
	}
	n.lexicon.weigh(len(n.sources))
	n.weighRepeats()
	return n
}

// Shares of a handoff, in percent of its tokens.
const (
	olderShare   = 50 // the handoff before it
	requestShare = 20 // the user's requests
	indexShare   = 40 // the most that identifiers take, beside indexFree and indexPart
	indexPart    = 10
	indexFree    = 200 // tokens
	indexLeast   = 24  // tokens that are too few for a title of their own
	chatIndex    = 10  // where nothing was called, names are in the sentences
	requestMax   = 900 // bytes of one request
	requestMin   = 120
	requestRoom  = 40 // tokens that the requests have at least
	requestCount = 8  // the newest that are sure to be told; older ones compete
	titleRoom    = 10 // tokens of a title and what parts it from the rest
)

// write writes the body of a handoff in about room tokens.
func (n *notes) write(room int) string {
	n.lexicon.uncover()
	for i := range n.sources {
		if n.sources[i].verbatim {
			n.cover(n.sources[i].text)
		}
	}
	p := newPicker(n)
	older := p.older(room * olderShare / 100)
	room -= int(n.tokens(older))
	requests, cost := n.requests(max(room*requestShare/100, requestRoom))
	room -= cost + 2*titleRoom
	index := min(room*indexShare/100, indexFree+room*indexPart/100)
	if !n.calls {
		index = room * chatIndex / 100
	}
	if index < indexLeast {
		index = 0
	}
	p.done(room - index)
	names, cost := n.index(max(0, index-titleRoom))
	done := p.done(room - cost - titleRoom) // with what the index left
	var b strings.Builder
	section(&b, titleOlder, older)
	section(&b, titleRequests, requests)
	section(&b, titleDone, done)
	section(&b, titleNames, names)
	return b.String()
}

// section appends a part of the body under its title.
func section(b *strings.Builder, title, text string) {
	if text == "" {
		return
	}
	if b.Len() > 0 {
		b.WriteString("\n\n")
	}
	b.WriteString(title)
	b.WriteString("\n")
	b.WriteString(text)
}

// requests are the user's messages in at most room tokens, and what they take:
// whole where they are short, by beginning and end where they are long; the
// first and the newest where there are many.
func (n *notes) requests(room int) (text string, cost int) {
	var users []int
	for i := range n.sources {
		if s := &n.sources[i]; s.role == chat.RoleUser && !s.verbatim && strings.TrimSpace(s.text) != "" {
			users = append(users, i)
		}
	}
	if len(users) == 0 {
		return "", 0
	}
	lines := make([]string, len(users))
	take := func(k, most int) bool {
		s := &n.sources[users[k]]
		head, tail := clipWords(s.text, 2*requestMax, requestMax)
		line := s.label() + cutText(oneLine(head+" "+tail), most) + "\n"
		size := int(n.tokens(line))
		if cost+size > room {
			return false
		}
		cost += size
		lines[k] = line
		n.cover(line)
		return true
	}
	newest := len(users) - 1
	each := min(max(4*room/len(users), requestMin), requestMax)
	for most := min(each, 3*room); !take(newest, most) && most > 1; most /= 2 {
	}
	if newest > 0 && take(0, each) {
		for k := newest - 1; k > max(0, newest-requestCount) && take(k, each); k-- {
		}
	}
	return strings.TrimSuffix(strings.Join(lines, ""), "\n"), cost
}

// cover marks the terms of a text as told.
func (n *notes) cover(s string) {
	scanTerms(s, func(t string, kind termKind) {
		id := n.lexicon.id(t, kind) // first: it may move the terms
		n.lexicon.terms[id].covered = true
	})
}
