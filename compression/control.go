package compression

import "strings"

// maxControl bounds the name inside a control mark, in bytes.
const maxControl = 64

// withoutControls puts the control marks of chat templates, which stand between
// the turns, in round brackets: <|im_start|> becomes (im_start). To an API they
// are text like any other, but some servers read them as the marks themselves,
// and what a tool printed must not begin a turn of the system.
func withoutControls(s string) string {
	var b strings.Builder
	for at := 0; ; {
		i := strings.IndexAny(s[at:], "<[")
		if i < 0 {
			if b.Len() == 0 {
				return s
			}
			b.WriteString(s[at:])
			return b.String()
		}
		b.WriteString(s[at : at+i])
		at += i
		name, size := controlAt(s[at:])
		if size == 0 {
			b.WriteByte(s[at])
			at++
			continue
		}
		b.WriteString("(" + name + ")")
		at += size
	}
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
		if end <= 0 || strings.ContainsAny(inner[:end], "<>|｜ \n\"'(){}") {
			return "", 0
		}
		return inner[:end], len(q[0]) + end + len(q[1])
	}
	for _, mark := range [...]string{
		"[INST]", "[/INST]", "<<SYS>>", "<</SYS>>", "<start_of_turn>", "<end_of_turn>",
		"[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_CALLS]", "[TOOL_RESULTS]", "[/TOOL_RESULTS]",
	} {
		if strings.HasPrefix(s, mark) {
			return strings.Trim(mark, "<>[]"), len(mark)
		}
	}
	return "", 0
}
