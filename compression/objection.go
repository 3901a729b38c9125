package compression

import (
	"errors"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// These tell a summary from other things that a model answers. Each is made to
// let every honest summary through: what it does not know it does not judge.

const (
	refusalMost = 600 // bytes of a text that can be nothing but a refusal
	prefaceMost = 400 // bytes of talk beside a tool call
)

// headed reports whether a text has a heading as the prompt asks for.
func headed(text string) bool { return strings.HasPrefix(text, "#") || strings.Contains(text, "\n#") }

// opens reports whether a text begins with one of the openers, in any case.
func opens(text string, openers ...string) bool {
	start := strings.ToLower(strings.ReplaceAll(cutEnd(text, 100), "’", "'"))
	for _, opener := range openers {
		if strings.HasPrefix(start, opener) {
			return true
		}
	}
	return false
}

// refuses reports whether a text does nothing but decline: short, without a
// heading, and beginning as refusals do.
func refuses(text string) bool {
	if len(text) > refusalMost || strings.Contains(text, "##") {
		return false
	}
	return opens(text,
		"i'm sorry, but i can", "i'm sorry, i can", "i am sorry, but i can", "sorry, but i can", "sorry, i can",
		"i can't help", "i cannot help", "i can't assist", "i cannot assist", "i'm unable to", "i am unable to",
		"i can't provide", "i cannot provide", "i won't", "i can't comply", "i cannot comply", "i can't fulfill", "i cannot fulfill",
		"i can't summarize", "i cannot summarize", "i'm not able to", "i am not able to", "i apologize, but i can",
		"i must decline", "unfortunately, i can't", "unfortunately, i cannot",
		"es tut mir leid, aber ich kann", "lo siento, pero no puedo", "je suis désolé, mais je ne peux", "desculpe, mas não posso",
		"mi dispiace, ma non posso", "抱歉，我无法", "抱歉，我不能", "对不起，我无法", "对不起，我不能", "申し訳ありませんが、", "죄송하지만",
	)
}

// thinksAloud reports whether a text is what a model said to itself before it
// would have written the summary.
func thinksAloud(text string) bool {
	if headed(text) || !opens(text, "okay, ", "ok, ", "okay so", "alright, ", "let me ", "hmm", "i need to ", "i should ", "we need to ",
		"the user wants me to ", "the user is asking me to ", "the user has asked me to ", "first, i ", "so the user wants me to ") {
		return false
	}
	start := strings.ToLower(cutEnd(text, 400))
	return strings.Contains(start, "summar") || strings.Contains(start, "transcript")
}

// isPage reports whether a text is a document of the web, such as a proxy's error
// page.
func isPage(text string) bool {
	return opens(text, "<!doctype", "<html", "<?xml", "<head", "<body")
}

// echoes reports whether a text holds the prompt: its own instructions, the marks
// around its data, or the transcript as it was shown.
func echoes(text string) bool {
	copied, records := 0, 0
	instructions := promptIntro + promptSections + promptNotes
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case line == strings.TrimSpace(transcriptTop), line == strings.TrimSpace(transcriptEnd), line == strings.TrimSpace(notesEnd):
			return true
		case len(line) > 40 && strings.Contains(instructions, line):
			copied++
		case recordLine(line):
			records++
		}
	}
	return copied >= 2 || records >= 3
}

// empty reports whether a text is a form that nobody filled in: headings, and
// placeholders under all of them.
func empty(text string) bool {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "**") && strings.HasSuffix(line, "**") {
			continue
		}
		line = strings.TrimLeft(line, "-*•> \t")
		if label, rest, ok := strings.Cut(line, ":"); ok && len(label) <= 24 && !strings.ContainsAny(label, "/\\.=(") {
			line = strings.TrimLeft(rest, "* \t") // "Task: none", "Task:", "**Task:** none"
		}
		if !placeholder(line) {
			return false
		}
	}
	return true
}

// placeholder reports whether a line says only that there is nothing to say.
func placeholder(line string) bool {
	line = strings.Trim(line, " \t*_`-–—….,;:!|")
	if utf8.RuneCountInString(line) > 40 {
		return false
	}
	if n := len(line); n > 1 && (line[0] == '[' && line[n-1] == ']' || line[0] == '<' && line[n-1] == '>' || line[0] == '(' && line[n-1] == ')') {
		return !strings.ContainsFunc(line, unicode.IsNumber)
	}
	switch strings.ToLower(line) {
	case "", "none", "n/a", "na", "nothing", "null", "nil", "empty", "unknown", "not applicable", "not available", "tbd", "todo", "no errors",
		"none yet", "nothing yet", "none so far", "summary", "conversation summary", "summary of the conversation", "no content", "no summary",
		"the conversation was summarized", "conversation summarized", "conversation compacted", "see above", "as above", "nothing to report",
		"keine", "keiner", "keines", "nichts", "ninguno", "ninguna", "nada", "aucun", "aucune", "rien", "nessuno", "nessuna", "niente", "nenhum", "nenhuma",
		"нет", "无", "無", "没有", "なし", "特になし", "없음":
		return true
	}
	return false
}

// callsTools reports whether a text is a call of a tool instead of a summary, with
// no more than a few words before or after it.
func callsTools(text string) bool {
	if talk, ok := withoutCallMarks(text); ok {
		return len(talk) <= prefaceMost && !headed(text)
	}
	inner := withoutFence(text)
	return isCallObject(inner) || isCallLine(inner)
}

// withoutCallMarks is what stands before the first mark of a call at the beginning
// of a line. ok is false where there is none.
func withoutCallMarks(text string) (talk string, ok bool) {
	at := 0
	for line := range strings.Lines(text) {
		if opens(strings.TrimSpace(line), "<tool_call", "<tool_use", "<tool_code", "<function_call", "<function=", "<functioncall", "<invoke", "<|tool_call", "<|tool▁call",
			"<｜tool", "<|python_tag|>", "<|channel|>commentary", "<|start|>assistant", "[tool_call", "to=functions.") {
			if rest := cutEnd(text[at+1:], 200); strings.ContainsAny(rest, "{=<") { // else it is talk about such marks
				return text[:at], true
			}
		}
		at += len(line)
	}
	return "", false
}

// isCallObject reports whether a text is JSON that calls a tool, or a list of
// such.
func isCallObject(text string) bool {
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "[") {
		return false
	}
	d := lenient(text)
	value, err := d.ReadValue()
	if err != nil {
		return false
	}
	if rest := strings.TrimSpace(text[d.InputOffset():]); len(rest) > prefaceMost && rest[0] != '{' {
		return false
	}
	if value.Kind() == '[' {
		d = lenient(string(value))
		if _, err := d.ReadToken(); err != nil {
			return false
		}
		if value, err = d.ReadValue(); err != nil {
			return false
		}
	}
	names, err := memberNames(value)
	if err != nil {
		return false
	}
	switch {
	case names["tool_calls"], names["function_call"], names["tool_call"]:
		return true
	case names["name"], names["tool"], names["function"], names["tool_name"], names["recipient_name"]:
		return names["arguments"] || names["parameters"] || names["args"] || names["input"] || names["tool_input"] || names["type"] && names["function"]
	}
	return false
}

// memberNames are the names of an object's members.
func memberNames(object jsontext.Value) (map[string]bool, error) {
	names := map[string]bool{}
	if object.Kind() != '{' {
		return names, nil
	}
	d := lenient(string(object))
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		names[name.String()] = true
		if err := d.SkipValue(); err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
	}
	return names, nil
}

// isCallLine reports whether a text is one call as a line of code: a name, and all
// the rest in one pair of brackets.
func isCallLine(text string) bool {
	text = strings.TrimPrefix(strings.TrimSpace(text), "calls ")
	name, _, ok := strings.Cut(text, "(")
	if !ok || name == "" || !strings.HasSuffix(text, ")") || strings.Contains(text, "\n") {
		return false
	}
	for _, c := range []byte(name) {
		if !letterOrDigit(c) && c != '_' && c != '.' {
			return false
		}
	}
	return closes(text[len(name):])
}

// closes reports whether the bracket that a text begins with is closed at its end,
// and not before. Those in strings do not count.
func closes(text string) bool {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && quoted:
			i++
		case c == '"':
			quoted = !quoted
		case c == '(' && !quoted:
			depth++
		case c == ')' && !quoted:
			if depth--; depth == 0 {
				return i == len(text)-1
			}
		}
	}
	return true
}
