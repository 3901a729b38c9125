// Package statuswriter notes the status of a response and changes nothing else:
// what is written, flushed or hijacked reaches the ResponseWriter below at once.
package statuswriter
