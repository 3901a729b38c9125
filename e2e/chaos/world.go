package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// options are what differs between a short run and a long one.
type options struct {
	gateway string        // the program; built when empty
	window  int           // tokens, of every model
	memory  int           // MiB of bodies in flight, of each replica
	wait    string        // compression.wait
	turns   int           // of a request that does not fit
	sweep   time.Duration // between looks through the store; 0: none but those that are asked for
	later   bool          // what arrives upstream is judged when it is asked for
	silence string        // upstream_timeout
	huge    int64         // bytes of a huge answer
	slow    time.Duration // between the bytes of a slow client
	apart   time.Duration // between the pieces of a trickling upstream
	workers int           // callers in the background, each with one request at a time
	dwell   time.Duration // the least time that a fault lasts
	answers int           // and the least number of answers during it
	repeats int           // requests of each plan
	seed    uint64
}

// short is the form for a test: everything happens, nothing for long.
func short() options {
	return options{
		window: window, turns: oversizeTurns, memory: 64, wait: "3s", sweep: 50 * time.Millisecond, silence: "5s", huge: 32 << 20, slow: 10 * time.Millisecond, apart: 5 * time.Millisecond,
		workers: 6, dwell: 150 * time.Millisecond, answers: 8, repeats: 1, seed: 1,
	}
}

// long is the form for a report.
func long() options {
	return options{
		window: window, turns: oversizeTurns, memory: 64, wait: "3s", sweep: 200 * time.Millisecond, silence: "4s", huge: 1 << 30, slow: time.Second, apart: 200 * time.Millisecond,
		workers: 16, dwell: 6 * time.Second, answers: 100, repeats: 8, seed: 1,
	}
}

// world is two replicas on one Redis, with an upstream, a summarizer, links that
// can be broken between them, and two that watch the store.
type world struct {
	options  options
	dir      string
	store    *store
	registry *registry
	caller   *caller
	auditor  *auditor
	monitor  *monitor

	backend                   *backend
	summary                   *summarizer
	upstreamLink, summaryLink *link
	replicas                  []*replica

	at    atomic.Pointer[ledger] // of the scenario that runs
	turn  atomic.Int64           // of the balancer
	nonce atomic.Int64
	stop  context.CancelFunc // of the watchers
	wait  sync.WaitGroup
}

// newWorld starts everything. What was started is ended by close, also after an
// error.
func newWorld(o options) (_ *world, err error) {
	w := &world{options: o, registry: newRegistry(), caller: newCaller(), stop: func() {}}
	w.at.Store(newLedger("start"))
	defer func() {
		if err != nil {
			w.close()
		}
	}()
	if w.dir, err = os.MkdirTemp("", "chaos"); err != nil {
		return nil, fmt.Errorf("make a folder: %w", err)
	}
	if w.store, err = newStore(w.dir); err != nil {
		return nil, err
	}
	if w.backend, err = newBackend(&w.at, o.window, o.huge, o.apart); err != nil {
		return nil, err
	}
	w.backend.later = o.later
	if w.summary, err = newSummarizer(&w.at, o.huge); err != nil {
		return nil, err
	}
	if w.upstreamLink, err = newLink(w.backend.addr); err != nil {
		return nil, err
	}
	if w.summaryLink, err = newLink(w.summary.addr); err != nil {
		return nil, err
	}
	for _, name := range []string{"a", "b"} {
		r, err := w.newReplica(name, w.upstreamLink.addr)
		if r != nil {
			w.replicas = append(w.replicas, r)
		}
		if err != nil {
			return nil, err
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	w.stop = stop
	w.auditor, w.monitor = newAuditor(w.store.client, w.registry, &w.at), newMonitor(w.store.addr, &w.at)
	if o.sweep > 0 {
		w.wait.Go(func() { w.auditor.watch(ctx, o.sweep) })
	}
	w.wait.Go(func() { w.monitor.watch(ctx) })
	select {
	case <-w.monitor.ready:
	case <-time.After(patience):
		return nil, errors.New("the monitor hears nothing")
	}
	if err := w.recovers(ctx); err != nil {
		return nil, err
	}
	return w, w.measure()
}

func (w *world) close() {
	w.stop()
	w.wait.Wait()
	w.caller.http.CloseIdleConnections()
	for _, r := range w.replicas {
		r.close()
	}
	for _, k := range []*link{w.upstreamLink, w.summaryLink} {
		if k != nil {
			k.close()
		}
	}
	if w.backend != nil {
		w.backend.close()
	}
	if w.summary != nil {
		w.summary.close()
	}
	if w.store != nil {
		w.store.close()
	}
	_ = os.RemoveAll(w.dir)
}

// pick is the balancer: the next replica that is up.
func (w *world) pick() *replica {
	for {
		for range w.replicas {
			if r := w.replicas[int(w.turn.Add(1))%len(w.replicas)]; !r.down.Load() {
				return r
			}
		}
	}
}

// allowance says whether an outcome that is no whole answer is what a caller has to
// expect of the fault of the moment.
type allowance func(question, outcome) bool

func onlyAnswers(question, outcome) bool { return false }

// send asks, as a balancer does: what a killed replica took with it is asked again,
// elsewhere.
func (w *world) send(q question, allow allowance) outcome {
	led := w.at.Load()
	for try := 0; ; try++ {
		var before int64
		for _, r := range w.replicas {
			before += r.ends.Load()
		}
		r := w.pick()
		o := w.caller.ask(context.Background(), r.data, w.newNonce(), q)
		var after int64
		for _, r := range w.replicas {
			after += r.ends.Load()
		}
		if cut := o.kind == kindNone || o.kind == kindCut; cut && after != before && try < 5 {
			led.answered("cut by the kill, asked again")
			continue
		}
		w.enter(led, r, q, o, allow)
		return o
	}
}

func (w *world) newNonce() string { return fmt.Sprintf("nonce-%d", w.nonce.Add(1)) }

// enter puts an outcome into the books.
func (w *world) enter(led *ledger, r *replica, q question, o outcome, allow allowance) {
	said := o.kind
	if o.ok() && o.fold != "" {
		said += " " + o.fold
	}
	led.answered(said)
	switch {
	case o.ok():
	case o.kind == kindForeign || o.kind == kindHead:
		led.isWrong("replica %s, %s turn %d, plan %q: %s: %s", r.name, q.conv.mark(), q.turns, q.plan, o.kind, o.detail)
	case allow(q, o):
	case o.kind == kindShort:
		led.isWrong("replica %s, %s turn %d, plan %q: %s: %s", r.name, q.conv.mark(), q.turns, q.plan, o.kind, o.detail)
	default:
		led.loses("replica %s, %s turn %d, plan %q, after %v: %s %s", r.name, q.conv.mark(), q.turns, q.plan, o.took.Round(time.Millisecond), o.kind, o.detail)
	}
}

// load keeps the workers asking until stop is closed, and returns when the last
// request is answered.
func (w *world) load(stop <-chan struct{}, allow allowance) {
	var workers sync.WaitGroup
	for i := range w.options.workers {
		rng := rand.New(rand.NewPCG(w.options.seed, uint64(i))) //nolint:gosec // for variety
		workers.Go(func() {
			var grown *conversation
			turns := 0
			for {
				select {
				case <-stop:
					return
				default:
				}
				tenant, stream := i%3, rng.IntN(2) == 0
				switch kind := rng.IntN(8); {
				case kind < 3:
					w.send(question{conv: w.registry.make(tenant), turns: smallTurns, stream: stream}, allow)
				case kind == 3:
					w.send(question{conv: w.registry.make(tenant), turns: preparedTurns, stream: stream}, allow)
				case kind == 4 && grown != nil: // the next turn of one that was folded
					turns++
					w.send(question{conv: grown, turns: turns, stream: stream}, allow)
				case kind == 5: // two equal ones at once
					q := question{conv: w.registry.make(tenant), turns: oversizeTurns, stream: stream}
					var both sync.WaitGroup
					both.Go(func() { w.send(q, allow) })
					w.send(q, allow)
					both.Wait()
				default:
					grown, turns = w.registry.make(tenant), oversizeTurns
					w.send(question{conv: grown, turns: turns, stream: stream}, allow)
				}
			}
		})
	}
	workers.Wait()
}

// dwell lets the fault last.
func (w *world) dwell(ctx context.Context) error { return w.dwellFor(ctx, w.options.dwell) }

// recovers waits until every replica makes and shares a summary again.
func (w *world) recovers(ctx context.Context) error {
	for _, r := range w.replicas {
		err := until(ctx, "recovery of replica "+r.name, func() error {
			led, q := w.at.Load(), question{conv: w.registry.make(0), turns: w.options.turns}
			o := w.caller.ask(ctx, r.data, w.newNonce(), q)
			w.enter(led, r, q, o, onlyAnswers)
			if o.fold != "committed" {
				return fmt.Errorf("%s %s %s %s", o.kind, o.fold, o.reason, o.detail)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
