// Package window knows what a model accepts, and what of it one request may use.
//
// # Where a window comes from
//
// A Book answers Lookup from the first of these that knows:
//
//  1. Config: a Rule of the operator. The longest matching glob wins, of equally
//     long ones the later.
//  2. Advertised: the upstream said so when it was asked, lately (Advertise).
//  3. Learned: an overflow error of the upstream said so, to this tenant, within
//     the last LearnedFor (Learn).
//  4. Table: the model is well known (models.txt).
//  5. Default: the operator's window for what nothing else knows.
//  6. Unknown: Total is zero, and nothing is folded beforehand.
//
// An overflow error is the better witness than an announcement, the upstream's or
// the table's: where it allows less, it comes first. Where it allows as much or
// more it says nothing new. And an acceptance is the better witness than both: what
// is less than the upstream was seen to accept does not count (AcceptedAbove).
//
// Total, Input and Output are three numbers, and few sources name all of them. What
// one leaves out is taken from the next one that knows it, if it can be: an input
// limit that is less than the total, an output limit that is not more. Bytes is a
// fourth, for itself: the longest body, learned only.
//
// # Invariants
//
//   - Lookup never waits for anything but another goroutine's few instructions,
//     never allocates, and never calls out.
//   - Nothing is made up. A learned or advertised window is plausible (MinLearned
//     to MaxLearned); a size named as a lower bound is none.
//   - A learned window counts only where it is lower than what is advertised or in
//     the table: a wrong error text can cost a fold, never let an oversized request
//     through. It goes when the upstream accepts more.
//   - An advertised or table window that the upstream was seen to exceed does not
//     count for that scope for LearnedFor, nor does a default below what was
//     accepted.
//   - A model that is announced with other limits than before is another one: what
//     was learned and accepted before is forgotten.
//   - What is learned and advertised is kept per tenant, so that nothing that one
//     tenant was told reaches another.
//   - Memory is bounded: MaxScopes scopes, MaxModels lessons and as many
//     advertisements in each, as many corrections as scopes; the least recently
//     used goes first. A name of more than MaxName bytes is not remembered, and is
//     in no table.
//   - The same calls with the same times give the same answers.
//   - Rules change without forgetting: With makes a book with other rules over the
//     same lessons. A book's own rules never change.
//
// # Sharing between replicas
//
// Export gives what was learned about one model as a small value, Import joins it
// with what another book knows. Of each part (the limit, what was accepted, the
// longest body) the later word stands, of two corrections the one that more
// observations stand behind, then the later. So books that heard the same words
// know the same, in whatever order and however often they heard them. To
// forget is a word too, so that a copy from before does not bring back what was
// disproved. Each word keeps the time at which it expires, and none expires later
// than LearnedFor from now whatever the clock of the replica that said it: a value
// that is passed on does not live longer for it. A word that contradicts another
// counts as said after it, also where the clocks differ. Advertisements are not
// shared: each replica can ask.
//
// # The correction
//
// Observe compares what an upstream reports with what we counted; Correction is
// an upper estimate of that ratio, not its mean, since a request too large is
// refused and one too small only wastes a little. Tokens times the correction is
// what decides whether a request fits. Step rounds it up to one of a few values,
// so that what decides how a request is cut seldom changes.
//
// Some servers cut what is too long for them and say nothing; then the report is
// of what was left. So a report of fewer tokens than ours is believed only when
// requests of quite different sizes show the same ratio, and never below 0.75.
//
// # The budget
//
// NewBudget turns limits into what one request may use: usable is the smaller of
// the input limit and total less the output reserve, less a safety margin of 4 %
// and at least 64; the trigger is a share of usable. For every known window
// 0 < trigger <= usable <= total holds.
//
// # The table and how to refresh it
//
// models.txt holds facts of public tables: the name of a model, total, input and
// output limit. Its head says which tables, of which day. To refresh it, look up
// the limits in models.dev (its repository has a file per model) and LiteLLM's
// model_prices_and_context_window.json, change or add rows, and write the day
// into the head. Take the maker's own figures over a reseller's. Where two good
// sources differ the larger figure stands: one too large costs one refused
// request, from which the true one is learned; one too small folds
// conversations that would have fit. Leave out what is in doubt. The tests check
// the form of the file.
package window
