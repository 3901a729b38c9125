package history

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/foldgate/foldgate/ownership"
)

const (
	// callsEach is how many calls a conversation gets, about.
	callsEach = 100
	// openAtOnce is on how many conversations the clients work at once, so that
	// several of them meet on each.
	openAtOnce = 3
	// never is the return of a call whose answer never comes.
	never = math.MaxInt64 / 2
)

// round is one history.
type round struct {
	t      testing.TB
	config *Config
	number int
	stores []ownership.Store

	conversations []*conversation
	calls         atomic.Int64 // made by clients, also those under way
	limit         int64
	seq           atomic.Int64 // orders the beginnings and ends of calls
	budget        *budget
	pacer         *pacer
	gate          sync.RWMutex  // read by each call, locked by a fault that stops them
	left          chan struct{} // closed when all clients have left
	losses        chan struct{} // one value at most: a call went without an answer
	late          lateCalls

	ops, unknown, refused, wipes atomic.Int64
	mu                           sync.Mutex
	answers                      map[string]int
	broken                       *Violation // found without a check
}

func newRound(t testing.TB, c *Config, number int, stores []ownership.Store) *round {
	r := &round{
		t: t, config: c, number: number, stores: stores,
		budget: newBudget(), pacer: newPacer(len(stores)),
		left: make(chan struct{}), losses: make(chan struct{}, 1), answers: map[string]int{},
	}
	n := (c.OpsPerRound + callsEach - 1) / callsEach
	for i := range n {
		// In two rounds of three no lease runs out.
		name := fmt.Sprintf("%d/%d/%d", c.Seed, number, i)
		r.conversations = append(r.conversations, newConversation(name, number%3 == 2))
	}
	// What is left is for one read of each at the end.
	r.limit = int64(max(1, c.OpsPerRound-n))
	return r
}

func (r *round) rand(stream uint64) *rand.Rand {
	return rand.New(rand.NewPCG(r.config.Seed, uint64(r.number)<<16|stream))
}

// open chooses one of the conversations that clients work on.
func (r *round) open(rnd *rand.Rand) *conversation {
	first := int(r.calls.Load()) / callsEach
	return r.conversations[min(first+rnd.IntN(openAtOnce), len(r.conversations)-1)]
}

// run makes the history and checks it.
func (r *round) run(report *Report) error {
	r.t.Helper()
	var clients sync.WaitGroup
	for i := range r.stores {
		clients.Go(func() {
			defer r.pacer.leave()
			newClient(r, i).work()
		})
	}
	go func() {
		clients.Wait()
		close(r.left)
	}()
	r.inject()
	<-r.left
	r.late.run(math.MaxInt)
	r.readAll()
	return r.check(report)
}

// inject causes faults until the clients have left.
func (r *round) inject() {
	faults := r.config.Faults
	if faults == nil {
		return
	}
	rnd := r.rand(1 << 15)
	for {
		<-r.pacer.after(20 + rnd.IntN(200))
		if r.pacer.over() {
			break
		}
		select {
		case <-r.losses: // of an earlier fault
		default:
		}
		faults.Inject(&Fault{Rand: rnd, round: r})
	}
	<-r.left
	faults.Heal()
}

// readAll is the last word on each conversation.
func (r *round) readAll() {
	c := newClient(r, 0)
	r.budget = newBudget() // a read never loses what it takes
	for _, conv := range r.conversations {
		for r.budget.take() && !c.make(conv, &call{op: opRead}) {
			if !c.await() {
				r.t.Fatalf("history: the store does not answer any more")
			}
		}
	}
}

// check looks for an order of the calls of each conversation.
func (r *round) check(report *Report) error {
	report.Ops += int(r.ops.Load())
	report.Unknown += int(r.unknown.Load())
	report.MostUnknown = max(report.MostUnknown, int(r.unknown.Load()))
	report.Refused += int(r.refused.Load())
	report.Wipes += int(r.wipes.Load())
	report.Conversations += len(r.conversations)
	for what, n := range r.answers {
		report.Answers[what] += n
	}
	if r.unknown.Load() > MaxUnknown {
		r.t.Fatalf("history: %d calls without an answer, at most %d are allowed", r.unknown.Load(), MaxUnknown)
	}
	if r.broken != nil {
		return r.broken
	}
	horizon := r.horizon()
	for _, conv := range r.conversations {
		ops := conv.history()
		for i := range ops {
			if in := ops[i].Input.(*call); ops[i].Return == never {
				in.now.hi = horizon
			}
		}
		began := time.Now()
		v := verify(ops, r.config.CheckWithin)
		took := time.Since(began)
		report.Checking += took
		report.Longest = max(report.Longest, took)
		if v != nil {
			v.Seed, v.Round, v.Key = r.config.Seed, r.number, conv.key
			return v
		}
	}
	return nil
}

// horizon is when the last of the late calls may have run.
func (r *round) horizon() int64 { return r.config.Clock().Add(r.config.Skew).UnixNano() }

// lateCalls are calls that were sent and got stuck on their way.
type lateCalls struct {
	mu    sync.Mutex
	calls []lateCall
}

type lateCall struct {
	due int
	run func()
}

func (l *lateCalls) add(due int, run func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = append(l.calls, lateCall{due, run})
}

// run makes those that are due by now.
func (l *lateCalls) run(now int) {
	l.mu.Lock()
	var due []lateCall
	rest := l.calls[:0]
	for _, c := range l.calls {
		if c.due <= now {
			due = append(due, c)
		} else {
			rest = append(rest, c)
		}
	}
	l.calls = rest
	l.mu.Unlock()
	for _, c := range due {
		c.run()
	}
}

// lost tells a fault that a call went without an answer.
func (r *round) lost() {
	select {
	case r.losses <- struct{}{}:
	default:
	}
}

// breach is a promise that was broken in front of everybody.
func (r *round) breach(key ownership.Key, reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.broken == nil {
		r.broken = &Violation{Seed: r.config.Seed, Round: r.number, Key: key, Reason: reason}
	}
}

func (r *round) count(c *call, a *answer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answers[string(c.op)+" "+a.says]++
	if a.view.State.LastError == ownership.DeathClass {
		r.answers["read third death"]++
	}
	if a.view.Owner != nil && a.view.Owner.Deaths > 0 {
		r.answers["read dead owners"]++
	}
	if len(a.view.State.Checkpoints) == ownership.MaxCheckpoints {
		r.answers["read all checkpoints"]++
	}
}

// record writes a call down; ghosts are tries of it without an answer.
func (r *round) record(conv *conversation, client int, c *call, began int64, a *answer, ghosts int) {
	for range ghosts {
		ghost := *c
		n := r.unknown.Add(1)
		conv.record(porcupine.Operation{
			ClientId: len(r.stores) + int(n), Input: &ghost, Call: began, Output: &answer{}, Return: never,
		})
	}
	if a != nil {
		conv.record(porcupine.Operation{ClientId: client, Input: c, Call: began, Output: a, Return: r.seq.Add(1)})
	}
}
