package deploy

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// patience is how long a test waits for what has to happen. Nothing passes by
// waiting so long: it is what a broken service costs.
const patience = 60 * time.Second

// root is the repository.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// read is a file of the repository.
func read(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(root(t), name))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// tool is the path of a program of this machine. Where it is missing the test is
// skipped, and fails in CI.
func tool(t *testing.T, name, pkg string) string {
	t.Helper()
	for _, candidate := range []string{name, "/usr/sbin/" + name} {
		if found, err := exec.LookPath(candidate); err == nil {
			return found
		}
	}
	missing := fmt.Sprintf("%s is missing (Debian, Ubuntu: apt-get install %s); make test-deploy installs it where it may", name, pkg)
	if required("CI") {
		t.Fatal(missing)
	}
	t.Skip(missing)
	return ""
}

// output is what a command prints, both ways; it must succeed.
func output(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	raw, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(cmd.Args, " "), err, raw)
	}
	return string(raw)
}

// until waits for a condition, and fails with what it says is missing.
func until(t *testing.T, missing func() string) {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		what := missing()
		if what == "" {
			return
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("after %v: %s", patience, what)
		}
	}
}

// required reports whether one of these variables asks for what a test would else
// do without: CI mostly. 0 and false are no.
func required(names ...string) bool {
	for _, name := range names {
		switch strings.ToLower(os.Getenv(name)) {
		case "", "0", "false":
		default:
			return true
		}
	}
	return false
}
