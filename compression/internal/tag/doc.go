// Package tag names byte strings within one process, several times as fast as a
// cryptographic hash. A tag is GMAC, the authentication of AES-GCM, under a random
// key: two different strings have the same tag with a chance of at most their
// length in blocks over 2^128, whoever chose them, as long as nobody sees tags. So
// a tag is never written, sent, logged or compared outside the process.
//
// Where Go is told to use nothing but what FIPS 140 approves (GODEBUG=fips140=only)
// a nonce may not be chosen, and a tag is the beginning of an HMAC-SHA256 instead:
// slower, with the same promise.
//
// Safe for concurrent use.
package tag
