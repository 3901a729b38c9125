// Package foldtest judges folded requests. It is to compression what
// ownershiptest is to ownership: whoever changes how a request is folded has to
// get past it unchanged.
//
// The judge shares no code with package compression and reads JSON with another
// reader. It sees what a client sent, what is forwarded instead and the text of
// the handoff, and tells what of sections 5.1, 5.2 and 5.5 of the design is
// broken. Every breach begins with the name of its rule:
//
//   - json: what is forwarded is one JSON value with one array of messages.
//   - fields: tools, response_format and every other field outside the messages
//     is the same, byte for byte.
//   - number: the head, at most one message for the handoff, the rest.
//   - head: every leading system or developer message stays as it came.
//   - kept: a message of the tail stays as it came, unless the exit gate shrank
//     it, and no more of them changed than were reported shrunk.
//   - shrunk: shrinking touches texts, string arguments and images alone, keeps
//     ids, names and the number of calls and parts, and adds nothing. Calls in a
//     message that no API lets call stay as they came.
//   - arguments: arguments that were JSON are JSON, with the same keys at the
//     top; others are as they were.
//   - flight: calls that wait for their results at the end are as they came.
//   - group: no cut between a call and its results; the rest begins with no
//     result.
//   - pairing: every message of the tail has the faults of pairing that it had,
//     no more (worse) and no less (mended).
//   - ids: no id that the client did not send.
//   - system: no system or developer message that the client did not send.
//   - adjacent: no two neighbours of one role that were none before.
//   - carrier: the handoff stands in a user's message: in the first of the rest
//     where that is a user's, else in one of its own or in a copy of the last
//     user's message of the middle.
//   - handoff: the handoff leads that message.
//   - own: what the client wrote in a message that gained text follows it as it
//     came; a message of the gateway's own holds a string.
//   - recall: recalled passages stand in the last user message only, only where
//     the budget has room for them, framed, and each of their lines is one of the
//     middle's.
//   - user: a user's message is there if there was one, and the text of the last
//     one verbatim.
//   - last: the last message stays the last.
//   - marker: the last cache marker of the middle moves to the handoff; there are
//     never more markers than before.
//   - word: the word "json" stays where a json_object is asked for.
//   - size: Fits says whether Tokens is within usable and the body within the
//     limit of bytes; Tokens is Counted, corrected.
//   - strict: a strict backend (see Strict) that takes what the client sent takes
//     what is forwarded. What it refused already may be refused still.
package foldtest
