package redistest

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// MasterName is what sentinels started here call their master.
const MasterName = "mymaster"

// Sentinel is a running sentinel that watches one master.
type Sentinel struct {
	// URL is redis+sentinel://…/mymaster.
	URL string

	server *Server
}

// StartSentinel starts a sentinel, alone and with a quorum of one, that watches
// master. Servers that replicate from it are found by themselves.
func StartSentinel(t testing.TB, master *Server) *Sentinel {
	t.Helper()
	Require(t)
	host, port, err := net.SplitHostPort(master.Addr)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "sentinel.conf")
	config := fmt.Sprintf("sentinel monitor %[1]s %[2]s %[3]s 1\nsentinel down-after-milliseconds %[1]s 1000\n", MasterName, host, port)
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	s := Start(t, func(o *options) { o.sentinel = file })
	return &Sentinel{URL: "redis+sentinel://" + s.Addr + "/" + MasterName, server: s}
}

// Failover makes a replica the master and waits until the old one follows it.
// replica must replicate from the master already.
func (s *Sentinel) Failover(master, replica *Server) {
	s.server.t.Helper()
	s.server.await(func() bool {
		return strings.Contains(fmt.Sprint(s.server.Do("SENTINEL", "REPLICAS", MasterName)), replica.Addr)
	})
	s.server.await(func() bool {
		return s.server.Client().Do(s.server.t.Context(), "SENTINEL", "FAILOVER", MasterName).Err() == nil
	})
	role := func(of *Server) string { return fmt.Sprint(of.Do("INFO", "replication")) }
	s.server.await(func() bool {
		return strings.Contains(role(replica), "role:master") && strings.Contains(role(master), "role:slave")
	})
}

// Follow makes s replicate from master and waits until it has caught up.
func (s *Server) Follow(master *Server) {
	s.t.Helper()
	host, port, err := net.SplitHostPort(master.Addr)
	if err != nil {
		s.t.Fatal(err)
	}
	master.Do("CONFIG", "SET", "repl-diskless-sync-delay", "0")
	s.Do("REPLICAOF", host, port)
	s.await(func() bool { return strings.Contains(fmt.Sprint(s.Do("INFO", "replication")), "master_link_status:up") })
}
