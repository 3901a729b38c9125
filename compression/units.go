package compression

import (
	"strings"
	"unicode/utf8"

	"github.com/foldgate/foldgate/compression/chat"
)

// Sizes of what a handoff without a model is made of, in bytes of text.
const (
	unitMax     = 300      // a unit: a sentence, a line
	unitMin     = 80       // shorter sentences are joined to the next
	valueMax    = 120      // a value inside a call's line
	valueLong   = 480      // a value that is a document: its line has only its beginning,
	valueBegin  = 40       // as much as this
	nameMost    = 40       // a name beside a role, and a type
	outcomeMax  = 70       // a result inside a call's line
	troubleMax  = 140      // a result that tells of trouble
	sizeLeast   = 500      // under which a result's size is not worth telling
	proseHead   = 48 << 10 // how much of a message is looked at: its beginning
	proseTail   = 16 << 10 // and its end
	resultHead  = 3 << 10  // of a tool result
	resultTail  = 1 << 9   //
	resultLines = 24       // lines of a result that tell of trouble, from in between
)

// What a piece counts for by who said it, in tenths.
const (
	weightUser      = 13
	weightCall      = 20
	weightTrouble   = 24 // a call that failed
	weightNotes     = 20 // a line of an earlier handoff
	weightAssistant = 10
	weightArgument  = 6
	weightRepeat    = 5 // a call that a later one says again
	weightResult    = 4 // and a line of an earlier index
)

// unit is a piece of the middle that is taken into a handoff whole or not at all.
type unit struct {
	source int // index of the message it comes from
	call   bool
	weight int64
	cost   int // in tokens
	text   string
	terms  []int32
}

// origin is where a text comes from, which says what its terms are worth.
type origin struct {
	source   int
	spoken   bool // a user or the assistant wrote it
	argument bool // it was a short argument of a call
}

// divide makes units of a message.
func (n *notes) divide(i int) {
	s := &n.sources[i]
	from := origin{source: i, spoken: !s.role.Result()}
	switch {
	case s.notes > 0:
		n.divideProse(s.text, s.notes, from)
	case s.verbatim, s.asked:
	case s.role == chat.RoleUser:
		n.divideProse(s.text, weightUser, from)
	case s.role.Result():
		if !s.later {
			resultPieces(s.text, func(t string) { n.add(t, weightResult, from) })
		}
	case s.role.Leading(): // carried verbatim beside the body
	default:
		n.divideProse(s.text, weightAssistant, from)
	}
	for k := range s.calls {
		n.divideCall(i, &s.calls[k])
	}
}

func (n *notes) divideProse(text string, weight int64, from origin) {
	head, tail := clipWords(text, proseHead, proseTail)
	for _, part := range [...]string{head, tail} {
		sentences(part, func(t string) { n.add(t, weight, from) })
	}
}

// divideCall makes one unit of a call and what became of it, and more of the
// arguments that its line had to cut.
func (n *notes) divideCall(i int, c *sourceCall) {
	short := len(c.arguments) <= 2*valueMax
	start := len(n.arena)
	line := callText(c.name, c.arguments)
	n.scan(line, start, origin{source: i, spoken: true, argument: short})
	said := len(n.arena)
	outcome, weight := "no result", int64(weightCall)
	if c.result >= 0 {
		var bad bool
		if outcome, bad = outcomeOf(&n.sources[c.result]); bad {
			weight = weightTrouble
		}
		n.scan(outcome, start, origin{source: c.result})
	}
	n.push(line+" -> "+outcome, weight, i, start)
	n.units[len(n.units)-1].call = true
	if short {
		return
	}
	n.long = append(n.long, longCall{unit: len(n.units) - 1, name: c.name, terms: n.arena[start:said:said]})
	longValues(c.arguments, func(v string) {
		head, tail := clipWords(v, proseHead, proseTail)
		for _, part := range [...]string{head, tail} {
			chunks(part, func(t string) {
				before := len(n.units)
				n.add(t, weightArgument, origin{source: i})
				if len(n.units) > before {
					n.units[before].call = true
				}
			})
		}
	})
}

// add makes a unit of a text.
func (n *notes) add(text string, weight int64, from origin) {
	text = oneLine(text)
	if weight <= weightArgument && n.shapes.common(text) {
		return
	}
	start := len(n.arena)
	n.scan(text, start, from)
	n.push(text, weight, from.source, start)
}

func (n *notes) push(text string, weight int64, source, start int) {
	n.units = append(n.units, unit{
		source: source, weight: weight, text: text,
		cost: int(n.tokens(text)), terms: n.arena[start:len(n.arena):len(n.arena)],
	})
}

// scan appends the terms of a text, each once since start, and counts them.
func (n *notes) scan(text string, start int, from origin) {
	scanTerms(text, func(t string, kind termKind) {
		id := n.lexicon.note(t, kind, from)
		for _, had := range n.arena[start:] {
			if had == id {
				return
			}
		}
		n.arena = append(n.arena, id)
	})
}

// sentences calls visit for the sentences and lines of s, in order, none longer
// than unitMax and few shorter than unitMin.
func sentences(s string, visit func(string)) {
	start, last := 0, 0
	flush := func(end int) {
		if t := strings.TrimSpace(s[start:end]); t != "" {
			visit(t)
		}
		start, last = end, end
	}
	for i := 0; i < len(s); {
		size, ends, line := sentenceEnd(s, i)
		i += size
		if i-start >= unitMax {
			if last > start && last-start >= unitMin/2 {
				flush(last)
				continue
			}
			if size := wordEnd(s[start:], i-start); size > 0 {
				flush(start + size)
				continue
			}
			start = wordStart(s, i) // one run longer than any name is data
			i, last = start, start
			continue
		}
		if !ends {
			continue
		}
		last = i
		if line || i-start >= unitMin {
			flush(i)
		}
	}
	flush(len(s))
}

// sentenceEnd is the size of the character at i, whether a sentence ends with
// it, and whether a line does.
func sentenceEnd(s string, i int) (size int, ends, line bool) {
	c := s[i]
	if c < utf8.RuneSelf {
		switch c {
		case '\n':
			return 1, true, true
		case '.', '!', '?', ';':
			return 1, i+1 == len(s) || s[i+1] == ' ' || s[i+1] == '\n', false
		}
		return 1, false, false
	}
	r, size := utf8.DecodeRuneInString(s[i:])
	switch r {
	case '。', '！', '？', '．', '｡', '।', '؟', '۔', '…':
		return size, true, false
	}
	return size, false, false
}

// chunks divides structured text (JSON, tables, logs, code) into pieces of at
// most unitMax bytes, at line ends, else at commas, else between words.
func chunks(s string, visit func(string)) {
	for len(s) > 0 {
		end := len(s)
		if nl := strings.IndexByte(s, '\n'); nl >= 0 {
			end = nl + 1
		}
		if end > unitMax {
			if end = wordEnd(s, unitMax); end == 0 { // data
				s = s[wordStart(s, unitMax):]
				continue
			}
			if at := strings.LastIndexByte(s[:end], ','); at > unitMin {
				end = at + 1
			}
		}
		if t := strings.TrimSpace(s[:end]); len(t) > 2 {
			visit(t)
		}
		s = s[end:]
	}
}
