package main

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// auditor looks through the whole store again and again, straight at the server,
// and holds it against what was sent.
type auditor struct {
	client   *redis.Client
	registry *registry
	ledger   *atomic.Pointer[ledger]

	run         string            // the server's run id: another one is another store
	generations map[string]uint64 // the highest seen, by key
	digests     map[string]string // those found right, by key and count
}

func newAuditor(client *redis.Client, r *registry, at *atomic.Pointer[ledger]) *auditor {
	return &auditor{client: client, registry: r, ledger: at, generations: map[string]uint64{}, digests: map[string]string{}}
}

// watch sweeps until ctx ends.
func (a *auditor) watch(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			a.sweep(ctx)
		}
	}
}

// runID names this life of the server.
func (a *auditor) runID(ctx context.Context) (string, error) {
	info, err := a.client.Info(ctx, "server").Result()
	if err != nil {
		return "", err
	}
	_, rest, _ := strings.Cut(info, "run_id:")
	id, _, _ := strings.Cut(rest, "\r\n")
	return id, nil
}

// sweep looks once. A server that is down, paused or restarted meanwhile says
// nothing, and the next sweep looks again.
func (a *auditor) sweep(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	run, err := a.runID(ctx)
	if err != nil {
		return false
	}
	found, ttls, err := a.collect(ctx)
	if err != nil {
		return false
	}
	if again, err := a.runID(ctx); err != nil || again != run {
		return false
	}
	if run != a.run {
		a.run, a.generations = run, map[string]uint64{}
	}
	a.judge(found, ttls)
	a.ledger.Load().swept()
	return true
}

// conversationRecord is what stands under one key.
type conversationRecord struct {
	fields map[string]string
	gen    string
}

func (a *auditor) collect(ctx context.Context) (map[string]conversationRecord, map[string]time.Duration, error) {
	var names []string
	cursor := uint64(0)
	for {
		page, next, err := a.client.Scan(ctx, cursor, "*", 1000).Result()
		if err != nil {
			return nil, nil, err
		}
		names = append(names, page...)
		if cursor = next; cursor == 0 {
			break
		}
	}
	// The hash is read before its counter: numbers only grow, so the counter is
	// never behind. Times to live come last.
	pipe := a.client.Pipeline()
	hashes, counters, left := map[string]*redis.MapStringStringCmd{}, map[string]*redis.StringCmd{}, map[string]*redis.DurationCmd{}
	for _, name := range names {
		if key, ok := keyIn(name, ":conversation"); ok {
			hashes[key] = pipe.HGetAll(ctx, name)
		}
	}
	for _, name := range names {
		if key, ok := keyIn(name, ":gen"); ok {
			counters[key] = pipe.Get(ctx, name)
		}
		left[name] = pipe.PTTL(ctx, name)
	}
	if _, err := pipe.Exec(ctx); err != nil && err != redis.Nil {
		return nil, nil, err
	}
	found, ttls := map[string]conversationRecord{}, map[string]time.Duration{}
	for key, cmd := range counters {
		rec := conversationRecord{gen: cmd.Val()}
		if h := hashes[key]; h != nil {
			rec.fields = h.Val()
		}
		found[key] = rec
	}
	for key, h := range hashes {
		if _, ok := found[key]; !ok && len(h.Val()) > 0 {
			found[key] = conversationRecord{fields: h.Val()}
		}
	}
	for name, cmd := range left {
		ttls[name] = cmd.Val()
	}
	return found, ttls, nil
}

// keyIn is the conversation's key in a name of the store.
func keyIn(name, kind string) (string, bool) {
	rest, ok := strings.CutPrefix(name, "foldgate:1:{")
	if !ok {
		return "", false
	}
	return strings.CutSuffix(rest, "}"+kind)
}

func (a *auditor) judge(found map[string]conversationRecord, ttls map[string]time.Duration) {
	led := a.ledger.Load()
	for name, left := range ttls {
		if left == -1 { // what the client makes of "no time to live"
			led.breaches("%s has no time to live", name)
		}
		if !strings.HasPrefix(name, "foldgate:1:") {
			led.breaches("%s is no key of the layout", name)
		}
	}
	for key := range a.generations {
		if _, ok := found[key]; !ok {
			delete(a.generations, key) // its time was over: it is another conversation from now on
		}
	}
	for key, rec := range found {
		conv := a.registry.find(key)
		if conv == nil {
			led.breaches("%s is the key of no conversation that was sent", key)
			continue
		}
		a.judgeGeneration(led, key, rec)
		a.judgeCheckpoints(led, key, conv, rec.fields)
		a.judgeText(led, key, conv, rec.fields)
	}
}

func (a *auditor) judgeGeneration(led *ledger, key string, rec conversationRecord) {
	gen, owner := number(rec.gen), number(rec.fields["owner"])
	highest := a.generations[key]
	if rec.gen != "" && gen < highest {
		led.breaches("%s: the counter went from %d to %d", key, highest, gen)
	}
	if rec.gen != "" && owner > gen {
		led.breaches("%s: the owner has generation %d, the counter is at %d", key, owner, gen)
	}
	a.generations[key] = max(highest, gen)
}

// number reads the digits that text begins with.
func number(text string) uint64 {
	var n uint64
	_, _ = fmt.Sscanf(text, "%d", &n) // none: zero
	return n
}

// judgeCheckpoints makes each digest again from the requests that were sent.
func (a *auditor) judgeCheckpoints(led *ledger, key string, conv *conversation, fields map[string]string) {
	for _, from := range []string{"checkpoints", "snap_checkpoints"} {
		for line := range strings.Lines(fields[from]) {
			part := strings.Fields(line)
			if len(part) < 4 {
				led.breaches("%s: a checkpoint that cannot be read: %q", key, line)
				continue
			}
			a.judgeDigest(led, key, conv, from, int(number(part[2])), part[3])
			if _, ok := fields["handoff:"+part[0]]; !ok {
				led.breaches("%s: the checkpoint of %s has no handoff", key, part[0])
			}
		}
	}
	if d := fields["digest"]; d != "" {
		a.judgeDigest(led, key, conv, "owner", int(number(fields["covered"])), d)
	}
	if snap := fields["snap"]; snap != "" && snap != fields["owner"] && fields["phase"] == "committed" {
		led.breaches("%s: the snapshot is of %s, the owner is %s", key, snap, fields["owner"])
	}
}

func (a *auditor) judgeDigest(led *ledger, key string, conv *conversation, where string, covered int, digest string) {
	at := fmt.Sprintf("%s %d", key, covered)
	want, ok := a.digests[at]
	if !ok {
		var err error
		if want, err = conv.digest(covered); err != nil {
			led.breaches("%s: %s covers %d messages: %v", key, where, covered, err)
			return
		}
		a.digests[at] = want
	}
	if digest != want {
		led.breaches("%s: %s has digest %s for %d messages, want %s", key, where, digest, covered, want)
	}
}

// judgeText looks for another conversation's words.
func (a *auditor) judgeText(led *ledger, key string, conv *conversation, fields map[string]string) {
	for name, value := range fields {
		if m := foreign(value, conv.mark()); m != "" {
			led.breaches("%s: field %s of %s holds %s", key, name, conv.mark(), m)
		}
	}
}
