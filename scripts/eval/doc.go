// Command eval measures what a fold keeps, over recorded conversations: their
// folder is named by FOLDGATE_TESTDATA (by default ../shared/testdata), and each
// has a file of facts beside it that a folded copy should still tell. It prints
// Markdown tables; docs/fold.md says how to read them and holds those of the last
// run.
//
//	go run ./scripts/eval                    everything
//	go run ./scripts/eval -quick -only chat  recall alone, of some files
//	go run ./scripts/eval -check             exit code 1 where a hard rule is broken
//	go run ./scripts/eval -o docs/fold.md    into the document, between its marks
//
// # What is measured
//
// A budget is a share of what the product counts for the messages before anything
// is folded, with their framing, pictures by their price; tools and response
// format, which nothing can change, come on top. At a stop it is a share of the
// request as it was then. Every method is charged for the head alike; where head
// and tools leave less than a tenth of the budget there is nothing to divide, and
// no figure.
//
// Literals and questions count when their first evidence lies before the cut that
// dropping the oldest makes at the same budget, so all methods are asked for the
// same. Questions whose answer the conversation does not hold are left out, and
// the text of a question itself is not searched. Identifiers that were needed
// again are measured by stops: the conversation is stopped where 30, 40 … 90 % of
// the bytes of its texts are reached (moved on to where a request can end, each
// place once), folded there, and asked for identifiers that came up before, are
// used again afterwards and are not mentioned in between.
//
// The folds are the product's own: View.Deterministic and View.Fold under one
// setting for all files (shares.flags), and once more with the shipped defaults.
// Recalled passages are asked for with the question as the last user message, and
// elsewhere with the last user message on record.
//
// # Hard rules
//
// Every fold is judged: by package foldtest; by its size, counted anew; and by
// what it says. An identifier or a number in a message that did not come from the
// client as it is must stand in the conversation, bounded as it is there; only at
// a mark that says that something was cut may it be a piece of one. Identifiers
// are found by a scanner of eval's own. The stub model's words are not judged by
// that: the product does not write them.
package main
