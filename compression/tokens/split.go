package tokens

import "unicode/utf8"

// at answers the class and the width of the character at text[i].
func (c *Counter) at(text []byte, i int) (class, int) {
	if b := text[i]; b < utf8.RuneSelf {
		return c.ascii[b], 1
	}
	r, n := utf8.DecodeRune(text[i:])
	if n == 1 {
		return symbol, 1 // no UTF-8: a symbol of its own
	}
	return c.classes.of(r), n
}

// piece answers where the piece that begins at text[i] ends: what the o200k
// pattern matches there, first alternative first. A piece is never empty. Every
// character is looked at a bounded number of times over all calls, whatever the
// text is.
func (c *Counter) piece(text []byte, i int) int {
	first, n := c.at(text, i)
	j := i + n
	switch first {
	case upper, lower, caseful, mark:
		return c.contraction(text, c.word(text, i))
	case number:
		return c.digits(text, j)
	}
	if first.leads() && j < len(text) {
		if end := c.word(text, j); end > j {
			return c.contraction(text, end)
		}
	}
	if first == symbol {
		return c.symbols(text, j)
	}
	if text[i] == ' ' && j < len(text) {
		if next, n := c.at(text, j); next == symbol || next == mark {
			return c.symbols(text, j+n)
		}
	}
	return c.blanks(text, i)
}

// word answers the end of the word that begins at text[i], or i if none does:
// upper characters, then at least one lower one; failing that, upper ones.
//
// The pattern takes as many upper characters as it can. If no lower one follows
// them, it gives them back until the last that counts as both: the word ends
// there. If there is none, they are all the word.
func (c *Counter) word(text []byte, i int) int {
	j, lastBoth := i, -1
	for j < len(text) {
		k, n := c.at(text, j)
		if k == lower {
			return c.lowers(text, j+n)
		}
		if !k.asUpper() {
			break
		}
		j += n
		if k.both() {
			lastBoth = j
		}
	}
	if lastBoth >= 0 {
		return lastBoth
	}
	return j
}

// lowers answers the end of the run of lower characters at text[i].
func (c *Counter) lowers(text []byte, i int) int {
	for i < len(text) {
		k, n := c.at(text, i)
		if !k.asLower() {
			break
		}
		i += n
	}
	return i
}

// digits answers the end of a number whose first digit ends at text[i]: at most
// two digits more.
func (c *Counter) digits(text []byte, i int) int {
	for range 2 {
		if i == len(text) {
			break
		}
		k, n := c.at(text, i)
		if k != number {
			break
		}
		i += n
	}
	return i
}

// symbols answers the end of a run of symbols, with the line ends and slashes
// behind it. Marks count as symbols here.
func (c *Counter) symbols(text []byte, i int) int {
	for i < len(text) {
		k, n := c.at(text, i)
		if k != symbol && k != mark {
			break
		}
		i += n
	}
	for i < len(text) && (text[i] == '\n' || text[i] == '\r' || text[i] == '/') {
		i++
	}
	return i
}

// blanks answers the end of the piece of white space at text[i]: up to the last
// line end of the run; without one, all of it but the last character, which
// goes with what follows. At the end of the text all of it.
func (c *Counter) blanks(text []byte, i int) int {
	lineEnd, last, j := -1, i, i
	for j < len(text) {
		k, n := c.at(text, j)
		if !k.isSpace() {
			break
		}
		last = j
		j += n
		if k == newline {
			lineEnd = j
		}
	}
	switch {
	case lineEnd >= 0:
		return lineEnd
	case j == len(text) || last == i:
		return j
	}
	return last
}

// contraction answers the end of an English contraction ('s 't 're 've 'm 'll
// 'd, in any case) at text[i], or i if there is none. The pattern ignores case
// as Unicode does, so the long s counts as an s.
func (c *Counter) contraction(text []byte, i int) int {
	if i+1 >= len(text) || text[i] != '\'' {
		return i
	}
	rest := text[i+1:]
	switch rest[0] | 0x20 {
	case 's', 't', 'm', 'd':
		return i + 2
	}
	if len(rest) < 2 {
		return i
	}
	switch [2]byte{rest[0] | 0x20, rest[1] | 0x20} {
	case [2]byte{'r', 'e'}, [2]byte{'v', 'e'}, [2]byte{'l', 'l'}:
		return i + 3
	}
	if rest[0] == 0xc5 && rest[1] == 0xbf { // U+017F
		return i + 3
	}
	return i
}
