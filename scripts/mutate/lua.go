package main

import (
	"fmt"
	"strings"
)

// kind is what a token is to an expression.
type kind int

const (
	symbol  kind = iota + 1 // an operator or a bracket
	operand                 // a number or a string
	name
	keyword
)

// token is a piece of Lua text; start and end are byte offsets.
type token struct {
	kind       kind
	text       string
	start, end int
	line       int
}

func (t token) is(text string) bool {
	return t.text == text && (t.kind == symbol || t.kind == keyword)
}

// isAny is is for one of several.
func (t token) isAny(texts ...string) bool {
	for _, text := range texts {
		if t.is(text) {
			return true
		}
	}
	return false
}

// endsOperand reports whether a value may end with t. A name after it begins the
// next statement, since nothing else separates two in Lua.
func (t token) endsOperand() bool {
	return t.kind == operand || t.kind == name || t.isAny(")", "]", "}", "nil", "true", "false", "...", "end")
}

var keywords = map[string]bool{
	"and": true, "break": true, "do": true, "else": true, "elseif": true, "end": true, "false": true, "for": true,
	"function": true, "if": true, "in": true, "local": true, "nil": true, "not": true, "or": true, "repeat": true,
	"return": true, "then": true, "true": true, "until": true, "while": true,
}

// symbols, the longer ones first.
var symbols = []string{"...", "..", "==", "~=", "<=", ">="}

// scanTokens splits Lua 5.1 text. Comments and white space are left out.
func scanTokens(text string) ([]token, error) {
	s := scanner{text: text, line: 1}
	for {
		t, err := s.next()
		if err != nil {
			return nil, err
		}
		if t.kind == 0 {
			return s.found, nil
		}
		s.found = append(s.found, t)
	}
}

type scanner struct {
	text  string
	at    int
	line  int
	found []token
}

// next is the next token, or the zero one at the end.
func (s *scanner) next() (token, error) {
	if err := s.skip(); err != nil {
		return token{}, err
	}
	if s.at == len(s.text) {
		return token{}, nil
	}
	t := token{start: s.at, line: s.line, kind: symbol}
	c := s.text[s.at]
	var err error
	switch {
	case letter(c):
		s.at += span(s.text[s.at:], func(c byte) bool { return letter(c) || digit(c) })
		t.kind = name
		if keywords[s.text[t.start:s.at]] {
			t.kind = keyword
		}
	case digit(c):
		s.at += span(s.text[s.at:], func(c byte) bool { return letter(c) || digit(c) || c == '.' })
		t.kind = operand
	case c == '\'' || c == '"':
		t.kind, err = operand, s.quoted(c)
	case strings.HasPrefix(s.text[s.at:], "[[") || strings.HasPrefix(s.text[s.at:], "[="):
		t.kind, err = operand, s.bracketed()
	default:
		s.at++
		for _, longer := range symbols {
			if strings.HasPrefix(s.text[t.start:], longer) {
				s.at = t.start + len(longer)
				break
			}
		}
	}
	t.end = s.at
	t.text = s.text[t.start:t.end]
	s.line += strings.Count(t.text, "\n")
	return t, err
}

// skip passes over white space and comments.
func (s *scanner) skip() error {
	for s.at < len(s.text) {
		rest := s.text[s.at:]
		switch {
		case rest[0] == '\n':
			s.line++
			s.at++
		case strings.IndexByte(" \t\r", rest[0]) >= 0:
			s.at++
		case strings.HasPrefix(rest, "--[[") || strings.HasPrefix(rest, "--[="):
			return fmt.Errorf("line %d: a long comment, which is not understood here", s.line)
		case strings.HasPrefix(rest, "--"):
			s.at += span(rest, func(c byte) bool { return c != '\n' })
		default:
			return nil
		}
	}
	return nil
}

func (s *scanner) quoted(quote byte) error {
	for s.at++; s.at < len(s.text); s.at++ {
		switch s.text[s.at] {
		case '\\':
			s.at++
		case quote:
			s.at++
			return nil
		case '\n':
			return fmt.Errorf("line %d: a string without an end", s.line)
		}
	}
	s.at = len(s.text)
	return fmt.Errorf("line %d: a string without an end", s.line)
}

func (s *scanner) bracketed() error {
	level := span(s.text[s.at+1:], func(c byte) bool { return c == '=' })
	end := strings.Index(s.text[s.at:], "]"+strings.Repeat("=", level)+"]")
	if end < 0 {
		s.at = len(s.text)
		return fmt.Errorf("line %d: a string without an end", s.line)
	}
	s.at += end + level + 2
	return nil
}

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' }

func digit(c byte) bool { return c >= '0' && c <= '9' }

// span is how many leading bytes of text are in the set.
func span(text string, in func(byte) bool) int {
	for i := range len(text) {
		if !in(text[i]) {
			return i
		}
	}
	return len(text)
}
