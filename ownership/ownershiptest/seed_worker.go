package ownershiptest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foldgate/foldgate/ownership"
)

// patience bounds waits for events that come at once unless something is broken.
const patience = 30 * time.Second

// receive takes what comes next, or fails the case.
func receive[T any](x *fixture, from <-chan T, what string) T {
	x.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case v := <-from:
		return v
	case <-limit.C:
		x.Fatalf("%s: nothing came", what)
		panic("unreachable")
	}
}

// summarizer is a worker of which each call waits until the case answers it. It
// does not listen to its context, as a call that hangs in a socket does not.
type summarizer struct {
	x     *fixture
	calls chan *summaryCall
	count atomic.Int32
}

func (x *fixture) summarizer() *summarizer {
	return &summarizer{x: x, calls: make(chan *summaryCall)}
}

// summaryCall is one call of the worker.
type summaryCall struct {
	ownership.Attempt
	ctx    context.Context // the worker's own: with what cause it was ended
	answer chan func() (ownership.Draft, error)
}

func (s *summarizer) work(ctx context.Context, a ownership.Attempt, _ func()) (ownership.Draft, error) {
	s.count.Add(1)
	call := &summaryCall{Attempt: a, ctx: ctx, answer: make(chan func() (ownership.Draft, error), 1)}
	over := s.x.Context().Done() // the case ended before it answered
	select {
	case s.calls <- call:
	case <-over:
		return ownership.Draft{}, errCaseOver
	}
	select {
	case answer := <-call.answer:
		return answer()
	case <-over:
		return ownership.Draft{}, errCaseOver
	}
}

var errCaseOver = errors.New("the case is over")

// next is the next call, which has begun.
func (s *summarizer) next() *summaryCall {
	s.x.Helper()
	return receive(s.x, s.calls, "a summary call")
}

func (c *summaryCall) returns(text string) {
	c.answer <- func() (ownership.Draft, error) {
		return ownership.Draft{Handoff: []byte(text), Tokens: len(text), Step: 1}, nil
	}
}

func (c *summaryCall) fails(err error) {
	c.answer <- func() (ownership.Draft, error) { return ownership.Draft{}, err }
}

func routeFailure(class string) *ownership.RouteError {
	return &ownership.RouteError{Failure: climbing(class), Err: errors.New("the model said no")}
}

// job wants a summary of t in the case's conversation.
func (x *fixture) job(t ownership.Target, work ownership.Worker, routes ...string) ownership.Job {
	job := ownership.Job{Conversation: x.key, Target: t, Work: work}
	for _, name := range routes {
		job.Routes = append(job.Routes, ownership.Route{Name: name})
	}
	return job
}

// impatient makes the first route stall as soon as it was called: how long the
// silence was plays no part in what follows.
func impatient(job ownership.Job) ownership.Job {
	job.Routes[0].Idle = time.Millisecond
	return job
}

// coordinator is one replica's; it ends with the case.
func (x *fixture) coordinator(s ownership.Store, change ...func(*ownership.Config)) *ownership.Coordinator {
	x.Helper()
	conf := ownership.Config{Store: s}
	for _, fn := range change {
		fn(&conf)
	}
	c, err := ownership.NewCoordinator(conf)
	x.ok(err, "make a coordinator")
	x.Cleanup(func() { x.stop(c) })
	return c
}

// stop ends a coordinator and waits for all that it began.
func (x *fixture) stop(c *ownership.Coordinator) {
	x.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := c.Shutdown(ctx); err != nil {
		x.Errorf("shutdown: %v", err)
	}
}

// await wants a flight to end as kind.
func (x *fixture) await(f *ownership.Flight, kind ownership.ResultKind) ownership.Result {
	x.Helper()
	receive(x, f.Done(), "the flight's end")
	res := f.Result()
	if res.Kind != kind {
		x.Fatalf("result %d (%v), want %d", res.Kind, res.Err, kind)
	}
	return res
}

// ledger is an Observer that keeps what the store refused and how attempts ended.
type ledger struct {
	refusals chan refusal
	mu       sync.Mutex
	ends     map[ownership.Generation]ownership.Phase
}

// refusal is a write that the store refused.
type refusal struct {
	operation string
	err       error
}

func newLedger() *ledger {
	return &ledger{refusals: make(chan refusal, 64), ends: map[ownership.Generation]ownership.Phase{}}
}

func (l *ledger) configure(c *ownership.Config) { c.Observer = l }

func (l *ledger) AttemptStarted(ownership.Attempt) {}

func (l *ledger) AttemptEnded(a ownership.Attempt, p ownership.Phase, _ bool, _ time.Duration, _ error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ends[a.Fence.Generation] = p
}

func (l *ledger) Refused(operation string, err error) {
	l.refusals <- refusal{operation, err}
}

func (l *ledger) StoreError(string, error) {}

func (l *ledger) end(g ownership.Generation) ownership.Phase {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ends[g]
}

// hooked is a store with something between it and its caller. before may fail a
// call that then is never sent; both may keep a call waiting, at a gate.
type hooked struct {
	ownership.Store
	before func(operation string, key ownership.Key) error
	after  func(operation string, key ownership.Key) error

	mu    sync.Mutex
	asked []string
}

// unreachable is s behind a network that lets nothing through.
func (x *fixture) unreachable(s ownership.Store) *hooked {
	return &hooked{Store: s, before: func(string, ownership.Key) error { return ownership.ErrUnavailable }}
}

// withoutRenewals is s for a replica that does not run: its lease is not kept.
func withoutRenewals(s ownership.Store) *hooked {
	return &hooked{Store: s, before: func(operation string, _ ownership.Key) error {
		if operation == "renew" {
			return ownership.ErrUnavailable
		}
		return nil
	}}
}

// operations are the names of the calls so far.
func (h *hooked) operations() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.asked)
}

func (h *hooked) call(operation string, key ownership.Key, send func() error) error {
	h.mu.Lock()
	h.asked = append(h.asked, operation)
	h.mu.Unlock()
	if h.before != nil {
		if err := h.before(operation, key); err != nil {
			return err
		}
	}
	err := send()
	if h.after != nil {
		if lost := h.after(operation, key); lost != nil {
			return lost
		}
	}
	return err
}

func (h *hooked) Read(ctx context.Context, key ownership.Key, known []ownership.Fence) (v ownership.View, err error) {
	err = h.call("read", key, func() (err error) { v, err = h.Store.Read(ctx, key, known); return err })
	return v, err
}

func (h *hooked) Claim(ctx context.Context, key ownership.Key, c ownership.Claim) (out ownership.Claimed, err error) {
	err = h.call("claim", key, func() (err error) { out, err = h.Store.Claim(ctx, key, c); return err })
	return out, err
}

func (h *hooked) Renew(ctx context.Context, key ownership.Key, f ownership.Fence, r ownership.Renewal) error {
	return h.call("renew", key, func() error { return h.Store.Renew(ctx, key, f, r) })
}

func (h *hooked) Commit(ctx context.Context, key ownership.Key, f ownership.Fence, c ownership.Commit) (d ownership.Done, err error) {
	err = h.call("commit", key, func() (err error) { d, err = h.Store.Commit(ctx, key, f, c); return err })
	return d, err
}

func (h *hooked) Restore(ctx context.Context, key ownership.Key, f ownership.Fence, charge *ownership.Failure) (d ownership.Done, err error) {
	err = h.call("restore", key, func() (err error) { d, err = h.Store.Restore(ctx, key, f, charge); return err })
	return d, err
}

func (h *hooked) Finish(ctx context.Context, key ownership.Key, f ownership.Fence, e ownership.Ending) error {
	return h.call("finish", key, func() error { return h.Store.Finish(ctx, key, f, e) })
}

func (h *hooked) Clear(ctx context.Context, key ownership.Key, f ownership.Fence) (p ownership.Phase, err error) {
	err = h.call("clear", key, func() (err error) { p, err = h.Store.Clear(ctx, key, f); return err })
	return p, err
}

// gate stops the calls of one operation on one conversation until it is opened.
type gate struct {
	operation string
	key       ownership.Key
	reached   chan struct{} // one value for each call that was stopped
	open      chan struct{}
	over      <-chan struct{} // the case ended without opening it
}

func (x *fixture) gate(operation string) *gate {
	return &gate{operation: operation, key: x.key, reached: make(chan struct{}, 64), open: make(chan struct{}), over: x.Context().Done()}
}

// pass is for hooked.
func (g *gate) pass(operation string, key ownership.Key) error {
	if operation != g.operation || key != g.key {
		return nil
	}
	g.reached <- struct{}{}
	select {
	case <-g.open:
	case <-g.over:
	}
	return nil
}
