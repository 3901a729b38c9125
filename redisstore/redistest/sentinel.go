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
// master. Servers that replicate from it are found by themselves. It takes a
// minute of silence for it to act on its own, so that a busy machine does not
// cause a failover that no test asked for; Failover causes one.
func StartSentinel(t testing.TB, master *Server) *Sentinel {
	t.Helper()
	Require(t)
	host, port, err := net.SplitHostPort(master.Addr)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "sentinel.conf")
	config := fmt.Sprintf("sentinel monitor %[1]s %[2]s %[3]s 1\nsentinel down-after-milliseconds %[1]s 60000\n", MasterName, host, port)
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	s := Start(t, func(o *options) { o.sentinel = file })
	return &Sentinel{URL: "redis+sentinel://" + s.Addr + "/" + MasterName, server: s}
}

// Failover makes a replica the master, once it has everything that the master
// has, and waits until the old one follows it. replica must replicate from the
// master already.
func (s *Sentinel) Failover(master, replica *Server) {
	s.server.t.Helper()
	s.server.await(func() bool {
		return strings.Contains(fmt.Sprint(s.server.Do("SENTINEL", "REPLICAS", MasterName)), replica.Addr)
	})
	s.server.await(func() bool {
		return replication(replica, "slave_repl_offset") == replication(master, "master_repl_offset")
	})
	s.server.await(func() bool {
		return s.server.Client().Do(s.server.t.Context(), "SENTINEL", "FAILOVER", MasterName).Err() == nil
	})
	s.server.await(func() bool {
		return replication(replica, "role") == "master" && replication(master, "role") == "slave"
	})
}

// replication is one field of what a server says about its replication.
func replication(s *Server, field string) string {
	s.t.Helper()
	_, rest, _ := strings.Cut(fmt.Sprint(s.Do("INFO", "replication")), "\n"+field+":")
	value, _, _ := strings.Cut(rest, "\r")
	return value
}

// Follow makes s replicate from master and waits until it has what the master
// had. What is written later arrives some time later.
func (s *Server) Follow(master *Server) {
	s.t.Helper()
	host, port, err := net.SplitHostPort(master.Addr)
	if err != nil {
		s.t.Fatal(err)
	}
	master.Do("CONFIG", "SET", "repl-diskless-sync-delay", "0")
	s.Do("REPLICAOF", host, port)
	s.await(func() bool { return replication(s, "master_link_status") == "up" })
}
