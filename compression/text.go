package compression

import (
	"strings"
	"unicode/utf8"
)

// clip keeps the beginning and the end of s and cuts at characters.
func clip(s string, head, tail int) (string, string) {
	if len(s) <= head+tail {
		return s, ""
	}
	return s[:runeStart(s, head)], s[runeStart(s, len(s)-tail):]
}

// clipWords is clip with cuts that divide no word and no identifier, since a
// piece of one reads as another.
func clipWords(s string, head, tail int) (string, string) {
	if len(s) <= head+tail {
		return s, ""
	}
	return s[:wordEnd(s, head)], s[wordStart(s, len(s)-tail):]
}

// runeStart is the last place at or before i where a character begins.
func runeStart(s string, i int) int {
	if i >= len(s) {
		return len(s)
	}
	i = max(i, 0)
	for k := 0; k < utf8.UTFMax && i > 0 && !utf8.RuneStart(s[i]); k++ {
		i--
	}
	return i
}

// wordEnd is the last place at or before i where no word goes on; 0 where one
// fills all of it.
func wordEnd(s string, i int) int {
	if i >= len(s) {
		return len(s)
	}
	for i = runeStart(s, i); i > 0 && inWord(s, i); {
		i--
	}
	return i
}

// wordStart is the first place at or after i where a word may begin, else len(s).
func wordStart(s string, i int) int {
	for i = runeStart(s, i); i < len(s) && inWord(s, i); {
		i++
	}
	return i
}

// inWord reports whether a cut before byte k would divide an identifier or a word.
func inWord(s string, k int) bool {
	if k <= 0 || k >= len(s) {
		return false
	}
	before, after := s[k-1], s[k]
	if before < utf8.RuneSelf && after < utf8.RuneSelf {
		return runByte(before) && runByte(after)
	}
	if !utf8.RuneStart(after) {
		return true
	}
	r, _ := utf8.DecodeLastRuneInString(s[:k])
	t, _ := utf8.DecodeRuneInString(s[k:])
	return spacedWord(r) && spacedWord(t)
}

// spacedWord reports whether r belongs to a word of a script that puts spaces
// between words.
func spacedWord(r rune) bool {
	return r < utf8.RuneSelf && runByte(byte(r)) || wordRune(r) && !unspaced(r)
}

// cutText shortens s to about n bytes, by its beginning and its end. A word that
// leaves no room for anything else is kept whole where it is short.
func cutText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	head, tail := clipWords(s, n*2/3, n/3)
	if tail == "" {
		if at := wordEnd(s, len(s)-n/3); at >= len(head) && len(s)-at <= n {
			tail = s[at:]
		}
	}
	return strings.TrimSpace(head) + " … " + strings.TrimSpace(tail)
}

// cutEnd shortens s to about n bytes, by its beginning.
func cutEnd(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.TrimRight(s[:wordEnd(s, n)], " \n") + "…"
}

// oneLine replaces runs of white space by one space.
func oneLine(s string) string {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c >= utf8.RuneSelf || c < ' ' || c == ' ' && (i == 0 || i+1 == len(s) || s[i-1] == ' ') {
			return strings.Join(strings.Fields(s), " ")
		}
	}
	return s
}

// withoutEscapes drops the colours and cursor moves that programs write for a
// terminal.
func withoutEscapes(s string) string {
	const escape = "\x1b["
	at := strings.Index(s, escape)
	if at < 0 {
		return s
	}
	var b strings.Builder
	for ; at >= 0; at = strings.Index(s, escape) {
		b.WriteString(s[:at])
		end := at + len(escape)
		for end < len(s) && s[end] >= ' ' && s[end] < '@' {
			end++
		}
		s = s[min(end+1, len(s)):]
	}
	b.WriteString(s)
	return b.String()
}
