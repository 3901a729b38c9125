package compression

import (
	"strings"

	"github.com/foldgate/foldgate/compression/redact"
)

// Titles of the parts of a handoff's body, as lines of their own.
const (
	titleOlder    = "Earlier notes:"
	titleRequests = "What the user asked:"
	titleDone     = "What was said and done, in order:"
	titleNames    = "Names and numbers that came up:"
)

// readNotes reads the body of an earlier handoff, by a model or without one, as
// sources behind those that are there: a line is one. What of it is told again
// competes for room, so that notes on notes do not grow.
func readNotes(out []source, body string) []source {
	var heading, label string
	ours, weight := false, int64(weightNotes)
	for line := range strings.Lines(redact.Text(body)) {
		switch line = strings.TrimSpace(line); line {
		case "":
			continue
		case titleOlder, titleRequests, titleDone, titleNames:
			ours, heading, weight = line == titleRequests || line == titleDone, "", weightNotes
			if line == titleNames {
				weight = weightResult
			}
			continue
		}
		if marks := strings.TrimLeft(line, "#"); len(marks) < len(line) && len(line) <= unitMax && strings.HasPrefix(marks, " ") {
			heading = line
			continue
		}
		if ours {
			if rest, ok := strings.CutPrefix(line, labelSame); ok {
				line = label + rest
			} else if at := strings.Index(line, ": "); at >= 0 && at <= nameMost+8 {
				label = line[:at+2]
			}
		}
		out = append(out, source{position: -1, notes: weight, heading: heading, text: line})
	}
	return out
}

// untitled makes headings of lines that are titles of ours: under those stands
// what the messages say, and a model's text must not pass for it.
func untitled(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		switch strings.TrimSpace(line) {
		case titleOlder, titleRequests, titleDone, titleNames:
			b.WriteString("## ")
			line = strings.TrimLeft(line, " \t")
		}
		b.WriteString(line)
	}
	return b.String()
}

// handoffIn is the body of the handoff that a user message begins with, because
// another gateway on the way had folded the conversation; else empty.
func handoffIn(text string) string {
	_, body, _, _, _ := unwrap(text)
	return body
}
