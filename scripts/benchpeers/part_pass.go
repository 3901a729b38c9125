package main

import (
	"fmt"
	"strings"
	"time"
)

// atOnce is how many connections load a proxy, unless a part says otherwise.
const atOnce = 16

// aim is one comparison with the bare proxy.
type aim struct {
	what string
	goal float64
	with *target // through the gateway
	bare *target
}

// partPass measures requests that the gateway only passes on: the length of their
// body decides.
func (b *bench) partPass() (string, error) {
	up, err := b.startUpstream()
	if err != nil {
		return "", err
	}
	bare, err := b.startBare(up)
	if err != nil {
		return "", err
	}
	quiet, err := b.startGateway("gateway", up, nil)
	if err != nil {
		return "", err
	}
	traced, err := b.startGateway("gateway-traced", up, tracing(up))
	if err != nil {
		return "", err
	}
	var aims []aim
	for _, g := range []struct {
		what string
		at   *gateway
		goal float64
	}{{"tracing off", quiet, 0.95}, {"every request traced", traced, 0.80}} {
		for _, size := range []int{1 << 10, 64 << 10} {
			body := chatBody("gpt-4o", size, false, question(placeTurn))
			aims = append(aims, aim{
				what: fmt.Sprintf("%s, %s", sizeName(size), g.what), goal: g.goal,
				with: b.through("gateway", g.at.process, body, want{body: answerJSON(plainTokens), fold: "none"}),
				bare: b.through("bare", bare, body, want{body: answerJSON(plainTokens)}),
			})
		}
	}
	before, err := statsOf(up)
	if err != nil {
		return "", err
	}
	if err := b.compare(aims); err != nil {
		return "", err
	}
	after, err := b.settledSpans(up)
	if err != nil {
		return "", err
	}
	text := b.aimTable(aims) + fmt.Sprintf("\nThe collector took %d spans; it is a part of the upstream's process and shares the machine with all the rest.\n", after.Spans-before.Spans)
	if after.Spans == before.Spans {
		return "", fmt.Errorf("no span arrived: nothing was traced; the gateway says: %s", traced.lastWords())
	}
	return text, b.profiles("pass", quiet, aims[0].with, aims[1].with)
}

// tracing is the environment that has every request traced.
func tracing(up *process) []string {
	return []string{
		"OTEL_TRACES_EXPORTER=otlp", "OTEL_METRICS_EXPORTER=none", "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf",
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + up.addr, "OTEL_TRACES_SAMPLER=always_on",
	}
}

func question(text string) message {
	return message{Role: "user", Content: "What does part 3 say? Question " + text + "."}
}

// through is a target: a body, sent to a process by as many connections as usual.
func (b *bench) through(name string, p *process, body []byte, w want) *target {
	return &target{name: name, load: load{
		addrs: []string{p.addr}, conns: atOnce, want: w, warm: b.warm(), window: b.window(), cost: cost(p),
		request: func(conn int) *request { return chatRequest(conn, p.addr, chatPath, nil, body) },
	}}
}

// compare runs the pairs of all comparisons, one comparison after another.
func (b *bench) compare(aims []aim) error {
	for _, a := range aims {
		b.say("  %s", a.what)
		if err := b.alternate(b.o.pairs, a.with, a.bare); err != nil {
			return err
		}
	}
	return nil
}

// aimTable is the table of comparisons with the bare proxy.
func (b *bench) aimTable(aims []aim) string {
	var t strings.Builder
	t.WriteString("| | requests/s, gateway | bare | CPU µs a request, gateway | bare | ratio of requests/s | target | |\n|---|---|---|---|---|---|---|---|\n")
	var sides []*target
	for _, a := range aims {
		ratio, goal, word := boxOf(ratios(a.with, a.bare, rateOf)), "", noAim
		if a.goal > 0 {
			goal, word = fmt.Sprintf("≥ %.2f", a.goal), b.judged(atLeast(ratio, a.goal))
		}
		fmt.Fprintf(&t, "| %s | %s | %s | %s | %s | %s | %s | %s |\n", a.what, middle(a.with.rates), middle(a.bare.rates),
			middle(a.with.cpu), middle(a.bare.cpu), ratio, goal, word)
		sides = append(sides, a.with, a.bare)
	}
	return t.String() + problems(sides...)
}

func middle(figures []float64) string {
	if len(figures) == 0 {
		return "–"
	}
	return short(boxOf(figures).median)
}

func sizeName(n int) string {
	if n >= 1<<20 {
		return fmt.Sprintf("%d MB", n>>20)
	}
	return fmt.Sprintf("%d KB", n>>10)
}

// settledSpans waits until no more spans come, since they are exported in batches.
func (b *bench) settledSpans(up *process) (s upstreamStats, err error) {
	for before := int64(-1); ; before = s.Spans {
		if s, err = statsOf(up); err != nil || s.Spans == before || b.ctx.Err() != nil {
			return s, err
		}
		time.Sleep(6 * time.Second) // a batch is sent every 5 s at the latest
	}
}
