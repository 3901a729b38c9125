package window

import (
	"math"
	"sync"
)

// What is taken in as an observation. Below minCounted the fixed cost of a
// request outweighs its text; a ratio outside of the rest is no tokenizer but a
// server that truncates, or counts something else.
const (
	minCounted Tokens = 256

	minRatio = 0.3
	maxRatio = 4
)

// How far a correction goes. Up to ignored above 1 it counts as 1: the safety
// margin of a budget covers that, and the next step would cost 15 % of it.
const (
	minCorrection = 0.5
	maxCorrection = 3
	ignored       = 0.02
)

// pair is what a correction belongs to. The tenant is part of it: what one
// tenant's texts and settings cost must not decide how another's are folded.
type pair struct {
	scope Scope
	model string
}

type corrections struct {
	mu        sync.RWMutex
	estimates *memory[pair, *estimate]
}

// estimate is a running mean of ratios and of their distance from it.
type estimate struct {
	count           int
	mean, deviation float64
}

// Observe takes in how many tokens the upstream reported for a request that we
// counted. Observations that say nothing about the tokenizer are ignored. The
// same observations in the same order give the same correction.
func (b *Book) Observe(s Scope, model string, o Observation) {
	if o.Counted < minCounted || len(model) > MaxName {
		return
	}
	ratio := float64(o.Reported) / float64(o.Counted)
	if ratio < minRatio || ratio > maxRatio {
		return
	}
	c := &b.corrections
	c.mu.Lock()
	defer c.mu.Unlock()
	key := pair{s, model}
	e, ok := c.estimates.get(key)
	if !ok {
		e = new(estimate)
		c.estimates.put(key, e)
	}
	e.add(ratio)
}

// Correction answers what the upstream counts for one token of ours: an upper
// estimate from 0.5 to 3, and 1 when nothing is known.
func (b *Book) Correction(s Scope, model string) float64 {
	c := &b.corrections
	c.mu.RLock()
	defer c.mu.RUnlock()
	e, ok := c.estimates.get(pair{s, model})
	if !ok {
		return 1
	}
	return e.upper()
}

// add weighs the first observations equally and then forgets slowly, the
// deviation faster than the mean, so that a jump is believed at once.
func (e *estimate) add(ratio float64) {
	e.count = min(e.count+1, 8)
	if e.count == 1 {
		e.mean, e.deviation = ratio, math.Abs(ratio-1)/4
		return
	}
	distance := ratio - e.mean
	e.mean += distance / float64(e.count)
	e.deviation += (math.Abs(distance) - e.deviation) / min(float64(e.count), 4)
}

// upper lies two mean deviations above the mean.
func (e *estimate) upper() float64 {
	c := e.mean + 2*e.deviation
	if c > 1 && c <= 1+ignored {
		return 1
	}
	return min(max(c, minCorrection), maxCorrection)
}

// Step rounds a correction up to 1, 1.15, 1.3, 1.5, 2 or 3, the last also for
// what is above it. What is not a number counts as 1.
func Step(correction float64) float64 {
	if math.IsNaN(correction) {
		return 1
	}
	for _, step := range [...]float64{1, 1.15, 1.3, 1.5, 2} {
		if correction <= step {
			return step
		}
	}
	return maxCorrection
}
