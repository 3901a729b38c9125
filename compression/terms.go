package compression

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// termKind says what a term is worth when a unit is chosen, or an identifier
// named in the index.
type termKind uint8

const (
	termWord  termKind = iota // a word, or a pair of characters
	termBare                  // a bare number
	termCamel                 // camelCase, or capitals
	termJoin                  // joined by - or _
	termMixed                 // letters with digits: ids, versions, codes
	termPath                  // a path, an address, a URL
	termFile                  // a file name
)

// worth is what a term of a kind counts, in twentieths of a word. Identifiers
// are what later turns ask for by name, file names most of all.
var worth = [...]int64{termWord: 20, termBare: 18, termCamel: 30, termJoin: 42, termMixed: 90, termPath: 90, termFile: 120}

// maxTerm bounds a term: longer runs are data, not names.
const maxTerm = 160

// scanTerms calls visit for every term of s, in order: identifiers whole, words
// of three letters and more, and pairs of characters in scripts that put no
// spaces between words. text is a slice of s.
func scanTerms(s string, visit func(text string, kind termKind)) {
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if !runByte(c) {
				i++
				if c == '\\' && i < len(s) && (s[i] == 'n' || s[i] == 't' || s[i] == 'r') {
					i++ // an escape of JSON inside a string
				}
				continue
			}
			j := i + 1
			drive := letter(c) && j+1 < len(s) && s[j] == ':' && s[j+1] == '\\'
			for j < len(s) && (runByte(s[j]) || drive && s[j] == '\\') {
				j++
			}
			if j < len(s) && s[j] >= utf8.RuneSelf && plainWord(s[i:j]) {
				if r, _ := utf8.DecodeRuneInString(s[j:]); wordRune(r) && !unspaced(r) {
					i = scanWord(s, i, visit) // a word that goes on with an accented letter
					continue
				}
			}
			scanRun(s[i:j], visit)
			i = j
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case unspaced(r):
			i = scanPairs(s, i, visit)
		case wordRune(r):
			i = scanWord(s, i, visit)
		default:
			i += size
		}
	}
}

// runByte is what an ASCII identifier may hold.
func runByte(c byte) bool {
	switch {
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		return true
	}
	switch c {
	case '_', '-', '.', '/', ':', '@', '#', '~', '+', '%', '$':
		return true
	}
	return false
}

func wordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r) }

// unspaced reports whether r belongs to a script in which words stand without
// spaces between them, or (Hangul) change their endings so much that pairs of
// characters tell more.
func unspaced(r rune) bool {
	switch {
	case r < 0x0E00:
		return false
	case r <= 0x0EFF, r >= 0x1000 && r <= 0x109F, r >= 0x1780 && r <= 0x17FF: // Thai, Lao; Myanmar; Khmer
		return true
	case r >= 0x3040 && r <= 0x30FF, r >= 0x3400 && r <= 0x9FFF: // Kana, Han
		return true
	case r >= 0xAC00 && r <= 0xD7AF, r >= 0xF900 && r <= 0xFAFF, r >= 0x20000 && r <= 0x3FFFF:
		return true
	}
	return false
}

func hiragana(r rune) bool { return r >= 0x3040 && r <= 0x309F }

// scanPairs visits the pairs of a run without spaces and returns its end. Pairs
// of hiragana alone are grammar.
func scanPairs(s string, i int, visit func(string, termKind)) int {
	before, prev := -1, rune(0)
	for i < len(s) {
		r, size := utf8.DecodeRuneInString(s[i:])
		if !unspaced(r) {
			break
		}
		if before >= 0 && !(hiragana(prev) && hiragana(r)) {
			visit(s[before:i+size], termWord)
		}
		before, prev = i, r
		i += size
	}
	return i
}

// scanWord visits one word of a script with spaces and returns its end.
func scanWord(s string, i int, visit func(string, termKind)) int {
	start, runes := i, 0
	for i < len(s) {
		r, size := utf8.DecodeRuneInString(s[i:])
		if !wordRune(r) || unspaced(r) {
			break
		}
		runes++
		i += size
	}
	if runes >= 3 && i-start <= maxTerm {
		visit(s[start:i], termWord)
	}
	if i == start { // a letter that is of no script with words
		_, size := utf8.DecodeRuneInString(s[i:])
		i += size
	}
	return i
}

// scanRun visits what an ASCII run holds: the identifier that it is, or its words.
func scanRun(run string, visit func(string, termKind)) {
	for run != "" && strings.IndexByte(".:/-+#\\", run[len(run)-1]) >= 0 {
		run = run[:len(run)-1]
	}
	for run != "" && strings.IndexByte(":-+#", run[0]) >= 0 {
		run = run[1:]
	}
	if run == "" {
		return
	}
	if len(run) > maxTerm {
		splitWords(run, visit)
		return
	}
	kind := classify(run)
	if kind == termWord {
		splitWords(run, visit)
		return
	}
	visit(run, kind)
	if kind == termPath {
		if last := run[strings.LastIndexByte(run, '/')+1:]; len(last) >= 3 && len(last) < len(run) {
			if k := classify(last); k != termWord {
				visit(last, k)
			}
		}
	}
}

// splitWords visits the words of a run that is no identifier.
func splitWords(run string, visit func(string, termKind)) {
	start := 0
	for i := 0; i <= len(run); i++ {
		if i < len(run) && letterOrDigit(run[i]) {
			continue
		}
		if n := i - start; n >= 3 && n <= maxTerm {
			visit(run[start:i], termWord)
		}
		start = i + 1
	}
}

func letterOrDigit(c byte) bool { return letter(c) || c >= '0' && c <= '9' }
func letter(c byte) bool        { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
func capital(c byte) bool       { return c >= 'A' && c <= 'Z' }

func plainWord(run string) bool {
	for i := 0; i < len(run); i++ {
		if !letter(run[i]) {
			return false
		}
	}
	return true
}

// classify says what an ASCII run is. It is a heuristic and may be wrong: what
// it costs is a worse choice, never a wrong handoff.
func classify(run string) termKind {
	var letters, digits, capitals, slashes, joins, dots, turns int
	for i := 0; i < len(run); i++ {
		switch c := run[i]; {
		case letter(c):
			letters++
			if capital(c) {
				capitals++
				if i > 0 && letter(run[i-1]) && !capital(run[i-1]) {
					turns++
				}
			}
		case c >= '0' && c <= '9':
			digits++
		case c == '/' || c == '\\':
			slashes++
		case c == '-' || c == '_':
			joins++
		case c == '.':
			dots++
		}
	}
	switch {
	case letters == 0 && digits >= 2:
		return termBare
	case letters == 0:
		return termWord
	case slashes > 0 && len(run) >= 4, strings.IndexByte(run, '@') > 0 && dots > 0:
		return termPath
	case dots > 0 && fileName(run):
		return termFile
	case digits > 0 && len(run) >= 3:
		return termMixed
	case joins > 0 && letters >= 3 && len(run) >= 4:
		return termJoin
	case turns > 0, capitals == letters && letters >= 3:
		return termCamel
	}
	return termWord
}

// fileName reports whether run ends like one: a dot and a short extension in
// small letters.
func fileName(run string) bool {
	dot := strings.LastIndexByte(run, '.')
	ext := run[dot+1:]
	if dot < 1 || len(ext) == 0 || len(ext) > 5 || len(run) < 5 && dot < 2 {
		return false
	}
	small := false
	for i := 0; i < len(ext); i++ {
		switch c := ext[i]; {
		case c >= 'a' && c <= 'z':
			small = true
		case c >= '0' && c <= '9':
		default:
			return false
		}
	}
	return small && letterOrDigit(run[dot-1])
}
