package main

import (
	"fmt"
	"strings"
	"time"
)

// partFirst measures the first byte of a stream with a large request, beside
// asking the upstream directly.
func (b *bench) partFirst() (string, error) {
	up, err := b.startUpstream()
	if err != nil {
		return "", err
	}
	bare, err := b.startBare(up)
	if err != nil {
		return "", err
	}
	g, err := b.startGateway("gateway", up, nil)
	if err != nil {
		return "", err
	}
	traced, err := b.startGateway("gateway-traced", up, tracing(up))
	if err != nil {
		return "", err
	}
	var t strings.Builder
	t.WriteString("| | direct, ms | gateway | every request traced | bare | gateway less direct, ms | target | | traced less direct | bare less direct |\n|---|---|---|---|---|---|---|---|---|---|\n")
	var sides []*target
	for _, c := range []struct {
		what        string
		conns, pace int
	}{{"64 KB, one at a time", 1, 0}, {"64 KB, 16 at once, events 20 ms apart", atOnce, 20}} {
		b.say("  %s", c.what)
		direct := b.streaming("direct", up, 64<<10, c.conns, c.pace)
		with := b.streaming("gateway", g.process, 64<<10, c.conns, c.pace)
		seen := b.streaming("gateway, traced", traced.process, 64<<10, c.conns, c.pace)
		plain := b.streaming("bare", bare, 64<<10, c.conns, c.pace)
		all := []*target{direct, with, seen, plain}
		if err := b.alternate(b.o.pairs, all...); err != nil {
			return "", err
		}
		more := boxOf(differences(with, direct, firstOf))
		fmt.Fprintf(&t, "| %s | %s | %s | %s | %s | %s | ≤ 2 | %s | %s | %s |\n", c.what, middle(direct.first), middle(with.first), middle(seen.first), middle(plain.first),
			more, b.judged(atMost(more, 2)), boxOf(differences(seen, direct, firstOf)), boxOf(differences(plain, direct, firstOf)))
		sides = append(sides, all...)
	}
	return t.String() + problems(sides...), nil
}

// streaming is a target that streams; pace in milliseconds between the events.
func (b *bench) streaming(name string, p *process, size, conns, pace int) *target {
	body := chatBody("gpt-4o", size, true, question(placeTurn))
	t := b.through(name, p, body, want{body: answerStream()})
	t.load.conns = conns
	if pace > 0 { // one stream takes over a second
		t.load.window, t.load.least, t.load.longest = time.Duration(pace)*70*time.Millisecond, conns, 10*time.Second
	}
	t.load.request = func(conn int) *request {
		return chatRequest(conn, p.addr, chatPath, map[string]string{headerPace: fmt.Sprint(pace)}, body)
	}
	return t
}

// partCut counts streams that are cut short, by an upstream that answers at once.
func (b *bench) partCut() (string, error) {
	up, err := b.startUpstream()
	if err != nil {
		return "", err
	}
	bare, err := b.startBare(up)
	if err != nil {
		return "", err
	}
	g, err := b.startGateway("gateway", up, nil)
	if err != nil {
		return "", err
	}
	traced, err := b.startGateway("gateway-traced", up, tracing(up))
	if err != nil {
		return "", err
	}
	var t strings.Builder
	t.WriteString("| | streams | whole | cut short | corrupt | refused | other |\n|---|---|---|---|---|---|---|\n")
	var sum tally
	streams := 0
	for _, c := range []struct {
		what        string
		p           *process
		size, conns int
		few, many   int
		ours        bool
	}{
		{"gateway, 1 KB, one at a time", g.process, 1 << 10, 1, 600, 30_000, true},
		{"gateway, 1 KB, 16 at once", g.process, 1 << 10, 16, 1500, 45_000, true},
		{"gateway, 1 KB, 64 at once", g.process, 1 << 10, 64, 600, 15_000, true},
		{"gateway, 64 KB, 16 at once", g.process, 64 << 10, 16, 300, 10_000, true},
		{"every request traced, 1 KB, 16 at once", traced.process, 1 << 10, 16, 300, 10_000, true},
		{"bare, 1 KB, one at a time", bare, 1 << 10, 1, 300, 5_000, false},
		{"bare, 1 KB, 16 at once", bare, 1 << 10, 16, 300, 5_000, false},
	} {
		b.say("  %s", c.what)
		l := b.streaming(c.what, c.p, c.size, c.conns, 0).load
		l.total = b.of(c.few, c.many)
		s := l.run()
		fmt.Fprintf(&t, "| %s | %d | %d | %d | %d | %d | %d |\n", c.what, s.n+s.wrong.sum(), s.n, s.wrong.short, s.wrong.corrupt, s.wrong.refused, s.wrong.other)
		if c.ours {
			streams += s.n + s.wrong.sum()
			sum = tally{sum.short + s.wrong.short, sum.corrupt + s.wrong.corrupt, sum.refused + s.wrong.refused, sum.other + s.wrong.other}
			if s.err != nil {
				b.say("  the first that went wrong: %v", s.err)
			}
		}
		if b.ctx.Err() != nil {
			return "", fmt.Errorf("cut short: %w", b.ctx.Err())
		}
	}
	word := b.judged(atMost(boxOf([]float64{float64(sum.sum())}), 0))
	fmt.Fprintf(&t, "\nThrough the gateway %d streams, %d of them not as they were sent; target 0 of at least 100,000: %s.\n", streams, sum.sum(), word)
	return t.String(), nil
}
