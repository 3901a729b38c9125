package compression

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/foldgate/foldgate/compression/chat"
	"github.com/foldgate/foldgate/compression/redact"
	"github.com/foldgate/foldgate/compression/tokens"
	"github.com/foldgate/foldgate/compression/window"
)

// MaxSteps is the most steps that one summary takes. A transcript that needs
// more is thinned.
const MaxSteps = 8

// OtherVocabulary is how many tokens a summarizer's model is taken to need for
// one of ours, where nothing says more: its vocabulary is seldom known.
const OtherVocabulary = 1.3

const (
	// routeWindow is taken for a route of which nothing is known: what nearly
	// every model that is served today accepts.
	routeWindow Tokens = 32_768
	// singleStep is the most of a transcript in one step, whatever the window.
	singleStep Tokens = 40_000
	// leastPiece is the least of a transcript that makes a step worth its answer.
	leastPiece Tokens = 1_000
	// thinking is room beside the answer for a model that thinks before it answers.
	thinking Tokens = 4_096
	// joinedMost is what the text around a part's number and a piece's end may
	// add to what was counted in parts.
	joinedMost Tokens = 32
)

// ErrNoRoom says that a window cannot hold even one useful step of a transcript.
var ErrNoRoom = errors.New("compression: the window holds no useful step of the transcript")

// Transcript is what a summary is to be written of: the previous handoff's body,
// and the messages since as text, with secrets taken out. It never changes and is
// safe for concurrent use.
type Transcript struct {
	notes   string
	records []record
	size    Tokens // of all records
	most    Tokens // of an answer
	around  Tokens // what a prompt takes beside notes and records
	counter *tokens.Counter
}

// record is one message of a transcript.
type record struct {
	text string
	size Tokens
	user bool
}

// Transcript reads the messages after prev, up to covered. A prev that is not of
// this conversation is ignored.
func (v *View) Transcript(prev *Handoff, covered int, b window.Budget) *Transcript {
	v.Open()
	covered = min(max(covered, 0), v.Len())
	t := &Transcript{most: handoffTokens(b), counter: v.counter}
	if t.most <= 0 {
		t.most = 4000
	}
	from := 0
	if prev = v.own(prev); prev != nil && prev.Covered <= covered {
		from = prev.Covered
		body, _ := Body(prev.Text)
		t.notes = asData(redact.Text(unframed(body)))
	}
	t.records = make([]record, 0, covered-from)
	for p := from; p < covered; p++ {
		text := v.recordText(p)
		r := record{text: text, size: v.tokens(text), user: v.Messages[v.Head+p].Role == chat.RoleUser}
		t.size += r.size
		t.records = append(t.records, r)
	}
	t.around = v.tokens(promptOf(wordsFor(t.most), partOf(MaxSteps-1, MaxSteps), "-", "")) + joinedMost
	return t
}

// Script is a transcript cut into steps for one window. Each step's answer is
// the notes of the next one; the last step's answer is the summary. It never
// changes and is safe for concurrent use.
type Script struct {
	notes  string
	pieces []string
	most   Tokens
}

// Script cuts the transcript for a window: each prompt, with the largest notes
// that an answer can make, and room for the answer, is within it. per is how many
// tokens the model needs for one of ours; less than OtherVocabulary counts as
// that. Limits that are zero are not known, and then a window of 32,768 tokens is
// taken. A message that is longer than a step is cut in its middle. At most
// MaxSteps are made; a transcript that is too long for them is thinned, the older
// part more than the newer, and says so. The error is ErrNoRoom.
func (t *Transcript) Script(l window.Limits, per float64) (*Script, error) {
	whole, input := ownTokens(l, per)
	most := min(t.most, whole/4)
	if l.Output > 0 {
		most = min(most, max(l.Output/2, 1))
	}
	room := min(whole-max(most, min(thinking, whole/4)), input) - t.around
	notes := t.fitted(t.notes, whole/4)
	size := t.count(notes)
	if t.size <= room-size {
		return &Script{notes: notes, pieces: []string{joined(t.records)}, most: most}, nil
	}
	room -= max(size, most)
	if room < leastPiece {
		return nil, ErrNoRoom
	}
	return &Script{notes: notes, pieces: t.pieces(room, MaxSteps), most: most}, nil
}

// single is the transcript in one step for a window that is not known.
func (t *Transcript) single() *Script {
	return &Script{notes: t.fitted(t.notes, singleStep), pieces: t.pieces(singleStep, 1), most: t.most}
}

// ownTokens is a window, and its input limit, in our tokens.
func ownTokens(l window.Limits, per float64) (whole, input Tokens) {
	if !(per > OtherVocabulary) || math.IsInf(per, 0) {
		per = OtherVocabulary
	}
	whole, input = l.Total, l.Input
	switch {
	case whole <= 0 && input <= 0:
		whole = routeWindow
	case whole <= 0:
		whole = input
	}
	if input <= 0 || input > whole {
		input = whole
	}
	return Tokens(float64(whole) / per), Tokens(float64(input) / per)
}

// Len is the number of steps, at least one.
func (s *Script) Len() int { return len(s.pieces) }

// Most is the largest answer that is of use, in our tokens.
func (s *Script) Most() Tokens { return s.most }

// Prompt is the one user message of step i, counted from 0: instructions, notes
// and a piece of the transcript. notes is what View.Notes made of the answer to
// the step before; step 0 has the previous handoff's body for it.
func (s *Script) Prompt(i int, notes string) string {
	if i == 0 {
		notes = s.notes
	}
	return promptOf(wordsFor(s.most), partOf(i, len(s.pieces)), notes, s.pieces[i])
}

func partOf(i, of int) string {
	if of == 1 {
		return ""
	}
	return ", part " + strconv.Itoa(i+1) + " of " + strconv.Itoa(of)
}

func (t *Transcript) count(text string) Tokens { return Tokens(t.counter.Count([]byte(text))) }

// fitted is a text of at most room tokens: whole, or without its middle.
func (t *Transcript) fitted(text string, room Tokens) string {
	size := t.count(text)
	if size <= room {
		return text
	}
	for n := len(text); n > 0; {
		n = min(n*9/10, int(int64(n)*int64(max(room, 0))*95/100/int64(size)))
		short := cutText(text, n)
		if size = t.count(short); size <= room {
			return short
		}
	}
	return ""
}

// pieces cuts the records into at most so many pieces of at most room tokens, of
// about the same size.
func (t *Transcript) pieces(room Tokens, most int) []string {
	records, size := t.bounded(t.records, room)
	groups := grouped(records, room, size)
	for left := room * Tokens(most); len(groups) > most; left = left * 9 / 10 {
		thin, n := t.thinned(records, left)
		groups = grouped(thin, room, n)
	}
	out := make([]string, len(groups))
	for i, g := range groups {
		out[i] = joined(g)
	}
	return out
}

// bounded is records none of which is over room.
func (t *Transcript) bounded(records []record, room Tokens) (out []record, size Tokens) {
	out = make([]record, len(records))
	for i, r := range records {
		if r.size > room {
			r.text = t.fitted(r.text, room-2) + "\n\n"
			r.size = t.count(r.text)
		}
		out[i] = r
		size += r.size
	}
	return out, size
}

// grouped puts records, each at most room, into as few groups of at most room as
// their order allows, and of about the same size where that makes no more of
// them. There is at least one group.
func grouped(records []record, room, size Tokens) [][]record {
	few := grouping(records, room, room)
	if n := Tokens(len(few)); n > 1 {
		if even := grouping(records, room, (size+n-1)/n); len(even) <= len(few) {
			return even
		}
	}
	return few
}

// grouping closes a group when it has goal tokens, or when the next record would
// take it over room.
func grouping(records []record, room, goal Tokens) [][]record {
	var out [][]record
	start, n := 0, Tokens(0)
	for i, r := range records {
		if i > start && (n >= goal || n+r.size > room) {
			out = append(out, records[start:i])
			start, n = i, 0
		}
		n += r.size
	}
	return append(out, records[start:])
}

func joined(records []record) string {
	var b strings.Builder
	for _, r := range records {
		b.WriteString(r.text)
	}
	return b.String()
}
