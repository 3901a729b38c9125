// Package compression folds a chat request: it replaces the oldest part of the
// conversation by a handoff, so that what is forwarded fits the model's window.
// It is pure: no HTTP server, no Redis, no clock, and the same input gives the
// same bytes on every replica.
//
// # The flow of data
//
//	body ─ chat.ReadEnvelope ─ window.NewBudget ─ (length gate)
//	     ─ chat.Parse ─ Memo.View ─ View.Total ─ (over the trigger?)
//	     ─ View.Target           what an attempt would cover
//	     ─ Prompt / Accept       a model's summary becomes a Handoff
//	     ─ View.Deterministic    a Handoff without a model
//	     ─ View.Fold             head + handoff + rest, through the exit gate
//
// # Two counts
//
// A message's reference count is a pure function of its bytes (o200k_base plus
// the published prices of images). Everything that decides HOW uses it: the
// cut, the handoff's size, the levels of the exit gate, against shares of the
// window divided by the correction's step. Everything that decides WHETHER
// (trigger, exit gate) uses the reference count times the correction that the
// upstream's usage taught.
//
// # Groups and cuts
//
// A cut is a position between two messages, counted from the first message
// after the head. It is legal where no tool result after it answers a call
// before it, and where the message after it is no result itself.
//
// # Where the handoff stands
//
// In a user message. If the rest begins with a user's message, it leads that
// message's text. Otherwise it leads a copy of the last covered user message,
// the one that the rest answers (so the user's last words are never lost in a
// long tool loop), and if no user message is covered it is a user message of
// its own. Which of the three holds depends on the covered messages and on the
// first message of the rest alone, so the forwarded prefix does not change from
// turn to turn.
//
// # What may fail how
//
// Nothing here panics on any input. View.Fold answers an *UnfitError only when
// even the lower bound of the smallest form is over the input limit. Accept
// answers a *RefusedError for output that is blank, cut, too long, not smaller
// than what it replaces, a refusal, or naming requests nobody made.
package compression
