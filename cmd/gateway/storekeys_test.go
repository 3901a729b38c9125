//go:build unix

package main

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/foldgate/foldgate/redisstore/redistest"
)

// storeKey is a key as it stands in a file of keys.
func storeKey(id string) string {
	return id + "=" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat(id, 32)[:32])) + "\n"
}

// sealedReplica is a whole program with a file of keys.
type sealedReplica struct {
	*process
	keys string
}

func newSealedReplica(t *testing.T, name string, up *upstream, redis *redistest.Server, keys string) *sealedReplica {
	t.Helper()
	dir := t.TempDir()
	r := &sealedReplica{keys: filepath.Join(dir, "keys")}
	replaceFile(t, r.keys, keys)
	file := filepath.Join(dir, "foldgate.yaml")
	replaceFile(t, file, fmt.Sprintf("upstream: %s\nredis_url: %s\nstore_keys_file: %s\nwindows: {\"*\": 4000}\n", up.URL, redis.URL, r.keys))
	r.process = spawnIn(t, nil, name, "--config", file)
	r.listens()
	return r
}

// turns gives the replica other keys, as an operator would.
func (r *sealedReplica) turns(keys string) {
	r.t.Helper()
	replaceFile(r.t, r.keys, keys)
	before := strings.Count(r.log.String(), "configuration reloaded")
	r.signal(syscall.SIGHUP)
	eventually(r.t, "a reload", func() bool { return strings.Count(r.log.String(), "configuration reloaded") > before })
}

// folds wants a conversation answered with that kind of fold.
func (r *sealedReplica) folds(tag, want string) {
	r.t.Helper()
	a := r.chat(longChat(tag, overTurns))
	if got := a.header.Get("Foldgate-Fold"); a.status != 200 || !strings.HasPrefix(got, want) {
		r.t.Errorf("%s at %s: %d %q, want %s", tag, r.name, a.status, got, want)
	}
}

// A fleet that stored in clear text is given its first key, then another one, replica
// by replica, and never fails or loses a summary that some replica could read.
func TestAFleetIsGivenKeys(t *testing.T) {
	t.Parallel()
	const summary = "SUMMARY: the questions were all answered, nothing is open here"
	up, redis := newUpstream(t, summary), redistest.Start(t)
	readable := func() (n int) {
		for _, key := range redis.Client().Keys(t.Context(), "foldgate:1:*:conversation").Val() {
			for field, value := range redis.Client().HGetAll(t.Context(), key).Val() {
				if strings.HasPrefix(field, "handoff:") && strings.Contains(value, "questions were all answered") {
					n++
				}
			}
		}
		return n
	}
	a, b := newSealedReplica(t, "a", up, redis, "plain\n"), newSealedReplica(t, "b", up, redis, "plain\n")
	a.folds("first", "committed")
	b.folds("first", "reused")
	// First step: every replica can read both.
	a.turns("plain\n" + storeKey("k1"))
	b.turns("plain\n" + storeKey("k1"))
	a.folds("second", "committed")
	b.folds("second", "reused")
	if n := readable(); n != 2 {
		t.Errorf("%d handoffs are readable, want 2", n)
	}
	// Second step: they write sealed ones, one after the other.
	a.turns(storeKey("k1") + "plain\n")
	a.folds("third", "committed")
	b.folds("third", "reused")
	b.turns(storeKey("k1") + "plain\n")
	b.folds("fourth", "committed")
	a.folds("fourth", "reused")
	a.folds("first", "reused")
	// Rotation, in the same way: first all of them know the next key.
	for _, r := range []*sealedReplica{a, b} {
		r.turns(storeKey("k1") + storeKey("k2") + "plain\n")
	}
	a.turns(storeKey("k2") + storeKey("k1"))
	a.folds("fifth", "committed")
	b.folds("fifth", "reused")
	if n := readable(); n != 2 {
		t.Errorf("%d handoffs are readable, want still 2", n)
	}
	for _, r := range []*sealedReplica{a, b} {
		if v := r.metric(`foldgate_handoffs_unopened_total{reason="key"}`) + r.metric(`foldgate_handoffs_unopened_total{reason="broken"}`); v != 0 {
			t.Errorf("%s could not open %v", r.name, v)
		}
	}
	// The old key is thrown away too early at one replica: a fold of its own, no error.
	c := newSealedReplica(t, "c", up, redis, storeKey("k2"))
	c.folds("fifth", "reused")
	for _, tag := range []string{"first", "third"} { // in clear text, and by the old key
		a := c.chat(longChat(tag, overTurns))
		if got := a.header.Get("Foldgate-Fold"); a.status != 200 || !strings.HasPrefix(got, "unfenced") {
			t.Errorf("%s: %d %q", tag, a.status, got)
		}
	}
	if c.metric(`foldgate_handoffs_unopened_total{reason="plain"}`) == 0 || c.metric(`foldgate_handoffs_unopened_total{reason="key"}`) == 0 {
		t.Error("what could not be opened is not counted")
	}
	if n := strings.Count(c.log.String(), "handoff cannot be opened"); n != 2 {
		t.Errorf("%d lines tell of what cannot be opened, want one for each reason:\n%s", n, c.log)
	}
	// A file of keys that is wrong changes nothing, and no key is told.
	replaceFile(t, a.keys, "k3=short\n")
	a.signal(syscall.SIGHUP)
	if line := a.log.wait(t, "configuration not reloaded", a.ended); line == nil || strings.Contains(a.log.String(), "short") {
		t.Errorf("a wrong file: %v", line)
	}
	a.folds("fifth", "reused")
	for _, r := range []*sealedReplica{a, b, c} {
		raw, err := os.ReadFile(r.keys)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(raw)) {
			if _, key, ok := strings.Cut(strings.TrimSpace(line), "="); ok && strings.Contains(r.log.String(), key) {
				t.Errorf("the log of %s tells a key", r.name)
			}
		}
	}
}

// metric is a value on /metrics; 0: it is not there.
func (r *replica) metric(series string) (value float64) {
	r.t.Helper()
	for line := range strings.Lines(r.send("GET", r.admin+"/metrics", "").body) {
		if rest, ok := strings.CutPrefix(line, series+" "); ok {
			if _, err := fmt.Sscan(rest, &value); err != nil {
				r.t.Fatalf("%s: %v", line, err)
			}
		}
	}
	return value
}

// eventually asks again and again until it is so.
func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	limit := time.After(patience)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !so() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("%s: not in time", what)
		}
	}
}
