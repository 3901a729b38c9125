package main

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/foldgate/foldgate/compression/chat"
)

// source knows what a conversation says, to tell what of a fold it does not say.
// Not for concurrent use.
type source struct {
	text  string          // everything, decoded
	flat  string          // the same with white space made one space
	known map[string]bool // terms that were looked up
}

// newSource reads all messages of a request: texts, names, arguments, the strings
// inside those that are JSON, and where media are or, if they are sent along, what
// type they are of.
func newSource(r *chat.Request) *source {
	var b strings.Builder
	for i := range r.Messages {
		write := func(s string) { b.WriteString(s); b.WriteByte('\n') }
		write(r.Messages[i].Name)
		write(r.Text(i))
		inside(r.Text(i), write)
		for k := range r.Messages[i].Parts {
			address, _, _ := strings.Cut(r.Decode(r.Messages[i].Parts[k].URL), ",")
			write(address)
		}
		for k := range r.Messages[i].Calls {
			c := &r.Messages[i].Calls[k]
			arguments := r.Decode(c.Arguments)
			write(c.Name)
			write(arguments)
			inside(arguments, write)
		}
	}
	text := b.String()
	return &source{text: text, flat: oneLine(text), known: map[string]bool{}}
}

// inside calls visit for every string in a text that is JSON, names included,
// and looks into those that are JSON themselves.
func inside(text string, visit func(string)) {
	text = strings.TrimSpace(text)
	if text == "" || !strings.ContainsRune(`{["`, rune(text[0])) {
		return
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	for {
		t, err := d.Token()
		if err != nil {
			return
		}
		if s, ok := t.(string); ok && len(s) < len(text) {
			visit(s)
			inside(s, visit)
		}
	}
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// term is an identifier or a number in a text.
type term struct {
	value string
	// marked: it touches a mark that says that something was cut there, so that
	// a piece of an identifier is no claim.
	marked bool
}

// terms finds the identifiers and numbers of a text: runs of ASCII letters,
// digits, underlines, and of - . / : @ between them, that hold a digit, one of
// these marks or a capital after a small letter. Other scripts have none.
func terms(text string, visit func(term)) {
	for i := 0; i < len(text); {
		if !wordByte(text[i]) {
			i++
			continue
		}
		start, end := i, i // end: behind the last letter or digit
		for i < len(text) && (wordByte(text[i]) || joint(text[i])) {
			if i++; wordByte(text[i-1]) {
				end = i
			} else if i-end > 1 && text[i-1] != '/' {
				break // two marks in a row belong to no identifier, but for a path's
			}
		}
		if word := text[start:end]; identifier(word) {
			visit(term{word, cutBefore(text[:start]) || cutAfter(text[end:])})
		}
		i = max(i, end)
	}
}

func wordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}

func joint(c byte) bool { return strings.IndexByte("-./:@", c) >= 0 }

func identifier(word string) bool {
	if strings.Trim(word, "_") == "" {
		return false
	}
	for i := range len(word) {
		switch c := word[i]; {
		case c >= '0' && c <= '9', c == '_', joint(c):
			return true
		case c >= 'A' && c <= 'Z' && i > 0 && word[i-1] >= 'a' && word[i-1] <= 'z':
			return true
		}
	}
	return false
}

// cutMark is what the product writes where it cut: dots, or a note in brackets.
const cutMark = "…"

func cutBefore(text string) bool {
	text = strings.TrimRight(text, " \n")
	return strings.HasSuffix(text, cutMark) || strings.HasSuffix(text, "]")
}

func cutAfter(text string) bool {
	text = strings.TrimLeft(text, " \n")
	return strings.HasPrefix(text, cutMark) || strings.HasPrefix(text, "[")
}

// ownWords is what the product adds around what it quotes: labels and sizes. Its
// frames have no identifiers.
var ownWords = regexp.MustCompile(`(?m)^(?:#\d+ )?(?:user|assistant|tool|call|system|other)[^:\n]{0,60}: ` +
	`|\(\d+ (?:bytes|lines)[^)\n]{0,40}\)`)

// cutNotes are its notes of what it cut. They have numbers of its own, and are marks.
var cutNotes = regexp.MustCompile(`\[[^\]\n]{0,80} left out[^\]\n]{0,120}\]`)

// invented are the terms of a text that the source does not have, each once. As
// long as nothing marks a cut, a piece of an identifier is not that identifier.
func (s *source) invented(text string) []string {
	var out []string
	text = cutNotes.ReplaceAllString(text, cutMark)
	terms(ownWords.ReplaceAllString(text, "\n"), func(t term) {
		if !s.has(t) && !slices.Contains(out, t.value) {
			out = append(out, t.value)
		}
	})
	return out
}

func (s *source) has(t term) bool {
	if known, ok := s.known[t.value]; ok && (known || !t.marked) {
		return known
	}
	if t.marked {
		return strings.Contains(s.text, t.value)
	}
	found := s.bounded(t.value)
	s.known[t.value] = found
	return found
}

// bounded reports whether the source has the value where no letter, digit or
// underline comes before or after it.
func (s *source) bounded(value string) bool {
	for at := 0; ; {
		i := strings.Index(s.text[at:], value)
		if i < 0 {
			return false
		}
		start, end := at+i, at+i+len(value)
		if (start == 0 || !wordByte(s.text[start-1])) && (end == len(s.text) || !wordByte(s.text[end])) {
			return true
		}
		at = start + 1
	}
}

// madeText is the text of the messages that are not sent as they came: whatever
// the product wrote is in it. original has the client's messages as bytes; asked
// is what the last user message said itself.
func madeText(r *chat.Request, original map[string]bool, asked string) string {
	var b strings.Builder
	write := func(s string) { b.WriteString(s); b.WriteByte('\n') }
	for i := range r.Messages {
		if original[string(r.Raw(i))] {
			continue
		}
		text := r.Text(i)
		if r.Messages[i].Role == chat.RoleUser {
			text = strings.TrimSuffix(text, asked)
		}
		write(text)
		for k := range r.Messages[i].Calls {
			arguments := r.Decode(r.Messages[i].Calls[k].Arguments)
			if json.Valid([]byte(arguments)) {
				inside(arguments, write)
				continue
			}
			write(arguments)
		}
	}
	return b.String()
}
