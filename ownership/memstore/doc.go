// Package memstore is the ownership.Store inside one process: the default of a
// gateway without Redis, and the model that every other store answers like.
//
// Everything is gone with the process, and no second replica can see it.
//
// A conversation has a lock of its own. The lock over the index is held for the
// look-up only, never while a conversation is worked on, so a slow conversation
// keeps nobody else waiting.
//
// Memory is bounded twice: a conversation goes, whole, once nothing was written
// to it for the retention, and when there are more than MaxConversations the one
// that was used least recently goes, unless an attempt works on it. What went is
// lost to its owner, exactly as after an eviction by Redis.
//
// Handoffs are copied on the way in and on the way out. No caller can change what
// is kept, and what a caller was given is its own.
package memstore
