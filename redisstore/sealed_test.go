package redisstore_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/alicebob/miniredis/v2"

	"github.com/foldgate/foldgate/ownership"
	"github.com/foldgate/foldgate/ownership/ownershiptest"
	"github.com/foldgate/foldgate/redisstore"
	"github.com/foldgate/foldgate/redisstore/redistest"
)

// The contract of every store holds for one that encrypts, word for word: the two
// write with different keys and read each other's.
func TestSuiteSealed(t *testing.T) {
	server := redistest.Start(t)
	ownershiptest.Run(t, func(t *testing.T) ownershiptest.Harness {
		server.FlushAll()
		return ownershiptest.Harness{
			A:            open(t, redisstore.Config{URL: server.URL, Timeout: patience, Keys: keysOf(t, "a", "b")}),
			B:            open(t, redisstore.Config{URL: server.URL, Timeout: patience, Keys: keysOf(t, "b", "a")}),
			Wipe:         func(*testing.T) { server.FlushAll() },
			EvictCounter: func(_ *testing.T, key ownership.Key) { server.Do("DEL", "foldgate:1:{"+string(key)+"}:gen") },
			Abilities:    ownershiptest.Abilities{Notifies: true},
		}
	})
}

const secretText = "SUMMARY: the launch code is told in here"

func conversationKey(key ownership.Key) string { return redisstore.NamesOf(key)[1] }

// No byte of a handoff is readable in the store, twice the same text is not the same
// twice, and the id of the key is there for whoever rotates it.
func TestSealedIsNotReadable(t *testing.T) {
	t.Parallel()
	server := miniredis.RunT(t)
	s := open(t, redisstore.Config{URL: "redis://" + server.Addr(), Keys: keysOf(t, "2026-12")})
	seen := map[string]bool{}
	for i := range 4 {
		key := keyOf(fmt.Sprint(t.Name(), i%2))
		f := mustCommit(t, s, key, target(3+i, fmt.Sprint(i)), secretText)
		stored := server.HGet(conversationKey(key), "handoff:"+f.String())
		for n := 0; n+8 <= len(secretText); n++ {
			if strings.Contains(stored, secretText[n:n+8]) {
				t.Fatalf("%q stands in the store", secretText[n:n+8])
			}
		}
		if !strings.Contains(stored, "2026-12") || seen[stored[len(stored)-len(secretText)-28:]] {
			t.Errorf("stored %q", stored)
		}
		seen[stored[len(stored)-len(secretText)-28:]] = true
		if got := mustRead(t, s, key).State.Checkpoints[0]; string(got.Handoff) != secretText {
			t.Errorf("read %q", got.Handoff)
		}
	}
}

// forgeries are what somebody who can write to the store might do to a sealed
// handoff. Each returns the key to read.
func forgeries(t *testing.T, server *miniredis.Miniredis, key ownership.Key, f ownership.Fence) map[string]func() ownership.Key {
	name, field := conversationKey(key), "handoff:"+f.String()
	stored := server.HGet(name, field)
	put := func(value string) ownership.Key {
		server.HSet(name, field, value)
		return key
	}
	all := map[string]func() ownership.Key{
		"nothing":               func() ownership.Key { return put("") },
		"another text":          func() ownership.Key { return put("SUMMARY: do as I say") },
		"the mark alone":        func() ownership.Key { return put(stored[:8]) },
		"a length beyond it":    func() ownership.Key { return put(stored[:8] + "\xff") },
		"an id that is none":    func() ownership.Key { return put(stored[:8] + "\x01\n" + stored[10:]) },
		"no tag":                func() ownership.Key { return put(stored[:len(stored)-16]) },
		"something behind it":   func() ownership.Key { return put(stored + "x") },
		"another key's id":      func() ownership.Key { return put(stored[:9] + "b" + stored[10:]) },
		"an id that nobody has": func() ownership.Key { return put(stored[:9] + "z" + stored[10:]) },
		"moved to another fence": func() ownership.Key {
			return renamed(server, key, f.String(), fmt.Sprintf("%d/%s", f.Generation+1, f.Attempt))
		},
		"said to cover more": func() ownership.Key { return renamed(server, key, " 3 ", " 4 ") },
		"said to stand for other messages": func() ownership.Key {
			return renamed(server, key, target(3, "x").Digest.String(), target(3, "y").Digest.String())
		},
		"moved to another conversation": func() ownership.Key {
			other := keyOf("another one")
			for field, value := range fieldsOf(server, name) {
				server.HSet(conversationKey(other), field, value)
			}
			return other
		},
	}
	for i := range stored {
		all[fmt.Sprintf("bit %d", i)] = func() ownership.Key {
			flipped := []byte(stored)
			flipped[i] ^= 1 << (i % 8)
			return put(string(flipped))
		}
	}
	return all
}

func fieldsOf(server *miniredis.Miniredis, name string) map[string]string {
	all := map[string]string{}
	fields, _ := server.HKeys(name)
	for _, f := range fields {
		all[f] = server.HGet(name, f)
	}
	return all
}

// renamed replaces a text wherever it stands in a conversation, handoffs apart.
func renamed(server *miniredis.Miniredis, key ownership.Key, from, to string) ownership.Key {
	name := conversationKey(key)
	for field, value := range fieldsOf(server, name) {
		if strings.HasPrefix(field, "handoff:") {
			server.HDel(name, field)
			field = strings.ReplaceAll(field, from, to)
			server.HSet(name, field, value)
			continue
		}
		server.HSet(name, field, strings.ReplaceAll(value, from, to))
	}
	return key
}

// Whatever was done to it, it is as if it were not there, and no call fails for it.
func TestForgedHandoffIsNotThere(t *testing.T) {
	t.Parallel()
	server := miniredis.RunT(t)
	s := open(t, redisstore.Config{URL: "redis://" + server.Addr(), Keys: keysOf(t, "a", "b")})
	key := keyOf(t.Name())
	first := mustCommit(t, s, key, target(3, "x"), secretText)
	names := forgeries(t, server, key, first)
	if len(names) < 60 {
		t.Fatalf("%d forgeries only", len(names))
	}
	for name := range names {
		server.FlushAll()
		f := mustCommit(t, s, key, target(3, "x"), secretText)
		forge := forgeries(t, server, key, f)[name]
		if forge == nil {
			continue // the nonce is another one, the length is not
		}
		before := sum(s.Unopened())
		where := forge()
		v := mustRead(t, s, where)
		if len(v.State.Checkpoints) != 0 {
			t.Errorf("%s: read %q", name, v.State.Checkpoints[0].Handoff)
		}
		if got := sum(s.Unopened()) - before; got != 1 {
			t.Errorf("%s: counted %d", name, got)
		}
		// The next target is claimed and committed as ever, and that one is read.
		next := mustClaim(t, s, where, claimOf(t, target(9, "next")))
		if done, err := s.Commit(t.Context(), where, next.Fence, commitOf(target(9, "next"), "another")); err != nil || done != ownership.DoneNow {
			t.Errorf("%s: commit: %v, %v", name, done, err)
		}
		if v := mustRead(t, s, where); len(v.State.Checkpoints) != 1 || string(v.State.Checkpoints[0].Handoff) != "another" {
			t.Errorf("%s: then read %+v", name, v.State.Checkpoints)
		}
	}
}

func sum(u redisstore.Unopened) uint64 { return u.Key + u.Broken + u.Plain }

// fleet are replicas with keys of their own over one server.
func fleet(t *testing.T, url string, keys map[string][]string) map[string]*redisstore.Store {
	all := map[string]*redisstore.Store{}
	for name, ids := range keys {
		all[name] = open(t, redisstore.Config{URL: url, Keys: keysOf(t, ids...)})
	}
	return all
}

// Who reads whom while a fleet is given keys, rotates them, and gives them up.
func TestWhoReadsWhom(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		writes, reads []string
		want          redisstore.Unopened // zero: it is read
	}{
		{nil, nil, redisstore.Unopened{}},
		{nil, []string{"plain", "a"}, redisstore.Unopened{}},                    // first step: everybody can read both
		{[]string{"plain", "a"}, nil, redisstore.Unopened{}},                    //
		{[]string{"plain"}, nil, redisstore.Unopened{}},                         //
		{[]string{"a", "plain"}, []string{"plain", "a"}, redisstore.Unopened{}}, // second step: write sealed
		{[]string{"plain", "a"}, []string{"a", "plain"}, redisstore.Unopened{}}, //
		{[]string{"a", "plain"}, []string{"a"}, redisstore.Unopened{}},          // third step: plain is refused
		{[]string{"plain", "a"}, []string{"a"}, redisstore.Unopened{Plain: 1}},  // a step left out
		{nil, []string{"a"}, redisstore.Unopened{Plain: 1}},
		{[]string{"a"}, nil, redisstore.Unopened{Key: 1}},
		{[]string{"a"}, []string{"plain"}, redisstore.Unopened{Key: 1}},
		{[]string{"a"}, []string{"b", "a"}, redisstore.Unopened{}}, // rotation
		{[]string{"a", "b"}, []string{"b", "a"}, redisstore.Unopened{}},
		{[]string{"b", "a"}, []string{"a", "b"}, redisstore.Unopened{}},
		{[]string{"b", "a"}, []string{"a"}, redisstore.Unopened{Key: 1}}, // a replica that was not told
		{[]string{"a"}, []string{"b"}, redisstore.Unopened{Key: 1}},      // the old one thrown away
	} {
		t.Run(fmt.Sprintf("%v to %v", tc.writes, tc.reads), func(t *testing.T) {
			t.Parallel()
			server := miniredis.RunT(t)
			stores := fleet(t, "redis://"+server.Addr(), map[string][]string{"writes": tc.writes, "reads": tc.reads})
			key, what := keyOf(t.Name()), target(3, "x")
			mustCommit(t, stores["writes"], key, what, secretText)
			v := mustRead(t, stores["reads"], key)
			if tc.want == (redisstore.Unopened{}) {
				if len(v.State.Checkpoints) != 1 || string(v.State.Checkpoints[0].Handoff) != secretText {
					t.Errorf("read %+v", v.State.Checkpoints)
				}
			} else if len(v.State.Checkpoints) != 0 {
				t.Errorf("read %q", v.State.Checkpoints[0].Handoff)
			}
			if got := stores["reads"].Unopened(); got != tc.want {
				t.Errorf("counted %+v, want %+v", got, tc.want)
			}
			got, err := stores["reads"].Claim(t.Context(), key, claimOf(t, what))
			if tc.want == (redisstore.Unopened{}) {
				if err != nil || got.Verdict != ownership.VerdictCommitted || string(got.Checkpoint.Handoff) != secretText {
					t.Errorf("claim: %+v, %v", got, err)
				}
			} else if !isAny(err, ownership.ErrUnavailable) {
				t.Errorf("claim: %+v, %v; want it unfenced", got, err)
			}
		})
	}
}

// Two halves of a fleet that cannot read each other work on one conversation: each
// uses what it wrote itself, neither undoes the other's, and nothing fails.
func TestTwoHalvesOfAFleet(t *testing.T) {
	t.Parallel()
	server := miniredis.RunT(t)
	stores := fleet(t, "redis://"+server.Addr(), map[string][]string{"old": nil, "new": {"a"}})
	key := keyOf(t.Name())
	fences := map[string]ownership.Fence{}
	for i, name := range []string{"old", "new", "old", "new"} {
		what := target(3+i, fmt.Sprint(i))
		fences[name] = mustCommit(t, stores[name], key, what, name)
		if done, err := stores[name].Settle(t.Context(), key, fences[name]); err != nil || done != ownership.DoneNow {
			t.Errorf("settle: %v, %v", done, err)
		}
	}
	for name, s := range stores {
		v := mustRead(t, s, key)
		if len(v.State.Checkpoints) != 2 || v.State.Checkpoints[0].Fence != fences[name] || string(v.State.Checkpoints[1].Handoff) != name {
			t.Errorf("%s reads %+v", name, v.State.Checkpoints)
		}
		// What a replica holds it goes on using: the bytes do not travel, so nothing is
		// judged by them.
		known := []ownership.Fence{fences["old"], fences["new"]}
		if v := mustRead(t, s, key, known...); len(v.State.Checkpoints) != 3 {
			t.Errorf("%s, which holds two, reads %d", name, len(v.State.Checkpoints))
		}
	}
	if got := stores["new"].Unopened(); got.Plain == 0 || got.Key != 0 || got.Broken != 0 {
		t.Errorf("new counted %+v", got)
	}
	if got := stores["old"].Unopened(); got.Key == 0 || got.Plain != 0 || got.Broken != 0 {
		t.Errorf("old counted %+v", got)
	}
}

// One line tells of the first handoff for a reason, without its text and without a
// key; the counts tell of the others. New keys may have it told once more.
func TestUnopenedIsToldOnce(t *testing.T) {
	t.Parallel()
	server := miniredis.RunT(t)
	var log bytes.Buffer
	s := open(t, redisstore.Config{URL: "redis://" + server.Addr(), Keys: keysOf(t, "a"), Logger: slog.New(slog.NewJSONHandler(&log, nil))})
	key := keyOf(t.Name())
	mustCommit(t, s, key, target(3, "x"), secretText)
	for range 2 {
		s.SetKeys(keysOf(t, "b"))
		for range 5 {
			mustRead(t, s, key)
		}
	}
	if got := s.Unopened(); got != (redisstore.Unopened{Key: 10}) {
		t.Errorf("counted %+v", got)
	}
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != 2 {
		t.Fatalf("log: %s", log.String())
	}
	var line map[string]any
	if err := json.Unmarshal([]byte(lines[0]), &line); err != nil {
		t.Fatal(err)
	}
	if line["store_key"] != "a" || line["conversation"] != string(key) || line["level"] != "WARN" {
		t.Errorf("line %v", line)
	}
	for _, secret := range []string{"launch code", string(secretOf("a")), strings.TrimPrefix(entry("a"), "a=")[:12]} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("the log tells %q", secret)
		}
	}
	s.SetKeys(keysOf(t, "b", "a"))
	if v := mustRead(t, s, key); len(v.State.Checkpoints) != 1 {
		t.Error("it is not read by the keys that have its key")
	}
}

// Keys change while calls run; each is by one set of keys or the other.
func TestKeysChangeWhileCallsRun(t *testing.T) {
	t.Parallel()
	server := miniredis.RunT(t)
	s := open(t, redisstore.Config{URL: "redis://" + server.Addr(), Keys: keysOf(t, "a", "b"), Timeout: patience})
	ctx, stop := context.WithCancel(t.Context())
	var turning, working sync.WaitGroup
	sets := []*redisstore.Keys{keysOf(t, "a", "b"), keysOf(t, "b", "a")}
	turning.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			s.SetKeys(sets[i%2])
		}
	})
	for n := range 4 {
		working.Go(func() {
			for i := range 40 {
				key, what := keyOf(fmt.Sprint(n, "/", i)), target(3, "x")
				got, err := s.Claim(ctx, key, claimOf(t, what))
				if err == nil {
					_, err = s.Commit(ctx, key, got.Fence, commitOf(what, secretText))
				}
				v, readErr := s.Read(ctx, key, nil)
				if err != nil || readErr != nil || len(v.State.Checkpoints) != 1 || string(v.State.Checkpoints[0].Handoff) != secretText {
					t.Errorf("%v, %v, read %+v", err, readErr, v.State.Checkpoints)
				}
			}
		})
	}
	working.Wait()
	stop()
	turning.Wait()
}

// What is stored is never opened unless it was sealed for that very place.
func FuzzOpened(f *testing.F) {
	keys, err := redisstore.ParseKeys(entry("a") + "," + entry("b"))
	if err != nil {
		f.Fatal(err)
	}
	key, fence, what := keyOf("fuzz"), ownership.Fence{Generation: 7, Attempt: "0190163d-8694-739b-aea5-966c26f8ad91"}, target(3, "x")
	right, err := redisstore.Sealed(keys, []byte(secretText), key, fence, what)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(right)
	f.Add(right[:20])
	f.Add([]byte("\x00fgseal1"))
	f.Add([]byte("\x00fgseal1\xff"))
	f.Fuzz(func(t *testing.T, stored []byte) {
		got, err := redisstore.Opened(keys, stored, key, fence, what)
		// Each of the processes that fuzz together seals its own, of the same text.
		if err == nil && (string(got) != secretText || len(stored) != len(right)) || err != nil && bytes.Equal(stored, right) {
			t.Errorf("opened %q: %v", got, err)
		}
		if err == nil {
			for i := range stored {
				forged := bytes.Clone(stored)
				forged[i] ^= 1
				if got, err := redisstore.Opened(keys, forged, key, fence, what); err == nil {
					t.Errorf("byte %d changed, and opened %q", i, got)
				}
			}
		}
		if got, err := redisstore.Opened(nil, stored, key, fence, what); err == nil && !bytes.Equal(got, stored) {
			t.Errorf("without keys %q became %q", stored, got)
		}
	})
}
