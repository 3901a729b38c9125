// Package sse reads event streams. It watches bytes that somebody else
// forwards: nothing here buffers, re-frames or delays what goes to a client.
//
// # What it promises
//
//   - The events depend on the bytes alone, never on how they were cut into
//     chunks: a line end, a field name or the byte order mark may be split
//     anywhere.
//   - CR, LF and CRLF end a line. A "data:" field may stand with or without the
//     space. Several data fields of one event are joined by a line feed.
//   - A line may be of any length. No more of an event is kept than allowed; a
//     larger one is reported once, as Oversized and without its data, as soon as
//     that is known, and reading goes on with the event after it.
//   - No input panics, and time is linear in the bytes written.
//
// # What it leaves out
//
// The fields id and retry, and every unknown one, are ignored. An event without
// a data field is not reported, as the standard has it. Bytes are not checked
// for being UTF-8. Beyond the standard, comments are reported, since a
// forwarder must tell keep-alives from an answer that began, and so is a last
// event whose blank line never came, since some servers leave it out. A reader
// of such an event must expect it to be cut short.
package sse
