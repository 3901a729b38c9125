// Package window knows what a model accepts, and what of it one request may use.
//
// # Where a window comes from
//
// A Book answers Lookup from the first of these that knows:
//
//  1. Config: a Rule of the operator. The longest matching glob wins, of equally
//     long ones the later.
//  2. Advertised: what the upstream itself announces. Nothing asks upstreams yet;
//     its place in the order is fixed.
//  3. Learned: an overflow error of the upstream said so, to this tenant, within
//     the last LearnedFor.
//  4. Table: the model is well known (models.txt).
//  5. Default: the operator's window for what nothing else knows.
//  6. Unknown: Total is zero, and nothing is folded beforehand.
//
// # Invariants
//
//   - Lookup never waits for anything but another goroutine's few instructions,
//     never allocates, and never calls out.
//   - A learned window is plausible and, when something better than a default is
//     known, lower than that: a wrong error text can cost a fold, never let an
//     oversized request through. It goes when the upstream accepts more.
//   - A table window that the upstream was seen to exceed does not count for that
//     scope for LearnedFor, nor does a default below what was accepted.
//   - What is learned is kept per tenant, so that no tenant's upstream errors
//     reach another.
//   - Memory is bounded: MaxScopes scopes, MaxModels models in each, as many
//     corrections as scopes; the least recently used goes first. A name of more
//     than MaxName bytes is not remembered, and is in no table.
//   - The same calls with the same times give the same answers.
//
// # The correction
//
// Observe compares what an upstream reports with what we counted; Correction is
// an upper estimate of that ratio, not its mean, since a request too large is
// refused and one too small only wastes a little. Tokens times the correction is
// what decides whether a request fits. Step rounds it up to one of a few values,
// so that what decides how a request is cut seldom changes.
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
