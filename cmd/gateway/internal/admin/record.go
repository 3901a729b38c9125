package admin

import (
	"sync"
	"time"
)

// How much a Record remembers. It is never more: a replica that serves for months
// holds as much as after an hour.
const (
	// StepLength is how long a step of the tokens over time is.
	StepLength = 5 * time.Second
	// stepsKept are one hour.
	stepsKept = 720
	// refusalsKept are the last refusals by the fence.
	refusalsKept = 64
)

// Record is what a replica remembers for the page beside what its metrics count:
// tokens before and after over the last hour, and the last refusals by the fence,
// 40 KiB in all. It holds numbers and words of fixed lists, nothing of a request.
// Its methods do not block on anything but each other. The zero value is ready.
// Safe for concurrent use.
type Record struct {
	mu       sync.Mutex
	steps    [stepsKept]period
	refusals [refusalsKept]Refusal
	refused  int // all that there were
}

// period is what was counted in one step.
type period struct {
	number        int64 // of the step, from the Unix epoch; 0: never used
	requests      int
	before, after int64
}

// Refusal is a write that the store refused by its fence.
type Refusal struct {
	At        time.Time
	Operation string // of the store, in lower case
	Answer    string // superseded, lost, ended or other
}

// Counted takes in a chat request whose tokens were counted.
func (r *Record) Counted(before, after int) {
	number := time.Now().Unix() / int64(StepLength/time.Second)
	r.mu.Lock()
	defer r.mu.Unlock()
	s := &r.steps[number%stepsKept]
	if s.number != number {
		*s = period{number: number}
	}
	s.requests++
	s.before += int64(before)
	s.after += int64(after)
}

// Refused takes in a refusal by the fence.
func (r *Record) Refused(operation, answer string) {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refusals[r.refused%refusalsKept] = Refusal{At: now, Operation: operation, Answer: answer}
	r.refused++
}

// lately returns the steps of the last hour in which something was counted, at
// most limit of them, the latest first.
func (r *Record) lately(limit int) []stepShape {
	r.mu.Lock()
	defer r.mu.Unlock()
	shown := []stepShape{}
	latest := time.Now().Unix() / int64(StepLength/time.Second)
	for n := latest; n > latest-stepsKept && len(shown) < limit; n-- {
		s := r.steps[n%stepsKept]
		if s.number != n || s.requests == 0 {
			continue
		}
		at := time.Unix(n*int64(StepLength/time.Second), 0)
		shown = append(shown, stepShape{At: moment(at), Requests: s.requests, Before: s.before, After: s.after})
	}
	return shown
}

// lastRefusals returns those that are remembered, the latest first.
func (r *Record) lastRefusals() []refusalShape {
	r.mu.Lock()
	defer r.mu.Unlock()
	shown := []refusalShape{}
	for i := range min(r.refused, refusalsKept) {
		f := r.refusals[(r.refused-1-i)%refusalsKept]
		shown = append(shown, refusalShape{At: moment(f.At), Operation: f.Operation, Answer: f.Answer})
	}
	return shown
}
