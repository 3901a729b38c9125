package compression

import (
	"strings"
	"unicode/utf8"
)

// maxControl bounds the name inside a control mark, in bytes.
const maxControl = 64

// withoutControls puts the control marks of chat templates, which stand between
// the turns, in round brackets: <|im_start|> becomes (im_start). To an API they
// are text like any other, but some servers read them as the marks themselves,
// and what a tool printed must not begin a turn of the system.
func withoutControls(s string) string {
	var b strings.Builder
	from := 0
	less, square := nextByte(s, 0, '<'), nextByte(s, 0, '[')
	for {
		at := min(less, square)
		if at == len(s) {
			break
		}
		if name, size := controlAt(s[at:]); size > 0 {
			b.WriteString(s[from:at])
			b.WriteString("(" + name + ")")
			from = at + size
		}
		after := max(at+1, from)
		if less < after {
			less = nextByte(s, after, '<')
		}
		if square < after {
			square = nextByte(s, after, '[')
		}
	}
	if from == 0 {
		return s
	}
	b.WriteString(s[from:])
	return b.String()
}

// controlAt is the name and size of the control mark with which s begins; size
// is 0 where it begins with none.
func controlAt(s string) (name string, size int) {
	for _, q := range [...][2]string{{"<|", "|>"}, {"<｜", "｜>"}} {
		inner, ok := strings.CutPrefix(s, q[0])
		if !ok {
			continue
		}
		end := strings.Index(inner[:min(len(inner), maxControl+len(q[1]))], q[1])
		if end > 0 && !strings.ContainsAny(inner[:end], "<>|｜ \n\"'(){}") {
			return inner[:end], len(q[0]) + end + len(q[1])
		}
	}
	for _, mark := range [...]string{
		"[INST]", "[/INST]", "<<SYS>>", "<</SYS>>", "<start_of_turn>", "<end_of_turn>", "<s>", "</s>", "<bos>", "<eos>", "[gMASK]", "<sop>",
		"[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_CALLS]", "[TOOL_RESULTS]", "[/TOOL_RESULTS]",
	} {
		if strings.HasPrefix(s, mark) {
			return strings.Trim(mark, "<>[]"), len(mark)
		}
	}
	return halfControl(s)
}

// halfControl is controlAt for marks with a bar on one side, <|turn> and <turn|>,
// and for those that are numbered or named by their family.
func halfControl(s string) (name string, size int) {
	inner, ok := strings.CutPrefix(s, "<")
	if !ok {
		return "", 0
	}
	end := strings.IndexByte(inner[:min(len(inner), maxControl)], '>')
	if end < 0 {
		return "", 0
	}
	name = inner[:end]
	word := strings.Trim(name, "|")
	for _, family := range [...]string{"extra_id_", "SPECIAL_", "seed:"} {
		if rest, ok := strings.CutPrefix(name, family); ok && rest != "" && !strings.ContainsFunc(rest, notOfWord) {
			return name, len(name) + 2
		}
	}
	if len(name) != len(word)+1 || word == "" || strings.ContainsFunc(word, notOfWord) {
		return "", 0
	}
	return word, len(name) + 2
}

// notOfWord reports whether r is no letter, digit or underscore of ASCII.
func notOfWord(r rune) bool { return r >= utf8.RuneSelf || r != '_' && !letterOrDigit(byte(r)) }
