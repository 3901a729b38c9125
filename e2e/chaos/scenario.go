package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// scenario is one fault, under load.
type scenario struct {
	name   string
	group  string
	during func(ctx context.Context, w *world) error // breaks, dwells, mends
	allow  allowance                                 // nil: every caller gets its whole answer
}

// scenarios are all there are, in the order in which they are told.
func scenarios() []scenario {
	return slices.Concat(storeScenarios(), upstreamScenarios(), summarizerScenarios(), clientScenarios(), replicaScenarios())
}

// run lets the scenarios happen at once, under load, and returns their common book.
// Without names it is load alone.
func (w *world) run(ctx context.Context, name string, together ...scenario) (*ledger, error) {
	led := newLedger(name)
	w.at.Store(led)
	allow := func(q question, o outcome) bool {
		return slices.ContainsFunc(together, func(s scenario) bool { return s.allow != nil && s.allow(q, o) })
	}
	stop, loaded := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(loaded)
		w.load(stop, allow)
	}()
	// Nothing breaks before every caller has work on the way.
	working := until(ctx, "the load", func() error {
		if n := led.count(); n < w.options.workers {
			return fmt.Errorf("%d answers", n)
		}
		return nil
	})
	errs := make(chan error, 1+len(together))
	if working != nil {
		errs <- working
	}
	var during sync.WaitGroup
	for _, s := range together {
		during.Go(func() {
			if err := s.during(ctx, w); err != nil {
				errs <- fmt.Errorf("%s: %w", s.name, err)
			}
		})
	}
	during.Wait()
	close(stop)
	<-loaded
	for len(errs) > 0 {
		return led, <-errs
	}
	if err := w.recovers(ctx); err != nil {
		return led, fmt.Errorf("%s: %w", name, err)
	}
	// The second sweep from now began after all that was written.
	from := led.sweepCount()
	return led, until(ctx, "a look through the whole store", func() error {
		if n := led.sweepCount() - from; n < 2 {
			return fmt.Errorf("%d sweeps", n)
		}
		return nil
	})
}
