package main

import (
	"fmt"
	"strings"
	"time"
)

// peerSizes are the sizes of part "peers" with what the gateway is to reach beside
// the fastest LLM gateway.
var peerSizes = []struct {
	size int
	goal float64
}{{1 << 10, 1.8}, {64 << 10, 9}, {512 << 10, 15}, {2 << 20, 20}}

// partPeers measures requests of four sizes through everything that runs here.
func (b *bench) partPeers() (string, error) {
	up, err := b.startUpstream()
	if err != nil {
		return "", err
	}
	bare, err := b.startBare(up)
	if err != nil {
		return "", err
	}
	windows, err := countedWindows(counted(512<<10), counted(2<<20))
	if err != nil {
		return "", err
	}
	g, err := b.startGateway("gateway", up, nil, windows...)
	if err != nil {
		return "", err
	}
	peers, err := b.startPeers(up)
	if err != nil {
		return "", err
	}
	var t strings.Builder
	t.WriteString("Requests a second, median of the windows" + peerHead(peers))
	var fastest, wrong strings.Builder
	for _, s := range peerSizes {
		line, best, problems, err := b.peerSize(s.size, s.goal, up, g, bare, peers)
		if err != nil {
			return "", err
		}
		t.WriteString(line)
		fastest.WriteString(best)
		wrong.WriteString(problems)
	}
	return t.String() + "\nThe gateway beside the fastest LLM gateway of each size, ratio of requests/s:\n\n| | fastest | ratio | target | |\n|---|---|---|---|---|\n" +
		fastest.String() + "\n" + peerList(peers) + wrong.String(), nil
}

// startPeers starts what prepare found.
func (b *bench) startPeers(up *process) ([]*peer, error) {
	all := allPeers()
	for _, p := range all {
		if err := p.recall(b.o); err != nil {
			return nil, err
		}
		if p.missing != "" {
			continue
		}
		addr, err := freeAddr()
		if err != nil {
			return nil, err
		}
		env, argv, err := p.setUp(b, p, addr, up)
		if err != nil {
			return nil, err
		}
		if p.process, err = b.start(p.name, addr, env, argv...); err != nil {
			b.say("  %s: %v", p.name, err)
			p.missing = plainReason(err)
		}
	}
	return all, nil
}

// peerSize measures one size and gives its lines of the two tables.
func (b *bench) peerSize(size int, goal float64, up *process, g *gateway, bare *process, peers []*peer) (line, best, wrong string, err error) {
	b.say("  %s", sizeName(size))
	body := chatBody("gpt-4o", size, false, question(placeTurn))
	mine := body
	if size > 64<<10 { // the same length, of a model whose window has it counted
		mine = counted(size).body()
	}
	exact := want{body: answerJSON(plainTokens)}
	targets := []*target{
		b.through("gateway", g.process, mine, want{body: exact.body, fold: "none", counted: size > 64<<10}),
		b.through("bare", bare, body, exact),
	}
	for _, p := range peers {
		if p.missing == "" {
			targets = append(targets, b.throughPeer(p, up, body, exact))
		}
	}
	for _, t := range targets {
		t.load.least, t.load.longest = b.of(8, 48), 5*time.Second // only the slow ones take so long
	}
	if err := b.alternate(max(b.o.pairs-b.of(1, 2), 2), targets...); err != nil {
		return "", "", "", err
	}
	line = fmt.Sprintf("| %s |", sizeName(size))
	at, rival := 2, (*target)(nil)
	for _, t := range targets[:2] {
		line += " " + middle(t.rates) + " |"
	}
	for _, p := range peers {
		if p.missing != "" {
			line += " – |"
			continue
		}
		t := targets[at]
		at++
		line += " " + middle(t.rates) + " |"
		if p.gateway && t.err == nil && (rival == nil || boxOf(t.rates).median > boxOf(rival.rates).median) {
			rival = t
		}
	}
	wrong = problems(targets...)
	if rival == nil {
		return line + "\n", fmt.Sprintf("| %s | none ran | – | ≥ %.1f | %s |\n", sizeName(size), goal, b.judged(invalid)), wrong, nil
	}
	ratio := boxOf(ratios(targets[0], rival, rateOf))
	return line + "\n", fmt.Sprintf("| %s | %s | %s | ≥ %.1f | %s |\n", sizeName(size), rival.name, ratio, goal, b.judged(atLeast(ratio, goal))), wrong, nil
}

// throughPeer is a target: what a peer writes anew is looked at less strictly.
func (b *bench) throughPeer(p *peer, up *process, body []byte, w want) *target {
	if !p.exact {
		w = want{contains: []byte(marker)}
	}
	t := b.through(p.title, p.process, body, w)
	if p.fields != nil {
		t.load.request = func(conn int) *request { return chatRequest(conn, p.process.addr, chatPath, p.fields(up), body) }
	}
	return t
}

func peerHead(peers []*peer) string {
	head, line := "\n\n| | Foldgate | bare |", "|---|---|---|"
	for _, p := range peers {
		head += " " + p.title + " |"
		line += "---|"
	}
	return head + "\n" + line + "\n"
}

// peerList names what was measured, and what could not be.
func peerList(peers []*peer) string {
	var t strings.Builder
	t.WriteString("| | version | licence | |\n|---|---|---|---|\n")
	for _, p := range peers {
		state := "LLM gateway"
		if !p.gateway {
			state = "a proxy that does not read bodies, for orientation"
		}
		if p.missing != "" {
			state = "did not run: " + p.missing
		}
		fmt.Fprintf(&t, "| %s | %s | %s | %s |\n", p.title, p.version, p.license, state)
	}
	return t.String()
}
