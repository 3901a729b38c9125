// Package ownership decides which attempt may write a conversation's summary.
// It holds the words of the protocol (Attempt, Fence, Checkpoint), the port to
// the shared state (Store) and the Coordinator that runs attempts against it.
//
// This text is the protocol's home: every Store follows it, ownershiptest holds
// a Store against it, and a change to the rules starts here. It names no
// storage; redisstore and memstore say how they keep what is written below.
//
// # Why fences
//
// Several replicas fold the same conversation. Any of them may stall, be killed,
// be paused past its lease, or get its answer late. No clock and no lock can
// tell a replica that nobody took over meanwhile, so nothing is ever read first
// and written after. Instead every shared write carries a fence, a generation
// and an attempt id, and the store compares both halves in the same atomic step
// that writes. Generations alone would not do: they repeat once a store was
// wiped or fell back to an earlier state.
//
// # States
//
//	                 commit                settle
//	claim ─► working ──────► committed ──────────► settled
//	            │           (provisional)
//	            │                 └──────────────► restored
//	            │                      restore
//	            ├─ finish ─► failed | ineffective | cancelled | abandoned
//	            └─ clear ──► cancelled (flag raised) | abandoned
//
//	any state ─► superseded   a newer claim owns the conversation
//	any state ─► lost         the store no longer knows the attempt
//
// The owner record keeps the state as its phase. A phase moves only along the
// arrows and never back, so each step happens at most once per fence. The last
// two are never stored; they are what an attempt learns when the record names
// somebody else.
//
// # Who may do what
//
// An attempt is current while the owner record names its fence, both halves.
// Lease and phase play no part in that: an owner that was paused past its lease
// and finds its fence still there goes on.
//
//   - Only the current attempt renews, commits, finishes, settles, restores and
//     clears, and each of these only from the phase that the diagram shows.
//   - Anyone who used a checkpoint may settle or restore it with the fence that
//     is written in it, as long as that fence is current.
//   - Anyone may raise the cancel flag, and names the attempt it means. Only that
//     attempt lowers it.
//   - Anyone may claim a conversation that nobody works on, or whose owner let its
//     lease run out. A working attempt is superseded only by the coordinator that
//     runs it.
//   - An operator may put one checkpoint back, or forget the conversation,
//     whoever works.
//
// A claim closes what was open. The checkpoint of the attempt before it stands
// as it is, but can no longer be settled or restored. A claim changes nothing in
// the state, a takeover included.
//
// # Order of every operation
//
//  1. Arguments. What breaks the contract is ErrInvalid, before anything is read.
//  2. Done already. The owner record, or a checkpoint that carries this fence,
//     shows that the step was taken: the answer says so and nothing is written
//     (a settle of a checkpoint that stands counts as a use all the same, and
//     retention runs from the last use).
//  3. Current. Another owner with a higher generation is ErrSuperseded; any
//     other owner, or none, is ErrLost.
//  4. Phase. A phase that does not allow the call is *EndedError.
//  5. Write, whole or not at all.
//
// It follows that a repeated call, or a copy of one that arrives late, changes
// nothing and answers what stands now. A missing record never proves a right. A
// time further ahead than the protocol can set counts as past. All times are the
// store's.
//
// # Operations
//
// Claim, in this order: the caller's own attempt id owns the conversation, then
// the first answer again (whatever became of the attempt since). A checkpoint
// with the wanted digest stands: VerdictCommitted. A fence to supersede is named:
// it must be current and working, else ErrSuperseded, ErrLost or *EndedError; a
// raised flag is VerdictCancelled. No fence is named and a live owner works:
// VerdictBusy. A cooldown, then a block, that is not bypassed: VerdictCooling,
// VerdictBlocked. The owner worked and its lease is over: it died, and is
// counted; the third death in a row ends that owner (cancelled if its flag was
// raised, else abandoned), starts the count over, charges a failure of class
// DeathClass that climbs, and refuses: VerdictCancelled with the flag raised,
// else VerdictCooling, a bypass notwithstanding. Otherwise the counter grows, to
// a value above the owner's, and the caller owns the conversation: working, flag
// not raised (a dead owner's flag goes with it), deaths carried over. A claim that
// only waits takes no generation.
//
// Renew extends the lease of a working attempt to now + lease, never past
// claimed + ceiling, and reports a raised flag.
//
// Commit keeps the state as the snapshot, adds the checkpoint in front as
// provisional, drops what is over MaxCheckpoints, clears cooldown, last error,
// streak and deaths, and counts the strike or clears strikes and block. With the
// flag raised it answers *CancelledError and writes nothing. "Already" looks for
// the fence among the checkpoints first, so it stays true after the next claim.
//
// Settle marks the checkpoint and drops the snapshot.
//
// Restore puts the snapshot back as one unit, counters and cooldown included,
// and then charges the failure it was given. Before a commit nothing was
// published: it writes nothing.
//
// Finish records how a working attempt ended. Failed: the streak climbs (or
// stays), the cooldown is the later one of the old and the new, the class is the
// latest. Ineffective: one strike. Both were lived to the end, so the count of
// deaths starts over. Cancelled and abandoned record nothing.
//
// Raise raises the flag of a working attempt; the first reason stays. After a
// commit it answers *EndedError, so that "raised" and "committed" exclude each
// other. An attempt that ended as cancelled answers as raised, one that ended in
// another way *EndedError.
//
// Clear lowers the flag and ends an attempt that still works. An absent flag is
// therefore never mistaken for one that was not raised.
//
// RestoreOperator becomes the owner itself, as abandoned, under a new
// generation, if the owner is still the one that the operator saw. A provisional
// commit is undone by its snapshot, anything else by removing the newest
// checkpoint. Its own attempt id makes the repeat harmless.
//
// Forget deletes everything but the counter, which grows: whoever works is lost.
//
// Whatever ends an attempt, and a raised flag, is announced to Watch. Polling is
// the truth.
//
// # Cooldown, block
//
// Failures that climb put off the next attempt by FirstRung, SecondRung,
// ThirdRung; one that does not climb by FirstRung and leaves the streak alone; one
// with its own Cooldown (Retry-After) by that, at most MaxCooldown. MaxStrikes
// folds in a row that did not help block the conversation for BlockFor; then one
// probe may run, and a strike by it blocks again.
//
// # Outcomes that are no failures
//
// Superseded, lost and cancelled are checked before every other classification.
// Nothing is retried, charged or counted as a failure for them. They are final on
// both sides: who was told so does not ask again with that fence, since a store
// that failed over may answer differently the next time.
//
// # What happens when
//
//	store unreachable at claim          the attempt runs unfenced
//	store lost before the commit        the commit is asked again with the same
//	                                    fence until the attempt's deadline; after
//	                                    one repeat or one second the draft serves
//	                                    this replica's waiters as unfenced
//	reply lost                          the repeat answers what stands
//	a call arrives late                 nothing changes
//	a copy of a claim arrives late      an owner nobody works for; costs one lease
//	store wiped                         lost, although numbers repeat
//	store fell back in time             an earlier state, whole; later claims lost
//	counter gone alone                  the next generation is above the owner's
//	owner killed while working          the next claim after the lease takes over;
//	                                    the state is as the owner found it
//	owner killed after its commit       the commit stands, waiters settle it
//	owners killed in a row              MaxDeaths start the cooldown
//	owner stuck but renewing            its lease ends at the ceiling
//	owner paused past its lease         superseded if somebody claimed, else it
//	                                    goes on
//	claim while a commit is provisional settle and restore answer superseded, the
//	                                    checkpoint stands
//	raise against commit, clear or a    one wins; a raised flag is never followed
//	superseding claim                   by a commit or by the next route
//	claim just after an equal commit    VerdictCommitted, no second summary call
//	replica's clock wrong               no effect
//	store's clock went back             a lease or cooldown too far ahead is past
//
// # Generation 0
//
// Without a store, or with one that cannot be reached, an attempt is unfenced.
// Its result may serve the requests that wait for it on this replica and nothing
// else; no store call carries its fence, and a store refuses one with ErrInvalid.
// Within the process it counts as current. A fence is judged only against its own
// conversation.
//
// # Coordinator
//
// A Coordinator runs at most one flight per conversation. A flight claims, calls
// the worker, commits, and its last call for every fenced attempt, however that
// ended, is Clear. Jobs that the flight's target can serve share it.
//
//   - Progress is what the worker reports for non-empty text. Until the first of
//     it the allowed silence is the larger of the idle budget and FirstText,
//     unless the route names its own; from then on the idle budget, counted from
//     the last progress. The ceiling bounds the whole attempt.
//   - A silent or overlong worker is detached: its context is cancelled with
//     ErrStalled and nobody waits for it. The next route runs as a new attempt
//     that supersedes this very fence and bypasses the cooldown. If a commit was
//     first, that claim says so: which of two timers fires first changes nothing.
//   - A late success of a detached worker still goes to the store, with the old
//     fence. The write is the check; the refusal is counted and nothing changes.
//   - A cancel is seen by the renewals, at once where Watch tells of it, inside
//     commit and inside the superseding claim. Waiters of a cancelled attempt do
//     not claim.
//   - One watcher per conversation and replica waits for another replica's
//     attempt. It polls each second, listens to Watch, and claims at the lease's
//     end plus jitter.
//   - Told superseded or lost, a flight looks once more for a checkpoint or a live
//     owner that serves it. It never claims again.
//   - No lock is held over a call to the store or the worker. Another conversation
//     never waits.
//
// # Traces
//
// With a TracerProvider each attempt has one span, compression.attempt, a child of
// the Job's trace context. It begins before the claim, so that the owner record
// names it and a request of another replica can link to it; it links to the attempt
// in whose place it comes, another replica's too. It ends as the attempt does,
// whether or not its worker returned. A worker that never returns therefore hides
// nothing; what a late one brings is an ownership.commit span below its attempt's,
// marked foldgate.late, with the store's answer and an event commit or
// commit.refused, and so stands in the trace of the attempt that it was made for. A
// claim that begins no attempt is a span compression.claim. Every other call of the
// store is a child span with its answer; reads and the renewals beside a worker are
// not, only a refused renewal is an event. Being refused is an answer and no error of
// a span. The names are those of package semconv. Without a provider nothing is done.
//
// # Not promised
//
// Exactly one summary call: a killed owner's call is repeated. What a store
// acknowledged and then lost in a failover (a commit, settle, restore, raise or
// forget) is undone, as a whole and never as a mix. Several stores that each take
// themselves for the only one. The length of a cooldown across a failover.
package ownership
