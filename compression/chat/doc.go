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
//   - A doubled "messages" key, or a doubled key that decides what a message is
//     (role, content, tool_calls, tool_call_id, ...), is ErrDuplicateKey: such a
//     body is forwarded as it is, never rewritten, since readers differ in which
//     of the two they take.
//   - No input panics, and time and memory are linear in its length.
//
// # In which order
//
// ReadEnvelope makes one pass over the top level and does not look into the
// messages. Parse finds the spans inside them. Canonical and Digest say when
// two messages are the same to a model. Splice writes.
//
// Spans are half-open byte ranges into Request.Body.
package chat
