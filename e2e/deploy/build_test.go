package deploy

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// built are the programs as the Dockerfile builds them: its own RUN line, in a copy of
// the repository.
type built struct{ gateway, standin string }

var programs struct {
	sync.Once
	dir string
}

// programsOf builds once for all tests. TestMain removes it.
func programsOf(t *testing.T) built {
	t.Helper()
	programs.Do(func() {
		dir, err := os.MkdirTemp("", "foldgate-deploy-")
		if err != nil {
			t.Fatal(err)
		}
		programs.dir = dir
		commit(t, filepath.Join(dir, "src"))
		build(t, dir)
	})
	b := built{gateway: filepath.Join(programs.dir, "out", "gateway"), standin: filepath.Join(programs.dir, "out", "standin")}
	for _, name := range []string{b.gateway, b.standin} {
		if _, err := os.Stat(name); err != nil {
			t.Fatalf("the build failed, see the first test that wanted it: %v", err)
		}
	}
	return b
}

func TestMain(m *testing.M) {
	code := m.Run()
	if programs.dir != "" {
		_ = os.RemoveAll(programs.dir) // a temporary folder, at the end
	}
	os.Exit(code)
}

// commit copies the repository to a folder and makes a commit of it that is the same
// whenever it is made.
func commit(t *testing.T, src string) {
	t.Helper()
	for _, name := range tracked(t) {
		raw, err := os.ReadFile(filepath.Join(root(t), name))
		if os.IsNotExist(err) {
			continue // removed since it was listed
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(src, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(src, name), raw, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	git(t, src, "init", "-q")
	git(t, src, "add", "-A")
	git(t, src, "commit", "-q", "-m", "a build")
}

// git runs without anybody's own configuration.
func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=test", "GIT_AUTHOR_EMAIL=test@example.com", "GIT_AUTHOR_DATE=2026-01-01T00:00:00Z",
		"GIT_COMMITTER_NAME=test", "GIT_COMMITTER_EMAIL=test@example.com", "GIT_COMMITTER_DATE=2026-01-01T00:00:00Z")
	output(t, cmd)
}

// build runs what the Dockerfile runs in dir/src. The programs are in dir/out.
func build(t *testing.T, dir string) {
	t.Helper()
	src, out := filepath.Join(dir, "src"), filepath.Join(dir, "out")
	stage := stages(t)["build"]
	line := stage.runs[len(stage.runs)-1]
	if !strings.Contains(line, "go build") || strings.Count(line, "/out/") != 1 {
		t.Fatalf("the last RUN of the builder is %q", line)
	}
	cmd := exec.Command("sh", "-c", strings.ReplaceAll(line, "/out/", out+"/"))
	cmd.Dir = src
	cmd.Env = append(os.Environ(), stage.environment...)
	cmd.Env = append(cmd.Env, "TARGETOS="+runtime.GOOS, "TARGETARCH="+runtime.GOARCH)
	output(t, cmd)
}

// The same commit gives the same bytes, in another folder and built at another time.
func TestBuildIsReproducible(t *testing.T) {
	t.Parallel()
	first := programsOf(t)
	again := filepath.Join(t.TempDir(), "some", "where", "else")
	git(t, programs.dir, "clone", "-q", "src", filepath.Join(again, "src"))
	build(t, again)
	for name, path := range map[string]string{"gateway": first.gateway, "standin": first.standin} {
		a, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(again, "out", name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(a, b) {
			t.Errorf("%s: two builds differ", name)
		}
		for _, place := range []string{programs.dir, again, root(t)} {
			if bytes.Contains(a, []byte(place)) || bytes.Contains(b, []byte(place)) {
				t.Errorf("%s tells where it was built: %s", name, place)
			}
		}
	}
}

// The binary needs nothing of its image, and knows its commit.
func TestBinaryStandsAlone(t *testing.T) {
	t.Parallel()
	b := programsOf(t)
	info := output(t, exec.Command("go", "version", "-m", b.gateway))
	for _, want := range []string{"CGO_ENABLED=0", "-trimpath=true", "vcs.revision=", "vcs.modified=false"} {
		if !strings.Contains(info, want) {
			t.Errorf("the binary does not say %s:\n%s", want, info)
		}
	}
	if version := output(t, exec.Command(b.gateway, "version")); strings.Contains(version, "unknown") || strings.Contains(version, "modified") || strings.Contains(version, "dirty") {
		t.Errorf("gateway version: %s", version)
	}
	if runtime.GOOS == "linux" {
		raw, err := os.ReadFile(b.gateway)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(raw, []byte("ld-linux")) {
			t.Error("the binary wants a dynamic loader, and the image has none")
		}
	}
}
