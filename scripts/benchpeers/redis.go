package main

import (
	"bufio"
	"context"
	"crypto/sha1" //nolint:gosec // the digest by which Redis names scripts
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// startRedis starts a server that keeps nothing on disk.
func (b *bench) startRedis(name string, args ...string) (*process, error) {
	addr, err := freeAddr()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(b.temp, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make a folder: %w", err)
	}
	argv := append([]string{"redis-server", "--bind", "127.0.0.1", "--port", portOf(addr), "--save", "", "--appendonly", "no", "--dir", dir}, args...)
	return b.start(name, addr, nil, argv...)
}

// startCluster starts a cluster of masters that share the slots.
func (b *bench) startCluster(nodes int) (all []*process, err error) {
	for i := range nodes {
		bus, err := freeAddr()
		if err != nil {
			return nil, err
		}
		p, err := b.startRedis(fmt.Sprintf("redis-node-%d", i), "--cluster-enabled", "yes", "--cluster-port", portOf(bus))
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	for i, p := range all {
		c := redis.NewClient(&redis.Options{Addr: p.addr})
		defer func() { _ = c.Close() }()
		from, to := i*16384/nodes, (i+1)*16384/nodes-1
		if err := c.ClusterAddSlotsRange(b.ctx, from, to).Err(); err != nil {
			return nil, fmt.Errorf("share the slots: %w", err)
		}
		for _, other := range all[:i] {
			bus, err := busPort(b.ctx, other)
			if err != nil {
				return nil, err
			}
			if err := c.Do(b.ctx, "cluster", "meet", "127.0.0.1", portOf(other.addr), bus).Err(); err != nil {
				return nil, fmt.Errorf("join the nodes: %w", err)
			}
		}
	}
	return all, b.awaitCluster(all)
}

func busPort(ctx context.Context, p *process) (string, error) {
	c := redis.NewClient(&redis.Options{Addr: p.addr})
	defer func() { _ = c.Close() }()
	port, err := c.ConfigGet(ctx, "cluster-port").Result()
	if err != nil {
		return "", fmt.Errorf("read a node's port: %w", err)
	}
	return port["cluster-port"], nil
}

// awaitCluster waits until every node says that the cluster serves.
func (b *bench) awaitCluster(all []*process) error {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		ready := 0
		for _, p := range all {
			c := redis.NewClient(&redis.Options{Addr: p.addr})
			info, err := c.ClusterInfo(b.ctx).Result()
			_ = c.Close()
			if err == nil && strings.Contains(info, "cluster_state:ok") && strings.Contains(info, fmt.Sprintf("cluster_known_nodes:%d", len(all))) {
				ready++
			}
		}
		if ready == len(all) {
			return nil
		}
	}
	return fmt.Errorf("the cluster does not serve within %s", patience)
}

// traffic is what a server has read and written for its clients, in bytes.
func traffic(ctx context.Context, c *redis.Client) (int64, error) {
	info, err := c.Info(ctx, "stats").Result()
	if err != nil {
		return 0, fmt.Errorf("ask Redis: %w", err)
	}
	total := int64(0)
	for _, name := range []string{"total_net_input_bytes:", "total_net_output_bytes:"} {
		_, rest, ok := strings.Cut(info, name)
		if !ok {
			return 0, fmt.Errorf("redis tells no %s", name)
		}
		n, err := strconv.ParseInt(strings.TrimSpace(rest[:strings.IndexByte(rest, '\n')]), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read %s: %w", name, err)
		}
		total += n
	}
	return total, nil
}

// monitor watches the commands that clients send to a server, by the name of the
// operation. What scripts do inside is not counted: it is no round trip.
type monitor struct {
	conn net.Conn
	mu   sync.Mutex
	seen map[string]int
	// names are the operations by the digest of their script.
	names   map[string]string
	scripts map[string]string // their text by operation
}

func watch(addr string) (*monitor, error) {
	m := &monitor{seen: map[string]int{}, names: map[string]string{}, scripts: map[string]string{}}
	files, err := filepath.Glob(filepath.Join("redisstore", "scripts", "*.lua"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("find the scripts: %w", err)
	}
	for _, name := range files {
		raw, err := os.ReadFile(name) //nolint:gosec // a file of the repository
		if err != nil {
			return nil, fmt.Errorf("read a script: %w", err)
		}
		m.scripts[strings.TrimSuffix(filepath.Base(name), ".lua")] = string(raw)
	}
	if m.conn, err = net.Dial("tcp", addr); err != nil { //nolint:noctx // loopback
		return nil, fmt.Errorf("connect to Redis: %w", err)
	}
	if _, err := m.conn.Write([]byte("MONITOR\r\n")); err != nil {
		return nil, fmt.Errorf("ask Redis: %w", err)
	}
	r := bufio.NewReaderSize(m.conn, 1<<20)
	if _, err := r.ReadString('\n'); err != nil {
		return nil, fmt.Errorf("ask Redis: %w", err)
	}
	go m.follow(r)
	return m, nil
}

func (m *monitor) close() { _ = m.conn.Close() }

// command is a line of MONITOR: who sent it, and what.
var command = regexp.MustCompile(`^\+\d+\.\d+ \[\d+ ([^\]]+)\] ("(?:[^"\\]|\\.)*")(?: ("(?:[^"\\]|\\.)*"))?`)

func (m *monitor) follow(r *bufio.Reader) {
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		f := command.FindStringSubmatch(line)
		if f == nil || f[1] == "lua" {
			continue
		}
		name, _ := strconv.Unquote(f[2])
		first, _ := strconv.Unquote(f[3])
		m.note(strings.ToLower(name), first)
	}
}

func (m *monitor) note(name, first string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch name {
	case "evalsha":
		name = m.names[first]
		if name == "" {
			name = "evalsha " + first // unknown to the server, which is then sent the text
		}
	case "eval":
		name = m.learn(first)
	case "info", "monitor", "hello", "client", "ping", "flushall", "command", "cluster":
		return // of connections and of this program
	}
	m.seen[name]++
}

// learn finds which operation a script's text is.
func (m *monitor) learn(text string) string {
	for name, script := range m.scripts {
		if strings.HasSuffix(text, script) {
			sum := sha1.Sum([]byte(text)) //nolint:gosec // as Redis does
			digest := hex.EncodeToString(sum[:])
			delete(m.seen, "evalsha "+digest) // the first try, which the server did not know
			m.names[digest] = name
			return name
		}
	}
	return "eval"
}

// take returns what was seen since the last call, once nothing has come for a
// while: what belongs to a request may come after its answer.
func (m *monitor) take(quiet time.Duration) map[string]int {
	before := -1
	for {
		m.mu.Lock()
		n := 0
		for _, v := range m.seen {
			n += v
		}
		if n == before {
			taken := m.seen
			m.seen = map[string]int{}
			m.mu.Unlock()
			return taken
		}
		m.mu.Unlock()
		before = n
		time.Sleep(quiet)
	}
}
