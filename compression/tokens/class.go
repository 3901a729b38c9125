package tokens

import "unicode"

// class is what the splitter needs to know of a character. The o200k pattern
// speaks of letters with an upper form (Lu, Lt), lower ones (Ll), those that
// count as both (Lm, Lo and the marks M), numbers and white space.
type class uint8

const (
	symbol  class = iota // none of the others, and every byte that is no UTF-8
	upper                // Lu, Lt
	lower                // Ll
	caseful              // Lm, Lo: upper and lower at once
	mark                 // M: as caseful in a word, as a symbol among symbols
	number               // N
	space                // white space but line ends
	newline              // \r, \n
)

// asUpper: the character may stand in the upper part of a word.
func (c class) asUpper() bool { return c == upper || c == caseful || c == mark }

// asLower: the character may stand in the lower part of a word.
func (c class) asLower() bool { return c == lower || c == caseful || c == mark }

// both: the character may stand in either part.
func (c class) both() bool { return c == caseful || c == mark }

// leads: the character may be the one that a word takes along in front. A mark
// may too, but is as well the first character of the word itself.
func (c class) leads() bool { return c == symbol || c == space }

// isSpace is the \s of the pattern.
func (c class) isSpace() bool { return c == space || c == newline }

// classes maps a rune to its class in two steps: a page of 256 runes each, and
// equal pages kept once, so that the table stays in the processor's cache.
type classes struct {
	page  [(unicode.MaxRune + 1) / 256]uint8
	pages [][256]class
}

// of answers the class of a rune that utf8.DecodeRune gave.
func (t *classes) of(r rune) class {
	return t.pages[t.page[r>>8]][r&0xff]
}

func newClasses() *classes {
	flat := make([]class, unicode.MaxRune+1)
	for _, e := range []struct {
		table *unicode.RangeTable
		class class
	}{
		{unicode.Lu, upper},
		{unicode.Lt, upper},
		{unicode.Ll, lower},
		{unicode.Lm, caseful},
		{unicode.Lo, caseful},
		{unicode.M, mark},
		{unicode.N, number},
		{unicode.White_Space, space},
	} {
		fill(flat, e.table, e.class)
	}
	flat['\r'], flat['\n'] = newline, newline

	t := new(classes)
	known := make(map[[256]class]uint8)
	for p := range t.page {
		page := [256]class(flat[p*256:])
		i, ok := known[page]
		if !ok {
			i = uint8(len(t.pages))
			known[page] = i
			t.pages = append(t.pages, page)
		}
		t.page[p] = i
	}
	return t
}

func fill(flat []class, table *unicode.RangeTable, c class) {
	for _, r := range table.R16 {
		for x := int(r.Lo); x <= int(r.Hi); x += int(r.Stride) {
			flat[x] = c
		}
	}
	for _, r := range table.R32 {
		for x := int(r.Lo); x <= int(r.Hi); x += int(r.Stride) {
			flat[x] = c
		}
	}
}
