package history

import (
	"math/rand/v2"

	"github.com/anishathalye/porcupine"

	"github.com/foldgate/foldgate/ownership"
)

// Injector breaks what is behind the stores while clients work.
type Injector interface {
	// Inject causes one fault, and may wait in it for what comes of it. It runs on the
	// test's own goroutine, between calls that are counted rather than timed.
	Inject(f *Fault)
	// Heal ends whatever Inject began. It is called when the clients have left, and
	// the store must answer from then on.
	Heal()
}

// Fault is what a fault may do to a round. It is for the injector's call only.
type Fault struct {
	// Rand makes the choices of the injector repeat.
	Rand  *rand.Rand
	round *round
}

// Affords tells whether n more answers may fail to come in this round. A fault
// that could cost more should not be caused: the store's clients are refused when
// there is nothing left to lose.
func (f *Fault) Affords(n int) bool { return f.round.budget.unspent() >= n }

// AwaitLoss waits until one more call has ended without an answer, or was not
// asked, since the fault began, or all clients have left.
func (f *Fault) AwaitLoss() {
	select {
	case <-f.round.losses:
	case <-f.round.left:
	}
}

// After waits until n more calls have ended, or all clients have left.
func (f *Fault) After(n int) { <-f.round.pacer.after(n) }

// Stop keeps clients from making new calls until the function that it returns is
// called. Calls under way go on.
func (f *Fault) Stop() (goOn func()) {
	f.round.gate.Lock()
	return f.round.gate.Unlock
}

// Wipe says that during do every conversation is lost, counter included.
func (f *Fault) Wipe(do func()) {
	f.round.everywhere(opWipe, do)
	f.round.wipes.Add(1)
}

// Keep says that during do the state of every conversation is kept somewhere.
func (f *Fault) Keep(do func()) { f.round.everywhere(opKeep, do) }

// FallBack says that during do every conversation goes back to what Keep kept, as
// in a failover to a server that never heard of what came after. Keep comes before
// it, in the same fault.
func (f *Fault) FallBack(do func()) {
	f.round.everywhere(opFallBack, do)
	f.round.wipes.Add(1)
}

// EvictCounter chooses a conversation, and says that during do its counter, and
// nothing else of it, is lost.
func (f *Fault) EvictCounter(do func(key ownership.Key)) {
	c := f.round.open(f.Rand)
	f.round.during(opEvict, func() { do(c.key) }, c)
	f.round.wipes.Add(1)
}

func (r *round) everywhere(what op, do func()) { r.during(what, do, r.conversations...) }

// during writes down a step that each of the conversations takes once while do
// runs.
func (r *round) during(what op, do func(), conversations ...*conversation) {
	began := r.seq.Add(1)
	do()
	ended := r.seq.Add(1)
	for _, c := range conversations {
		c.record(porcupine.Operation{
			ClientId: len(r.stores), Input: &call{op: what}, Call: began, Output: &answer{says: saysDone}, Return: ended,
		})
	}
}
