package main

import (
	"context"
	"fmt"
)

// measure notes what a replica has open when it has nothing to do.
func (w *world) measure() error {
	for _, r := range w.replicas {
		m, err := r.metrics()
		if err != nil {
			return err
		}
		r.goroutines = int(m["go_goroutines"])
		if r.descriptors, err = r.process.descriptors(); err != nil {
			return err
		}
		r.descriptors -= r.link.carries()
	}
	return nil
}

// slack is for what comes and goes without anything being left over: the connection
// and the goroutine of a request of the admin plane, a timer that runs, one more
// connection to the store that is being made or ends while it is counted.
const slack = 4

// leftovers waits until the replicas hold nothing of the requests that are over:
// no request, body or attempt in their own counts, and as many goroutines and open
// files as before. Connections to the store are counted apart, at their link: the
// pool keeps as many as were needed at once.
func (w *world) leftovers(ctx context.Context) error {
	w.caller.http.CloseIdleConnections()
	w.upstreamLink.cut() // idle connections to the upstream are its to keep; not now
	w.summaryLink.cut()
	for _, r := range w.replicas {
		err := until(ctx, "what replica "+r.name+" holds", func() error {
			m, err := r.metrics()
			if err != nil {
				return err
			}
			for _, name := range []string{"foldgate_requests_in_flight", "foldgate_bodies_in_flight_bytes", "foldgate_attempts_running"} {
				if m[name] != 0 {
					return fmt.Errorf("%s is %v", name, m[name])
				}
			}
			if n := int(m["go_goroutines"]); n > r.goroutines+slack {
				return fmt.Errorf("%d goroutines, %d at the start", n, r.goroutines)
			}
			n, err := r.process.descriptors()
			if err != nil {
				return err
			}
			if store := r.link.carries(); n-store > r.descriptors+slack {
				return fmt.Errorf("%d open files, %d of them to the store, %d others at the start", n, store, r.descriptors)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// memory holds the most that each replica ever had in memory against the formula of
// docs/operating.md.
func (w *world) memory() (most int64, err error) {
	bound := int64(3*w.options.memory+300) << 20
	for _, r := range w.replicas {
		n, err := r.process.peak()
		if err != nil {
			return most, err
		}
		most = max(most, n)
		if n > bound {
			return most, fmt.Errorf("replica %s had %d MiB in memory, the bound is %d", r.name, n>>20, bound>>20)
		}
	}
	return most, nil
}
