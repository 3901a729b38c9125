package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/foldgate/foldgate/compression"
	"github.com/foldgate/foldgate/compression/chat"
)

// errNoData says that there is nothing to measure.
var errNoData = errors.New("no recorded requests")

// memoEntries holds every message of every file, whole and at every stop.
const memoEntries = 1 << 16

// file is one recorded conversation with what a folded copy should still tell.
type file struct {
	conversation

	facts facts
}

// conversation is a request to be folded: a file, or its beginning, or a file
// with another question at its end.
type conversation struct {
	body  []byte
	view  *compression.View
	texts []string
	words **source // what its file says; read when it is asked for
	name  string   // of its file
}

// said is what the conversation says.
func (c conversation) said() *source {
	if *c.words == nil {
		*c.words = newSource(c.view.Request)
	}
	return *c.words
}

// load reads the requests in a folder of recordings, in the order of their names.
func load(dir string, memo *compression.Memo) ([]*file, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "requests", "*.facts.json"))
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", dir, err)
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("%w in %s", errNoData, filepath.Join(dir, "requests"))
	}
	slices.Sort(paths)
	files := make([]*file, 0, len(paths))
	for _, path := range paths {
		f, err := loadFile(path, memo)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

// loadFile reads a file of facts and the request beside it.
func loadFile(factsPath string, memo *compression.Memo) (*file, error) {
	path := strings.TrimSuffix(factsPath, ".facts.json")
	body, err := os.ReadFile(path + ".json") //nolint:gosec // the folder is the caller's to name
	if err != nil {
		return nil, fmt.Errorf("read the request: %w", err)
	}
	raw, err := os.ReadFile(factsPath) //nolint:gosec // as above
	if err != nil {
		return nil, fmt.Errorf("read the facts: %w", err)
	}
	f := &file{}
	name := filepath.Base(path)
	if f.facts, err = readFacts(raw); err != nil {
		return nil, fmt.Errorf("read the facts of %s: %w", name, err)
	}
	if f.conversation, err = newConversation(body, memo); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	f.name = name
	*f.words = newSource(f.view.Request)
	return f, nil
}

func newConversation(body []byte, memo *compression.Memo) (conversation, error) {
	c, err := newView(body, memo)
	if err != nil {
		return conversation{}, err
	}
	c.texts = textsOf(c.view.Request)
	return c, nil
}

// newView is a conversation of which the texts are not read.
func newView(body []byte, memo *compression.Memo) (conversation, error) {
	r, err := parse(body)
	if err != nil {
		return conversation{}, err
	}
	return conversation{body: body, view: memo.View(r), words: new(*source)}, nil
}

func parse(body []byte) (*chat.Request, error) {
	e, err := chat.ReadEnvelope(body)
	if err != nil {
		return nil, fmt.Errorf("read the envelope: %w", err)
	}
	r, err := chat.Parse(body, e)
	if err != nil {
		return nil, fmt.Errorf("read the messages: %w", err)
	}
	return r, nil
}

// until is the conversation as it was after its first n messages.
func (c conversation) until(n int, memo *compression.Memo) (conversation, error) {
	if n >= len(c.view.Messages) {
		return c, nil
	}
	end := c.view.Messages[n-1].Span.End
	return c.other(slices.Concat(c.body[:end], c.body[c.view.Envelope.Messages.End-1:]), memo)
}

// asking is the conversation with a text of a user's as its last message, in the
// place of the user message that it ends with, if it does.
func (c conversation) asking(text, name string, memo *compression.Memo) (conversation, error) {
	last := &c.view.Messages[len(c.view.Messages)-1]
	end := c.view.Envelope.Messages.End - 1
	start, comma := end, ","
	if last.Role == chat.RoleUser {
		start, comma = last.Span.Start, ""
	}
	return c.other(slices.Concat(c.body[:start], []byte(comma), userMessage(text, name), c.body[end:]), memo)
}

// other is another request that says nothing but what this one does.
func (c conversation) other(body []byte, memo *compression.Memo) (conversation, error) {
	o, err := newConversation(body, memo)
	o.words, o.name = c.words, c.name
	return o, err
}

// userMessage is a message as an SDK would write it.
func userMessage(text, name string) []byte {
	m := struct {
		Role    string `json:"role"`
		Name    string `json:"name,omitempty"`
		Content string `json:"content"`
	}{"user", name, text}
	raw, err := json.Marshal(m)
	if err != nil { // strings always have a form
		panic(err)
	}
	return raw
}

// textsOf is the text of every message of a request.
func textsOf(r *chat.Request) []string {
	texts := make([]string, len(r.Messages))
	for i := range r.Messages {
		texts[i] = textOf(r, i)
	}
	return texts
}

// textOf is what of a message can be searched: content, text parts, names and
// arguments of calls. Reasoning that is echoed beside the content does not count.
func textOf(r *chat.Request, i int) string {
	text := r.Text(i)
	m := &r.Messages[i]
	if len(m.Calls) == 0 {
		return text
	}
	var b strings.Builder
	b.WriteString(text)
	for k := range m.Calls {
		b.WriteByte('\n')
		b.WriteString(m.Calls[k].Name)
		b.WriteByte('\n')
		b.WriteString(r.Decode(m.Calls[k].Arguments))
	}
	return b.String()
}
