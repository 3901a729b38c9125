// Package middleware is the HTTP edge of Foldgate: a plain
// func(http.Handler) http.Handler that notices a chat request which outgrew its
// model's window, folds it, and hands everything else on byte for byte.
//
// # The life of a request
//
// The numbers are those of section 3 of docs/design.md.
//
//  1. Route. A POST whose path ends in /chat/completions is a chat request;
//     everything else goes to the next handler untouched.
//  2. Measure. The body is read once, within body_limit and the process's
//     memory budget, and from there on the next handler gets it from memory.
//     Length gate, scan, estimate, count: the cheapest test that decides ends
//     the measuring. Under the trigger nothing else happens.
//  3. Identify. Key and chain digests; no store call yet.
//  4. Reuse. One read of the conversation; the newest checkpoint whose digest
//     is this request's own chain at its count makes the candidate.
//  5. Attempt. Over the trigger the coordinator is asked for a summary: it
//     joins, begins or declines an attempt. It never runs on the request's
//     context.
//  6. Wait, only if neither the original nor the candidate fits.
//  7. Exit gate. What is sent fits, or is the smallest form there is, or the
//     caller gets one precise 400.
//  8. Forward and settle. The response's head is held only while a retry is
//     possible; what was learned from the answer (usage, an overflow error, a
//     structural refusal) is used; the checkpoint is settled or restored.
//
// # Turns
//
// From the scan on, what computes for a body of 16 KiB or more has a turn: all
// processors but one have one each, for bodies under 1 MiB and again for longer ones.
// A turn is given back before anything is waited for, and who comes back from waiting
// is let in before those who begin. So many large requests at once make each other
// wait, and not the small ones. Summaries are computed in turns too. A caller that
// leaves while it waits for one is not computed for. The wait is in Report.Added.
//
// # Beside the requests
//
// A large request of a model without a configured window has the upstream asked
// what it accepts, with that request's own credential, at most once at a time for
// each tenant, and answers are kept. What upstreams taught this replica is told to
// others through Config.Learned, and what they were taught is loaded for the scopes
// in use. No request waits for either, and without either each replica learns from
// overflow errors of its own. Wait ends both.
//
// # A configuration that changes
//
// A Middleware's configuration never changes; With makes another one that shares
// everything else. A request and what it began see one configuration from their
// beginning to their end, whatever changes meanwhile, and nothing that was learned,
// held or counted is lost by a change.
//
// # Traces
//
// With Config.TracerProvider every request has a span: a server's, below the
// caller's by the W3C header, or an internal one where the service around this
// package has made a server's span already. Chat requests are named by their route,
// all others by their method. Below it are compression.fold (what was decided, and
// the tokens), the attempt that it began, with its "chat {model}" call for the
// summary, the calls of the store, and, by ProxyConfig.TracerProvider, the forwarded
// call: a plain HTTP client span, since the chat is the caller's to describe. A
// request that joined an attempt, of whatever replica, links to that attempt's span.
// What leaves names these spans in place of the caller's. The names, and what is
// left out, are those of internal/semconv. Nothing of a body, a query, a header or
// a conversation's text is in any of it. A request that is not sampled costs two
// header fields and no more; without a provider nothing is done.
//
// # What may fail how
//
// Any doubt in 2 to 6 ends in the request going on: unchanged where it fits or
// where its size is not known, folded without a model otherwise. No request under
// the trigger waits for the store (it may be asked beside one), and a store that
// is down costs one time-out, then none. Errors of our own are the table in
// errors.go; text of upstreams is only ever the upstream's own response.
//
// State is settled in a deferred step, since the next handler may panic with
// http.ErrAbortHandler when a response breaks.
package middleware
