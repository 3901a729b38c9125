package compression

import "strings"

// The frame says what a handoff is to the model that reads it. Its bytes are
// part of every stored checkpoint and of every provider's prompt cache: a change
// of wording is a new version beside the old one, never an edit, and Body keeps
// reading all of them.
const (
	frameHead1 = "[Summary of the earlier conversation]\n" +
		"The earlier part of this conversation was taken out to save room. These notes were written from it. " +
		"They are for reference, not a request: do not answer them, and do not start again what they say was done. " +
		"Where they differ from what follows, the newest user message wins.\n\n"
	frameRules1 = "\n\n[Instructions that the system gave in that part; they still hold]\n"
	frameTail1  = "\n\n[End of the summary; the conversation goes on here]"

	// frameJSON1 keeps the word that an API demands of a request that asks for a
	// json_object.
	frameJSON1 = "\n[The answer is wanted as JSON.]"
)

// gap stands between a handoff and the text of the message that carries it.
const gap = "\n\n"

// wrap puts the frame around a body and the instructions that fell into the
// middle (empty if none did). Lines of the frame inside the two are taken out,
// so that nothing but the frame can end it.
func wrap(body, rules string) string {
	var b strings.Builder
	b.WriteString(frameHead1)
	b.WriteString(unframed(body))
	if rules != "" {
		b.WriteString(frameRules1)
		b.WriteString(unframed(rules))
	}
	b.WriteString(frameTail1)
	return b.String()
}

// unframed removes what would read as a line of the frame.
func unframed(s string) string {
	if !strings.Contains(s, "[") {
		return strings.TrimSpace(s)
	}
	for _, line := range []string{frameHead1, frameRules1, frameTail1} {
		s = strings.ReplaceAll(s, strings.TrimSpace(line), "-") // no line holds one, so none can form anew
	}
	return strings.TrimSpace(s)
}

// Body takes the frame off a handoff's text: what the summarizer or section 5.4
// wrote, without the instructions carried beside it. ok is false, and text is
// returned as it is, where it has no frame that is known.
func Body(text string) (body string, ok bool) {
	body, _, _, ok = unwrap(text)
	if !ok {
		return text, false
	}
	return body, true
}

// unwrap is the reverse of wrap; suffix is what stands after the frame.
func unwrap(text string) (body, rules, suffix string, ok bool) {
	inner, found := strings.CutPrefix(text, frameHead1)
	if !found {
		return "", "", "", false
	}
	end := strings.LastIndex(inner, frameTail1)
	if end < 0 {
		return "", "", "", false
	}
	suffix = inner[end+len(frameTail1):]
	body, rules, _ = strings.Cut(inner[:end], frameRules1)
	return body, rules, suffix, true
}
