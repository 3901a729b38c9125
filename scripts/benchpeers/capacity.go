package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/foldgate/foldgate/ownership"
	"github.com/foldgate/foldgate/redisstore"
)

func newRedis(p *process) *redis.Client { return redis.NewClient(&redis.Options{Addr: p.addr}) }

// carried is what a store carried of one operation.
type carried struct {
	what   string
	rate   float64       // operations a second
	server time.Duration // processor time of all servers for one
}

// capacityHandoff is the length of a handoff of about 1,000 tokens.
const capacityHandoff = 4 << 10

// capacity measures one Redis, then a cluster of three, by the scripts that the
// gateway runs, and tells what that comes to.
func (b *bench) capacity() (string, error) {
	one, err := b.startRedis("redis-capacity")
	if err != nil {
		return "", err
	}
	single, err := b.carry("redis://"+one.addr, one)
	if err != nil {
		return "", err
	}
	nodes, err := b.startCluster(3)
	if err != nil {
		return "", err
	}
	var addrs []string
	for _, p := range nodes {
		addrs = append(addrs, p.addr)
	}
	cluster, err := b.carry("redis+cluster://"+strings.Join(addrs, ","), nodes...)
	if err != nil {
		return "", err
	}
	var t strings.Builder
	t.WriteString("64 callers on the gateway's store, conversations at random, on the cores that the client shares:\n\n" +
		"| operation | one server, operations/s | its CPU µs each | cluster of three, operations/s | CPU µs each, all nodes |\n|---|---|---|---|---|\n")
	for i, c := range single {
		fmt.Fprintf(&t, "| %s | %.0f | %d | %.0f | %d |\n", c.what, c.rate, c.server.Microseconds(), cluster[i].rate, cluster[i].server.Microseconds())
	}
	return t.String() + "\n" + arithmetic(single), nil
}

// carry measures the operations on a store.
func (b *bench) carry(url string, servers ...*process) ([]carried, error) {
	s, err := redisstore.Open(b.ctx, redisstore.Config{URL: url})
	if err != nil {
		return nil, fmt.Errorf("open the store: %w", err)
	}
	defer func() { _ = s.Close() }()
	conversations := b.of(200, 2000)
	known := make([][]ownership.Fence, conversations)
	for i := range known {
		f, err := attempt(b.ctx, s, conversationKey(i), 1)
		if err != nil {
			return nil, err
		}
		known[i] = []ownership.Fence{f}
	}
	var turn atomic.Int64
	operations := []struct {
		what string
		do   func(i int) error
	}{
		{"read, the handoff at hand", func(i int) error { _, err := s.Read(b.ctx, conversationKey(i), known[i]); return err }},
		{"read, with a handoff of 4 KiB", func(i int) error { _, err := s.Read(b.ctx, conversationKey(i), nil); return err }},
		{"claim, commit, settle, clear: an attempt", func(i int) error {
			n := int(turn.Add(1))
			_, err := attempt(b.ctx, s, conversationKey(conversations+n), n)
			return err
		}},
	}
	var all []carried
	for _, o := range operations {
		b.say("  %s", o.what)
		rate, server, err := b.hammer(conversations, cost(servers...), o.do)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", o.what, err)
		}
		all = append(all, carried{o.what, rate, server})
	}
	return all, nil
}

// hammer does something from 64 goroutines for a few seconds.
func (b *bench) hammer(n int, used func() cpuUse, do func(i int) error) (rate float64, each time.Duration, err error) {
	var stop atomic.Bool
	var done atomic.Int64
	var mu sync.Mutex
	var workers sync.WaitGroup
	start, before := time.Now(), used().cpu
	for w := range 64 {
		workers.Go(func() {
			for i := w; !stop.Load(); i += 61 {
				if failed := do(i % n); failed != nil {
					mu.Lock()
					err = failed
					mu.Unlock()
					return
				}
				done.Add(1)
			}
		})
	}
	time.Sleep(3 * b.window())
	stop.Store(true)
	workers.Wait()
	took, cpu := time.Since(start), used().cpu-before
	if err != nil || done.Load() == 0 {
		return 0, 0, fmt.Errorf("after %d: %w", done.Load(), err)
	}
	return float64(done.Load()) / took.Seconds(), cpu / time.Duration(done.Load()), nil
}

// attempt is what one asks of the store: four round trips.
func attempt(ctx context.Context, s *redisstore.Store, key ownership.Key, n int) (ownership.Fence, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return ownership.Fence{}, fmt.Errorf("make an id: %w", err)
	}
	what := ownership.Target{Covered: n, Digest: sha256.Sum256([]byte(fmt.Sprint(key, n)))}
	c, err := s.Claim(ctx, key, ownership.Claim{
		Attempt: ownership.AttemptID(id.String()), Target: what, Replica: "bench", Route: "primary", Lease: 15 * time.Second, Ceiling: 10 * time.Minute,
	})
	if err != nil {
		return c.Fence, fmt.Errorf("claim: %w", err)
	}
	checkpoint := ownership.Checkpoint{Target: what, Tokens: 1000, Route: "primary", Step: 1, Handoff: []byte(filler(capacityHandoff))}
	if _, err := s.Commit(ctx, key, c.Fence, ownership.Commit{Checkpoint: checkpoint}); err != nil {
		return c.Fence, fmt.Errorf("commit: %w", err)
	}
	if _, err := s.Settle(ctx, key, c.Fence); err != nil {
		return c.Fence, fmt.Errorf("settle: %w", err)
	}
	if _, err := s.Clear(ctx, key, c.Fence); err != nil {
		return c.Fence, fmt.Errorf("clear: %w", err)
	}
	return c.Fence, nil
}

func conversationKey(i int) ownership.Key {
	sum := sha256.Sum256([]byte(fmt.Sprint("conversation ", i)))
	return ownership.Key(hex.EncodeToString(sum[:20]))
}

// What the arithmetic assumes of 10,000 oversized requests a second.
const (
	assumedRate  = 10_000.0
	assumedPause = 10.0 // seconds between the turns of a conversation
	assumedReuse = 20.0 // requests that one summary serves
	readEvery    = 30.0 // seconds of use between two reads
)

// arithmetic tells what the measured costs come to at 10,000 oversized requests a
// second: one server is one thread, which is the limit.
func arithmetic(one []carried) string {
	read, first, attempt := one[0].server.Seconds(), one[1].server.Seconds(), one[2].server.Seconds()
	attempts := assumedRate / assumedReuse
	reads := assumedRate * assumedPause / readEvery
	usual := reads*read + attempts*attempt
	worst := assumedRate*first + attempts*attempt
	var t strings.Builder
	fmt.Fprintf(&t, "**10,000 oversized requests a second**, as arithmetic with these costs. A conversation that asks every %.0f s is held by its replica and read each %.0f s: %.0f reads/s.\n",
		assumedPause, readEvery, reads)
	fmt.Fprintf(&t, "If a summary serves %.0f requests there are %.0f attempts/s. Together %.0f %% of one core of Redis.\n", assumedReuse, attempts, 100*usual)
	fmt.Fprintf(&t, "Where a balancer sends every request to another replica, each one reads its handoff too: %.0f %% of a core.\n", 100*worst)
	fmt.Fprintf(&t, "One Redis server works on one core, so the next limit is at about %s oversized requests/s as usual, and %s/s in that worst case; from there on a cluster, whose slots share conversations evenly.\n",
		thousands(assumedRate/usual), thousands(assumedRate/worst))
	fmt.Fprintf(&t, "Before that come the summaries: %.0f a second, of which a model writes each in seconds.\n", attempts)
	return t.String()
}

func thousands(v float64) string {
	if v >= 1000 {
		return fmt.Sprintf("%.0f,000", v/1000)
	}
	return fmt.Sprintf("%.0f", v)
}
