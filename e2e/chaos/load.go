package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// The load of loadRun.
const (
	smallStreams = 1500
	largeStreams = 500
	loadWindow   = 16000 // tokens
	loadTurns    = 190   // some 100 KB, that do not fit
	loadPhase    = 36 * time.Second
	loadSpread   = 10 * time.Second // over which callers begin
)

// loadOptions are for loadRun: long streams, and long conversations.
func loadOptions() options {
	return options{
		window: loadWindow, turns: loadTurns, memory: 256, wait: "10s", sweep: time.Second, silence: "30s",
		apart: 1800 * time.Millisecond, workers: 4, answers: 1, seed: 1,
	}
}

// percentiles of what small requests took.
type percentiles struct {
	requests int
	p50, p99 time.Duration
}

// loadResult is what a run of loadRun saw.
type loadResult struct {
	ledger        *ledger
	atOnce        int64 // answers that were under way at once, the most
	alone, beside percentiles
	memory        int64 // bytes, the most of one replica
	memoryBound   int64
	small, large  int // streams that were answered
	leftover      error
	took          time.Duration
}

// loadRun keeps 1,500 small streams open, then 500 oversized ones beside them, and
// measures small requests in both halves.
func loadRun(ctx context.Context, w *world) (loadResult, error) {
	began := time.Now()
	led := newLedger("load")
	w.at.Store(led)
	var all sync.WaitGroup
	stop := make(chan struct{})
	var small, large counter
	streams(&all, stop, smallStreams, &small, func() bool {
		return w.send(question{conv: w.registry.make(0), turns: smallTurns, stream: true, plan: "trickle"}, onlyAnswers).ok()
	})
	res := loadResult{ledger: led, memoryBound: int64(3*w.options.memory+300) << 20}
	if err := rest(ctx, loadSpread); err != nil {
		return res, err
	}
	res.alone = w.probe(ctx, loadPhase)
	streams(&all, stop, largeStreams, &large, func() bool {
		return w.send(question{conv: w.registry.make(1), turns: loadTurns, stream: true, plan: "trickle"}, onlyAnswers).ok()
	})
	if err := rest(ctx, loadSpread); err != nil {
		return res, err
	}
	res.beside = w.probe(ctx, loadPhase)
	close(stop)
	all.Wait()
	res.atOnce, res.small, res.large = w.backend.peak.Load(), small.now(), large.now()
	res.leftover = w.leftovers(ctx)
	var err error
	res.memory, err = w.memory()
	res.took = time.Since(began)
	return res, err
}

// streams starts so many callers, spread over a while, each with one stream after
// another until stop is closed.
func streams(all *sync.WaitGroup, stop <-chan struct{}, n int, done *counter, one func() bool) {
	for i := range n {
		all.Go(func() {
			select {
			case <-time.After(loadSpread * time.Duration(i) / time.Duration(n)):
			case <-stop:
				return
			}
			for {
				if one() {
					done.add()
				}
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
}

type counter struct {
	mu sync.Mutex
	n  int
}

func (c *counter) add() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
}

func (c *counter) now() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

// probe asks small requests for so long, and says what they took.
func (w *world) probe(ctx context.Context, d time.Duration) percentiles {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	var mu sync.Mutex
	var took []time.Duration
	var workers sync.WaitGroup
	for i := range w.options.workers {
		rng := rand.New(rand.NewPCG(w.options.seed, uint64(i))) //nolint:gosec // for variety
		workers.Go(func() {
			for rest(ctx, time.Duration(rng.IntN(60))*time.Millisecond) == nil {
				o := w.send(question{conv: w.registry.make(2), turns: smallTurns}, onlyAnswers)
				mu.Lock()
				took = append(took, o.took)
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	slices.Sort(took)
	if len(took) == 0 {
		return percentiles{}
	}
	return percentiles{len(took), took[len(took)/2], took[len(took)*99/100]}
}

// rest waits, or says that there is no time left.
func rest(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait: %w", context.Cause(ctx))
	}
}
