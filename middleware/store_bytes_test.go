package middleware_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/foldgate/foldgate/compression/window"
	"github.com/foldgate/foldgate/ownership"
	"github.com/foldgate/foldgate/redisstore"
	"github.com/foldgate/foldgate/redisstore/redistest"
)

// moved is how many bytes went over the network of a Redis server, both ways. To
// ask moves some itself.
func moved(t *testing.T, server *redistest.Server) int {
	t.Helper()
	n := 0
	for line := range strings.Lines(fmt.Sprint(server.Do("INFO", "stats"))) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name == "total_net_input_bytes" || name == "total_net_output_bytes" {
			i, err := strconv.Atoi(value)
			if err != nil {
				t.Fatalf("reading %q: %v", line, err)
			}
			n += i
		}
	}
	return n
}

// calm waits until nobody else has asked the server for a while: an attempt that
// ended has still something to say, and its watcher something to hear.
func calm(t *testing.T, server *redistest.Server, question int) {
	t.Helper()
	const enough = 50
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	before := moved(t, server)
	for still, until := 0, time.Now().Add(patience); still < enough; {
		<-tick.C
		now := moved(t, server)
		if still++; now-before > question+64 { // its own question grows by digits only
			still = 0
		}
		if before = now; time.Now().After(until) {
			t.Fatal("the server is never asked by nobody")
		}
	}
}

// The bytes of a handoff go over the network to a replica once: where it is held,
// a reuse moves under a kilobyte, also when the store is asked again.
func TestReuseMovesNoHandoffTwice(t *testing.T) {
	redistest.Require(t)
	server := redistest.Start(t)
	first := moved(t, server)
	question := moved(t, server) - first // while nobody else asks; by some digits more later
	if question <= 0 {
		t.Fatal("the server counts no bytes")
	}
	text := "## Task\nTend the garden.\n## Done\n" + words("summary", 7, 1200)
	replica := func(name string) *gateway {
		s, err := redisstore.Open(t.Context(), redisstore.Config{URL: server.URL, Timeout: patience})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return newGateway(t, options{
			store: s, replica: name, sum: newStub(t, answerSummary(text)),
			window: window.BookConfig{Rules: []window.Rule{{Glob: "gpt-*", Total: 16_000}}},
		})
	}
	a, b := replica("a"), replica("b")
	m := request(talk("bytes", 90))
	made := a.post(t, m)
	if made.fold() != "committed" {
		t.Fatalf("folded %s", made.header.Get("Foldgate-Fold"))
	}
	settled(t, a, made.key())
	v, err := b.store.Store.Read(t.Context(), made.key(), nil)
	if err != nil || len(v.State.Checkpoints) != 1 || len(v.State.Checkpoints[0].Handoff) < 4<<10 {
		t.Fatalf("%d checkpoints, want one with 4 KB at least: %v", len(v.State.Checkpoints), err)
	}
	checkpoint := v.State.Checkpoints[0]
	reuse := func(g *gateway) func() {
		return func() {
			if got := g.post(t, m); got.fold() != "reused" {
				t.Errorf("folded %s", got.header.Get("Foldgate-Fold"))
			}
		}
	}
	for _, step := range []struct {
		name        string
		do          func()
		least, most int
	}{
		{"reused where it was made", reuse(a), 0, 1 << 10},
		{"reused elsewhere, for the first time", reuse(b), len(checkpoint.Handoff), len(checkpoint.Handoff) + 4<<10},
		{"reused there again", reuse(b), 0, 1 << 10},
		{"asked again by who holds it", func() {
			if _, err := b.store.Store.Read(t.Context(), made.key(), []ownership.Fence{checkpoint.Fence}); err != nil {
				t.Error(err)
			}
		}, 1, 1 << 10},
	} {
		calm(t, server, question)
		began := moved(t, server)
		step.do()
		n := moved(t, server) - began - question
		if n < step.least || n > step.most {
			t.Errorf("%s: %d bytes moved, want %d to %d", step.name, n, step.least, step.most)
		}
		t.Logf("%s: %d bytes", step.name, n)
	}
}
