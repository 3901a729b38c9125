package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"syscall"
	"time"
)

// lease is that of the configuration of replica.go.
const lease = time.Second

// replicaScenarios break the gateway's own processes.
func replicaScenarios() []scenario {
	return []scenario{
		{name: "replica killed", group: "replica", during: killed},
		{name: "replica paused beyond its lease", group: "replica", during: func(ctx context.Context, w *world) error {
			// The balancer's checks find it silent. What it has taken on, it keeps; all
			// callers may wait for that, so others ask meanwhile.
			r := w.replicas[0]
			r.down.Store(true)
			r.pause()
			defer r.down.Store(false)
			defer r.resume()
			for until := time.Now().Add(3 * lease / 2); time.Now().Before(until) && ctx.Err() == nil; {
				w.send(question{conv: w.registry.make(1), turns: oversizeTurns, stream: true}, onlyAnswers)
			}
			return nil
		}},
		{name: "disk full for the log", group: "replica", during: diskFull},
	}
}

// dwellFor is dwell with another least time.
func (w *world) dwellFor(ctx context.Context, d time.Duration) error {
	led := w.at.Load()
	enough, from := time.Now().Add(d), led.count()
	return until(ctx, "answers during the fault", func() error {
		if n := led.count() - from; n < w.options.answers || time.Now().Before(enough) {
			return fmt.Errorf("%d answers", n)
		}
		return nil
	})
}

// killed kills a replica in the middle of an answer, and starts it again. The other
// one takes its callers meanwhile.
func killed(ctx context.Context, w *world) error {
	r := w.replicas[0]
	conn, err := net.DialTimeout("tcp", r.data, patience)
	if err != nil {
		return fmt.Errorf("ask replica %s: %w", r.name, err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(patience))
	q := question{conv: w.registry.make(1), turns: oversizeTurns, stream: true, plan: "trickle"}
	raw, nonce, err := w.wire(r.data, q)
	if err == nil {
		_, err = conn.Write(raw)
	}
	if err != nil {
		return fmt.Errorf("ask replica %s: %w", r.name, err)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return fmt.Errorf("ask replica %s: %w", r.name, err)
	}
	r.kill()
	switch o := judgeAnswer(res, nonce, q); o.kind {
	case kindCut:
		w.at.Load().answered("cut by the kill, asked again")
		w.send(q, onlyAnswers)
	case kindAnswered: // it was quick
		w.enter(w.at.Load(), r, q, o, onlyAnswers)
	default:
		w.at.Load().isWrong("the end of a killed replica's stream: %s %s", o.kind, o.detail)
	}
	_ = res.Body.Close()
	if err := w.dwell(ctx); err != nil {
		return err
	}
	if err := r.restart(); err != nil {
		return err
	}
	return w.dwell(ctx)
}

// diskFull runs a third replica, whose log has no room for a byte, and asks it.
func diskFull(_ context.Context, w *world) error {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("open a full device: %w", err)
	}
	defer func() { _ = full.Close() }()
	r, err := w.prepareReplica("full", w.upstreamLink.addr)
	if err != nil {
		return err
	}
	defer r.close()
	if err := r.start(full); err != nil {
		return err
	}
	var all sync.WaitGroup
	for i := range 4 * w.options.repeats {
		q := question{conv: w.registry.make(1), turns: smallTurns, stream: i%4 < 2}
		if i%2 == 0 {
			q.turns = oversizeTurns
		}
		all.Go(func() {
			o := w.caller.ask(context.Background(), r.data, w.newNonce(), q)
			w.enter(w.at.Load(), r, q, o, onlyAnswers)
		})
	}
	all.Wait()
	w.caller.http.CloseIdleConnections()
	r.process.signal(syscall.SIGTERM)
	code, err := r.process.exits(patience)
	if err == nil && code != 0 {
		err = fmt.Errorf("exit code %d", code)
	}
	return err
}
