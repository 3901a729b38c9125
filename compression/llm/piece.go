package llm

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// piece is what one chunk, or one whole object, adds to the answer.
type piece struct {
	text, reasoning, refusal, finish, model string
	chosen                                  bool // there was a choice
}

// wire is the part of a chat completion, or of a chunk of one, that is read.
// Leaves are kept as they came: a wrong type in one field must not lose the
// others.
type wire struct {
	Choices []struct {
		Index   jsontext.Value `json:"index"`
		Delta   *message       `json:"delta"`
		Message *message       `json:"message"`
		Finish  jsontext.Value `json:"finish_reason"`
	} `json:"choices"`
	Model jsontext.Value `json:"model"`
}

type message struct {
	Content          jsontext.Value `json:"content"`
	Refusal          jsontext.Value `json:"refusal"`
	Reasoning        jsontext.Value `json:"reasoning"`
	ReasoningContent jsontext.Value `json:"reasoning_content"`
	ReasoningDetails jsontext.Value `json:"reasoning_details"`
}

// part is one element of a content array, or of reasoning_details.
type part struct {
	Type     jsontext.Value `json:"type"`
	Text     jsontext.Value `json:"text"`
	Thinking jsontext.Value `json:"thinking"`
	Summary  jsontext.Value `json:"summary"`
}

// lenient takes what clients take.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// readPiece reads the first choice. It reports false where data is no object.
func readPiece(data []byte) (piece, bool) {
	var w wire
	if err := json.Unmarshal(data, &w, lenient); err != nil {
		return piece{}, false
	}
	p := piece{model: str(w.Model)}
	for _, c := range w.Choices {
		if i := string(c.Index); i != "" && i != "0" {
			continue
		}
		p.chosen, p.finish = true, str(c.Finish)
		for _, m := range []*message{c.Delta, c.Message} {
			if m != nil {
				p.add(m)
			}
		}
		break
	}
	return p, true
}

func (p *piece) add(m *message) {
	text, thinking := content(m.Content)
	p.text += text
	p.refusal += str(m.Refusal)
	// The same reasoning may stand in several fields: the first that has some counts.
	for _, s := range []string{str(m.ReasoningContent), str(m.Reasoning), details(m.ReasoningDetails), thinking} {
		if s != "" {
			p.reasoning += s
			return
		}
	}
}

// content reads a string, or an array of parts, in which reasoning may stand
// beside the text.
func content(v jsontext.Value) (text, thinking string) {
	if v.Kind() != '[' {
		return str(v), ""
	}
	var said, thought strings.Builder
	for _, p := range parts(v) {
		if str(p.Type) == "thinking" {
			thought.WriteString(details(p.Thinking))
			thought.WriteString(str(p.Thinking))
			continue
		}
		said.WriteString(str(p.Text))
	}
	return said.String(), thought.String()
}

// details joins the readable text of reasoning_details, or of any parts.
func details(v jsontext.Value) string {
	var b strings.Builder
	for _, p := range parts(v) {
		b.WriteString(str(p.Text))
		b.WriteString(str(p.Summary))
	}
	return b.String()
}

func parts(v jsontext.Value) []part {
	if v.Kind() != '[' {
		return nil
	}
	var all []part
	if json.Unmarshal(v, &all, lenient) != nil {
		return nil
	}
	return all
}

// str is the string that v is, or the empty one.
func str(v jsontext.Value) string {
	if v.Kind() != '"' {
		return ""
	}
	s, _ := jsontext.AppendUnquote(nil, v) // invalid UTF-8 is replaced, and fine
	return string(s)
}
