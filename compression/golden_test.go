package compression_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foldgate/foldgate/compression"
	"github.com/foldgate/foldgate/compression/window"
)

var update = flag.Bool("update", false, "write the golden files anew")

// The text of a handoff without a model, whole, for conversations of every kind.
// A change of the method shows here as what a reader of a handoff would see.
func TestGoldenHandoffs(t *testing.T) {
	for _, c := range conversations() {
		t.Run(c.name, func(t *testing.T) {
			v := view(t, c.body)
			b := notesBudget(v)
			h := v.Deterministic(b, notesSettings(), c.previous(t))
			if h.Covered == 0 {
				t.Fatal("nothing is covered")
			}
			if n := v.TextTokens(h.Text); n > b.Deterministic {
				t.Errorf("%d tokens, the limit is %d", n, b.Deterministic)
			}
			f := mustFold(t, v, h, b)
			if !f.Fits {
				t.Errorf("%d of %d tokens", f.Tokens, b.Usable)
			}
			golden(t, filepath.Join("testdata", "golden", c.name+".txt"), h.Text+"\n")
		})
	}
}

// golden compares a text with the file that holds what it should be.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("differs from %s (run with -update and read the change):\n%s", path, firstDifference(got, string(want)))
	}
}

// firstDifference is the first lines that two texts do not share.
func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return "got  " + g[i] + "\nwant " + w[i]
		}
	}
	return "one is the beginning of the other"
}

// notesBudget is just too small for a request, and all of it may be a handoff:
// half of what it stands for is the limit then.
func notesBudget(v *compression.View) window.Budget {
	n := v.Total() - 1
	return window.Budget{
		Limits: window.Limits{Total: n, Source: window.Config},
		Usable: n, Trigger: n, Handoff: n, Deterministic: n,
		Correction: 1, Step: 1,
	}
}

func notesSettings() window.Settings { return window.Settings{Trigger: 1, KeepRecent: 0.1} }

// notesOf is the body of a conversation's handoff without a model.
func notesOf(t *testing.T, body string) string {
	t.Helper()
	v := view(t, body)
	h := v.Deterministic(notesBudget(v), notesSettings(), nil)
	if h.Covered == 0 {
		t.Fatal("nothing is covered")
	}
	text, ok := compression.Body(h.Text)
	if !ok {
		t.Fatalf("no frame:\n%s", h.Text)
	}
	return text
}
