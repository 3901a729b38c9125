package middleware

import (
	"container/list"
	"context"
	"runtime"
	"sync"
	"time"
)

// turns lets only so many large requests compute at once: parse, count, plan, fold,
// splice. Many that compute for milliseconds without a pause leave the processors to
// nobody else, and every small request waits among them. With turns the large ones
// wait for each other, and those of one length leave a processor for all that is short.
//
// A turn is held while computing alone, never while the network, the store or a
// summary is waited for. So whoever has one gives it back by itself soon, and waiting
// for one cannot deadlock. Safe for concurrent use.
type turns struct {
	// most is how many of each lane compute at once.
	most func() int
	// Each lane has turns of its own, so that what computes for seconds is never in
	// front of what computes for milliseconds.
	large, huge lane
}

const (
	// turnBytes: a shorter body is computed within a millisecond and needs no turn.
	turnBytes = 16 << 10
	// hugeBytes: a body that is as long is in the lane of the huge ones.
	hugeBytes = 1 << 20
)

func newTurns(most func() int) *turns { return &turns{most: most} }

// spareProcessor leaves one of the processors to what needs no turn.
func spareProcessor() int { return max(1, runtime.GOMAXPROCS(0)-1) }

// lane is those who wait, in the order of their coming.
type lane struct {
	mu      sync.Mutex
	busy    int
	on, new list.List // of chan struct{}, closed when it is that one's turn
}

// Who waits for a turn: those who begin, and those who go on after they waited for
// somebody else. The latter come first, since somebody waits for them already, and
// what ends frees its memory. They cannot keep the others out for ever: each of
// them was let in before, and comes back but a few times.
type stage bool

const (
	begins stage = false
	goesOn stage = true
)

// take waits for a turn to compute what a body of so many bytes asks for, and
// returns how it is given back. Its error is the cause of ctx's end; then there is
// no turn.
func (t *turns) take(ctx context.Context, bytes int, s stage) (giveBack func(), err error) {
	switch {
	case bytes < turnBytes:
		return func() {}, nil
	case bytes < hugeBytes:
		return t.takeIn(ctx, &t.large, s)
	default:
		return t.takeIn(ctx, &t.huge, s)
	}
}

func (t *turns) takeIn(ctx context.Context, l *lane, s stage) (func(), error) {
	granted := make(chan struct{})
	l.mu.Lock()
	queue := &l.new
	if s == goesOn {
		queue = &l.on
	}
	place := queue.PushBack(granted)
	l.call(t.most())
	l.mu.Unlock()
	giveBack := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.busy--
		l.call(t.most())
	}
	select {
	case <-granted:
		return giveBack, nil
	case <-ctx.Done():
	}
	l.mu.Lock()
	select {
	case <-granted: // in this very moment
		l.mu.Unlock()
		giveBack()
	default:
		queue.Remove(place)
		l.mu.Unlock()
	}
	return nil, context.Cause(ctx)
}

// call lets in whom there is room for. Call it with the lock held.
func (l *lane) call(most int) {
	for l.busy < most {
		queue := &l.on
		if queue.Len() == 0 {
			queue = &l.new
		}
		first := queue.Front()
		if first == nil {
			return
		}
		close(queue.Remove(first).(chan struct{})) //nolint:forcetypeassert // nothing else is in it
		l.busy++
	}
}

// takeTurn waits for this request's turn to compute; while it has one it does
// nothing. Its error is that the caller left.
func (x *exchange) takeTurn() error {
	if x.giveBack != nil {
		return nil
	}
	giveBack, err := x.m.turns.take(x.ctx(), len(x.captured.Decoded), x.stage)
	if err != nil {
		return err
	}
	x.giveBack, x.stage = giveBack, goesOn
	return nil
}

// endTurn gives it back: the decision is made, or somebody else is waited for.
func (x *exchange) endTurn() {
	if x.giveBack != nil {
		x.giveBack()
		x.giveBack = nil
	}
}

// inTurn computes a part of a summary, and answers its error. The attempts that work
// are few, and their callers wait: they go on. One whose time is over waits for its
// turn like any other: what it brings is refused by the store, not here. Where text
// has come already, progress is told until all is done: what is waited for is this
// process, and not the route. Nil: the route has not said anything yet.
func (s *summary) inTurn(progress func(), compute func() error) error {
	if progress != nil {
		defer beats(progress)()
	}
	giveBack, err := s.m.turns.take(context.Background(), s.bytes, goesOn)
	if err != nil {
		return err
	}
	defer giveBack()
	return compute()
}

// beats tells of progress until it is stopped.
func beats(progress func()) (stop func()) {
	const every = 100 * time.Millisecond
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				progress()
			}
		}
	}()
	return cancel
}
