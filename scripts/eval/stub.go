package main

import (
	"regexp"
	"strings"

	"github.com/foldgate/foldgate/compression"
	"github.com/foldgate/foldgate/compression/window"
)

// The stub model stands in for a summarizer: it reads the prompt that a real one
// would get, and answers with the beginning of every record of the transcript,
// as long as all of them together are two thirds of what a handoff may take. It
// understands nothing, so it shows what prompt, acceptance and frame leave of a
// summary, and what a summary has to beat. It is no measure of any model.

const (
	stubLeast = 24  // bytes of a record
	stubMost  = 400 // bytes of a record
	stubShare = 66  // percent of the room, as the prompt asks
)

// stubFold folds with the stub's summary. Where there is nothing to cover, or
// the product refuses the summary, it folds without one and made is false.
func stubFold(c conversation, p plan) (h compression.Handoff, made bool) {
	covered, ok := c.view.Target(p.budget, p.settings, 0)
	if !ok {
		return compression.Handoff{}, false
	}
	prompt := c.view.Prompt(nil, covered, p.budget)
	text := stubSummary(prompt, p.budget.Handoff*stubShare/100, c.view.TextTokens)
	h, err := c.view.Accept(compression.Answer{Text: text, FinishReason: "stop"}, nil, covered, p.budget)
	return h, err == nil
}

// stubSummary is the summary of a prompt in about room tokens.
func stubSummary(prompt string, room window.Tokens, count func(string) window.Tokens) string {
	records := stubRecords(prompt)
	for {
		for most := stubMost; most >= stubLeast; most = most * 3 / 4 {
			if text := stubText(records, most); count(text) <= room {
				return text
			}
		}
		if len(records) < 2 {
			return stubText(records, stubLeast)
		}
		for i := range len(records) / 2 { // every second one
			records[i] = records[2*i]
		}
		records = records[:len(records)/2]
	}
}

func stubText(records []string, most int) string {
	var b strings.Builder
	b.WriteString("## Done\n")
	for _, r := range records {
		b.WriteString(cutBytes(r, most))
		b.WriteByte('\n')
	}
	return b.String()
}

// stubRecords are the paragraphs of the transcript in a prompt, each on one line.
func stubRecords(prompt string) []string {
	if i := strings.LastIndex(prompt, "<transcript>"); i >= 0 {
		prompt, _, _ = strings.Cut(prompt[i+len("<transcript>"):], "</transcript>")
	}
	var out []string
	for paragraph := range strings.SplitSeq(prompt, "\n\n") {
		if line := oneLine(paragraph); line != "" {
			out = append(out, recordMark.ReplaceAllString(line, "- "))
		}
	}
	return out
}

// recordMark numbers a record of the transcript.
var recordMark = regexp.MustCompile(`^\[\d+\] `)

// cutBytes is the beginning of s, of about most bytes, up to a space if there is
// one in its second half.
func cutBytes(s string, most int) string {
	if len(s) <= most {
		return s
	}
	s = strings.ToValidUTF8(s[:most], "")
	if at := strings.LastIndexByte(s, ' '); at > most/2 {
		s = s[:at]
	}
	return s
}
