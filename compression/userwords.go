package compression

import (
	"unicode"

	"github.com/foldgate/foldgate/compression/chat"
)

// userWords is what users said, and what they answered to.
type userWords struct {
	anybody bool
	stems   map[string]bool

	words, usual, other int // all words; those usual in English, and in others
	letters, foreign    int // all letters; those that are not Latin
}

// saidBy reads the first n messages. What a user answered to a question that a
// tool asked counts, and so does what the assistant had said just before: a
// "yes" means that.
func (v *View) saidBy(n int) *userWords {
	s := &userWords{stems: map[string]bool{}}
	english, other := wordSet(englishWords), wordSet(otherWords)
	asking := map[string]bool{}
	for p := range n {
		m := &v.Messages[v.Head+p]
		for i := range m.Calls {
			if asksUser(m.Calls[i].Name) {
				asking[callKey(m.Calls[i].ID, m.Calls[i].Name)] = true
			}
		}
		switch {
		case m.Role == chat.RoleUser, m.Role == chat.RoleOther:
			s.anybody = true
			text := withoutFrame(v.Text(v.Head + p))
			s.add(text)
			s.weigh(text, english, other)
			if p > 0 && v.Messages[v.Head+p-1].Role == chat.RoleAssistant {
				_, end := clip(v.Text(v.Head+p-1), 0, answeredTo)
				if end == "" {
					end = v.Text(v.Head + p - 1)
				}
				s.add(end)
			}
		case m.Role.Result() && (asking[callKey(m.ToolCallID, m.Name)] || asksUser(m.Name)):
			s.anybody = true
			s.add(v.Text(v.Head + p))
		}
	}
	return s
}

// asksUser reports whether a tool is one that puts a question to the user.
func asksUser(name string) bool {
	for _, word := range [...]string{"ask", "user", "question", "human", "confirm", "elicit", "feedback"} {
		if containsFold(name, word) {
			return true
		}
	}
	return false
}

// knows reports whether a word of a sentence that means something was used.
func (s *userWords) knows(sentence string, plain map[string]bool) bool {
	for word := range wordsIn(sentence) {
		if means(word, plain) && s.stems[stemOf(word)] {
			return true
		}
	}
	return false
}

func (s *userWords) add(text string) {
	for word := range wordsIn(text) {
		s.stems[stemOf(word)] = true
	}
}

// weigh counts what tells the language.
func (s *userWords) weigh(text string, english, other map[string]bool) {
	for word := range wordsIn(text) {
		s.words++
		if english[word] {
			s.usual++
		}
		if other[word] {
			s.other++
		}
	}
	for _, r := range text {
		if unicode.IsLetter(r) {
			s.letters++
			if !unicode.Is(unicode.Latin, r) {
				s.foreign++
			}
		}
	}
}

// english reports whether the users wrote in English, as far as that is plain.
func (s *userWords) english() bool {
	return s.words > 0 && s.foreign*5 <= s.letters && s.usual*englishIn >= s.words && s.usual >= 4*s.other
}
