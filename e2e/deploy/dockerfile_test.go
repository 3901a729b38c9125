package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/linter"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	"github.com/moby/patternmatcher"
	"github.com/moby/patternmatcher/ignorefile"
)

// image is what a stage of the Dockerfile says of its image.
type image struct {
	base                 string
	entrypoint, cmd      []string
	user                 string
	ports                []string
	labels               map[string]string
	health               []string
	copies               map[string]string // source to destination
	shell, addsFromAfar  bool
	runs                 []string
	environment, options []string
}

// stages are the Dockerfile's, read and linted by BuildKit's own code.
func stages(t *testing.T) map[string]image {
	t.Helper()
	parsed, err := parser.Parse(strings.NewReader(read(t, "Dockerfile")))
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range parsed.Warnings {
		t.Errorf("Dockerfile: %s", w.Short)
	}
	lint := linter.New(&linter.Config{ExperimentalAll: true, Warn: func(rule, about, _, text string, at []parser.Range) {
		t.Errorf("Dockerfile: %s: %s (%s) at %v", rule, text, about, at)
	}})
	list, meta, err := instructions.Parse(parsed.AST, lint)
	if err != nil {
		t.Fatal(err)
	}
	if len(meta) > 0 {
		t.Errorf("Dockerfile: arguments before the first stage are not expected: %v", meta)
	}
	all := map[string]image{}
	for _, s := range list {
		all[s.Name] = describe(s)
	}
	return all
}

func describe(s instructions.Stage) image {
	i := image{base: s.BaseName, labels: map[string]string{}, copies: map[string]string{}}
	for _, command := range s.Commands {
		switch c := command.(type) {
		case *instructions.EntrypointCommand:
			i.entrypoint, i.shell = c.CmdLine, i.shell || c.PrependShell
		case *instructions.CmdCommand:
			i.cmd, i.shell = c.CmdLine, i.shell || c.PrependShell
		case *instructions.HealthCheckCommand:
			i.health = c.Health.Test
		case *instructions.UserCommand:
			i.user = c.User
		case *instructions.ExposeCommand:
			i.ports = append(i.ports, c.Ports...)
		case *instructions.LabelCommand:
			for _, l := range c.Labels {
				i.labels[strings.Trim(l.Key, `"`)] = strings.Trim(l.Value, `"`)
			}
		case *instructions.CopyCommand:
			for _, source := range c.SourcePaths {
				i.copies[source] = c.DestPath
			}
		case *instructions.AddCommand:
			i.addsFromAfar = true
		case *instructions.RunCommand:
			i.runs = append(i.runs, strings.Join(c.CmdLine, " "))
		case *instructions.EnvCommand:
			for _, kv := range c.Env {
				i.environment = append(i.environment, kv.Key+"="+strings.Trim(kv.Value, `"`))
			}
		case *instructions.ArgCommand:
			for _, a := range c.Args {
				i.options = append(i.options, a.Key)
			}
		}
	}
	return i
}

func TestImages(t *testing.T) {
	t.Parallel()
	all := stages(t)
	if !regexp.MustCompile(`^golang:\d+\.\d+\.\d+-`).MatchString(all["build"].base) {
		t.Errorf("the builder %q is not pinned", all["build"].base)
	}
	for name, ports := range map[string][]string{"gateway": {"8080", "9090"}, "standin": {"8000"}} {
		i, ok := all[name]
		if !ok {
			t.Fatalf("there is no stage %s", name)
		}
		if i.base != "scratch" || i.shell || i.addsFromAfar || len(i.runs) > 0 {
			t.Errorf("%s: something beside the program: %+v", name, i)
		}
		if !regexp.MustCompile(`^[1-9]\d*:[1-9]\d*$`).MatchString(i.user) {
			t.Errorf("%s: user %q is no number, or root", name, i.user)
		}
		if !slices.Equal(i.ports, ports) {
			t.Errorf("%s: ports %v, want %v", name, i.ports, ports)
		}
		if i.copies["/out/"+name] != i.entrypoint[0] {
			t.Errorf("%s: %v is run, and %v is there", name, i.entrypoint, i.copies)
		}
		if i.labels["org.opencontainers.image.licenses"] != "Apache-2.0" || i.labels["org.opencontainers.image.source"] == "" {
			t.Errorf("%s: labels %v", name, i.labels)
		}
	}
	gateway := all["gateway"]
	if !slices.Equal(gateway.health, []string{"CMD", "/gateway", "healthcheck"}) {
		t.Errorf("health check %v", gateway.health)
	}
	if gateway.copies["/etc/ssl/certs/ca-certificates.crt"] != "/etc/ssl/certs/ca-certificates.crt" {
		t.Error("without certificates no upstream that speaks TLS can be asked")
	}
	for label, argument := range map[string]string{"version": "VERSION", "revision": "REVISION"} {
		if gateway.labels["org.opencontainers.image."+label] != "$"+argument || !slices.Contains(gateway.options, argument) {
			t.Errorf("label %s is %q, arguments are %v", label, gateway.labels["org.opencontainers.image."+label], gateway.options)
		}
	}
	if all := strings.Count(read(t, "Dockerfile"), "\nFROM "); all != 3 || !strings.Contains(read(t, "Dockerfile")[strings.LastIndex(read(t, "Dockerfile"), "\nFROM "):], "AS gateway") {
		t.Errorf("%d stages; the last one must be the gateway", all)
	}
}

// The builder is the Go that go.mod asks for, or a later one.
func TestBuilderIsNewEnough(t *testing.T) {
	t.Parallel()
	wanted := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(read(t, "go.mod"))[1]
	if base := stages(t)["build"].base; !strings.HasPrefix(base, "golang:"+wanted+".") {
		t.Errorf("go.mod asks for %s, the builder is %s", wanted, base)
	}
}

// What git tracks is in the context whole, or the binary would say of itself that it
// was modified; secrets and what is built are not.
func TestContext(t *testing.T) {
	t.Parallel()
	patterns, err := ignorefile.ReadAll(strings.NewReader(read(t, ".dockerignore")))
	if err != nil {
		t.Fatal(err)
	}
	ignored, err := patternmatcher.New(patterns)
	if err != nil {
		t.Fatal(err)
	}
	left := func(name string) bool {
		out, err := ignored.MatchesOrParentMatches(name)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	files := tracked(t)
	for _, name := range files {
		if left(name) {
			t.Errorf(".dockerignore leaves out %s, which is tracked", name)
		}
	}
	if len(files) < 100 {
		t.Errorf("found %d files only", len(files))
	}
	for _, name := range []string{".env", "bin/gateway", "coverage.out", "deploy/compose/secrets/admin-token", "deploy/compose/secrets/tenant-secret.new"} {
		if !left(name) {
			t.Errorf("%s would be in the image's context", name)
		}
	}
}

// tracked are the files of the repository, those that are to come included.
func tracked(t *testing.T) []string {
	t.Helper()
	list := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard", "-z")
	list.Dir = root(t)
	var files []string
	for name := range strings.SplitSeq(strings.TrimRight(output(t, list), "\x00"), "\x00") {
		if info, err := os.Lstat(filepath.Join(list.Dir, name)); err == nil && info.Mode().IsRegular() {
			files = append(files, name)
		}
	}
	return files
}
