package main

import (
	"context"
	"net/http"
	"time"
)

// stop ends the servers in order:
//
//  1. /readyz fails, and whoever is answered is told to come by another
//     connection. For drain_delay all requests are served as before: balancers
//     need a moment to notice.
//  2. New requests are refused as draining; what runs may finish, at most drain
//     long. Who waits for a summary does so for the first half of it and is then
//     folded without a model: the other half is for the upstream's answer.
//  3. Attempts are handed over, so that other replicas need not wait for a lease.
//  4. The doors close. The admin plane answers until the end.
func (g *gateway) stop(ctx context.Context, data, admin *http.Server) {
	g.running.leave()
	c := g.now().config
	g.logger.Info("draining", "requests", g.running.count(),
		"drain_delay", c.DrainDelay.String(), "drain", c.Drain.String())
	if c.DrainDelay > 0 {
		<-time.After(c.DrainDelay)
	}
	limit := time.Now().Add(c.Drain)
	cut := g.drain(ctx, data, c.Drain)

	attempts, cancel := context.WithTimeout(ctx, handOver)
	defer cancel()
	if err := g.coordinator.Shutdown(attempts); err != nil {
		g.logger.Warn("attempts are left behind", "error", err)
	}
	g.closeDoors(ctx, limit, data, admin)
	g.logger.Info("stopped", "refused", g.running.refused(), "cut", cut)
}

// drain refuses new requests and lets those that run finish, at most so long. It
// returns how many had to be cut.
func (g *gateway) drain(ctx context.Context, data *http.Server, longest time.Duration) (cut int) {
	// In this order: a request that is not refused is one that is waited for.
	g.now().middleware.Drain(longest / 2)
	idle := g.running.drain()
	g.logger.Info("refusing new requests", "requests", g.running.count())
	limit := time.NewTimer(longest)
	defer limit.Stop()
	select {
	case <-idle:
		return 0
	case <-limit.C:
	}
	select {
	case <-idle: // in the same instant
		return 0
	default:
	}
	cut = g.running.count()
	g.logger.Warn("drain is over, requests are cut", "requests", cut)
	_ = data.Close() // the connections are as good as gone
	// What they used must not be closed under them.
	ctx, cancel := context.WithTimeout(ctx, handOver)
	defer cancel()
	select {
	case <-idle:
	case <-ctx.Done():
	}
	return cut
}

// closeDoors closes the listeners and the connections. The last bytes of an
// answer may still be on their way to a slow client: it has what is left of the
// drain, and never less than handOver.
func (g *gateway) closeDoors(ctx context.Context, limit time.Time, data, admin *http.Server) {
	ctx, cancel := context.WithTimeout(ctx, max(handOver, time.Until(limit)))
	defer cancel()
	g.running.closeUnused()
	_ = data.Shutdown(ctx) // Close follows in any case
	_, _ = data.Close(), admin.Close()
}
