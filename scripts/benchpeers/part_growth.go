package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/foldgate/foldgate/compression"
	"github.com/foldgate/foldgate/compression/chat"
)

// growthMessages is how long the conversation becomes.
const growthMessages = 1000

// growthMessageBytes is about the length of one message.
const growthMessageBytes = 1200

// point is what one turn cost, as the middle of the turns around it.
type point struct {
	messages int
	kib      float64 // the body
	ms       float64 // longer than direct
	allocs   float64 // objects
	allocKiB float64
	redis    float64 // bytes to and from it
	counted  float64 // tokens of messages that were not counted before
	scan     float64 // ms to find the spans of the messages, and to know them again
}

// partGrowth measures what a turn costs while a conversation grows: once with a
// window that folds it, once with one that it stays under.
func (b *bench) partGrowth() (string, error) {
	up, err := b.startUpstream()
	if err != nil {
		return "", err
	}
	store, err := b.startRedis("redis")
	if err != nil {
		return "", err
	}
	var t strings.Builder
	var curves []curve
	for _, c := range []struct{ what, window string }{{"folded, window 128,000", "128000"}, {"never folded, window 2,000,000", "2000000"}} {
		b.say("  %s", c.what)
		g, err := b.startGateway("gateway-"+c.window, up, nil, "--redis-url", "redis://"+store.addr,
			"--window", c.window, "--summarizer-url", "http://"+up.addr+summaryPrefix+"/v1")
		if err != nil {
			return "", err
		}
		points, summaries, err := b.grow(up, store, g, c.window)
		if err != nil {
			return "", fmt.Errorf("%s: %w", c.what, err)
		}
		g.stop()
		fmt.Fprintf(&t, "\n%s; %d summaries were written:\n\n%s", c.what, summaries, growthTable(points))
		curves = append(curves, curve{c.what, points})
	}
	if b.o.out != "" {
		picture := filepath.Join(filepath.Dir(b.o.out), "performance-growth.svg")
		if err := os.WriteFile(picture, []byte(plot(curves)), 0o644); err != nil { //nolint:gosec // a document is for everybody
			return "", fmt.Errorf("write the picture: %w", err)
		}
	}
	return t.String() + "\n![Cost per turn of a growing conversation](performance-growth.svg)\n", nil
}

// grow leads one conversation. Its figures are taken over steps of some turns,
// since the gateway's counters are asked between them and asking costs too.
func (b *bench) grow(up, store *process, g *gateway, name string) (points []point, summaries int64, err error) {
	client := redis.NewClient(&redis.Options{Addr: store.addr})
	defer func() { _ = client.Close() }()
	d := &dialogue{b: b, up: &connection{addr: up.addr}, g: &connection{addr: g.addr}, name: name, text: &quotations{}, memo: compression.NewMemo(1 << 16)}
	defer d.up.close()
	defer d.g.close()
	first, err := statsOf(up)
	if err != nil {
		return nil, 0, err
	}
	step := b.of(20, 10)
	for len(d.messages) < b.of(400, growthMessages) {
		if b.ctx.Err() != nil {
			return nil, 0, fmt.Errorf("cut short: %w", b.ctx.Err())
		}
		p, err := d.step(step, g, client)
		if err != nil {
			return nil, 0, err
		}
		points = append(points, p)
	}
	last, err := statsOf(up)
	return points, last.Summaries - first.Summaries, err
}

// dialogue is the conversation that grows.
type dialogue struct {
	b        *bench
	up, g    *connection
	name     string
	text     *quotations
	messages []string // encoded
	memo     *compression.Memo
	known    float64 // tokens of the messages that were counted
}

// body is the request of the next turn.
func (d *dialogue) body() []byte {
	var out bytes.Buffer
	out.WriteString(`{"model":"gpt-4o","stream":false,"max_tokens":1024,"messages":[{"role":"system","content":"You help with the sources of a gateway."}`)
	for _, m := range d.messages {
		out.WriteByte(',')
		out.WriteString(m)
	}
	out.WriteString(`]}`)
	return out.Bytes()
}

func (d *dialogue) say(role string) {
	text := d.text.next(growthMessageBytes)
	if len(d.messages) == 0 {
		text = "Conversation " + d.name + ". " + text
	}
	d.messages = append(d.messages, string(mustJSON(message{Role: role, Content: text})))
}

// step is some turns; what is measured of them is the middle or the mean.
func (d *dialogue) step(turns int, g *gateway, store *redis.Client) (p point, err error) {
	idle, err := d.scrape(g)
	if err != nil {
		return p, err
	}
	before, err := d.scrape(g)
	if err != nil {
		return p, err
	}
	net, err := traffic(d.b.ctx, store)
	if err != nil {
		return p, err
	}
	var more, scans, counted []float64
	for range turns {
		d.say("user")
		body := d.body()
		scan, tokens, err := d.measure(body)
		if err != nil {
			return p, err
		}
		gained, err := d.turn(body)
		if err != nil {
			return p, err
		}
		more, scans, counted = append(more, gained), append(scans, scan), append(counted, tokens)
		p.kib = float64(len(body)) / 1024
		d.say("assistant")
	}
	after, err := d.scrape(g)
	if err != nil {
		return p, err
	}
	through, err := traffic(d.b.ctx, store)
	if err != nil {
		return p, err
	}
	n := float64(turns)
	each := func(name string) float64 { return (after[name] - before[name] - (before[name] - idle[name])) / n }
	p.messages = len(d.messages)
	p.ms, p.scan, p.counted = boxOf(more).median, boxOf(scans).median, boxOf(counted).median
	p.allocs, p.allocKiB = each("go_memstats_mallocs_total"), each("go_memstats_alloc_bytes_total")/1024
	p.redis = float64(through-net) / n
	return p, nil
}

func (d *dialogue) scrape(g *gateway) (map[string]float64, error) {
	m, err := g.metrics()
	if err == nil && m["go_memstats_mallocs_total"] == 0 {
		err = fmt.Errorf("the gateway's metrics name no allocations")
	}
	return m, err
}

// turn sends the request both ways and returns by how many milliseconds the
// gateway's was the longer one.
func (d *dialogue) turn(body []byte) (float64, error) {
	w := want{body: answerJSON(plainTokens)}
	_, direct, err := d.up.exchange(chatRequest(0, d.up.addr, chatPath, nil, body).raw, &w)
	if err != nil {
		return 0, fmt.Errorf("direct: %w", err)
	}
	_, with, err := d.g.exchange(chatRequest(0, d.g.addr, chatPath, nil, body).raw, &w)
	if err != nil {
		return 0, fmt.Errorf("gateway: %w", err)
	}
	return float64((with.whole - direct.whole).Microseconds()) / 1000, nil
}

// measure does in this process what the gateway does to know a conversation
// again: find its messages and look each up. It returns how long that took with
// all but the newest message known, and the tokens that were counted anew.
func (d *dialogue) measure(body []byte) (ms, tokens float64, err error) {
	start := time.Now()
	e, err := chat.ReadEnvelope(body)
	if err != nil {
		return 0, 0, fmt.Errorf("read the envelope: %w", err)
	}
	r, err := chat.Parse(body, e)
	if err != nil {
		return 0, 0, fmt.Errorf("parse: %w", err)
	}
	total := float64(d.memo.View(r).For("gpt-4o").Total())
	ms = float64(time.Since(start).Microseconds()) / 1000
	tokens, d.known = total-d.known, total
	return ms, tokens, nil
}

// growthTable shows ten of the points.
func growthTable(points []point) string {
	var t strings.Builder
	t.WriteString("| messages | body, KB | longer than direct, ms | of it finding and knowing messages, ms | allocations | allocated, KB | bytes to and from Redis | new tokens |\n|---|---|---|---|---|---|---|---|\n")
	for i, p := range points {
		if every := max(1, len(points)/10); (i+1)%every != 0 {
			continue
		}
		fmt.Fprintf(&t, "| %d | %.0f | %s | %s | %.0f | %.0f | %.0f | %.0f |\n", p.messages, p.kib, short(p.ms), short(p.scan), p.allocs, p.allocKiB, p.redis, p.counted)
	}
	return t.String()
}
