// Package redact replaces secrets in text by a mark.
//
// Promises:
//
//   - Text is a pure function of its argument: the same text gives the same
//     bytes on every replica. It knows no clock, no randomness, no settings.
//   - What it returns holds nothing that it would redact again.
//   - A text without a secret is returned as it is, without an allocation.
//   - Time is linear in the length of the text, whatever the text: every look
//     ahead or back that may be in vain is bounded.
//   - Bytes that are not replaced stay as they are, broken UTF-8 included, and a
//     replacement never cuts a character in two.
//   - The result is at most three times as long as the text.
//   - It works line by line. Two things reach over a line's end: a private key's
//     block, and a value that stands on the line after its name
//     ("name: DB_PASSWORD", "value: …").
//
// A secret is known in one of three ways, tried in this order where a text is
// read from left to right:
//
//  1. by its shape: a prefix that its issuer gives it (shapes.go), a JSON web
//     token, a private key's block, the password in a URL;
//  2. by where it stands: an authorization or cookie header, a flag;
//  3. by the name that it is assigned to (names.go). Then its value decides
//     (values.go): a type, a template, a call, a path or a sentence under a
//     secret's name is none.
//
// It errs on both sides, and knows it: a secret without a known shape and
// without a name beside it is not seen, and a harmless value that looks random
// under a secret's name is lost. What later turns need to go on (hashes,
// identifiers, file names, counts, code that handles secrets without holding
// one) stays; the tests hold a longer list of what stays than of what goes.
package redact
