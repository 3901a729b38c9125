package compression

import (
	"strings"

	"github.com/foldgate/foldgate/compression/chat"
)

// A client may compact its conversation itself: it sends all of it to a model and
// asks for a summary. That request must see the original as long as it fits, or
// the client's own summary would be made from ours.

// edgeBytes is how much of a message's begin and end is looked at. Clients put the
// wish before or behind the conversation, whatever its size.
const edgeBytes = 2 << 10

// Compacting reports whether the request looks like a client that compacts its
// own conversation: it cannot call a tool, its last message is a user's, and that
// message asks, at its begin or end, for a summary of the conversation. Where
// nothing but that message follows the head, the head may ask instead. It knows
// English words only. It reads the last message whole, so it is for requests that
// are over the trigger.
func (v *View) Compacting() bool {
	v.Open()
	n := len(v.Messages)
	if v.Len() == 0 || v.Messages[n-1].Role != chat.RoleUser || !v.toolless() {
		return false
	}
	if asksSummary(v.Text(n - 1)) {
		return true
	}
	if v.Len() > 1 {
		return false
	}
	for i := range v.Head {
		if asksSummary(v.Text(i)) {
			return true
		}
	}
	return false
}

// toolless: no tools, an empty list of them, or tool_choice "none".
func (v *View) toolless() bool {
	if v.Tools.Empty() || v.ToolsOff {
		return true
	}
	tools := v.Tools.Of(v.Body)
	return tools[0] != '[' || strings.TrimSpace(string(tools[1:min(len(tools), 64)])) == "]"
}

// asksSummary looks at the begin and the end of a text.
func asksSummary(text string) bool {
	if len(text) <= 2*edgeBytes {
		return wishes(text)
	}
	return wishes(text[:edgeBytes]) || wishes(text[len(text)-edgeBytes:])
}

// wishes reports whether a sentence of the text asks for a summary of a
// conversation. Three ways of asking are known, each seen in several agents:
//
//   - a verb and what it is done to: summarize, condense, compact … the
//     conversation, the session, the messages above;
//   - a thing to make: create, write, provide … a summary, a checkpoint, a
//     handoff … of the conversation, or for the model that goes on with it;
//   - a part to play: tasked with summarizing, performing a compaction of it.
func wishes(text string) bool {
	s := sentence{words: make([]string, 0, longestWish), opens: make([]bool, 0, longestWish)}
	for line := range strings.SplitSeq(strings.ToLower(text), "\n") {
		opens := true
		for field := range strings.FieldsSeq(line) {
			if word := strings.Trim(field, marks); word != "" {
				s.words, s.opens, opens = append(s.words, word), append(s.opens, opens), false
			}
			if ends(field) || len(s.words) == longestWish {
				if s.wish() {
					return true
				}
				s.clear()
			}
		}
		if opens { // nothing in it: a paragraph ends
			if s.wish() {
				return true
			}
			s.clear()
		}
	}
	return s.wish()
}

// marks are what may stand around a word.
const marks = "\"'`*_#<>()[]{},:;.!?-—…“”‘’"

// longestWish is the number of words of the longest sentence that is read whole.
const longestWish = 64

func ends(field string) bool {
	return strings.HasSuffix(field, ".") || strings.HasSuffix(field, "!") || strings.HasSuffix(field, "?") || strings.HasSuffix(field, ">")
}

// sentence is the words of one, in lower case and without marks around them.
type sentence struct {
	words []string
	opens []bool // the word is its line's first
}

func (s *sentence) clear() { s.words, s.opens = s.words[:0], s.opens[:0] }

// How far apart the words of a wish may stand.
const (
	reachObject = 9
	reachNoun   = 8
	reachNext   = 14
)

func (s *sentence) wish() bool {
	for i, word := range s.words {
		switch {
		case summarizes(word) && s.commanded(i) && s.conversation(i+1, i+reachObject):
			return true
		case makes(word) && s.commanded(i):
			if n := s.noun(i+1, i+reachNoun); n > 0 && (s.conversation(i+1, n+reachNext) || s.successor(n+1, n+reachNext)) {
				return true
			}
		}
	}
	return false
}

// commanded: the verb at i begins the sentence or a line of it, or follows what makes it a wish,
// so that "a function to summarize messages" is none.
func (s *sentence) commanded(i int) bool {
	for i > 0 && !s.opens[i] && strings.HasSuffix(s.words[i-1], "ly") { // briefly, concisely
		i--
	}
	if i == 0 || s.opens[i] {
		return true
	}
	switch s.words[i-1] {
	case "please", "now", "then", "must", "should", "will", "are", "with", "and", "by", "instead", "task:", "you":
		return true
	case "to":
		return s.before(i-1, "task", "job", "goal", "want", "need", "asked", "going", "role", "responsibility", "responsible", "have")
	case "agent", "assistant", "specialist":
		return true // "You are an agent creating …"
	}
	return false
}

// before reports whether one of the words stands among the five before i.
func (s *sentence) before(i int, any ...string) bool {
	for _, word := range s.words[max(0, i-5):i] {
		for _, w := range any {
			if word == w {
				return true
			}
		}
	}
	return false
}

// summarizes knows the verbs that mean it by themselves.
func summarizes(word string) bool {
	switch word {
	case "summarize", "summarise", "summarizing", "summarising", "condense", "condensing",
		"compact", "compacting", "compress", "compressing", "recap", "distill":
		return true
	}
	return false
}

// makes knows the verbs that need a noun.
func makes(word string) bool {
	switch word {
	case "create", "creating", "write", "writing", "provide", "providing", "produce", "producing", "generate", "generating",
		"give", "make", "making", "perform", "performing", "prepare", "preparing", "update", "updating", "compile", "draft",
		"build", "output", "return", "construct":
		return true
	}
	return false
}

// noun is where the thing to make stands, or 0.
func (s *sentence) noun(from, to int) int {
	for i := from; i < min(to, len(s.words)); i++ {
		switch s.words[i] {
		case "summary", "summaries", "summarization", "checkpoint", "handoff", "hand-off", "compaction", "recap", "digest",
			"briefing", "condensation":
			return i
		case "prompt": // "a detailed prompt for continuing our conversation"
			if i+2 < len(s.words) && strings.HasPrefix(s.words[i+2], "continu") {
				return i
			}
		}
	}
	return 0
}

// conversation reports whether one of the words is what is to be summarized.
// Words that mean much else count only beside one that says which.
func (s *sentence) conversation(from, to int) bool {
	for i := from; i < min(to, len(s.words)); i++ {
		switch word := s.words[i]; word {
		case "conversation", "conversations", "dialogue", "dialog", "chat", "session", "trajectory":
			return true
		case "history", "messages", "turns", "interactions", "exchange", "discussion":
			if s.near(i, "above", "our", "message", "conversation", "chat", "earlier", "previous", "preceding", "prior", "old", "older", "new", "far") {
				return true
			}
		case "context":
			if s.near(i, "checkpoint", "window", "compaction", "current", "conversation", "above") {
				return true
			}
		}
	}
	return false
}

// near reports whether one of the words stands within three of i.
func (s *sentence) near(i int, any ...string) bool {
	for _, word := range s.words[max(0, i-3):min(i+4, len(s.words))] {
		for _, w := range any {
			if word == w {
				return true
			}
		}
	}
	return false
}

// successor reports whether the words speak of who goes on from the summary.
func (s *sentence) successor(from, to int) bool {
	who, goes := false, false
	for i := from; i < min(to, len(s.words)); i++ {
		switch s.words[i] {
		case "llm", "model", "agent", "assistant", "instance", "successor":
			who = true
		case "resume", "resumes", "continue", "continues", "continuing", "takes", "pick", "picks":
			goes = true
		}
	}
	return who && goes
}
