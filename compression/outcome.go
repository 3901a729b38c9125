package compression

import (
	"strconv"
	"strings"
)

// callText is a call in one line.
func callText(name, arguments string) string {
	return cutEnd(oneLine(cutEnd(name, 2*valueMax)), valueMax) + "(" + cutText(flatArguments(arguments), 2*valueMax) + ")"
}

// outcomeOf is a tool result in one line: what went wrong if something did, else
// its first line, and its size where that is not all.
func outcomeOf(s *source) string {
	text := strings.TrimSpace(s.text)
	switch {
	case s.later:
		return "the same as a later result"
	case text == "":
		return "nothing"
	case len(text) <= outcomeMax:
		return oneLine(text)
	}
	first := ""
	head, tail := clip(text, proseHead, proseTail)
	for _, part := range [...]string{head, tail} {
		for len(part) > 0 {
			var line string
			line, part, _ = strings.Cut(part, "\n")
			if line = strings.TrimSpace(cutEnd(line, 4*unitMax)); line == "" {
				continue
			}
			if troubled(line) {
				return cutEnd(oneLine(line), troubleMax)
			}
			if first == "" {
				first = line
			}
		}
	}
	return cutEnd(oneLine(first), outcomeMax) + " (" + strconv.Itoa(len(text)) + " bytes)"
}

// resultPieces divides a tool result: its beginning, its end, and what tells of
// trouble in between.
func resultPieces(text string, visit func(string)) {
	head, tail := clipWords(text, resultHead, resultTail)
	chunks(head, visit)
	if len(head)+len(tail) >= len(text) {
		return
	}
	between, _ := clip(text[len(head):len(text)-len(tail)], proseHead, 0)
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

// troubled reports whether a line tells of something that went wrong, and does
// not merely speak of errors, as source code does.
func troubled(line string) bool {
	for _, w := range [...]string{
		"rror:", "ERROR", "FAIL", "xception:", "panic:", "atal:", "FATAL", "Traceback", "ermission denied",
		"o such file", "ot found", "onnection refused", "imed out", "exit status 1", "exit code 1", "exited with code 1",
	} {
		if at := strings.Index(line, w); at >= 0 {
			return !coded(line, at)
		}
	}
	return false
}

// coded reports whether a line that speaks of an error at byte at is one of a
// program: quoted there, or ended as statements are.
func coded(line string, at int) bool {
	line = strings.TrimRight(line, " \t\r")
	switch line[len(line)-1] {
	case ';', '{', '(':
		return true
	}
	return strings.ContainsAny(line[max(0, at-3):at], "\"'`(")
}
