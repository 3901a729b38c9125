package redistest

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"
)

// clusterSlots is how many slots a cluster has.
const clusterSlots = 16384

// Cluster is a running Redis cluster of masters without replicas.
type Cluster struct {
	// URL is redis+cluster://… with every node.
	URL   string
	Nodes []*Server
}

// StartCluster starts a cluster of so many nodes, which share the slots evenly,
// and waits until all of them serve. It needs Redis 7.
func StartCluster(t testing.TB, nodes int) *Cluster {
	t.Helper()
	c := &Cluster{}
	var addrs []string
	for i := range nodes {
		s := Start(t, WithArgs("--cluster-enabled", "yes", "--cluster-config-file", fmt.Sprintf("nodes-%d.conf", i),
			"--cluster-port", clusterPort(t)))
		first, last := i*clusterSlots/nodes, (i+1)*clusterSlots/nodes-1
		s.Do("CLUSTER", "ADDSLOTSRANGE", first, last)
		s.Do("CLUSTER", "SET-CONFIG-EPOCH", i+1)
		c.Nodes = append(c.Nodes, s)
		addrs = append(addrs, s.Addr)
	}
	for _, s := range c.Nodes[1:] {
		host, port, _ := net.SplitHostPort(s.Addr)
		c.Nodes[0].Do("CLUSTER", "MEET", host, port, busPort(t, s))
	}
	c.URL = "redis+cluster://" + strings.Join(addrs, ",")
	for _, s := range c.Nodes {
		s.await(func() bool {
			info := fmt.Sprint(s.Do("CLUSTER", "INFO"))
			return strings.Contains(info, "cluster_state:ok") && strings.Contains(info, fmt.Sprintf("cluster_known_nodes:%d", nodes))
		})
	}
	return c
}

// clusterPort chooses the port of a node's bus, which would otherwise be the
// node's port and ten thousand, often over the highest one.
func clusterPort(t testing.TB) string {
	t.Helper()
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	return port
}

func busPort(t testing.TB, s *Server) string {
	t.Helper()
	pair, ok := s.Do("CONFIG", "GET", "cluster-port").([]any)
	if !ok || len(pair) != 2 {
		t.Fatalf("cluster-port of %s: %v", s.Addr, pair)
	}
	return fmt.Sprint(pair[1])
}

// await asks until the answer is yes.
func (s *Server) await(ask func() bool) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !ask() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			s.t.Fatalf("%s at %s is not ready after %v", program, s.Addr, patience)
		}
	}
}
