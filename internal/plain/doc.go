// Package plain makes errors and lines of the standard library fit for a log: what
// a peer wrote is left out.
//
// net/http puts the bytes of an answer that it cannot read into its errors
// (malformed HTTP response "…"), and prints those that nobody asked for with the
// standard logger. Such bytes may be a conversation's, so no log may have them.
// What stays is what the library itself says before them.
package plain
