// Package refusal says what an upstream's answer means for a fold: whether the
// request was too large for the model, and which window that teaches, whether
// its body had too many bytes for the server, whether the order of its messages
// was at fault, and how large it was when it was accepted. It is pure, and never
// keeps or returns text of an upstream.
//
// # How a refusal is read
//
//  1. The body is opened. Upstreams wrap errors in five shapes (an error object,
//     an error string, a bare error, an array of one, a detail), and gateways put
//     the JSON of another upstream into a string of their own. All are flattened
//     into texts, codes and numbers. The content type is not consulted. A text
//     that is no JSON is taken as it is, unless the status is 200.
//  2. Vetoes. A status of 429, rate limits, quotas and anything per minute have
//     words in common with an overflow and are none: folding does not cure them.
//  3. The table in wordings.go is asked from top to bottom; the first wording
//     that matches gives the kind, and its named groups give the numbers.
//  4. Codes decide where no wording did, and after them a status of 413: it is
//     about bytes unless the text speaks of tokens.
//
// # What it promises
//
//   - Overflow means that less input can help. OutputCap means that it cannot:
//     the output that was asked for leaves too little of the window by itself.
//   - A Limit is only ever a number that the upstream called its limit, and a
//     plausible one: from 1024 to ten million tokens. It is never derived from
//     Actual, which may be a lower bound.
//   - TooLarge means that fewer bytes can help. Its Bytes are a number that the
//     upstream called its limit, or none. A 413 that names a rate limit is none.
//   - A status of 500 and more is a Structure refusal where a chat template
//     raised it, or an Overflow where the typed error of llama.cpp says so, and
//     nothing else.
//   - With a status of 200 only what stands in an error object counts, so an
//     answer that talks about context lengths is not taken for one. An answer
//     that is empty because the input filled the window is an Overflow.
//   - No input panics. At most 64 KiB of a body are looked at, at most four
//     strings deep, and time is linear in that.
package refusal
