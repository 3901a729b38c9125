package window

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The windows that a rule or a default may name. Below MinTotal the safety
// margin alone would take a quarter; above MaxTotal it is a slip of the finger.
const (
	MinTotal Tokens = 256
	MaxTotal Tokens = 1_000_000_000
)

// Rule is the window that an operator gives to the models whose name matches
// Glob, in which * stands for any run of characters and ? for any one. Case is
// ignored (of ASCII letters). An empty Glob is every model. Input is zero where
// the input may fill the window.
type Rule struct {
	Glob         string
	Total, Input Tokens
}

// BookConfig is what an operator says about windows.
type BookConfig struct {
	// Rules in any order: the longest matching glob wins, of equally long ones
	// the later. None: nothing is configured.
	Rules []Rule
	// Default is the window of every model that nothing else knows. Zero: such a
	// window is unknown. Negative or below MinTotal: an error.
	Default Tokens
}

const ruleForm = "write [glob=]TOTAL[/INPUT] in tokens, such as 128000 or gpt-5*=400000/272000"

// ParseRule reads a rule of the form [glob=]TOTAL[/INPUT], such as "32000" or
// "gpt-*=128000/120000". The error says what is wrong and what would be right.
func ParseRule(s string) (Rule, error) {
	var r Rule
	numbers := s
	if i := strings.LastIndexByte(s, '='); i >= 0 {
		r.Glob, numbers = strings.TrimSpace(s[:i]), s[i+1:]
		if r.Glob == "" {
			return Rule{}, fmt.Errorf("window %q: nothing stands before the =; %s", s, ruleForm)
		}
	}
	total, input, both := strings.Cut(numbers, "/")
	var err error
	if r.Total, err = parseTokens(total); err != nil {
		return Rule{}, fmt.Errorf("window %q: the total %w; %s", s, err, ruleForm)
	}
	if both {
		if r.Input, err = parseTokens(input); err != nil {
			return Rule{}, fmt.Errorf("window %q: the input %w; %s", s, err, ruleForm)
		}
	}
	if err := r.validate(); err != nil {
		return Rule{}, fmt.Errorf("window %q: %w", s, err)
	}
	return r, nil
}

func parseTokens(s string) (Tokens, error) {
	s = strings.TrimSpace(s)
	if s == "" {
		return 0, errors.New("is missing")
	}
	n, err := strconv.ParseInt(s, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("%s is too large, at most %d", s, MaxTotal)
	case err != nil:
		return 0, fmt.Errorf("%q is no whole number", s)
	case n <= 0:
		return 0, fmt.Errorf("%d is not positive", n)
	}
	return Tokens(n), nil
}

func (r Rule) validate() error {
	switch {
	case r.Total < MinTotal || r.Total > MaxTotal:
		return fmt.Errorf("the total %d must be from %d to %d", r.Total, MinTotal, MaxTotal)
	case r.Input == 0:
		return nil
	case r.Input < MinTotal:
		return fmt.Errorf("the input %d must be at least %d", r.Input, MinTotal)
	case r.Input > r.Total:
		return fmt.Errorf("the input %d is more than the total %d", r.Input, r.Total)
	}
	return nil
}

// validate reports all problems at once.
func (c BookConfig) validate() error {
	var problems []error
	for _, r := range c.Rules {
		if err := r.validate(); err != nil {
			problems = append(problems, fmt.Errorf("window of %q: %w", r.Glob, err))
		}
	}
	if c.Default != 0 && (c.Default < MinTotal || c.Default > MaxTotal) {
		problems = append(problems, fmt.Errorf("default window: %d must be 0 (unknown) or from %d to %d", c.Default, MinTotal, MaxTotal))
	}
	return errors.Join(problems...)
}

// ordered answers the rules with the one first that wins.
func ordered(rules []Rule) []Rule {
	rules = slices.Clone(rules)
	slices.Reverse(rules)
	slices.SortStableFunc(rules, func(a, b Rule) int { return len(b.Glob) - len(a.Glob) })
	return rules
}

// match reports whether name matches the glob. It goes back to the last star
// only, so it takes at most len(glob) * len(name) steps.
func match(glob, name string) bool {
	if glob == "" || glob == "*" {
		return true
	}
	if len(name) > MaxName {
		return false
	}
	g, n := 0, 0
	star, retry := -1, 0
	for n < len(name) {
		if g < len(glob) && glob[g] == '*' {
			star, retry = g, n
			g++
			continue
		}
		if g < len(glob) && glob[g] == '?' {
			_, width := utf8.DecodeRuneInString(name[n:])
			g, n = g+1, n+width
			continue
		}
		if g < len(glob) && lower(glob[g]) == lower(name[n]) {
			g, n = g+1, n+1
			continue
		}
		if star < 0 {
			return false
		}
		_, width := utf8.DecodeRuneInString(name[retry:])
		retry += width
		g, n = star+1, retry
	}
	for g < len(glob) && glob[g] == '*' {
		g++
	}
	return g == len(glob)
}

func lower(b byte) byte {
	if 'A' <= b && b <= 'Z' {
		return b + ('a' - 'A')
	}
	return b
}
