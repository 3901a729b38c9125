// Package compression folds a chat request: it replaces the oldest part of the
// conversation by a handoff, so that what is forwarded fits the model's window.
// It is pure: no HTTP server, no Redis, no clock, and the same input gives the
// same bytes on every replica.
//
// # The flow of data
//
//	body ─ chat.ReadEnvelope ─ window.NewBudget ─ (length gate)
//	     ─ Memo.Look             Parse and View, of what is new since the last turn
//	     ─ View.Total ─ (over the trigger?)
//	     ─ View.Target           what an attempt would cover
//	     ─ View.Transcript       what a model is shown, in steps: Script, Notes
//	     ─ View.Accept           its summary becomes a Handoff
//	     ─ View.Deterministic    a Handoff without a model
//	     ─ View.Fold             head + handoff + rest, through the exit gate
//
// # Two counts
//
// A message's reference count is a pure function of its bytes (o200k_base plus
// the published prices of images). Everything that decides HOW uses it: the
// cut, the handoff's size, the levels of the exit gate, against shares of the
// window divided by the correction's step. Everything that decides WHETHER
// (trigger, exit gate) uses that count with images at the price of the model's
// family (View.For): what the upstream has counted itself of the beginning as it
// said (window.Known, found again by View.Prefix), the rest times the correction
// that the upstream's usage taught.
//
// # Groups and cuts
//
// A cut is a position between two messages, counted from the first message
// after the head. It is legal where no tool result after it answers a call
// before it, where the message after it is no result itself, and where that
// message is no user's whose content a handoff cannot lead (null, absent).
//
// Without a model the cut is found by replay: the messages are walked as the
// turns brought them, and the cut moves when what would be sent is over the
// trigger, or leaves no room for recalled passages in what is usable, to the
// oldest place that keeps the tail within its share. It is a function of the
// messages, and of the checkpoint that it goes on from, so between two moves the
// forwarded prefix is the same bytes on every turn and every replica.
//
// # Where the handoff stands
//
// In a user message. If the rest begins with a user's message, it leads that
// message's text. Otherwise it leads a copy of the last covered user message,
// the one that the rest answers (so the user's last words are never lost in a
// long tool loop), and if no user message is covered it is a user message of
// its own. Which of the three holds depends on the covered messages and on the
// first message of the rest alone, so the forwarded prefix does not change from
// turn to turn. A cache marker that was covered moves to the handoff, which then
// is a part of its own; so does the word "json" where a json_object is asked for
// and the word stood in the covered part alone. Instructions that the system
// gave in the middle stand in the handoff's frame, beside the body.
//
// # Recall
//
// When something was folded, the passages of the covered messages that bear on
// the last user message go before its own text, verbatim, with role and position:
// after the handoff where one message carries both, otherwise alone, and then
// nothing before that message is touched. They are ranked by the words, character
// pairs and identifiers that they share with that message, in integers; the
// choice is a function of the covered messages, the handoff, that text and the
// room, so it is the same bytes through all tool rounds of a turn. What drives on
// ("continue"), agrees or thanks recalls nothing: one passage must hold an
// identifier of the message, or words of it that seldom come together.
//
// Quotations are the caller's own bytes, but for what could be read as a frame, as
// another passage's label, or as a control mark of a chat template. Memo keeps
// where they stand, never what they say. OwnText takes them off again, so that a
// folded request can be folded by another gateway behind this one.
//
// Messages are read for it once, in runs of some 64 KB: a run keeps where its
// passages stand and which terms each holds, terms as hashes under a key of the
// Memo, and is named by all the bytes that it was made of. A new question is looked
// up in them, so it costs what its answer is long, and nothing of the choice depends
// on what was remembered: two terms would have to share 64 bits of a hash whose key
// nobody knows.
//
// # The exit gate
//
// Two limits: the tokens of the window and, where it is known, the bytes of a
// body. What does not fit gives up recalled passages first, the worse half, again
// the worse half, then all. For the limit of bytes then media become notes, oldest
// first, those of the last user message after all others, the newest one last.
// Then messages are shrunk: tool results, then arguments inside their JSON, then
// images, then texts, oldest first, to fixed levels that are a function of the
// message alone; the newest group after all others, then the handoff's notes and
// the last user message's media. No cut divides a word that is not data. Never:
// the head, the text of the last user message, calls in flight, arguments that are
// no JSON. A text that was shortened before is shortened as the whole of it would
// have been.
//
// # A handoff by a model
//
// What a summarizer is shown is a function of the messages, the previous handoff
// and the route's window. It is data between marks that nothing inside can form;
// secrets are taken out of every text before the text is cut, and out of the
// answer before it is kept. Where the messages outgrow the route's window they are
// cut into steps, and each step's answer, checked like the last one, is the notes
// of the next.
//
// # A handoff without a model
//
// The covered messages are read as text without secrets, once: a secret is gone
// before anything is cut. They are divided into units: sentences, lines of results
// and of long arguments, and one line for each call with what came of it: what
// failed and what it said, else the first line and the size. A result that a newer
// one repeats is told there; of lines that differ in numbers alone two are told;
// images, sounds and files are named.
//
// The user's requests come first, the first and the newest of all that are
// covered. Then units are taken, those first that tell the most for their tokens
// of what nothing taken tells: a term is worth more the rarer it is among the
// messages and the more of them hold it, and more if it is a file, a path, an id.
// They are printed in order, each line with the role it comes from; a line that
// begins with a dash is another message of the role before. A list of further
// identifiers ends it, half of the room at most. Lines of results, calls and other
// roles say so at their beginning and hold no line end, so nothing in them begins
// a section, ends a frame or speaks for the user.
//
// Where a model wrote a handoff for a part of it, that text is taken over, line by
// line if all of it is more than half of the room; what was written without a model
// is written anew from the messages. All arithmetic is in integers and no map is
// walked, so every replica writes the same bytes. Time is linear in the messages
// but for a sort.
//
// # What may fail how
//
// Nothing here panics on any input. View.Fold answers an *UnfitError only when
// even the lower bound of the smallest form is over the input limit: half of the
// reference count, a quarter for text that is not mostly ASCII, since no
// vocabulary in use gets by with less. It answers ErrForeign for a handoff whose
// digest is not that of the messages it covers. Accept and Notes answer a
// *RefusedError for output that is no summary (its reasons are listed there), is
// too long, is not smaller than what it replaces, or names requests nobody made.
// Script answers ErrNoRoom for a window that holds no useful step.
package compression
