package clients

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// patience bounds every wait. Nothing waits so long but a test that is about to
// fail.
const patience = 60 * time.Second

var (
	// installed is the folder in which the clients of the npm registry are.
	installed = os.Getenv("FOLDGATE_CLIENTS")
	// program is the gateway that is tested, built from this tree.
	program string
)

func TestMain(m *testing.M) { os.Exit(prepared(m)) }

func prepared(m *testing.M) int {
	if installed == "" {
		fmt.Println("FOLDGATE_CLIENTS names no folder with the clients: make test-clients installs them and runs these tests")
		if os.Getenv("CI") != "" {
			return 1
		}
	}
	folder, err := os.MkdirTemp("", "foldgate-program-")
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer os.RemoveAll(folder)
	program = filepath.Join(folder, "gateway")
	build := exec.Command("go", "build", "-o", program, "./cmd/gateway")
	build.Dir, build.Stdout, build.Stderr = filepath.Join("..", ".."), os.Stdout, os.Stderr
	if err := build.Run(); err != nil {
		fmt.Println("building the gateway:", err)
		return 1
	}
	code := m.Run()
	if code == 0 {
		if err := matrix.finish(); err != nil {
			fmt.Println(err)
			code = 1
		}
	}
	return code
}

// needInstalled ends a test that needs a client of the npm registry.
func needInstalled(t *testing.T) {
	t.Helper()
	if installed == "" {
		t.Fatal("the clients are not installed: make test-clients")
	}
}
