// Package backendtest imitates the servers that stand behind Foldgate, as far as
// a gateway can tell: where they are asked and with which credential, what they
// refuse and in which status and body, how they say that a request is too large,
// how they frame their streams, and what they tell of their windows.
//
// # What is imitated
//
// All lists the backends. Five are strict: their validators refuse what the real
// ones are known to refuse, each with its own words. The others are rows of a
// table: the rules in which they differ, their overflow, their framing. A
// Backend is data; Serve makes a server of it, with a window and a tokenizer
// that is nobody else's, so that its counts differ from Foldgate's as those of
// real models do.
//
// # What it promises
//
//   - A validator shares no code with package compression, and reads JSON with
//     another reader.
//   - A server answers the same request with the same bytes.
//   - A request is judged in the order in which servers judge: path, credential,
//     JSON, messages, size. Nothing that is refused is answered.
//
// What is known of the real servers is from their published sources and from
// answers that their users have shown. Where recordings are at hand (see
// CONTRIBUTING.md) a test holds the framing and the overflow errors against them.
//
// # Concurrency
//
// A Backend is a value that nobody changes. A Server is safe for concurrent use.
package backendtest
