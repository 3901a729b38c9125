package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foldgate/foldgate/cmd/gateway/internal/config"
)

const docs = "../../../../../docs/"

// The page is what the table says.
func TestThePageIsCurrent(t *testing.T) {
	t.Parallel()
	want := filepath.Join(t.TempDir(), "configuration.md")
	var stderr bytes.Buffer
	if code := run([]string{"-example", docs + "foldgate.yaml", "-o", want}, &stderr); code != 0 {
		t.Fatalf("exit code %d: %s", code, &stderr)
	}
	written, err := os.ReadFile(want)
	if err != nil {
		t.Fatal(err)
	}
	have, err := os.ReadFile(docs + "configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, written) {
		t.Errorf("docs/configuration.md is not current: run \"make docs\"%s", firstDifference(have, written))
	}
}

func firstDifference(have, want []byte) string {
	lines := strings.Split(string(want), "\n")
	for i, line := range strings.Split(string(have), "\n") {
		if i >= len(lines) || line != lines[i] {
			return "; it differs from line " + line
		}
	}
	return ""
}

// Whatever can be set is told whole.
func TestEverySettingIsTold(t *testing.T) {
	t.Parallel()
	for _, k := range config.Keys() {
		for name, text := range map[string]string{
			"usage": k.Usage, "about": k.About, "allowed": k.Allowed, "value": k.Value, "group": string(k.Group),
		} {
			if text == "" || strings.TrimSpace(text) != text {
				t.Errorf("%s: %s is %q", k.Name(), name, text)
			}
		}
		if !strings.HasSuffix(k.About, ".") || strings.HasSuffix(k.Usage, ".") {
			t.Errorf("%s: about ends in a full stop, usage does not", k.Name())
		}
		if k.Path == "" && !k.Restart {
			t.Errorf("%s has no place in the file: a reload cannot change it", k.Name())
		}
	}
	for _, f := range config.RouteKeys() {
		if f.Allowed == "" || !strings.HasSuffix(f.About, ".") {
			t.Errorf("route field %s is not told whole", f.Name)
		}
	}
}

func TestWhatCannotBeWritten(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"-example", "missing.yaml", "-o", filepath.Join(t.TempDir(), "x")},
		{"-example", docs + "foldgate.yaml", "-o", filepath.Join(t.TempDir(), "no", "x")},
		{"-bogus"},
	} {
		var stderr bytes.Buffer
		if code := run(args, &stderr); code == 0 || stderr.Len() == 0 {
			t.Errorf("%v: exit code %d, %q", args, code, &stderr)
		}
	}
}
