package history

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/foldgate/foldgate/ownership"
)

// client makes calls one after another, through a store of its own.
type client struct {
	*round
	number int
	store  ownership.Store
	rand   *rand.Rand
	again  *call         // asked again, since no answer came
	on     *conversation // of again
}

func newClient(r *round, number int) *client {
	return &client{round: r, number: number, store: r.stores[number], rand: r.rand(uint64(number))}
}

// work makes calls until the round has enough of them, or too many outcomes are
// unknown.
func (c *client) work() {
	for {
		n := c.calls.Add(1)
		if n > c.limit {
			return
		}
		c.late.run(int(n))
		c.maybePass()
		conv, next := c.next()
		c.gate.RLock()
		c.gate.RUnlock() //nolint:staticcheck // it only waits
		if !c.budget.take() {
			return
		}
		if !c.make(conv, next) && !c.await() {
			return
		}
	}
}

// next is the call that had no answer once more, or another one.
func (c *client) next() (*conversation, *call) {
	if c.again != nil {
		conv, again := c.on, *c.again
		c.again = nil
		return conv, &again
	}
	conv := c.open(c.rand)
	return conv, choose(conv, c.rand)
}

// maybePass lets the store's clock go on, mostly by little.
func (c *client) maybePass() {
	if c.config.Pass == nil || c.round.number%3 == 0 || !chance(c.rand, 15) {
		return
	}
	d := time.Duration(1+c.rand.IntN(8)) * time.Millisecond
	if chance(c.rand, 10) {
		d = pick(c.rand, time.Minute, 2*time.Minute, 5*time.Minute)
	}
	c.config.Pass(d)
}

// make makes one call, for which a token was taken, and writes down what became
// of it. It is false where the store was not asked.
func (c *client) make(conv *conversation, q *call) (asked bool) {
	began := c.seq.Add(1)
	q.now.lo = c.config.Clock().Add(-c.config.Skew).UnixNano()
	if q.writes() && c.loses(conv, q, began) {
		c.pacer.ended()
		return true
	}
	if chance(c.rand, 15) {
		c.pacer.pass(1 + c.rand.IntN(6))
	}
	t := &tally{budget: c.budget, held: true, reads: !q.writes()}
	a := q.ask(context.WithValue(context.Background(), tallyKey{}, t), c.store, conv.key)
	if chance(c.rand, 15) {
		c.pacer.pass(1 + c.rand.IntN(6))
	}
	q.now.hi = c.config.Clock().Add(c.config.Skew).UnixNano()
	if a.unknown() && t.lost == 0 {
		t.lose()
	}
	t.end()
	c.take(conv, q, began, a, t)
	c.pacer.ended()
	return a.says != saysUnavailable
}

// take writes down and learns.
func (c *client) take(conv *conversation, q *call, began int64, a *answer, t *tally) {
	ghosts := t.lost
	if !q.writes() {
		ghosts = 0
	}
	if t.lost > 0 {
		c.lost()
	}
	switch {
	case a.says == saysUnavailable:
		c.refused.Add(1)
		c.lost()
		if ghosts > 0 {
			c.breach(conv.key, "a store that said it was not asked was sent "+q.String())
		}
		return
	case a.unknown():
		c.ops.Add(1)
		c.record(conv, c.number, q, began, nil, ghosts)
		c.repeat(conv, q)
		return
	}
	c.ops.Add(1)
	c.record(conv, c.number, q, began, a, ghosts)
	c.count(q, a)
	conv.learn(a)
}

// repeat asks again with the same fence, mostly.
func (c *client) repeat(conv *conversation, q *call) {
	if chance(c.rand, 70) {
		c.again, c.on = q, conv
	}
}

// loses throws an answer away on purpose: of a call that ran, that never will, or
// that gets stuck on its way and runs when its caller is long gone.
func (c *client) loses(conv *conversation, q *call, began int64) bool {
	if c.config.Lost == 0 || c.rand.IntN(c.config.OpsPerRound) >= c.config.Lost {
		return false
	}
	// What faults may need is not spent here.
	if c.config.Faults != nil && c.budget.unspent() <= MaxUnknown-c.config.Lost {
		return false
	}
	ask := func() { _ = q.ask(context.Background(), c.store, conv.key) }
	switch c.rand.IntN(3) {
	case 0:
		ask()
	case 1:
		c.late.add(int(c.calls.Load())+1+c.rand.IntN(40), ask)
	}
	c.budget.lose()
	c.ops.Add(1)
	c.record(conv, c.number, q, began, nil, 1)
	c.repeat(conv, q)
	return true
}

// await waits until the store answers again, which a breaker may put off. It asks
// without writing it down.
func (c *client) await() bool {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := c.store.Read(ctx, c.conversations[0].key, nil); err == nil {
			return true
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false
		}
	}
}

// patience bounds waits that end soon unless something is broken.
const patience = 30 * time.Second
