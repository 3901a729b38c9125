package redisstore_test

import (
	"bufio"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/foldgate/foldgate/ownership"
	"github.com/foldgate/foldgate/redisstore"
)

var headerEntry = regexp.MustCompile(`^-- (KEYS|ARGV)\[(\d+)\] `)

// The header of a script is what people read; it must say what Go passes.
func TestHeaders(t *testing.T) {
	for _, s := range redisstore.Scripts() {
		t.Run(s.Name, func(t *testing.T) {
			seen := map[string]int{}
			var purpose, invariant, replies bool
			lines := bufio.NewScanner(strings.NewReader(s.Text))
			for n := 1; lines.Scan(); n++ {
				line := lines.Text()
				if !strings.HasPrefix(line, "--") {
					break
				}
				purpose = purpose || n == 1 && strings.HasPrefix(line, "-- "+s.Name+" ")
				invariant = invariant || strings.HasPrefix(line, "-- Invariant: ")
				replies = replies || line == "-- Replies:"
				if m := headerEntry.FindStringSubmatch(line); m != nil {
					if i, err := strconv.Atoi(m[2]); err != nil || i != seen[m[1]]+1 {
						t.Errorf("%s[%s] is out of order", m[1], m[2])
					}
					seen[m[1]]++
				}
			}
			if !purpose || !invariant || !replies {
				t.Errorf("header lacks its purpose (%t), invariant (%t) or replies (%t)", purpose, invariant, replies)
			}
			if seen["KEYS"] != s.Keys || seen["ARGV"] != s.Args {
				t.Errorf("header has %d KEYS and %d ARGV, Go passes %d and %d", seen["KEYS"], seen["ARGV"], s.Keys, s.Args)
			}
		})
	}
}

var replyUse = regexp.MustCompile(`REPLY\.(\w+)`)

// Every reply that a script gives is one that Go knows, and named in its header.
func TestReplies(t *testing.T) {
	known := redisstore.ReplyNames()
	for _, s := range redisstore.Scripts() {
		header, body, _ := strings.Cut(s.Text, "\n\n")
		for _, m := range replyUse.FindAllStringSubmatch(body, -1) {
			if !slices.Contains(known, m[1]) {
				t.Errorf("%s answers %q, which Go does not know", s.Name, m[1])
			}
			if !regexp.MustCompile(`(?m)^--   .*\b` + m[1] + `\b`).MatchString(header) {
				t.Errorf("%s answers %q, which its header does not name", s.Name, m[1])
			}
		}
	}
}

// No file lies about unused, and none is used that does not exist.
func TestEveryFileIsAScript(t *testing.T) {
	files, err := redisstore.ScriptFiles()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"_prelude.lua"}
	for _, s := range redisstore.Scripts() {
		want = append(want, s.Name+".lua")
	}
	slices.Sort(want)
	slices.Sort(files)
	if !slices.Equal(files, want) {
		t.Errorf("files %v, want %v", files, want)
	}
}

// No script makes a key's name from an argument: a cluster could not route it.
func TestKeysComeThroughKeys(t *testing.T) {
	for _, s := range redisstore.Scripts() {
		if strings.Contains(s.Text, "foldgate:") {
			t.Errorf("%s: a key's name is written in %s", s.Name, filepath.Join("scripts", s.Name+".lua"))
		}
	}
}

// slot is the cluster's hash slot of a name, computed here from its definition.
func slot(name string) uint16 {
	if open := strings.IndexByte(name, '{'); open >= 0 {
		if n := strings.IndexByte(name[open+1:], '}'); n > 0 {
			name = name[open+1 : open+1+n]
		}
	}
	var crc uint16
	for i := range len(name) {
		crc ^= uint16(name[i]) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return crc % 16384
}

func TestOneSlot(t *testing.T) {
	if got := slot("123456789"); got != 0x31c3 {
		t.Fatalf("slot of the reference text: %#x", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		key := ownership.Key(rapid.StringMatching(`[0-9a-f]{40}`).Draw(t, "key"))
		names := redisstore.NamesOf(key)
		for _, name := range names {
			if !strings.HasPrefix(name, "foldgate:1:{"+string(key)+"}:") {
				t.Fatalf("name %q", name)
			}
			if slot(name) != slot(names[0]) || slot(name) != slot(string(key)) {
				t.Fatalf("%q is in another slot than %q", name, names[0])
			}
		}
	})
}

func TestCheckpointLine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := ownership.Checkpoint{
			Target: ownership.Target{Covered: rapid.IntRange(1, 1<<40).Draw(t, "covered")},
			Fence: ownership.Fence{
				Generation: ownership.Generation(rapid.Uint64Min(1).Draw(t, "generation")),
				Attempt:    "01890a5d-ac96-774b-bcce-b302099a8057",
			},
			Settled: rapid.Bool().Draw(t, "settled"),
			Tokens:  rapid.IntMin(0).Draw(t, "tokens"),
			Step:    rapid.Float64().Draw(t, "step"),
			Route:   rapid.String().Draw(t, "route"),
		}
		copy(want.Digest[:], rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "digest"))
		settled := "0"
		if want.Settled {
			settled = "1"
		}
		rest := redisstore.CheckpointRest(want)
		if strings.ContainsAny(rest, "\n\r\t") || strings.Count(rest, " ") != 2 {
			t.Fatalf("rest %q breaks the line", rest)
		}
		line := fmt.Sprintf("%s %s %d %s 0 %s", want.Fence, settled, want.Covered, want.Digest, rest)
		got, err := redisstore.ParseCheckpoint(line)
		if err != nil {
			t.Fatalf("parse %q: %v", line, err)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("got %+v, want %+v", got, want)
		}
	})
}

func FuzzParseCheckpoint(f *testing.F) {
	f.Add("1/01890a5d-ac96-774b-bcce-b302099a8057 0 7 " + strings.Repeat("0f", 32) + " 1700000000000 321 1.15 primary+route")
	f.Add("")
	f.Add("1/a 1 x y z")
	f.Add(strings.Repeat(" ", 7))
	f.Fuzz(func(t *testing.T, line string) {
		c, err := redisstore.ParseCheckpoint(line)
		if err != nil {
			return
		}
		again, err := redisstore.ParseCheckpoint(strings.Join(strings.Split(line, " ")[:5], " ") + " " + redisstore.CheckpointRest(c))
		if err != nil || fmt.Sprint(again) != fmt.Sprint(c) {
			t.Errorf("%q: %+v, then %+v (%v)", line, c, again, err)
		}
	})
}
