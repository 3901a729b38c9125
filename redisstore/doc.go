// Package redisstore keeps conversations in Redis, for any number of replicas.
// It implements ownership.Store with one Lua script per operation, and nothing
// else decides: the rules are those of package ownership, step by step, inside
// the server.
//
// # Keys
//
//	name                                   type    holds
//	foldgate:1:{<key>}:gen                 string  the counter behind generations
//	foldgate:1:{<key>}:conversation        hash    owner, flag, state, snapshot, handoffs
//	foldgate:1:{<key>}:events              channel a hint that something changed
//	foldgate:1:learned:{<scope>}           hash    learned windows and corrections
//	foldgate:1:learned                     channel the scope that changed
//
// The number is the version of this layout. The braces make Redis place all
// names of one conversation in one slot, in every deployment mode. A key is a
// hash; no name, and no field but the handoffs, holds text of a user. Names are
// made in keys.go only; scripts make the channel's once more, from the hash's, since
// it is no key.
//
// A conversation is there whole or gone whole: everything but the counter is one
// hash, and every write gives both keys the same time to live, Config.Retention
// and never less than ceiling and lease of the attempt together. Redis may evict
// the counter alone; the next generation is above the owner's all the same.
//
// The hash is readable with HGETALL. Its fields:
//
//	owner                      generation/attempt; the fence, both halves
//	phase replica route trace  of the owner
//	claimed progress ceiling   times of the server, milliseconds
//	lease lease_end            its length, and its end
//	deaths digest covered      dead owners in a row; the target
//	cancel cancel_reason cancel_at   only while the flag is raised
//	checkpoints                one line each, newest first (record.go)
//	cooldown error streak strikes blocked   the rest of the state
//	snap snap_*                a fence, and the state before its commit
//	handoff:<fence>            the bytes, never looked into by Redis
//
// # Scripts
//
// scripts/*.lua, one file per operation. Each checks its arguments, answers what
// is done already, compares the fence, then the phase, and only then writes;
// Redis runs it without interruption and replicates it as one transaction. Each
// may be sent twice: the second run changes nothing. Time is the server's.
// Fences are compared as strings, and generations by length and then by bytes,
// because Lua's numbers end at 2^53.
//
// # Encryption
//
// With Config.Keys handoffs are stored encrypted and authenticated (AES-256-GCM, the
// key's id beside them), bound to their conversation, fence and target: keyring.go,
// seal.go. Everything else stays readable. The scripts know nothing of it. A handoff
// that cannot be opened (its key is gone, it was changed or moved, it is not encrypted
// where all should be) is as if it were not there: Read leaves its checkpoint out, and
// it is counted. A claim for the very target that it stands for cannot replace it, and
// answers ErrUnavailable: that one attempt is unfenced. Replicas whose keys differ
// write side by side, each using what it can read.
//
// # Failures
//
// Nothing that go-redis or Redis reports leaves this package but as text inside
// one of two errors. ErrUnavailable: the server was not asked or refused (no
// connection, no free one in time, READONLY, LOADING, CLUSTERDOWN, out of memory,
// breaker open); nothing was written. ErrIndeterminate: the script was sent and
// no answer came. A context that ended is joined to either.
//
// A call takes at most Config.Timeout. What passes by itself, such as a lost
// connection or a replica that is just being promoted, is asked again within
// that time, twice at most. Two failed calls in a row open a breaker: from then
// on calls fail at once, and every two seconds one call probes.
//
// # Requirements
//
// Redis 5 or later, or a server that speaks its protocol and runs Lua; in a
// cluster Redis 7, since hints travel on sharded channels there (with an older
// one waiters poll). An eviction policy other than noeviction is safe: what it
// takes is lost, whole. A user of its own needs the keys and channels foldgate:1:*
// and a few commands: docs/operating.md has the line that makes it, and acl_test.go
// holds the store to it.
package redisstore
