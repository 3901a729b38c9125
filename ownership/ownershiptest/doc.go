// Package ownershiptest is the conformance suite of ownership.Store. A store that
// passes Run unchanged follows the protocol of the ownership package; a new store,
// or a fault found in an old one, brings its case here.
//
// Cases are grouped one file each: claim, renew, commit, settle, restore, finish,
// cancel, operator, read, data, and the interleavings of the protocol's analysis,
// whose names begin with their number (F1 to F31). What only a running coordinator
// can show is tested beside the coordinator.
//
// RunSeed is a second suite: the sixteen behaviours of the single-process original
// from which the protocol grew, on two replicas. Package history checks
// linearizability.
//
// A case never sleeps. What needs time to pass is skipped, by name, where the
// harness cannot move the store's clock.
package ownershiptest
