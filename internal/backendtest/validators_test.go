package backendtest

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foldgate/foldgate/compression/refusal"
)

var update = flag.Bool("update", false, "write testdata/refusals.txt anew; read what changed before it is committed")

// Every backend refuses what it is known to refuse, in its own status and body,
// and takes the rest. The file has them all, with what package refusal makes of
// them; every rule of every backend is behind at least one.
func TestValidatorsAreStrict(t *testing.T) {
	t.Parallel()
	var got strings.Builder
	for _, b := range All() {
		fmt.Fprintf(&got, "# %s\n\n", b.Name)
		taken := []string{}
		used := map[int]bool{}
		for _, bad := range b.Malformed() {
			a := b.Check(bad.Body)
			if a == nil {
				taken = append(taken, bad.Name)
				continue
			}
			used[firstRule(t, b, bad.Body)] = true
			kind := refusal.Classify(a.Status, []byte(a.Body)).Kind
			fmt.Fprintf(&got, "%s: %d %s\n%s\n\n", bad.Name, a.Status, kind, a.Body)
		}
		fmt.Fprintf(&got, "takes: %s\n\n", strings.Join(taken, "; "))
		for i := range b.rules {
			if !used[i] {
				t.Errorf("%s: nothing shows that rule %d refuses", b.Name, i)
			}
		}
	}
	compare(t, filepath.Join("testdata", "refusals.txt"), got.String())
}

func firstRule(t *testing.T, b Backend, body []byte) int {
	t.Helper()
	r, err := read(body)
	if err != nil {
		t.Fatal(err)
	}
	for i, one := range b.rules {
		if one.check(r) != nil {
			return i
		}
	}
	t.Fatalf("%s refuses %s by no rule", b.Name, body)
	return 0
}

// compare holds text against a file, or writes it.
func compare(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	have, wanted := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	for i := range max(len(have), len(wanted)) {
		a, b := at(have, i), at(wanted, i)
		if a != b {
			t.Fatalf("%s, line %d:\ngot  %s\nwant %s", file, i+1, a, b)
		}
	}
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "(the end)"
}

// What is no JSON, a wrong credential and an unknown path are refused before
// anything else, by each in its own words.
func TestEveryBackendTakesItsOwn(t *testing.T) {
	t.Parallel()
	for _, b := range All() {
		for name, body := range map[string][]byte{
			"the smallest": b.Request(), "small": b.Small(), "long": b.Conversation(3000, false), "open": b.Conversation(3000, true),
		} {
			if a := b.Check(body); a != nil {
				t.Errorf("%s refuses its own client, %s: %d %s", b.Name, name, a.Status, a.Body)
			}
			if n := b.Count(body); name == "long" && n < 3000 {
				t.Errorf("%s: a long conversation has %d tokens", b.Name, n)
			}
		}
		for _, body := range []string{"", "x", `{"messages":[`, "[]", `{"a":1} {}`, "{\"a\":\"\xff\"}"} {
			if a := b.Check([]byte(body)); a == nil || a.Status < 400 {
				t.Errorf("%s takes %q", b.Name, body)
			}
		}
	}
}
