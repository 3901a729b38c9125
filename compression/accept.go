package compression

import (
	"strings"
	"unicode"

	"github.com/foldgate/foldgate/compression/redact"
	"github.com/foldgate/foldgate/compression/window"
)

// Answer is what a summarizer sent.
type Answer struct {
	Text         string
	FinishReason string // as the API names it; empty if it named none
	Refusal      string // the text of a refusal field, empty if there was none
}

// Why an answer is refused. RefusedError tells what each of them means.
const (
	reasonBlank       = "blank"
	reasonCut         = "cut"
	reasonRefusal     = "refusal"
	reasonTooLong     = "too-long"
	reasonIneffective = "ineffective"
	reasonInvented    = "invented"
	reasonProtocol    = "protocol"
	reasonThoughts    = "thoughts"
	reasonPage        = "page"
	reasonEcho        = "echo"
	reasonSkeleton    = "skeleton"
)

// Accept makes an answer to the last prompt a handoff for the first covered
// messages, with the frame around it and without secrets. What must not become
// one is a *RefusedError; a covered that is no cut of this request is ErrForeign.
// Neither changes anything.
func (v *View) Accept(a Answer, prev *Handoff, covered int, b window.Budget) (Handoff, error) {
	v.Open()
	if covered <= 0 || covered >= v.Len() || !v.cuts()[covered] {
		return Handoff{}, ErrForeign
	}
	prev = v.own(prev)
	most := handoffTokens(b)
	text, err := v.checked(a, prev, covered, most)
	if err != nil {
		return Handoff{}, err
	}
	whole := handoffFrames()[0].wrap(text, v.rules(covered, most))
	replaced := v.gone(covered)
	if prev != nil && prev.Covered < covered {
		replaced += v.tokens(prev.Text) - v.gone(prev.Covered)
	}
	if v.tokens(whole) >= replaced {
		return Handoff{}, &RefusedError{Reason: reasonIneffective}
	}
	h := v.handoff(covered, whole, b)
	h.Model = true
	return h, nil
}

// Notes makes an answer to a step's prompt the notes of the next one. most is the
// largest that the script has room for; prev and covered are those of the
// transcript. What Accept would refuse by its text is a *RefusedError here too.
func (v *View) Notes(a Answer, prev *Handoff, covered int, most Tokens) (string, error) {
	v.Open()
	covered = min(max(covered, 0), v.Len())
	text, err := v.checked(a, v.own(prev), covered, most)
	if err != nil {
		return "", err
	}
	return asData(unframed(text)), nil
}

// checked is an answer's text as it may be kept, or why it may not be.
func (v *View) checked(a Answer, prev *Handoff, covered int, most Tokens) (string, error) {
	text := untitled(redact.Text(printable(withoutFence(withoutThoughts(a.Text)))))
	if reason := v.objection(a, text, prev, covered, most); reason != "" {
		return "", &RefusedError{Reason: reason}
	}
	return text, nil
}

// objection is why an answer cannot be taken whatever it stands for, or empty.
func (v *View) objection(a Answer, text string, prev *Handoff, covered int, most Tokens) string {
	finish := strings.ToLower(a.FinishReason)
	switch {
	case a.Refusal != "" || finish == "content_filter":
		return reasonRefusal
	case finish == "length" || finish == "max_tokens":
		return reasonCut
	case !says(text):
		return reasonBlank
	case finish == "tool_calls" || finish == "function_call" || callsTools(text):
		return reasonProtocol
	case refuses(text):
		return reasonRefusal
	case isPage(text):
		return reasonPage
	case echoes(text):
		return reasonEcho
	case thinksAloud(text):
		return reasonThoughts
	case empty(text):
		return reasonSkeleton
	case most > 0 && v.tokens(text) > most:
		return reasonTooLong
	case v.invents(text, prev, covered):
		return reasonInvented
	}
	return ""
}

// says reports whether a text has a letter or a digit outside the frame: marks,
// dots and invisible characters would stand for the whole middle and say nothing.
func says(text string) bool {
	return strings.ContainsFunc(unframed(text), func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) })
}

// printable drops control characters, which an upstream may refuse, and then
// with every request that this handoff goes into.
func printable(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, s))
}

// withoutThoughts removes the blocks in which some models think aloud, and the
// white space around. A block that does not end is one only at the beginning,
// and goes to the end of the text: elsewhere it is talk about such marks.
func withoutThoughts(s string) string {
	for _, name := range [...]string{"think", "thinking", "thought", "reasoning"} {
		s = withoutBlocks(s, "<"+name+">", "</"+name+">")
	}
	const final = "<|channel|>final<|message|>"
	if i := strings.LastIndex(s, final); i >= 0 {
		s = s[i+len(final):]
		for _, mark := range [...]string{"<|return|>", "<|end|>"} {
			s = strings.TrimSuffix(strings.TrimSpace(s), mark)
		}
	}
	return strings.TrimSpace(s)
}

func withoutBlocks(s, open, end string) string {
	if !strings.Contains(s, end) {
		if strings.HasPrefix(strings.TrimSpace(s), open) {
			return ""
		}
		return s
	}
	var b strings.Builder
	if i, j := strings.Index(s, open), strings.Index(s, end); i < 0 || j < i {
		s = s[j+len(end):] // a template may have swallowed the opening mark
	}
	for {
		before, rest, ok := strings.Cut(s, open)
		if !ok {
			break
		}
		_, after, ok := strings.Cut(rest, end)
		if !ok {
			break
		}
		b.WriteString(before)
		s = after
	}
	b.WriteString(s)
	return b.String()
}

// withoutFence takes off a code fence around the whole of a text.
func withoutFence(s string) string {
	const fence = "```"
	inner, ok := strings.CutPrefix(strings.TrimSpace(s), fence)
	if !ok {
		return s
	}
	info, inner, ok := strings.Cut(inner, "\n")
	if !ok || strings.ContainsAny(info, " `") {
		return s
	}
	inner, ok = strings.CutSuffix(inner, fence)
	if !ok || strings.Contains(inner, fence) {
		return s
	}
	return strings.TrimSpace(inner)
}
