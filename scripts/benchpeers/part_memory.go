package main

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// memoryAtOnce and memorySize are how many large requests are in flight together.
const (
	memoryAtOnce = 500
	memorySize   = 2 << 20
	memoryHold   = 4 * time.Second // the upstream's, so that they are together
)

// partMemory sends more large requests at once than the gateway's bound on bodies
// in flight takes, and holds its peak against the documented bound.
func (b *bench) partMemory() (string, error) {
	up, err := b.startUpstream()
	if err != nil {
		return "", err
	}
	scarce, err := b.memoryWith(up, "scarce", b.o.memory)
	if err != nil {
		return "", err
	}
	enough, err := b.memoryWith(up, "enough", b.o.memory*5/2)
	return scarce + "\n" + enough, err
}

// memoryWith is partMemory with a bound of so many MiB.
func (b *bench) memoryWith(up *process, name string, mib int64) (string, error) {
	l := counted(memorySize)
	flag, tokens, err := l.window()
	if err != nil {
		return "", err
	}
	bound := mib << 20
	g, err := b.startGateway(name, up, nil, "--window", flag, "--memory", fmt.Sprintf("%dMiB", mib))
	if err != nil {
		return "", err
	}
	defer g.stop()
	idle := g.peakMemory()
	stop, peak := make(chan struct{}), make(chan float64, 1)
	go func() { peak <- g.watchBodies(stop) }()
	n := b.of(60, memoryAtOnce)
	came, err := b.burst(g, l, tokens, n, b.of(1, 3))
	close(stop)
	inFlight := <-peak
	if err != nil {
		return "", err
	}
	resident, allowed := g.peakMemory(), 3*bound+300<<20
	word := b.judged(atMost(boxOf([]float64{float64(resident)}), float64(allowed)))
	var t strings.Builder
	t.WriteString("| | |\n|---|---|\n")
	fmt.Fprintf(&t, "| requests at once, of %s each, counted | %d |\n| `memory` | %d MiB |\n", sizeName(memorySize), n, mib)
	fmt.Fprintf(&t, "| answered as they were to be | %d |\n| refused at once with 503 `overloaded` | %d |\n", came.counted, came.refused)
	fmt.Fprintf(&t, "| passed on uncounted, `too-large`: there was room for the body, and none to look into it | %d |\n", came.unseen)
	fmt.Fprintf(&t, "| most bytes of bodies in flight, as the gateway counts them | %.0f MiB |\n", inFlight/(1<<20))
	fmt.Fprintf(&t, "| resident before the first request | %d MiB |\n| most resident | %d MiB |\n", idle>>20, resident>>20)
	fmt.Fprintf(&t, "| documented bound, 3 × `memory` + 300 MiB | %d MiB: %s |\n", allowed>>20, word)
	fmt.Fprintf(&t, "| most resident, less what it was before, to the most in flight | %.2f |\n", float64(resident-idle)/inFlight)
	return t.String(), nil
}

// watchBodies is the most bytes in flight that the gateway told of until stop.
func (g *gateway) watchBodies(stop <-chan struct{}) (most float64) {
	for tick := time.NewTicker(50 * time.Millisecond); ; {
		select {
		case <-stop:
			tick.Stop()
			return most
		case <-tick.C:
		}
		if m, err := g.metrics(); err == nil {
			most = max(most, m["foldgate_bodies_in_flight_bytes"])
		}
	}
}

// outcomes are how many requests of bursts were answered in which way.
type outcomes struct{ counted, refused, unseen int }

// burst sends n requests at once, some times over. What does not find room must be
// refused, or passed on as it came, as documented; anything else is an error.
func (b *bench) burst(g *gateway, l large, tokens, n, times int) (came outcomes, err error) {
	body := l.body()
	raw := chatRequest(0, g.addr, chatPath, map[string]string{
		headerTokens: fmt.Sprint(tokens), headerHold: fmt.Sprint(memoryHold.Milliseconds()),
	}, body).raw
	expected := want{body: answerJSON(tokens), counted: true}
	for range times {
		var mu sync.Mutex
		var all sync.WaitGroup
		for range n {
			all.Go(func() {
				c := &connection{addr: g.addr}
				defer c.close()
				a, _, failed := c.exchange(raw, &want{anything: true})
				mu.Lock()
				defer mu.Unlock()
				switch {
				case failed != nil:
					err = failed
				case a.status == 503 && strings.Contains(string(c.body), "overloaded"):
					came.refused++
				case a.status == 200 && strings.Contains(string(a.fold), "too-large"):
					if failed := a.judge(c.body, &want{body: expected.body}); failed != nil {
						err = failed
					}
					came.unseen++
				default:
					if failed := a.judge(c.body, &expected); failed != nil {
						err = failed
					}
					came.counted++
				}
			})
		}
		all.Wait()
		if err != nil {
			return outcomes{}, err
		}
	}
	return came, nil
}
