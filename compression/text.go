package compression

import (
	"strings"
	"unicode/utf8"
)

// maxWord bounds how far a cut moves so that it divides no word: longer runs are
// data, not names.
const maxWord = 160

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

// wordEnd is the last place at or before i where no word goes on, more than 0:
// where the words are longer than maxWord, the place itself.
func wordEnd(s string, i int) int {
	if i >= len(s) {
		return len(s)
	}
	i = max(runeStart(s, i), firstRune(s))
	for k := i; k > 0 && i-k < maxWord; k-- {
		if !inWord(s, k) {
			return k
		}
	}
	return i
}

// wordStart is the first place at or after i where a word may begin.
func wordStart(s string, i int) int {
	i = runeStart(s, i)
	for k := i; k < len(s) && k-i < maxWord; k++ {
		if !inWord(s, k) {
			return k
		}
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

func firstRune(s string) int {
	_, size := utf8.DecodeRuneInString(s)
	return size
}

// cutText shortens s to about n bytes, by its beginning and its end.
func cutText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	head, tail := clipWords(s, n*2/3, n/3)
	return strings.TrimSpace(head) + " … " + strings.TrimSpace(tail)
}

// cutEnd shortens s to about n bytes, by its beginning.
func cutEnd(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:wordEnd(s, n)] + "…"
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
