package tokens

import "sync"

// Counter counts the tokens of the o200k_base encoding. Make one with New or
// take Shared. It never changes and is safe for concurrent use.
type Counter struct {
	vocab   *vocab
	classes *classes
	ascii   [128]class // the first page of classes, at hand
	scratch *sync.Pool // of *scratch
}

// New builds a Counter from the vocabulary that the tokenizer library carries.
// It takes about a tenth of a second and some 15 MB, so a process wants one: see
// Shared.
func New() *Counter {
	c := &Counter{
		vocab:   newVocab(),
		classes: newClasses(),
		scratch: &sync.Pool{New: func() any { return new(scratch) }},
	}
	for r := range c.ascii {
		c.ascii[r] = c.classes.of(rune(r))
	}
	return c
}

// shared is the package's only variable state: a value that is made once, on
// first use, and never changes.
var shared = sync.OnceValue(New)

// Shared answers the process's one Counter. The first call builds it; the calls
// that arrive meanwhile wait for it.
func Shared() *Counter { return shared() }

// Count answers how many tokens the text has. The names of special tokens count
// as the text they are. Bytes that are no UTF-8 count as symbols. Time is linear
// in len(text), give or take a logarithm, for every text.
func (c *Counter) Count(text []byte) int {
	s := c.scratch.Get().(*scratch)
	n := 0
	for i := 0; i < len(text); {
		j := c.piece(text, i)
		if j-i == 1 || c.vocab.rank(text, i, j) != none {
			n++
		} else {
			n += c.merge(s, text, i, j)
		}
		i = j
	}
	c.scratch.Put(s)
	return n
}

// CountString is Count of a string, without copying it.
func (c *Counter) CountString(s string) int { return c.Count([]byte(s)) }
