package compression

import (
	"strings"
	"unicode"

	"github.com/foldgate/foldgate/compression/chat"
	"github.com/foldgate/foldgate/compression/window"
)

// Answer is what a summarizer sent.
type Answer struct {
	Text         string
	FinishReason string // as the API names it; empty if it named none
	Refusal      string // the text of a refusal field, empty if there was none
}

// Why an answer is refused.
const (
	reasonBlank       = "blank"
	reasonCut         = "cut"
	reasonRefusal     = "refusal"
	reasonTooLong     = "too-long"
	reasonIneffective = "ineffective"
	reasonInvented    = "invented"
)

// Accept makes an answer to Prompt a handoff for the first covered messages, with
// the frame around it. What must not become one is a *RefusedError; a covered
// that is no cut of this request is ErrForeign. Neither changes anything.
func (v *View) Accept(a Answer, prev *Handoff, covered int, b window.Budget) (Handoff, error) {
	if covered <= 0 || covered >= v.Len() || !v.cuts()[covered] {
		return Handoff{}, ErrForeign
	}
	prev = v.own(prev)
	text := printable(withoutThoughts(a.Text))
	if reason := v.objection(a, text, covered, b); reason != "" {
		return Handoff{}, &RefusedError{Reason: reason}
	}
	most := handoffTokens(b)
	whole := wrap(text, v.rules(covered, most))
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

// objection is why an answer cannot be taken whatever it stands for, or empty.
func (v *View) objection(a Answer, text string, covered int, b window.Budget) string {
	switch {
	case a.Refusal != "" || a.FinishReason == "content_filter":
		return reasonRefusal
	case a.FinishReason == "length" || a.FinishReason == "max_tokens":
		return reasonCut
	case !says(text):
		return reasonBlank
	case refuses(text):
		return reasonRefusal
	case b.Usable > 0 && v.tokens(text) > handoffTokens(b):
		return reasonTooLong
	case invents(text) && !v.asked(covered):
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

// asked reports whether a user said anything among the first n messages.
func (v *View) asked(n int) bool {
	for p := range n {
		if v.Messages[v.Head+p].Role == chat.RoleUser {
			return true
		}
	}
	return false
}

// withoutThoughts removes the blocks in which some models think aloud, and the
// white space around. A block that does not end goes to the end of the text.
func withoutThoughts(s string) string {
	const open, end = "<think>", "</think>"
	var b strings.Builder
	for {
		i := strings.Index(s, open)
		if i < 0 {
			break
		}
		b.WriteString(s[:i])
		_, rest, ok := strings.Cut(s[i+len(open):], end)
		if !ok {
			rest = ""
		}
		s = rest
	}
	if b.Len() == 0 {
		// A template may have swallowed the opening mark.
		if i := strings.Index(s, end); i >= 0 {
			s = s[i+len(end):]
		}
		return strings.TrimSpace(s)
	}
	b.WriteString(s)
	return strings.TrimSpace(b.String())
}

// refusalMost is the longest text that can be nothing but a refusal, in bytes.
const refusalMost = 600

// refuses reports whether a text does nothing but decline: short, without a
// heading, and beginning as refusals do.
func refuses(text string) bool {
	if len(text) > refusalMost || strings.Contains(text, "##") {
		return false
	}
	start := strings.ToLower(strings.ReplaceAll(cutEnd(text, 80), "’", "'"))
	for _, opener := range [...]string{
		"i'm sorry, but i can", "i'm sorry, i can", "i am sorry, but i can", "sorry, but i can", "sorry, i can",
		"i can't help", "i cannot help", "i can't assist", "i cannot assist", "i'm unable to", "i am unable to",
		"i can't provide", "i cannot provide", "i won't", "i can't comply", "i cannot comply", "i can't fulfill", "i cannot fulfill",
		"i must decline", "unfortunately, i can't", "unfortunately, i cannot",
	} {
		if strings.HasPrefix(start, opener) {
			return true
		}
	}
	return false
}

// invents reports whether a text says that a user asked for something.
func invents(text string) bool {
	lower := strings.ToLower(text)
	for _, claim := range [...]string{
		"user asked", "user requested", "user wants", "user wanted", "user said", "user asks", "user requests",
		"user told", "user instructed", "user would like", "asked by the user", "requested by the user",
	} {
		if strings.Contains(lower, claim) {
			return true
		}
	}
	return false
}
