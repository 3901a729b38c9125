package main

import (
	"fmt"
	"slices"
	"time"
)

// target is one side of a comparison.
type target struct {
	name string
	load load
	// rates, latencies and costs of its windows.
	rates  []float64
	median []float64 // ms
	cpu    []float64 // µs for an answer
	first  []float64 // ms
	err    error
}

// measureOnce runs one window and keeps its figures. A target that once went wrong
// is not asked again.
func (t *target) measureOnce() *sample {
	if t.err != nil {
		return nil
	}
	s := t.load.run()
	if s.err != nil {
		t.err = s.err
		return nil
	}
	t.rates = append(t.rates, s.rate())
	t.cpu = append(t.cpu, float64(s.each().Microseconds()))
	t.median = append(t.median, milliseconds(s.latencies))
	t.first = append(t.first, milliseconds(s.firsts))
	return s
}

func milliseconds(all []time.Duration) float64 {
	figures := make([]float64, len(all))
	for i, d := range all {
		figures[i] = float64(d.Microseconds()) / 1000
	}
	return boxOf(figures).median
}

// alternate runs n rounds: in each every target once, in turn from the first and
// from the last, so that what drifts on the machine meets all alike.
func (b *bench) alternate(n int, targets ...*target) error {
	for round := range n {
		order := slices.Clone(targets)
		if round%2 == 1 {
			slices.Reverse(order)
		}
		for _, t := range order {
			if b.ctx.Err() != nil {
				return fmt.Errorf("cut short: %w", b.ctx.Err())
			}
			t.measureOnce()
		}
	}
	return nil
}

// ratios are a's figures by b's, pair by pair; none where one of the two went
// wrong, since a comparison with errors in it says nothing.
func ratios(a, b *target, of func(*target) []float64) []float64 {
	if a.err != nil || b.err != nil {
		return nil
	}
	var all []float64
	for i, v := range of(a) {
		all = append(all, v/of(b)[i])
	}
	return all
}

// differences are a's figures less b's, pair by pair.
func differences(a, b *target, of func(*target) []float64) []float64 {
	if a.err != nil || b.err != nil {
		return nil
	}
	var all []float64
	for i, v := range of(a) {
		all = append(all, v-of(b)[i])
	}
	return all
}

func rateOf(t *target) []float64  { return t.rates }
func firstOf(t *target) []float64 { return t.first }

// judged counts a miss and gives the word.
func (b *bench) judged(v verdict) verdict {
	if v == missed || v == invalid {
		b.missed++
	}
	return v
}

// problems lists what went wrong with some targets, as lines below a table.
func problems(targets ...*target) string {
	text := ""
	for _, t := range targets {
		if t.err != nil {
			text += fmt.Sprintf("\n- %s: %v", t.name, t.err)
		}
	}
	if text != "" {
		text = "\nWindows with wrong answers, which make their comparison invalid:\n" + text + "\n"
	}
	return text
}
