// Package admin is the admin plane: what an operator may ask a replica and, with
// a token, change.
//
// # Who may ask
//
// The plane listens on loopback unless a token is configured, but a browser on
// the same machine can be made to send requests there by any page it shows. So
// every request but /livez and /readyz names in Host an address it reached us
// under, localhost or a configured name (a page that rebound its own name to
// loopback names that instead); a change carries no foreign Origin and a content
// type that a form cannot send. With a token configured everything but the page,
// /livez and /readyz needs it as a bearer; without one any bearer is ignored, and
// whatever shows or changes a conversation's content is refused.
//
// The token is looked for in Authorization only. Nothing here is told by what a
// proxy adds (X-Forwarded-Host, X-Forwarded-Proto) or asks for in place of the
// request line (X-HTTP-Method-Override).
//
// # What may fail how
//
// A change is one write to the store. It happened, or it is refused with the
// reason (409), or the store could not be asked or did not answer (503); nothing
// is asked twice and nothing is guessed. It goes on when its caller hangs up.
// Errors have the envelope of the data plane.
//
// # The audit
//
// Each change, each refused one and each request for a conversation's text
// writes one line, "admin audit", at info, before it is answered: operation
// (cancel, restore, forget, handoff), outcome ("done", or the code of the
// refusal), remote, token (whether the right one came with it), conversation,
// generation, attempt; and error, what the store said, where it failed. Never the
// token, a body, the reason of a cancel, a handoff, or a key that is none.
//
// No request scans the store: lists are what this replica remembers, and where a
// list also tells what the store has, it is asked for those by their keys, few at a
// time.
//
// # The page
//
// Folder page holds what a browser is shown at / and what that is made of: one small
// ES module for each subject, no framework, nothing built, nothing from elsewhere.
// It holds no data and asks the plane as any program would. The token stays in the
// memory of api.js. Texts go in as text nodes (dom.js); the policy would refuse
// anything else. Lists, texts and rings are bounded. Package e2e/browser, a module
// of its own, tests it in a real browser.
package admin
