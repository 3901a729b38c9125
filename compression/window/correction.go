package window

import (
	"math"
	"sync"
	"time"
)

// What is taken in as an observation. Below minCounted the fixed cost of a
// request outweighs its text. No tokenizer in use needs less than nine tenths of
// ours; a count below minRatio is of what a server left of the request after it
// cut it, or leaves out a part that we count. Above maxRatio something else is
// counted.
const (
	minCounted Tokens = 256

	minRatio = 0.75
	maxRatio = 4
)

// When a ratio is lower than expected, see Observe.
const (
	// tolerance is how far below what is expected a ratio may be.
	tolerance = 0.03
	// alike is how near to each other two ratios are the same.
	alike = 0.05
	// apart is how much larger one of two requests has to be.
	apart = 1.25
)

// How far a correction goes. Up to ignored above 1 it counts as 1: the safety
// margin of a budget covers that, and the next step would cost 15 % of it.
const (
	minCorrection = minRatio
	maxCorrection = 3
	ignored       = 0.02
)

// steady is how many observations an estimate counts at most: from there on each
// new one has the same weight.
const steady = 8

// shareAgain is how often an estimate is worth sharing that stays within a step.
const shareAgain = time.Minute

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
	at              time.Time // of the last observation
	// doubt is an observation that was lower than expected and stands alone so far.
	doubt doubt
	// shared is the estimate's time when it was exported last, and sharedStep the
	// step that it meant.
	shared     time.Time
	sharedStep float64
}

type doubt struct {
	counted Tokens
	ratio   float64
}

// Observe takes in how many tokens the upstream reported for a request that we
// counted, and reports whether that is believed: observations that say nothing
// about the tokenizer are ignored. The same observations in the same order give the
// same correction.
//
// A ratio that is lower than expected (than 1, or the mean where that is less) is
// believed only when two requests of quite different sizes show it. A server that cuts what
// is too long for it without saying so, as Ollama does, reports about the same
// number however long the request was: its ratio falls as requests grow. A
// tokenizer's does not.
//
// Requests with images or audio, counts named as a lower bound and answers that
// were broken off are not for Observe.
func (b *Book) Observe(s Scope, model string, o Observation) bool {
	if o.Counted < minCounted || len(model) > MaxName {
		return false
	}
	ratio := float64(o.Reported) / float64(o.Counted)
	if ratio < minRatio || ratio > maxRatio {
		return false
	}
	c := &b.corrections
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.remember(pair{s, model})
	if !e.believes(o.Counted, ratio) {
		return false
	}
	e.add(ratio)
	e.at = maxTime(instant(o.At), e.at)
	return true
}

// Correction answers what the upstream counts for one token of ours: an upper
// estimate from 0.75 to 3, and 1 when nothing is known.
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

// remember answers an estimate, to be changed. It needs the write lock.
func (c *corrections) remember(key pair) *estimate {
	e, ok := c.estimates.get(key)
	if !ok {
		e = new(estimate)
		c.estimates.put(key, e)
	}
	return e
}

// believes reports whether an observation is to be added.
func (e *estimate) believes(counted Tokens, ratio float64) bool {
	expected := 1.0
	if e.count > 0 {
		expected = min(e.mean, 1)
	}
	if ratio >= expected-tolerance {
		return true
	}
	d := &e.doubt
	if math.Abs(ratio-d.ratio) > alike*d.ratio {
		*d = doubt{counted, ratio}
		return false
	}
	small, large := float64(min(counted, d.counted)), float64(max(counted, d.counted))
	return large >= apart*small
}

// add weighs the first observations equally and then forgets slowly, the
// deviation faster than the mean, so that a jump is believed at once.
func (e *estimate) add(ratio float64) {
	e.count = min(e.count+1, steady)
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
	if e.count == 0 {
		return 1
	}
	c := e.mean + 2*e.deviation
	if c > 1 && c <= 1+ignored {
		return 1
	}
	return min(max(c, minCorrection), maxCorrection)
}

// unshared reports whether the estimate is worth telling others.
func (e *estimate) unshared(now time.Time) bool {
	if e.count == 0 || !e.at.After(e.shared) {
		return false
	}
	since := now.Sub(e.shared)
	return since >= shareAgain || since < 0 || Step(e.upper()) != e.sharedStep
}

// markShared notes that others have been told.
func (e *estimate) markShared() { e.shared, e.sharedStep = e.at, Step(e.upper()) }

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
