package main

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// percentiles of what small requests took.
type percentiles struct {
	requests int
	p50, p99 time.Duration
}

// probeApart is the mean time between two small requests that are measured.
const probeApart = 10 * time.Millisecond

// probe asks small requests for so long, and says what they took. They are sent when
// it is time for them, whether or not those before them are answered: who waits for
// an answer before asking again asks least when everything is slow, and so measures
// best what is worst.
func (w *world) probe(ctx context.Context, d time.Duration) percentiles {
	var mu sync.Mutex
	var took []time.Duration
	var asked sync.WaitGroup
	rng := rand.New(rand.NewPCG(w.options.seed, 0)) //nolint:gosec // for variety
	began := time.Now()
	for due := time.Duration(0); due < d; due += time.Duration(rng.Int64N(int64(2 * probeApart))) {
		if rest(ctx, due-time.Since(began)) != nil {
			break
		}
		asked.Go(func() {
			w.send(question{conv: w.registry.make(2), turns: smallTurns}, onlyAnswers)
			mu.Lock()
			defer mu.Unlock()
			took = append(took, time.Since(began)-due)
		})
	}
	asked.Wait()
	slices.Sort(took)
	if len(took) == 0 {
		return percentiles{}
	}
	return percentiles{len(took), took[len(took)/2], took[len(took)*99/100]}
}

// processors is the processor time that each part used: all of it, or for each
// second of a while. 2 of the second kind is two cores that did nothing else.
type processors struct {
	self     float64 // callers, links, upstream, summarizer and auditor: this process
	replicas float64
	store    float64
}

// processors is what each part used since it began.
func (w *world) processors() (p processors, err error) {
	if p.self, err = processorTime(os.Getpid()); err != nil {
		return p, err
	}
	for _, r := range w.replicas {
		used, err := processorTime(r.process.cmd.Process.Pid)
		if err != nil {
			return p, err
		}
		p.replicas += used
	}
	p.store, err = processorTime(w.store.server.cmd.Process.Pid)
	return p, err
}

// since is what was used after before, for each second of d.
func (p processors) since(before processors, d time.Duration) processors {
	s := d.Seconds()
	return processors{(p.self - before.self) / s, (p.replicas - before.replicas) / s, (p.store - before.store) / s}
}

// ticks is the unit of /proc/PID/stat on every Linux there is: 100 a second.
const ticks = 100

// processorTime is how many seconds of a processor a process has used.
func processorTime(pid int) (float64, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("read processor time: %w", err)
	}
	// The name, in parentheses, may hold anything. Fields 14 and 15 of the line are
	// the time in the program and in the kernel.
	_, rest, _ := strings.Cut(string(raw[strings.LastIndexByte(string(raw), ')')+1:]), " ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0, fmt.Errorf("/proc/%d/stat cannot be read: %q", pid, raw)
	}
	user, err1 := strconv.ParseFloat(fields[11], 64)
	system, err2 := strconv.ParseFloat(fields[12], 64)
	if err1 != nil || err2 != nil {
		return 0, fmt.Errorf("/proc/%d/stat cannot be read: %q", pid, raw)
	}
	return (user + system) / ticks, nil
}

// storeErrors is how many calls of the store failed in the replicas, by operation and
// kind.
func (w *world) storeErrors() (string, error) {
	sums := map[string]float64{}
	for _, r := range w.replicas {
		m, err := r.metrics()
		if err != nil {
			return "", err
		}
		for name, n := range m {
			if labels, ok := strings.CutPrefix(name, "foldgate_store_errors_total"); ok && n > 0 {
				sums[labels] += n
			}
		}
	}
	var out []string
	for _, labels := range slices.Sorted(maps.Keys(sums)) {
		out = append(out, fmt.Sprintf("%s: %.0f", labels, sums[labels]))
	}
	return strings.Join(out, " · "), nil
}

// rest waits, or says that there is no time left.
func rest(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait: %w", context.Cause(ctx))
	}
}
