// Package history shows that a store is linearizable: that whatever many clients
// were answered at once could have been answered by one conversation record that
// takes one call at a time. It is for tests only.
//
// Run lets clients loose on a store, in rounds of fresh conversations, writes
// down when each call began, when it ended and what it answered, and has
// porcupine look for an order of the calls that the model allows.
//
// # The model
//
// The model (state.go, claim.go, steps.go) is the text of package ownership once
// more, written apart from every store and calling none. It answers all of what
// a call returns: generations, phases, reasons, checkpoints in their order with
// settled marks and handoffs, streak, strikes, deaths.
//
// Times are the store's, so the model cannot know them: it keeps for each of them
// the earliest and the latest instant at which it can lie, since a step runs
// between its call and its return. The first answer that names the instant fixes
// it, and every later one must name the same. Where a lease or a cooldown may
// have ended within the call both answers are allowed, and else one.
//
// # Answers that never came
//
// A call without an answer may have run, may not have, and may still run when
// its caller has long gone on. Its step may therefore be taken at any later time,
// or never. A store that asks again by itself tells so through Try: each of its
// tries but the answered one is such a call of its own. ErrUnavailable is taken at
// its word: nothing was written.
//
// # So that every check ends
//
// A history has at most MaxOps calls and MaxUnknown of them without an answer:
// whoever would go over it does not call. It is checked by conversation. A check
// that is not done in time is a failure, never a pass.
//
// A wipe, the loss of a counter alone, and the fall to an earlier state, as in a
// failover, are steps of the model: each happens once to each conversation that it
// concerns, at an instant within the fault that caused it.
package history
