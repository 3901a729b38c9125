package compression

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/foldgate/foldgate/compression/chat"
)

// Sizes of what a handoff without a model is made of, in bytes of text.
const (
	unitMax     = 300      // a unit: a sentence, a line, a call
	unitMin     = 80       // shorter sentences are joined to the next
	valueMax    = 120      // a value inside a call's line
	outcomeMax  = 140      // a result inside a call's line
	sourceHead  = 48 << 10 // how much of a message is looked at: its beginning
	sourceTail  = 16 << 10 // and its end
	resultHead  = 3 << 10  // how much of a tool result becomes units
	resultTail  = 3 << 9
	resultLines = 24 // lines of a result that tell of trouble, from in between
)

// Weights of who said it, in tenths.
const (
	weightUser      = 20
	weightCall      = 20
	weightAssistant = 10
	weightArgument  = 6
	weightResult    = 3
)

// unit is a piece of the middle that is taken into a handoff whole or not at all.
type unit struct {
	source int // index of the message it comes from
	weight int64
	text   string
	terms  []int32
}

// source is one covered message as text.
type source struct {
	position int // counted from the first message after the head
	role     chat.Role
	name     string
	text     string
	calls    []sourceCall
}

// sourceCall is a call with what became of it.
type sourceCall struct {
	name      string
	arguments string
	outcome   string
	answered  bool
}

// clip keeps the beginning and the end of s and cuts at characters.
func clip(s string, head, tail int) (string, string) {
	if len(s) <= head+tail {
		return s, ""
	}
	return s[:runeStart(s, head)], s[runeStart(s, len(s)-tail):]
}

// runeStart is the last place at or before i where a character begins.
func runeStart(s string, i int) int {
	if i >= len(s) {
		return len(s)
	}
	i = max(i, 0)
	for k := 0; k < utf8.UTFMax && i > 0 && !utf8.RuneStart(s[i]); k++ {
		i--
	}
	return i
}

// cutText shortens s to about n bytes, by its beginning and its end.
func cutText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	head, tail := clip(s, n*2/3, n/3)
	return head + " … " + tail
}

// cutEnd shortens s to about n bytes, by its beginning.
func cutEnd(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:runeStart(s, n)] + "…"
}

// oneLine replaces runs of white space by one space.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

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
			flush(wordEnd(s, start, i))
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

// wordEnd is where a text without sentence ends is divided: after the last space
// of its second half, else at a character.
func wordEnd(s string, start, end int) int {
	if sp := strings.LastIndexByte(s[start:end], ' '); sp > (end-start)/2 {
		return start + sp + 1
	}
	if at := runeStart(s, end); at > start {
		return at
	}
	return end
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

// chunks divides structured text (JSON, tables, logs) into pieces of at most
// unitMax bytes, at line ends and commas.
func chunks(s string, visit func(string)) {
	for len(s) > 0 {
		end := len(s)
		if end > unitMax {
			end = runeStart(s, unitMax)
			if at := strings.LastIndexAny(s[:end], "\n,"); at > unitMin {
				end = at + 1
			}
		}
		if nl := strings.IndexByte(s[:end], '\n'); nl >= 0 {
			end = nl + 1
		}
		if end <= 0 {
			end = 1
		}
		if t := strings.TrimSpace(s[:end]); len(t) > 2 {
			visit(t)
		}
		s = s[end:]
	}
}

// troubled reports whether a line tells of something that went wrong, and does
// not merely speak of errors, as source code does.
func troubled(line string) bool {
	for _, w := range [...]string{
		"rror:", "ERROR", "FAIL", "xception:", "panic:", "atal:", "FATAL", "Traceback", "ermission denied",
		"o such file", "ot found", "onnection refused", "imed out", "exit status 1", "exit code 1", "exited with code 1",
	} {
		if strings.Contains(line, w) {
			return true
		}
	}
	return false
}

// outcome is a tool result in one line: what went wrong if something did, else
// its first line, and its size where that is not all.
func outcome(result string) string {
	head, tail := clip(result, sourceHead, sourceTail)
	first, bad := "", ""
	for _, part := range [...]string{head, tail} {
		for len(part) > 0 && bad == "" {
			var line string
			line, part, _ = strings.Cut(part, "\n")
			if len(line) > unitMax*4 {
				line = line[:runeStart(line, unitMax*4)]
			}
			if strings.TrimSpace(line) == "" {
				continue
			}
			if first == "" {
				first = line
			}
			if troubled(line) {
				bad = line
			}
		}
	}
	said := first
	if bad != "" {
		said = bad
	}
	said = cutEnd(oneLine(said), outcomeMax)
	if len(result) <= outcomeMax {
		return said
	}
	return said + " (" + strconv.Itoa(len(result)) + " bytes)"
}

// callLine is a call and what became of it in one line.
func callLine(c sourceCall) string {
	var b strings.Builder
	b.WriteString(cutEnd(c.name, valueMax))
	b.WriteByte('(')
	b.WriteString(cutText(flatArguments(c.arguments), 2*valueMax))
	b.WriteByte(')')
	switch {
	case c.outcome != "":
		b.WriteString(" -> ")
		b.WriteString(c.outcome)
	case !c.answered:
		b.WriteString(" -> no result")
	}
	return b.String()
}

// unitsOf divides a message. seen knows the results that came already.
func unitsOf(index int, s *source, seen map[string]bool, add func(unit)) {
	emit := func(weight int64) func(string) {
		return func(t string) { add(unit{source: index, weight: weight, text: t}) }
	}
	for i := range s.calls {
		c := &s.calls[i]
		add(unit{source: index, weight: weightCall, text: callLine(*c)})
		if len(c.arguments) > 2*valueMax {
			longValues(c.arguments, func(v string) {
				head, tail := clip(v, resultHead, resultTail)
				chunks(head, emit(weightArgument))
				chunks(tail, emit(weightArgument))
			})
		}
	}
	if s.text == "" {
		return
	}
	head, tail := clip(s.text, sourceHead, sourceTail)
	switch {
	case s.role == chat.RoleUser:
		sentences(head, emit(weightUser))
		sentences(tail, emit(weightUser))
	case s.role.Result():
		if seen[s.text] {
			return
		}
		seen[s.text] = true
		resultUnits(s.text, emit(weightResult))
	case s.role.Leading(): // carried verbatim beside the body
	default:
		sentences(head, emit(weightAssistant))
		sentences(tail, emit(weightAssistant))
	}
}

// resultUnits divides a tool result: its beginning, its end, and what tells of
// trouble in between.
func resultUnits(text string, visit func(string)) {
	head, tail := clip(text, resultHead, resultTail)
	chunks(head, visit)
	if tail == "" {
		return
	}
	between, _ := clip(text[len(head):len(text)-len(tail)], sourceHead, 0)
	for left := resultLines; left > 0 && between != ""; {
		var line string
		line, between, _ = strings.Cut(between, "\n")
		if len(line) <= 4*unitMax && troubled(line) {
			visit(cutEnd(oneLine(line), unitMax))
			left--
		}
	}
	chunks(tail, visit)
}
