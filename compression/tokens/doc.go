// Package tokens counts text as the o200k_base encoding does.
//
// # What it promises
//
//   - Count is exact: the o200k pattern cuts the text into pieces, and byte pair
//     encoding merges each of them. It agrees with the reference implementation
//     on every text of characters that Go's Unicode tables know; newer letters
//     count as symbols, which is a token more or less.
//   - A name of a special token counts as the text it is: what a caller writes
//     into a message is no control token.
//   - Bytes that are no UTF-8 are symbols of their own. No input panics.
//   - No input takes quadratic time. A run without a place to cut costs
//     n log n; one of more than a mebibyte is cut there, so that the memory of a
//     count stays near 30 MiB. Such a run may come out a token or so off for
//     each cut. No text in any language has one.
//   - Bounds holds for every input, also for those.
//   - A count allocates nothing but for pieces beyond 64 KiB.
//
// # Where the vocabulary comes from
//
// The tokenizer library github.com/tiktoken-go/tokenizer has it compiled in. New
// asks its codec for the bytes of every rank and builds two flat hash tables. The
// library does not count for us: its pattern is compiled to a form that differs
// from the reference (it cuts "\n  \n" in two and skips U+007F), and it is
// several times slower.
//
// # How it is checked
//
// The tests hold Count against a plain second implementation of the definition,
// against the library outside of its known deviations, and against counts that
// the reference implementation gave.
package tokens
