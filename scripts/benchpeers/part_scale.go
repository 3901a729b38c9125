package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// scaleSize is the size of the requests by which replicas are compared.
const scaleSize = 64 << 10

// partScale measures replicas on one Redis: what they carry together, what each
// kind of request asks of Redis, and what one Redis carries.
func (b *bench) partScale() (string, error) {
	replicas, err := b.replicas()
	if err != nil {
		return "", err
	}
	b.stopAll()
	operations, err := b.operations()
	if err != nil {
		return "", err
	}
	b.stopAll()
	capacity, err := b.capacity()
	if err != nil {
		return "", err
	}
	return "### Replicas\n\n" + replicas + "\n### What a request asks of Redis\n\n" + operations + "\n### What one Redis carries\n\n" + capacity, nil
}

// replicas compares one, two and three of them.
func (b *bench) replicas() (string, error) {
	up, err := b.startUpstream()
	if err != nil {
		return "", err
	}
	store, err := b.startRedis("redis")
	if err != nil {
		return "", err
	}
	l := folded(scaleSize, false)
	fleet, err := b.fleet(3, up, "redis://"+store.addr, l)
	if err != nil {
		return "", err
	}
	tokens := 0
	for _, g := range fleet {
		if tokens, err = b.fold(g, l); err != nil {
			return "", err
		}
	}
	var targets []*target
	for n := 1; n <= len(fleet); n++ {
		t := b.sending(fmt.Sprintf("%d replicas", n), fleet[0].process, l, tokens, "reused")
		t.load.addrs, t.load.conns = nil, 3*atOnce
		whole := t.load.request
		t.load.request = func(conn int) *request { return whole(conn % atOnce) } // three connections lead each conversation
		var all []*process
		for _, g := range fleet[:n] {
			t.load.addrs, all = append(t.load.addrs, g.addr), append(all, g.process)
		}
		t.load.cost = cost(all...)
		targets = append(targets, t)
	}
	s, err := statsOf(up)
	if err != nil {
		return "", err
	}
	if err := b.alternate(b.o.pairs, targets...); err != nil {
		return "", err
	}
	var t strings.Builder
	fmt.Fprintf(&t, "Requests of %s over the trigger, of %d conversations, whose fold is reused; %d summaries were written for three replicas. The replicas, their client and the\n"+
		"upstream share the machine's cores, so that more replicas cannot carry more here; what tells is the processor time that a request takes.\n\n", sizeName(scaleSize), atOnce, s.Summaries)
	t.WriteString("| replicas | requests/s | CPU µs a request | CPU beside one replica |\n|---|---|---|---|\n")
	for i, at := range targets {
		fmt.Fprintf(&t, "| %d | %s | %s | %s |\n", i+1, middle(at.rates), middle(at.cpu), boxOf(ratios(at, targets[0], func(t *target) []float64 { return t.cpu })))
	}
	return t.String() + problems(targets...), nil
}

// fleet starts replicas that share a store.
func (b *bench) fleet(n int, up *process, store string, all ...large) (fleet []*gateway, err error) {
	args := []string{"--redis-url", store, "--summarizer-url", "http://" + up.addr + summaryPrefix + "/v1"}
	for _, l := range all {
		flag, _, err := l.window()
		if err != nil {
			return nil, err
		}
		args = append(args, "--window", flag)
	}
	for i := range n {
		g, err := b.startGateway(fmt.Sprintf("replica-%d", i+1), up, []string{"FOLDGATE_TENANT_SECRET=bench-tenant-secret-0001"}, args...)
		if err != nil {
			return nil, err
		}
		fleet = append(fleet, g)
	}
	return fleet, nil
}

// settleQuiet is how long Redis is silent before what a request asked is counted.
const settleQuiet = 400 * time.Millisecond

// operations counts round trips for each kind of request.
func (b *bench) operations() (string, error) {
	up, err := b.startUpstream()
	if err != nil {
		return "", err
	}
	store, err := b.startRedis("redis")
	if err != nil {
		return "", err
	}
	under, over := counted(scaleSize), folded(scaleSize, true)
	over.share = 1.1 // still fits, so that the attempt goes on beside the request
	fleet, err := b.fleet(2, up, "redis://"+store.addr, under, over)
	if err != nil {
		return "", err
	}
	o := &operationTable{b: b, store: store}
	if o.seen, err = watch(store.addr); err != nil {
		return "", err
	}
	defer o.seen.close()
	// Once unseen, for what comes only once: the scripts' text, the first look at what
	// others learned. Then another conversation.
	for o.conn = range 2 {
		o.text.Reset()
		o.seen.take(settleQuiet)
		for _, s := range kinds(under, over) {
			if err := o.step(s, fleet[s.replica]); err != nil {
				return "", fmt.Errorf("%s: %w", s.what, err)
			}
		}
	}
	return operationHead + o.text.String(), nil
}

// kind is a kind of request, with what Redis may be asked for it.
type kind struct {
	what, fold, documented string
	replica                int
	l                      large
	times                  int
	least, most            map[string]int
}

// kinds are in the order in which a conversation comes to them.
func kinds(under, over large) []kind {
	none := map[string]int{}
	return []kind{
		{"under the trigger, counted", "none", "nothing", 0, under, 20, none, none},
		{
			"over the trigger, nothing at hand: an attempt beside it", "none", "read, claim, a renewal a second, commit, clear; for its watcher a channel and a read", 0, over, 1,
			map[string]int{"read": 1, "claim": 1, "commit": 1}, map[string]int{"read": 2, "claim": 1, "commit": 1, "clear": 1, "renew": 5, "subscribe": 1, "unsubscribe": 1},
		},
		{"the fold used for the first time, and settled", "reused", "read, settle", 0, over, 1, map[string]int{"settle": 1}, map[string]int{"read": 1, "settle": 1}},
		{"reused, the handoff at hand", "reused", "nothing; one read each 30 s", 0, over, 20, none, map[string]int{"read": 1}},
		{
			"reused by a replica that has not seen the handoff", "reused", "read, settle", 1, over, 1,
			map[string]int{"read": 1}, map[string]int{"read": 1, "settle": 1},
		},
		{"reused there again", "reused", "nothing; one read each 30 s", 1, over, 20, none, map[string]int{"read": 1}},
	}
}

// within reports whether what was seen lies within what is documented.
func within(seen, least, most map[string]int) bool {
	for name, n := range seen {
		if n > most[name] {
			return false
		}
	}
	for name, n := range least {
		if seen[name] < n {
			return false
		}
	}
	return true
}

const operationHead = "Round trips as `MONITOR` shows them, for all requests of a line together; bytes are to and from Redis for one request.\n\n" +
	"| request | requests | round trips | documented | | bytes a request |\n|---|---|---|---|---|---|\n"

// operationTable collects the lines.
type operationTable struct {
	b     *bench
	store *process
	seen  *monitor
	conn  int // the conversation
	turn  int
	text  strings.Builder
}

// step sends requests of one kind and holds what Redis was asked against what is
// documented.
func (o *operationTable) step(k kind, g *gateway) error {
	client := newRedis(o.store)
	defer func() { _ = client.Close() }()
	if _, err := traffic(o.b.ctx, client); err != nil { // the connection's own first words
		return err
	}
	before, err := traffic(o.b.ctx, client)
	if err != nil {
		return err
	}
	between, err := traffic(o.b.ctx, client) // what asking costs
	if err != nil {
		return err
	}
	c := &connection{addr: g.addr}
	defer c.close()
	r := chatRequest(o.conn, g.addr, chatPath, nil, k.l.body())
	for range k.times {
		o.turn++
		r.count = o.turn
		r.next()
		a, err := c.ask(r.raw)
		if err != nil {
			return err
		}
		if a.status != 200 || !strings.HasPrefix(a.fold, k.fold) {
			return fmt.Errorf("status %d, Foldgate-Fold %q, want %s", a.status, a.fold, k.fold)
		}
	}
	m := o.seen.take(settleQuiet)
	after, err := traffic(o.b.ctx, client)
	if err != nil {
		return err
	}
	word := missed
	if within(m, k.least, k.most) {
		word = reached
	}
	bytes := max(0, after-between-(between-before))
	fmt.Fprintf(&o.text, "| %s | %d | %s | %s | %s | %d |\n", k.what, k.times, operationNames(m), k.documented, o.b.judged(word), bytes/int64(k.times))
	return nil
}

func operationNames(m map[string]int) string {
	if len(m) == 0 {
		return "none"
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		all = append(all, fmt.Sprintf("%d %s", m[name], name))
	}
	return strings.Join(all, ", ")
}
