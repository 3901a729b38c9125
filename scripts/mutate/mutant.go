package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// script is one Lua file.
type script struct {
	name, text string
}

func readScripts(dir string) ([]script, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.lua"))
	if err != nil {
		return nil, fmt.Errorf("list the scripts: %w", err)
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("no script in %s", dir)
	}
	var all []script
	for _, path := range paths {
		text, err := os.ReadFile(path) //nolint:gosec // a file of this module
		if err != nil {
			return nil, fmt.Errorf("read a script: %w", err)
		}
		all = append(all, script{name: filepath.Base(path), text: string(text)})
	}
	return all, nil
}

// mutant is one change of one file.
type mutant struct {
	File string `json:"file"`
	Line int    `json:"line"`
	// Condition is the text that decides: a whole condition, or a comparison or check
	// that stands elsewhere. The second and later ones of a file that read alike end in
	// " #2" and so on.
	Condition string `json:"condition"`
	// Mutation is what becomes of it.
	Mutation string `json:"mutation"`

	text string // of the whole file
}

// allMutants lists the mutants of one file, or of all where only is empty.
func allMutants(scripts []script, only string) ([]mutant, error) {
	var all []mutant
	for _, s := range scripts {
		if only != "" && s.name != only {
			continue
		}
		found, err := mutantsOf(s)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		all = append(all, found...)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("nothing to change in %q", only)
	}
	return all, nil
}

// finder collects the mutants of one file.
type finder struct {
	script
	tokens []token
	seen   map[string]int
	found  []mutant
}

func mutantsOf(s script) ([]mutant, error) {
	tokens, err := scanTokens(s.text)
	if err != nil {
		return nil, err
	}
	f := &finder{script: s, tokens: tokens, seen: map[string]int{}}
	for at := 0; at < len(tokens); at++ {
		switch {
		case tokens[at].isAny("if", "elseif", "while"):
			end, err := f.conditionEnd(at + 1)
			if err != nil {
				return nil, err
			}
			f.condition(at+1, end, tokens[at].is("while"))
			at = end
		case isComparison(tokens[at]):
			f.change(f.leftOf(at), f.rightOf(at))
		case f.isCheck(at):
			f.change(at, min(f.closing(at+1, len(tokens))+1, len(tokens)))
		}
	}
	return f.found, nil
}

// conditionEnd is where the then or do of the condition stands that begins at
// from.
func (f *finder) conditionEnd(from int) (int, error) {
	for i := from; i < len(f.tokens); i++ {
		switch {
		case f.tokens[i].isAny("then", "do"):
			return i, nil
		case f.tokens[i].is("function"):
			return 0, fmt.Errorf("line %d: a function in a condition, which is not understood here", f.tokens[i].line)
		}
	}
	return 0, fmt.Errorf("line %d: a condition without an end", f.tokens[from-1].line)
}

// condition changes the tokens from lo to hi, a whole condition.
func (f *finder) condition(lo, hi int, loop bool) {
	label := f.label(lo, hi)
	if !loop {
		f.add(lo, hi, label, "true")
	}
	f.add(lo, hi, label, "false")
	f.operands(lo, hi, func(from, to int, neutral string) {
		mutation := "without " + f.source(from, to)
		for n := 2; slices.ContainsFunc(f.found, func(m mutant) bool { return m.Condition == label && m.Mutation == mutation }); n++ {
			mutation = fmt.Sprintf("without %s #%d", f.source(from, to), n)
		}
		f.addAs(from, to, label, mutation, neutral)
	})
}

// operands calls drop for each operand of and and or between lo and hi, with the
// value under which the others decide alone.
func (f *finder) operands(lo, hi int, drop func(from, to int, neutral string)) {
	for _, split := range []struct{ word, neutral string }{{"or", "false"}, {"and", "true"}} {
		parts := f.split(lo, hi, split.word)
		if len(parts) == 1 {
			continue
		}
		for _, p := range parts {
			drop(p[0], p[1], split.neutral)
			f.operands(p[0], p[1], drop)
		}
		return
	}
	// not (a or b) and (a or b) hold operands too.
	for lo < hi && f.tokens[lo].is("not") {
		lo++
	}
	if lo < hi && f.tokens[lo].is("(") && f.closing(lo, hi) == hi-1 {
		f.operands(lo+1, hi-1, drop)
	}
}

// split cuts what lies between lo and hi at each word outside of brackets.
func (f *finder) split(lo, hi int, word string) [][2]int {
	var parts [][2]int
	from, depth := lo, 0
	for i := lo; i < hi; i++ {
		depth += nesting(f.tokens[i])
		if depth == 0 && f.tokens[i].is(word) {
			parts = append(parts, [2]int{from, i})
			from = i + 1
		}
	}
	return append(parts, [2]int{from, hi})
}

// closing is where the bracket closes that opens at lo, or hi.
func (f *finder) closing(lo, hi int) int {
	depth := 0
	for i := lo; i < hi; i++ {
		if depth += nesting(f.tokens[i]); depth == 0 {
			return i
		}
	}
	return hi
}

// isCheck reports whether a call of a function is_… begins at that token.
func (f *finder) isCheck(at int) bool {
	return f.tokens[at].kind == name && strings.HasPrefix(f.tokens[at].text, "is_") &&
		at > 0 && !f.tokens[at-1].is("function") && at+1 < len(f.tokens) && f.tokens[at+1].is("(")
}

// change changes the tokens from lo to hi, a comparison or a check in a value.
func (f *finder) change(lo, hi int) {
	label := f.label(lo, hi)
	f.add(lo, hi, label, "true")
	f.add(lo, hi, label, "false")
}

// boundaries are what binds less than a comparison, or begins an expression.
var boundaries = []string{
	"and", "or", "=", ",", ";", "==", "~=", "<", ">", "<=", ">=", "return", "if", "elseif", "then", "else", "end",
	"while", "do", "for", "in", "repeat", "until", "break", "local",
}

func (f *finder) leftOf(at int) int {
	depth := 0
	for i := at - 1; i >= 0; i-- {
		t := f.tokens[i]
		depth -= nesting(t)
		if depth < 0 || depth == 0 && nesting(t) == 0 && t.isAny(boundaries...) {
			return i + 1
		}
	}
	return 0
}

func (f *finder) rightOf(at int) int {
	depth := 0
	for i := at + 1; i < len(f.tokens); i++ {
		t := f.tokens[i]
		depth += nesting(t)
		if depth < 0 || depth == 0 && nesting(t) == 0 && t.isAny(boundaries...) {
			return i
		}
		if depth == 0 && t.kind == name && f.tokens[i-1].endsOperand() {
			return i
		}
	}
	return len(f.tokens)
}

// add adds the mutant in which the tokens from from to to read value, and which
// is called so.
func (f *finder) add(from, to int, label, value string) { f.addAs(from, to, label, value, value) }

// addAs adds the mutant in which the tokens from from to to read value.
func (f *finder) addAs(from, to int, label, mutation, value string) {
	if from >= to {
		return // no Lua: an operator without its operand
	}
	start, end := f.tokens[from].start, f.tokens[to-1].end
	f.found = append(f.found, mutant{
		File: f.name, Line: f.tokens[from].line, Condition: label, Mutation: mutation,
		text: f.text[:start] + value + f.text[end:],
	})
}

// label is how the mutants of the text between lo and hi are called.
func (f *finder) label(lo, hi int) string {
	text := f.source(lo, hi)
	f.seen[text]++
	if n := f.seen[text]; n > 1 {
		return fmt.Sprintf("%s #%d", text, n)
	}
	return text
}

// source is the text between lo and hi, on one line.
func (f *finder) source(lo, hi int) string {
	if lo >= hi {
		return ""
	}
	return strings.Join(strings.Fields(f.text[f.tokens[lo].start:f.tokens[hi-1].end]), " ")
}

func isComparison(t token) bool { return t.isAny("==", "~=", "<", ">", "<=", ">=") }

// nesting is 1 for what opens a bracket, -1 for what closes one.
func nesting(t token) int {
	switch {
	case t.isAny("(", "[", "{"):
		return 1
	case t.isAny(")", "]", "}"):
		return -1
	}
	return 0
}
