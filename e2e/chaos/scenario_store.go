package main

import (
	"context"
	"errors"
	"time"
)

// storeScenarios break Redis. Every caller gets its answer all the same.
func storeScenarios() []scenario {
	list := []scenario{
		{name: "Redis killed, back empty later", during: func(ctx context.Context, w *world) error {
			w.store.kill()
			err := w.dwell(ctx)
			return errors.Join(err, w.store.start(ctx))
		}},
		{name: "Redis restarted empty", during: func(ctx context.Context, w *world) error {
			w.store.kill()
			if err := w.store.start(ctx); err != nil {
				return err
			}
			return w.dwell(ctx)
		}},
		{name: "Redis paused", during: func(ctx context.Context, w *world) error {
			w.store.pause()
			defer w.store.resume()
			return w.dwell(ctx)
		}},
		{name: "Redis slow: 200 ms an answer", during: onLinks(fault{delay: 200 * time.Millisecond})},
		{name: "Redis slow: answers in pieces", during: onLinks(fault{bytes: 48, delay: 10 * time.Millisecond})},
		{name: "connection to Redis cut in the middle of an answer", during: func(ctx context.Context, w *world) error {
			if err := onLinks(fault{cutAt: 100})(ctx, w); err != nil {
				return err
			}
			for _, r := range w.replicas {
				if r.link.broken() == 0 {
					return errors.New("no connection of replica " + r.name + " was cut")
				}
			}
			return nil
		}},
		{name: "Redis out of memory", during: withCommands([]any{"CONFIG", "SET", "maxmemory", "1"}, []any{"CONFIG", "SET", "maxmemory", "0"})},
		{name: "Redis read-only: a replica without its master", during: withCommands([]any{"REPLICAOF", "127.0.0.1", "1"}, []any{"REPLICAOF", "NO", "ONE"})},
	}
	for i := range list {
		list[i].group = "Redis"
	}
	return list
}

// onLinks breaks every replica's link to the store, those connections too that there
// are.
func onLinks(f fault) func(context.Context, *world) error {
	return func(ctx context.Context, w *world) error {
		for _, r := range w.replicas {
			r.link.set(f)
			defer r.link.set(fault{})
		}
		return w.dwell(ctx)
	}
}

func withCommands(begin, end []any) func(context.Context, *world) error {
	return func(ctx context.Context, w *world) error {
		if err := w.store.do(ctx, begin...); err != nil {
			return err
		}
		err := w.dwell(ctx)
		return errors.Join(err, w.store.do(ctx, end...))
	}
}
