package tokens_test

import (
	"math"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/tiktoken-go/tokenizer/codec"
)

// The reference is written for being plainly right: the published pattern by
// regexp, and byte pair encoding as its definition says, in quadratic time.

// pattern is the o200k pattern without `\s+(?!\S)`, which Go's regexp does not
// know; reference makes up for it. Unlike the original, Go's \s is ASCII only.
var pattern = regexp.MustCompile(strings.NewReplacer(
	`\S`, `[^\t-\r \x{85}\p{Z}]`, `\s`, `\t-\r \x{85}\p{Z}`,
).Replace(
	`^(?:` +
		`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?` +
		`|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?` +
		`|\p{N}{1,3}` +
		`| ?[^\s\p{L}\p{N}]+[\r\n/]*` +
		`|[\s]*[\r\n]+` +
		`|([\s]+)` +
		`)`))

// entries is the vocabulary by bytes.
var entries = sync.OnceValue(func() map[string]int {
	all := make(map[string]int)
	source := codec.NewO200kBase()
	for id := uint(0); ; id++ {
		entry, err := source.Decode([]uint{id})
		if err != nil {
			return all
		}
		all[entry] = int(id)
	}
})

// splitReference cuts valid UTF-8 into pieces.
func splitReference(text string) []string {
	var pieces []string
	for text != "" {
		m := pattern.FindStringSubmatchIndex(text)
		end := m[1]
		if m[2] >= 0 && end < len(text) {
			// \s+ without a line end, and something else behind it: (?!\S) leaves
			// the last character to that, where there is another.
			if _, last := utf8.DecodeLastRuneInString(text[:end]); end > last {
				end -= last
			}
		}
		pieces = append(pieces, text[:end])
		text = text[end:]
	}
	return pieces
}

func mergeReference(piece string) int {
	parts := make([]string, len(piece))
	for i := range parts {
		parts[i] = piece[i : i+1]
	}
	for {
		best, at := math.MaxInt, -1
		for i := range len(parts) - 1 {
			if rank, ok := entries()[parts[i]+parts[i+1]]; ok && rank < best {
				best, at = rank, i
			}
		}
		if at < 0 {
			return len(parts)
		}
		parts[at] += parts[at+1]
		parts = append(parts[:at+1], parts[at+2:]...)
	}
}

func countReference(text string) int {
	n := 0
	for _, piece := range splitReference(text) {
		if _, ok := entries()[piece]; ok {
			n++
			continue
		}
		n += mergeReference(piece)
	}
	return n
}

// libraryDiffers reports whether the tokenizer library is known to count the
// text in another way than the reference implementation: it skips U+007F, it
// does not know the long s in a contraction, and it ends a piece of white space
// at its first run of line ends, where `\s*[\r\n]+` goes on to the last.
func libraryDiffers(text string) bool {
	if strings.Contains(text, "\x7f") || strings.Contains(text, "'ſ") {
		return true
	}
	ended, blank := false, false // in this run: a line end; then a blank
	for _, r := range text {
		switch {
		case r == '\n' || r == '\r':
			if blank {
				return true
			}
			ended = true
		case unicode.IsSpace(r):
			blank = ended
		default:
			ended, blank = false, false
		}
	}
	return false
}
