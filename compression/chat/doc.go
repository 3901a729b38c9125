// Package chat reads a chat-completions request by offset and rewrites it by
// splice: what is not replaced leaves as the same bytes, whatever they hold.
//
// # What it promises
//
//   - Nothing that is not replaced is decoded and encoded again: unknown fields,
//     number spellings, escapes, lone surrogates, invalid UTF-8, doubled keys
//     that do not matter, white space and 64-bit integers survive.
//   - It is strict about syntax and depth (at most MaxDepth), and lenient about
//     invalid UTF-8, lone surrogates and number forms.
//   - A key is what its name decodes to: "\u006dessages" is "messages",
//     "Messages" is not.
//   - A doubled "messages" key, or a doubled key that decides what a message is
//     (role, content, tool_calls, tool_call_id, ...), is ErrDuplicateKey: such a
//     body is forwarded as it is, never rewritten, since readers differ in which
//     of the two they take.
//   - No input panics, and time and memory are linear in its length. A body with
//     more than MaxElements messages, parts and calls is not looked into.
//   - The body is never changed, and everything is safe for concurrent use.
//
// # In which order
//
// ReadEnvelope makes one pass over the whole body: it checks the syntax, reads
// the top level and does not look into the messages, beyond noticing what the
// length gate must know (Envelope.Opaque). Parse finds the spans inside them, and
// takes from the envelope where the body's long strings end; ParseSome does that
// for some of them. Seen does what ReadEnvelope does, and remembers that from one
// turn of a conversation to the next: where strings and messages end, under keyed
// names of what comes before, never text.
// Canonical and MessageDigest say when two messages are the same to a model,
// Extend chains them, Cuttable says between which messages a history may be
// divided. Splice writes.
//
// Spans are half-open byte ranges into Request.Body.
//
// # The canonical form
//
// A canonical form is a sequence of fields, each a tag byte, the length of the
// value in eight bytes and the decoded value, in this order: role, name, content
// parts, refusal, audio, calls (id, name, arguments), tool_call_id. What says
// nothing has no field, so absent, null and empty content are equal, and so are
// a string and an array of that one text. A part that is no text is a tree of
// such fields with its keys sorted and cache markers left out. The bytes are
// hashed and shared between replicas, so a change to them is a change of format:
// every stored summary stops matching.
package chat
