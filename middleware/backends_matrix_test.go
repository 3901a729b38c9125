package middleware_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/foldgate/foldgate/internal/backendtest"
)

// matrix is what the run of TestBackends saw, by backend and case.
type matrix struct {
	backends []backendtest.Backend
	rows     []map[string]string
}

func (m *matrix) add(b backendtest.Backend) map[string]string {
	row := map[string]string{}
	m.backends, m.rows = append(m.backends, b), append(m.rows, row)
	return row
}

// The generated part of the page stands between these.
const (
	generatedFrom = "<!-- Written by \"make backends\" from what the tests saw. -->\n"
	generatedTo   = "<!-- Here it ends. -->\n"
)

// writeBackends is set by "make backends".
const writeBackends = "FOLDGATE_WRITE_BACKENDS"

// compare holds the page against the run, or writes it. A run of some cases only
// has nothing to compare.
func (m *matrix) compare(t *testing.T) {
	t.Helper()
	if run := flag.Lookup("test.run").Value.String(); strings.Contains(run, "/") {
		t.Logf("only %s was run: docs/backends.md is not compared", run)
		return
	}
	file := filepath.Join("..", "docs", "backends.md")
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, began := strings.Cut(string(raw), generatedFrom)
	have, after, ended := strings.Cut(rest, generatedTo)
	if !began || !ended {
		t.Fatalf("%s has no generated part", file)
	}
	want := "\n" + m.table() + "\n" + m.notes()
	if have == want {
		return
	}
	if os.Getenv(writeBackends) == "" {
		t.Errorf("docs/backends.md is not what the tests saw: run \"make backends\"%s", firstDifference(have, want))
		return
	}
	if err := os.WriteFile(file, []byte(before+generatedFrom+want+generatedTo+after), 0o600); err != nil {
		t.Fatal(err)
	}
}

func firstDifference(have, want string) string {
	lines := strings.Split(want, "\n")
	for i, line := range strings.Split(have, "\n") {
		if i >= len(lines) || line != lines[i] {
			return fmt.Sprintf("; it differs from line %q", line)
		}
	}
	return "; it ends early"
}

func (m *matrix) table() string {
	var out strings.Builder
	titles, rule := []string{"backend"}, []string{"---"}
	for _, c := range backendCases() {
		titles, rule = append(titles, c.title), append(rule, "---")
	}
	line := func(cells []string) { fmt.Fprintf(&out, "| %s |\n", strings.Join(cells, " | ")) }
	line(titles)
	line(rule)
	for i, b := range m.backends {
		cells := []string{fmt.Sprintf("[%s](#%s)", b.Name, b.Slug())}
		for _, c := range backendCases() {
			cells = append(cells, m.rows[i][c.slug])
		}
		line(cells)
	}
	return out.String()
}

// notes are what to know of each backend.
func (m *matrix) notes() string {
	var out strings.Builder
	for _, b := range m.backends {
		auth := "no credential is needed"
		if b.Auth != "" {
			auth = fmt.Sprintf("the credential is in `%s: %s…`", b.Auth, b.Scheme)
		}
		fmt.Fprintf(&out, "<a id=\"%s\"></a>\n**%s** — asked at `%s`; %s. The window: %s. %s\n\n", b.Slug(), b.Name, b.Path, auth, b.Window, b.Note)
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// A table with a hole would be written as it is.
func TestBackendTableIsWhole(t *testing.T) {
	var slugs []string
	for _, b := range backendtest.All() {
		if b.Name == "" || b.Window == "" || b.Note == "" || slices.Contains(slugs, b.Slug()) {
			t.Errorf("%q is not told whole", b.Name)
		}
		slugs = append(slugs, b.Slug())
	}
	if len(slugs) < 14 {
		t.Errorf("%d backends only", len(slugs))
	}
}
