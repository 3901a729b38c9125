package compression

import (
	"cmp"
	"strconv"
	"strings"
)

// callText is a call in one line.
func callText(name, arguments string) string {
	return cutEnd(oneLine(cutEnd(name, 2*valueMax)), valueMax) + "(" + cutText(flatArguments(arguments), 2*valueMax) + ")"
}

// outcomeOf is a tool result in one line: what went wrong if something did (then
// bad is true), else its first line, and its size where that is not all.
func outcomeOf(s *source) (said string, bad bool) {
	text := strings.TrimSpace(s.text)
	switch {
	case s.later:
		return "the same as a later result", false
	case text == "":
		return "nothing", false
	case len(text) <= outcomeMax:
		return oneLine(text), troubleOf(text) != troubleNone || failedExit(text)
	}
	first, warned := "", ""
	head, tail := clipWords(text, proseHead, proseTail)
	for _, part := range [...]string{head, tail} {
		for len(part) > 0 {
			var line string
			line, part, _ = strings.Cut(part, "\n")
			if line = strings.TrimSpace(cutEnd(line, 4*unitMax)); line == "" {
				continue
			}
			switch trouble := troubleOf(line); {
			case trouble == troubleTold:
				return cutEnd(oneLine(line), troubleMax), true
			case trouble == troubleSeen:
				warned = cmp.Or(warned, line)
			}
			first = cmp.Or(first, line)
		}
	}
	if warned != "" {
		return cutEnd(oneLine(warned), troubleMax), true
	}
	if at := strings.LastIndexByte(text, '\n'); at > 0 && failedExit(text[at+1:]) {
		return strings.TrimSuffix(cutEnd(oneLine(first), outcomeMax), "…") + " … " + oneLine(text[at+1:]), true
	}
	said = cutEnd(oneLine(first), outcomeMax)
	if len(text) >= sizeLeast {
		said += " (" + strconv.Itoa(len(text)) + " bytes)"
	}
	return said, false
}

// resultPieces divides a tool result: its beginning, its end, and what tells of
// trouble in between.
func resultPieces(text string, visit func(string)) {
	head, tail := clipWords(text, resultHead, resultTail)
	chunks(head, visit)
	if len(head)+len(tail) >= len(text) {
		return
	}
	between, _ := clipWords(text[len(head):len(text)-len(tail)], proseHead, 0)
	for left := resultLines; left > 0 && between != ""; {
		var line string
		line, between, _ = strings.Cut(between, "\n")
		if len(line) <= 4*unitMax && troubleOf(line) != troubleNone {
			visit(cutEnd(oneLine(line), unitMax))
			left--
		}
	}
	chunks(tail, visit)
}

// trouble is what a line tells of something that went wrong.
type trouble int

const (
	troubleNone trouble = iota
	troubleSeen         // that something did
	troubleTold         // what did
)

// troubleOf is what a line tells of trouble; one that merely speaks of errors, as
// source code does, tells of none.
func troubleOf(line string) trouble {
	if speaks(line, troubleWords.told[:]) {
		return troubleTold
	}
	if speaks(line, troubleWords.seen[:]) {
		return troubleSeen
	}
	return troubleNone
}

// troubleWords are the words of trouble by a byte that each of them has: most lines
// lack most of these.
var troubleWords = struct {
	told [5]wordsWith
	seen [4]wordsWith
}{
	told: [...]wordsWith{
		{':', []string{"rror:", "xception:", "panic:", "atal:"}},
		{'T', []string{" error TS"}},
		{'E', []string{"Exception in"}},
		{'u', []string{"o such file", "imed out", "onnection refused"}},
		{'m', []string{"ermission denied"}},
	},
	seen: [...]wordsWith{
		{'E', []string{"ERROR"}},
		{'F', []string{"FAIL", "FATAL"}},
		{'T', []string{"Traceback"}},
		{'f', []string{"ot found"}},
	},
}

type wordsWith struct {
	letter byte
	words  []string
}

// speaks reports whether a line has one of the words, and not as a program has it.
func speaks(line string, all []wordsWith) bool {
	for i := range all {
		if strings.IndexByte(line, all[i].letter) < 0 {
			continue
		}
		for _, w := range all[i].words {
			if at := strings.Index(line, w); at >= 0 && !coded(line, at) {
				return true
			}
		}
	}
	return false
}

// failedExit reports whether a line is how a shell tells that a command failed.
func failedExit(line string) bool {
	for _, w := range [...]string{"exit status ", "exit code ", "exit code: ", "exited with code ", "exited with status "} {
		if at := strings.Index(line, w); at >= 0 && len(line) <= 2*outcomeMax {
			code := line[at+len(w):]
			return code != "" && code[0] >= '1' && code[0] <= '9'
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
