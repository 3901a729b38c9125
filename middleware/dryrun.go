package middleware

import (
	"errors"
	"time"

	"github.com/foldgate/foldgate/compression"
	"github.com/foldgate/foldgate/compression/chat"
	"github.com/foldgate/foldgate/compression/window"
)

// ErrUnknownWindow is DryRun's answer where no window is known for the model.
var ErrUnknownWindow = errors.New("middleware: the model's window is not known")

// DryRunReport says what a fold without a model would come to.
type DryRunReport struct {
	Kind, Reason  string // as Foldgate-Fold
	Model         string
	Before, After window.Tokens
	Limits        window.Limits
	Trigger       window.Tokens
	Usable        window.Tokens
	Messages      int // of the original
	Head          int // leading system and developer messages
	Covered       int // messages that the handoff stands for
	Shrunk        int // messages that the exit gate shrank
	Recalled      int // passages of the covered messages that go before the last user message
	// Body is the request as it would be forwarded.
	Body []byte
}

// DryRun folds one request body without a model and without a store, as a
// replica would that knows neither the conversation nor its upstream. A body
// that is not over the trigger comes back as it is. Errors: chat.ErrNotChat,
// chat.ErrSyntax, chat.ErrDuplicateKey, ErrUnknownWindow,
// *compression.UnfitError.
func DryRun(book *window.Book, s window.Settings, body []byte) (DryRunReport, error) {
	e, err := chat.ReadEnvelope(body)
	if err != nil {
		return DryRunReport{}, err
	}
	rep := DryRunReport{Kind: kindNone, Reason: reasonUnder, Model: e.Model, Body: body}
	rep.Limits = book.Lookup(window.Scope{}, e.Model, time.Now())
	if rep.Limits.Total == 0 && rep.Limits.Input == 0 {
		return rep, ErrUnknownWindow
	}
	req, err := chat.Parse(body, e)
	if err != nil {
		return rep, err
	}
	budget := window.NewBudget(rep.Limits, s, window.Tokens(max(e.MaxTokens, e.MaxCompletionTokens)), 1, 1)
	rep.Trigger, rep.Usable = budget.Trigger, budget.Usable
	view := compression.NewMemo(max(1, len(req.Messages))).View(req).For(e.Model)
	rep.Messages, rep.Head = len(req.Messages), req.Head
	rep.Before = budget.Corrected(view.Total())
	rep.After = rep.Before
	if rep.Before <= budget.Trigger {
		return rep, nil
	}
	h := view.Deterministic(budget, s, nil)
	folded, err := foldOrShrink(view, h, budget)
	if err != nil {
		rep.Kind, rep.Reason = kindUnfit, ""
		return rep, err
	}
	rep.Kind, rep.Reason = kindFallback, reasonMode
	rep.Body, rep.After, rep.Covered, rep.Shrunk, rep.Recalled = folded.Body, folded.Tokens, folded.Covered, folded.Shrunk, folded.Recalled
	return rep, nil
}

// DryRun is DryRun with this middleware's windows and shares.
func (m *Middleware) DryRun(body []byte) (DryRunReport, error) {
	return DryRun(m.cfg.Book, m.cfg.Settings, body)
}
