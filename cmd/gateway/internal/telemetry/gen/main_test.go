package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const page = "../../../../../docs/operating.md"

// The table is what the catalog says.
func TestTheTableIsCurrent(t *testing.T) {
	t.Parallel()
	have, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	renewed := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(renewed, have, 0o600); err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	if code := run([]string{"-page", renewed}, &stderr); code != 0 {
		t.Fatalf("exit code %d: %s", code, &stderr)
	}
	want, err := os.ReadFile(renewed)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, want) {
		t.Error(`the table of metrics in docs/operating.md is not current: run "make docs"`)
	}
}

func TestAPageWithoutAPlaceIsRefused(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(file, []byte("# A page\n"+begin), 0o600); err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	if code := run([]string{"-page", file}, &stderr); code != 1 || !strings.Contains(stderr.String(), "no place for the table") {
		t.Errorf("exit code %d: %s", code, &stderr)
	}
}
