// Package demo is `gateway demo`: a conversation that outgrows its model's
// window, played through two real gateways on loopback in front of a small
// built-in model server. No network, no key, no Redis; under ten seconds.
//
// Everything that the table shows comes from the answers' own headers and from
// the store: the gateways are the ones that `gateway serve` runs, they share
// one in-process store as replicas share a Redis, and the model server refuses
// an oversized request just as a real one does. One summary call is stalled on
// purpose, so that the next route takes over under a newer generation. At the
// end the demo itself writes to the store with the superseded fence, as a worker
// would that comes back late, and compares the conversation before and after.
package demo
