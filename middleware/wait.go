package middleware

import (
	"cmp"
	"time"

	"github.com/foldgate/foldgate/ownership"
)

// outcomeRunning is Foldgate-Attempt's word for an attempt that goes on.
const outcomeRunning = "running"

// ask joins or begins the attempt that would cover the first covered messages.
func (x *exchange) ask(c *candidate, covered int) *ownership.Flight {
	flight, joined := x.m.cfg.Coordinator.Do(x.job(c, covered))
	x.attempt.Joined = joined
	x.traceFlight(flight, joined)
	if joined {
		return flight
	}
	x.captured.Keep()
	x.begun = append(x.begun, flight)
	if x.served != nil {
		return flight
	}
	served := make(chan struct{})
	x.served = served
	x.m.background.Go(func() {
		<-served // what leaves is the same memory; and now no other attempt is begun
		for _, flight := range x.begun {
			<-flight.Done() // the worker reads the body for as long
		}
		x.captured.Release()
	})
	return flight
}

// background notes an attempt that this request does not wait for. What came of
// it is looked up when the answer's head goes out.
func (x *exchange) background(f *ownership.Flight) { x.flight = f }

// lookUpAttempt says what has become of the attempt that goes on beside this
// request.
func (x *exchange) lookUpAttempt() {
	if x.flight == nil {
		return
	}
	fence, ok := x.flight.Current()
	if !ok {
		return
	}
	x.attempt.Joined = x.attempt.Joined || x.flight.Foreign()
	outcome := outcomeRunning
	select {
	case <-x.flight.Done():
		res := x.flight.Result()
		x.attempt.Joined = x.attempt.Joined || res.Joined
		outcome = cmp.Or(outcomeOf(res.Kind), outcomeRunning)
	default:
	}
	x.noteAttempt(fence, outcome)
}

// wait is step 6: the request cannot fit, so it waits for the commit, and
// takes the fold without a model if none comes in time.
func (x *exchange) wait(c *candidate, covered int, readErr error) (plan, error) {
	flight := x.ask(c, covered)
	x.endTurn()
	began := time.Now()
	ended := x.await(flight)
	x.report.Wait += time.Since(began)
	if err := x.ctx().Err(); err != nil {
		return plan{}, err
	}
	if err := x.takeTurn(); err != nil {
		return plan{}, err
	}
	if !ended {
		x.background(flight)
		return x.fallback(c, reasonTimeout)
	}
	return x.landed(c, flight.Result(), readErr)
}

// await reports whether the flight ended before the deadline. A streaming
// caller who has waited for keepalive gets the head and comment frames.
func (x *exchange) await(f *ownership.Flight) bool {
	left := time.NewTimer(max(0, time.Until(x.deadline)))
	defer left.Stop()
	var quiet <-chan time.Time
	if x.m.cfg.Keepalive > 0 && x.envelope.Stream {
		ticker := time.NewTicker(x.m.cfg.Keepalive)
		defer ticker.Stop()
		quiet = ticker.C
	}
	draining := x.m.drain.begun
	for {
		select {
		case <-f.Done():
			return true
		case <-x.ctx().Done():
			return false
		case <-draining:
			draining = nil
			x.hurry()
			left.Reset(max(0, time.Until(x.deadline)))
		case <-quiet:
			x.keepAlive()
		case <-left.C:
			// A flight that ended by now is no time-out (busy, cooling, full).
			select {
			case <-f.Done():
				return true
			default:
				return false
			}
		}
	}
}

// keepAlive sends a frame, the head before the first one.
func (x *exchange) keepAlive() {
	if x.alive != nil {
		x.alive.Beat()
		return
	}
	x.report.Kind = kindPending
	x.alive = startKeepalive(x.w, x.setHead)
}

// landed uses what a flight came to.
func (x *exchange) landed(c *candidate, res ownership.Result, readErr error) (plan, error) {
	x.attempt.Joined = x.attempt.Joined || res.Joined
	if word := outcomeOf(res.Kind); word != "" && res.Fence != (ownership.Fence{}) {
		x.noteAttempt(res.Fence, word)
	}
	switch res.Kind {
	case ownership.ResultCommitted, ownership.ResultUnfenced:
		return x.fresh(c, res)
	case ownership.ResultFailed, ownership.ResultAbandoned:
		if readErr != nil {
			return x.fallback(c, reasonStore)
		}
	}
	return x.fallback(c, reasonOf(res.Kind))
}

// fresh folds with the summary that was awaited. An attempt that somebody else
// began may cover less than this request needs; then one more is asked for in
// what is left of the wait.
func (x *exchange) fresh(old *candidate, res ownership.Result) (plan, error) {
	cp := res.Checkpoint
	if !prefixOf(x.view, cp.Target) {
		return x.fallback(old, reasonBusy)
	}
	kind := kindUnfenced
	if res.Kind == ownership.ResultCommitted {
		kind = kindCommitted
		x.m.held.add(x.key, cp)
	}
	c := x.with(cp)
	if c == nil {
		return x.fallback(old, reasonIneffective)
	}
	if !c.whole() && (old == nil || cp.Covered > old.checkpoint.Covered) && time.Until(x.deadline) > 0 {
		if covered, ok := x.view.Target(x.budget, x.m.cfg.Settings, cp.Covered); ok {
			return x.wait(c, covered, nil)
		}
	}
	if c.unfit {
		return x.fallback(c, reasonIneffective)
	}
	return x.use(c, kind, ""), nil
}

func (x *exchange) noteAttempt(f ownership.Fence, outcome string) {
	x.attempt.ID, x.attempt.Generation, x.attempt.Outcome = string(f.Attempt), uint64(f.Generation), outcome
}

// outcomeOf is the word of Foldgate-Attempt for how an attempt ended; empty
// where the flight was not about one attempt.
func outcomeOf(k ownership.ResultKind) string {
	switch k {
	case ownership.ResultCommitted:
		return "committed"
	case ownership.ResultUnfenced, ownership.ResultStore:
		return "unfenced"
	case ownership.ResultFailed:
		return "failed"
	case ownership.ResultIneffective:
		return "ineffective"
	case ownership.ResultCancelled:
		return "cancelled"
	case ownership.ResultAbandoned:
		return "abandoned"
	case ownership.ResultSuperseded:
		return "superseded"
	case ownership.ResultLost:
		return "lost"
	case ownership.ResultBusy:
		return outcomeRunning
	default:
		return ""
	}
}

// reasonOf is the reason of Foldgate-Fold for a fold without a model.
func reasonOf(k ownership.ResultKind) string {
	switch k {
	case ownership.ResultBusy:
		return reasonBusy
	case ownership.ResultCooling:
		return reasonCooling
	case ownership.ResultBlocked:
		return reasonBlocked
	case ownership.ResultFull:
		return reasonFull
	case ownership.ResultIneffective:
		return reasonIneffective
	case ownership.ResultCancelled, ownership.ResultAbandoned:
		return reasonCancelled
	case ownership.ResultSuperseded:
		return reasonSuperseded
	case ownership.ResultLost:
		return reasonLost
	case ownership.ResultStore:
		return reasonStore
	default:
		return reasonRoutes
	}
}
