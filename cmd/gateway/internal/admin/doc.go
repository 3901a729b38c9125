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
// # What may fail how
//
// A change is one call to the store. It happened, or it is refused with the
// reason (409), or the store could not be asked or did not answer (503); nothing
// is asked twice and nothing is guessed. Each change writes one audit line,
// refused ones too. Errors have the envelope of the data plane.
//
// No request scans the store: lists are what this replica remembers.
package admin
