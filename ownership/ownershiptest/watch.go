package ownershiptest

import (
	"context"
	"time"

	"github.com/foldgate/foldgate/ownership"
)

// resubscribe is after how long a hint counts as missed: a subscription may take
// effect after Watch returned.
const resubscribe = 250 * time.Millisecond

func watchCases() []testCase {
	var cases []testCase
	for _, e := range endings() {
		cases = append(cases, testCase{"hint at " + e.name, notify, func(x *fixture) { x.hinted(e) }})
	}
	return append(cases,
		testCase{"the channel closes with its context", 0, watchCloses},
		testCase{"other conversations give no hint", notify, watchOthers},
	)
}

// ending is one way in which something changes for those who wait for f, which
// works on t.
type ending struct {
	name string
	run  func(x *fixture, f ownership.Fence, t ownership.Target)
}

func endings() []ending {
	return []ending{
		{"commit", func(x *fixture, f ownership.Fence, t ownership.Target) {
			x.commit(x.B, f, commitOf(t, "s"), ownership.DoneNow)
		}},
		{"finish", func(x *fixture, f ownership.Fence, _ ownership.Target) {
			x.finish(x.B, f, ownership.Ending{Phase: ownership.Abandoned})
		}},
		{"clear", func(x *fixture, f ownership.Fence, _ ownership.Target) { x.clear(x.B, f, ownership.Abandoned) }},
		{"forget", func(x *fixture, _ ownership.Fence, _ ownership.Target) { x.forget() }},
		{"restore", func(x *fixture, f ownership.Fence, t ownership.Target) {
			x.commit(x.B, f, commitOf(t, "s"), ownership.DoneNow)
			x.restore(x.B, f, nil, ownership.DoneNow)
		}},
		{"operator's restore", func(x *fixture, f ownership.Fence, _ ownership.Target) {
			x.goBack(f, newID(), ownership.DoneNow)
		}},
	}
}

// hinted ends one attempt after the other until a hint came.
func (x *fixture) hinted(e ending) {
	x.Helper()
	ctx, cancel := context.WithCancel(x.Context())
	defer cancel()
	hints := x.A.Watch(ctx, x.key)
	deadline := time.After(slack)
	for n := 1; ; n++ {
		e.run(x, x.begin(x.A, bypassing(target(n))), target(n))
		select {
		case _, open := <-hints:
			if !open {
				x.Fatal("closed before its context ended")
			}
			return
		case <-time.After(resubscribe):
		case <-deadline:
			x.Fatal("no hint")
		}
	}
}

func watchCloses(x *fixture) {
	ctx, cancel := context.WithCancel(x.Context())
	hints := x.A.Watch(ctx, x.key)
	cancel()
	deadline := time.After(slack)
	for {
		select {
		case _, open := <-hints:
			if !open {
				return
			}
		case <-deadline:
			x.Fatal("still open after its context ended")
		}
	}
}

func watchOthers(x *fixture) {
	ctx, cancel := context.WithCancel(x.Context())
	defer cancel()
	mine := x.A.Watch(ctx, newKey())
	x.hinted(endings()[0])
	select {
	case <-mine:
		x.Fatal("hint for another conversation")
	default:
	}
}
