package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// The load of loadRun.
const (
	smallStreams = 1500
	largeStreams = 500
	loadWindow   = 16000            // tokens
	loadTurns    = 190              // some 100 KB, that do not fit
	loadSpread   = 10 * time.Second // over which callers begin
	// loadMeasure is over two waves of oversized requests: the callers' first ones, of
	// which nothing is known yet, and those that follow when the first streams end.
	loadMeasure = 46 * time.Second
)

// loadOptions are for loadRun: long streams, and long conversations.
func loadOptions() options {
	return options{
		window: loadWindow, turns: loadTurns, memory: 256, wait: "10s", later: true, silence: "30s",
		apart: 1800 * time.Millisecond, answers: 1, seed: 1,
	}
}

// loadRow is one of the situations in which small requests are measured.
type loadRow struct {
	name  string
	large bool // 500 oversized streams beside the 1,500 small ones
	// bypass: they ask to be passed on as they are. So they cost what carrying, reading
	// and answering them costs on this machine, and nothing is counted or folded.
	bypass bool
}

func loadRows() []loadRow {
	return []loadRow{
		{name: fmt.Sprintf("beside %d small streams", smallStreams)},
		{name: fmt.Sprintf("and %d oversized ones that pass uncounted", largeStreams), large: true, bypass: true},
		{name: fmt.Sprintf("and %d oversized ones that are counted and folded", largeStreams), large: true},
	}
}

// loadMeasured is what one row came to.
type loadMeasured struct {
	row     loadRow
	small   percentiles
	streams int // oversized ones that were answered
	used    processors
}

// loadResult is what a run of loadRun saw.
type loadResult struct {
	ledger      *ledger
	atOnce      int64 // answers that were under way at once, the most
	rows        []loadMeasured
	memory      int64 // bytes, the most of one replica
	memoryBound int64
	small       int    // small streams that were answered
	failed      string // store calls that failed, as the replicas counted them
	leftover    error
	took        time.Duration
}

// loadRun keeps 1,500 small streams open, and measures small requests between them:
// alone, then beside 500 oversized ones that nobody looks into, then beside as many
// that are folded.
func loadRun(ctx context.Context, w *world, rows []loadRow, measure, spread time.Duration) (loadResult, error) {
	began := time.Now()
	led := newLedger("load")
	w.at.Store(led)
	res := loadResult{ledger: led, memoryBound: int64(3*w.options.memory+300) << 20}
	var all sync.WaitGroup
	var small counter
	stop := make(chan struct{})
	streams(&all, stop, smallStreams, loadSpread, &small, func() bool {
		return w.send(question{conv: w.registry.make(0), turns: smallTurns, stream: true, plan: "trickle"}, onlyAnswers).ok()
	})
	err := rest(ctx, loadSpread)
	for _, row := range rows {
		if err != nil {
			break
		}
		var m loadMeasured
		m, err = w.beside(ctx, row, measure, spread)
		res.rows = append(res.rows, m)
	}
	close(stop)
	all.Wait()
	if err != nil {
		return res, err
	}
	res.atOnce, res.small = w.backend.peak.Load(), small.now()
	if err := w.lookBack(ctx); err != nil {
		return res, err
	}
	if res.failed, err = w.storeErrors(); err != nil {
		return res, err
	}
	res.leftover = w.leftovers(ctx)
	res.memory, err = w.memory()
	res.took = time.Since(began)
	return res, err
}

// beside measures small requests from the moment on at which the oversized ones of
// that row begin, and returns when the last of these is answered.
func (w *world) beside(ctx context.Context, row loadRow, measure, spread time.Duration) (m loadMeasured, err error) {
	m.row = row
	var all sync.WaitGroup
	var large counter
	stop := make(chan struct{})
	if row.large {
		streams(&all, stop, largeStreams, spread, &large, func() bool {
			q := question{conv: w.registry.make(1), turns: loadTurns, stream: true, plan: "trickle", bypass: row.bypass}
			return w.send(q, onlyAnswers).ok()
		})
	}
	before, err := w.processors()
	if err == nil {
		began := time.Now()
		m.small = w.probe(ctx, measure)
		m.used, err = w.processors()
		m.used = m.used.since(before, time.Since(began))
	}
	close(stop)
	all.Wait()
	m.streams = large.now()
	return m, errors.Join(err, w.lookBack(ctx))
}

// lookBack makes the checks that would have been in the way of what is measured.
func (w *world) lookBack(ctx context.Context) error {
	w.backend.judgeKept()
	if !w.auditor.sweep(ctx) {
		return errors.New("the store could not be looked through")
	}
	return nil
}

// streams starts so many callers, spread over a while, each with one stream after
// another until stop is closed.
func streams(all *sync.WaitGroup, stop <-chan struct{}, n int, spread time.Duration, done *counter, one func() bool) {
	for i := range n {
		all.Go(func() {
			select {
			case <-time.After(spread * time.Duration(i) / time.Duration(n)):
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
