package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/foldgate/foldgate/compression"
	"github.com/foldgate/foldgate/compression/chat"
)

// indexTitle begins the identifier index in a handoff without a model. A test
// holds the product to it.
const indexTitle = "Names and numbers that came up:\n"

// folding is one fold of a conversation, as it would be forwarded.
type folding struct {
	handoff compression.Handoff
	folded  compression.Folded
	asked   string // the question's own text
	text    string // what can be searched: everything else
}

// foldWith folds with a handoff that is given, and reads what came of it. asked
// is the text that is a question and no answer, empty if there is none.
func foldWith(c conversation, h compression.Handoff, p plan, asked string) (folding, error) {
	f, err := c.view.Fold(h, p.budget)
	if err != nil && !unfit(err) {
		return folding{}, fmt.Errorf("fold %d of %d messages: %w", h.Covered, c.view.Len(), err)
	}
	r, err := parse(f.Body)
	if err != nil {
		return folding{}, fmt.Errorf("read the folded request: %w", err)
	}
	texts := textsOf(r)
	if asked != "" {
		withoutQuestion(texts, r, asked)
	}
	return folding{handoff: h, folded: f, asked: asked, text: strings.Join(texts, "\n")}, nil
}

// unfit reports whether no form of a request can fit, and the smallest is there
// all the same.
func unfit(err error) bool {
	_, ok := errors.AsType[*compression.UnfitError](err)
	return ok
}

// withoutQuestion takes the question's own text out of the last user message.
func withoutQuestion(texts []string, r *chat.Request, asked string) {
	for i, m := range slices.Backward(r.Messages) {
		if m.Role == chat.RoleUser {
			texts[i] = strings.TrimSuffix(texts[i], asked)
			return
		}
	}
}

// withoutIndex is a handoff whose identifier index was cut out of its text, and
// the bytes that the index had.
func withoutIndex(h compression.Handoff) (compression.Handoff, int) {
	start := strings.Index(h.Text, indexTitle)
	body, ok := compression.Body(h.Text)
	if start < 0 || !ok {
		return h, 0
	}
	end := strings.Index(h.Text, body) + len(body)
	if end < start {
		return h, 0
	}
	h.Text = h.Text[:start] + h.Text[end:]
	return h, end - start
}
