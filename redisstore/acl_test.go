package redisstore_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/foldgate/foldgate/ownership"
	"github.com/foldgate/foldgate/ownership/ownershiptest"
	"github.com/foldgate/foldgate/redisstore"
	"github.com/foldgate/foldgate/redisstore/redistest"
)

// userRules are the users that docs/operating.md tells operators to make: the
// first for one server, the second for a cluster.
func userRules(t *testing.T) [][]any {
	t.Helper()
	page, err := os.ReadFile("../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	var users [][]any
	for line := range strings.SplitSeq(string(page), "\n") {
		if !strings.HasPrefix(line, "ACL SETUSER ") {
			continue
		}
		var words []any
		for _, word := range strings.Fields(line) {
			if strings.HasPrefix(word, ">") {
				word = ">secret"
			}
			words = append(words, word)
		}
		users = append(users, words)
	}
	if len(users) != 2 {
		t.Fatalf("docs/operating.md shows %d users, want one for a server and one for a cluster", len(users))
	}
	return users
}

// asUser is the URL with the user's name and password.
func asUser(url string) string { return strings.Replace(url, "://", "://foldgate:secret@", 1) }

// The documented user may do all that the store does.
func TestDocumentedUserSuffices(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.Do(userRules(t)[0]...)
	learn(t, asUser(server.URL), asUser(server.URL))
	ownershiptest.Run(t, func(t *testing.T) ownershiptest.Harness {
		server.FlushAll()
		return ownershiptest.Harness{
			A:            open(t, redisstore.Config{URL: asUser(server.URL), Timeout: patience}),
			B:            open(t, redisstore.Config{URL: asUser(server.URL), Timeout: patience}),
			Wipe:         func(*testing.T) { server.FlushAll() },
			EvictCounter: func(_ *testing.T, key ownership.Key) { server.Do("DEL", "foldgate:1:{"+string(key)+"}:gen") },
			Abilities:    ownershiptest.Abilities{Notifies: true},
		}
	})
	nothingRefused(t, server)
}

// The documented user of a cluster, likewise.
func TestDocumentedClusterUserSuffices(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 3)
	for _, node := range cluster.Nodes {
		node.Do(userRules(t)[1]...)
	}
	learn(t, asUser(cluster.URL), asUser("redis+cluster://"+cluster.Nodes[0].Addr))
	ownershiptest.Run(t, func(t *testing.T) ownershiptest.Harness {
		return ownershiptest.Harness{
			A:         open(t, redisstore.Config{URL: asUser(cluster.URL)}),
			B:         open(t, redisstore.Config{URL: asUser("redis+cluster://" + cluster.Nodes[0].Addr)}),
			Abilities: ownershiptest.Abilities{Notifies: true},
		}
	})
	for _, node := range cluster.Nodes {
		nothingRefused(t, node)
	}
}

// learn has one store hear of what another one saves.
func learn(t *testing.T, a, b string) {
	t.Helper()
	from, to := open(t, redisstore.Config{URL: a}).Learned(), open(t, redisstore.Config{URL: b}).Learned()
	announced := to.Announcements(t.Context())
	eventually(t, "an announcement", func() bool {
		if err := from.Save(t.Context(), "scope", "model", []byte("value")); err != nil {
			t.Fatal(err)
		}
		select {
		case got := <-announced:
			return got == redisstore.ScopeHash("scope")
		default:
			return false
		}
	})
	if values, err := to.Load(t.Context(), "scope"); err != nil || string(values["model"]) != "value" {
		t.Errorf("loaded %q, %v", values, err)
	}
}

// nothingRefused wants that the server never refused the user anything: a refusal
// that something else made up for would show in no answer.
func nothingRefused(t *testing.T, s *redistest.Server) {
	t.Helper()
	if refused, _ := s.Do("ACL", "LOG").([]any); len(refused) > 0 {
		t.Errorf("%d refusals, the last: %v", len(refused), refused[0])
	}
}

// What the user may not do is the point of having one.
func TestDocumentedUserIsNarrow(t *testing.T) {
	server := redistest.Start(t)
	server.Do(userRules(t)[0]...)
	for _, refused := range [][]any{
		{"GET", "other:key"}, {"KEYS", "*"}, {"FLUSHALL"}, {"CONFIG", "GET", "*"}, {"SCAN", "0"}, {"SCRIPT", "FLUSH"}, {"ACL", "LIST"},
	} {
		if got, _ := server.Do(slices.Concat([]any{"ACL", "DRYRUN", "foldgate"}, refused)...).(string); !strings.Contains(got, "no permissions") {
			t.Errorf("%v: %s", refused, got)
		}
	}
}
