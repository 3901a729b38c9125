package clients

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// gateway is a running program, with the store in its own memory and without
// tracing.
type gateway struct {
	data, admin string
	mu          sync.Mutex
	log         bytes.Buffer
}

// startGateway runs the program in front of a model server until the test ends.
// It knows the small model's window and no other.
func startGateway(t *testing.T, m *model) *gateway {
	t.Helper()
	g := &gateway{}
	c := exec.Command(program, "serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--log-format", "json",
		"--upstream", m.url, "--window", fmt.Sprintf("%s=%d", smallModel, m.window))
	c.Env = []string{"HOME=" + t.TempDir()} // no OTEL_*, no FOLDGATE_*
	logs, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	listening, ended := make(chan struct{}), make(chan struct{})
	go g.read(logs, listening, ended)
	t.Cleanup(func() {
		_ = c.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(patience):
			t.Errorf("the gateway does not stop")
			_ = c.Process.Kill()
			<-ended
		}
		if err := c.Wait(); err != nil {
			t.Errorf("the gateway ended with %v\n%s", err, g.logged())
		}
		if t.Failed() {
			t.Logf("the gateway's log:\n%s", g.logged())
		}
	})
	select {
	case <-listening:
	case <-ended:
		t.Fatalf("the gateway ended:\n%s", g.logged())
	case <-time.After(patience):
		t.Fatalf("the gateway does not listen:\n%s", g.logged())
	}
	return g
}

func (g *gateway) read(logs io.Reader, listening, ended chan struct{}) {
	defer close(ended)
	lines := bufio.NewScanner(logs)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		g.mu.Lock()
		g.log.Write(append(lines.Bytes(), '\n'))
		g.mu.Unlock()
		var line struct {
			Msg         string `json:"msg"`
			Listen      string `json:"listen"`
			AdminListen string `json:"admin_listen"`
		}
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "listening" {
			g.data, g.admin = "http://"+line.Listen, "http://"+line.AdminListen
			close(listening)
		}
	}
}

func (g *gateway) logged() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.log.String()
}

// holdsNothing waits until no request is worked on and no body is in memory.
func (g *gateway) holdsNothing(t *testing.T) {
	t.Helper()
	limit := time.After(patience)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		metrics := g.metrics(t)
		if metrics["foldgate_requests_in_flight"] == "0" && metrics["foldgate_bodies_in_flight_bytes"] == "0" && metrics["foldgate_attempts_running"] == "0" {
			return
		}
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("the gateway holds something: %v", metrics)
		}
	}
}

// metrics are those without labels.
func (g *gateway) metrics(t *testing.T) map[string]string {
	t.Helper()
	res, err := http.Get(g.admin + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for line := range strings.SplitSeq(string(raw), "\n") {
		if name, value, found := strings.Cut(line, " "); found && strings.HasPrefix(name, "foldgate_") {
			name, _, _ = strings.Cut(name, "{")
			all[name] = value
		}
	}
	return all
}
