package deploy

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/types"
)

// topology is docker-compose.yml on loopback. Each service is a process with an
// address and a folder of its own: the folder stands for the root of its container.
type topology struct {
	*types.Project
	t         *testing.T // whose services they are: they outlive the part that starts one
	dir       string
	addresses map[string]string // by service
	images    map[string]image
	collector string
	running   map[string]*process
}

// notRun are the services that only exist as images.
var notRun = []string{"grafana"}

func newTopology(t *testing.T, env ...string) *topology {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has all of 127.0.0.0/8 on loopback")
	}
	dir, err := os.MkdirTemp("", "foldgate-topology-")
	if err != nil {
		t.Fatal(err)
	}
	// nginx's workers may be of another user.
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	top := &topology{Project: project(t, env...), t: t, dir: dir, addresses: map[string]string{}, images: stages(t), running: map[string]*process{}}
	// Runs at the same time have different addresses.
	net := fmt.Sprintf("127.%d.%d.", 1+rand.IntN(254), rand.IntN(256))
	for i, name := range top.ServiceNames() {
		top.addresses[name] = fmt.Sprint(net, i+1)
	}
	top.secrets(t)
	return top
}

// secrets are made by the script that makes them in earnest.
func (top *topology) secrets(t *testing.T) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(top.dir, "compose", "secrets"), 0o755); err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(top.dir, "compose", "secrets.sh")
	if err := os.WriteFile(script, []byte(read(t, "deploy/compose/secrets.sh")), 0o755); err != nil {
		t.Fatal(err)
	}
	output(t, exec.Command(script))
}

func (top *topology) secret(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(top.dir, "compose", "secrets", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// home is the folder that stands for a service's root.
func (top *topology) home(service string) string { return filepath.Join(top.dir, service) }

// mounts are the paths that a service sees and its image does not hold.
func (top *topology) mounts(service string) (paths []string) {
	s := top.Services[service]
	for _, v := range s.Volumes {
		paths = append(paths, v.Target)
	}
	for _, secret := range s.Secrets {
		paths = append(paths, "/run/secrets/"+secret.Source)
	}
	for _, mount := range s.Tmpfs {
		path, _, _ := strings.Cut(mount, ":")
		paths = append(paths, path)
	}
	return paths
}

var (
	path     = regexp.MustCompile(`(^|[\s="'\[(])(/[A-Za-z0-9_.+-][A-Za-z0-9_./+-]*)`)
	anyPort  = regexp.MustCompile(`(^|=)(:\d+)$`)
	resolved = regexp.MustCompile(`(server \S+) resolve `)
	listens  = regexp.MustCompile(`(?m)^(\s+listen )(\d+;)`)
)

// localized is a text as it must be for a service to run here: names of services are
// addresses, all addresses and loopback are the service's own, and what is mounted is
// in its folder. Two things more: the nginx of Debian 12 looks a name up once, and the
// tests have no time for Prometheus to look every 15 seconds.
func (top *topology) localized(service, text string) string {
	own := top.addresses[service]
	for name, address := range top.addresses {
		text = regexp.MustCompile(`\b`+regexp.QuoteMeta(name)+`:(\d)`).ReplaceAllString(text, address+":$1")
	}
	text = strings.NewReplacer("0.0.0.0", own, "127.0.0.1:", own+":").Replace(text)
	text = anyPort.ReplaceAllString(text, "${1}"+own+"$2")
	switch service {
	case "balancer":
		text = resolved.ReplaceAllString(text, "$1 ")
		text = listens.ReplaceAllString(text, "${1}"+own+":$2")
	case "prometheus":
		text = strings.ReplaceAll(text, "_interval: 15s", "_interval: 1s")
	}
	return path.ReplaceAllStringFunc(text, func(found string) string {
		m := path.FindStringSubmatch(found)
		for _, mount := range top.mounts(service) {
			if m[2] == mount || strings.HasPrefix(m[2], mount+"/") {
				return m[1] + top.home(service) + m[2]
			}
		}
		return found
	})
}

// furnish lays out what a service finds in its container.
func (top *topology) furnish(t *testing.T, service string) {
	t.Helper()
	s := top.Services[service]
	write := func(target, text string) {
		t.Helper()
		name := filepath.Join(top.home(service), target)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, v := range s.Volumes {
		info, err := os.Stat(v.Source)
		if v.Type == types.VolumeTypeBind && err == nil && info.Mode().IsRegular() {
			name, err := filepath.Rel(root(t), v.Source)
			if err != nil {
				t.Fatal(err)
			}
			write(v.Target, top.localized(service, read(t, name)))
		}
	}
	for _, secret := range s.Secrets {
		write("/run/secrets/"+secret.Source, top.secret(t, secret.Source))
	}
	for _, mount := range top.mounts(service) {
		if folder := filepath.Join(top.home(service), mount); !exists(folder) {
			if err := os.MkdirAll(folder, 0o777); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// env is a service's environment.
func (top *topology) env(service string) []string {
	given := map[string]string{}
	for key, value := range top.Services[service].Environment {
		if value != nil {
			given[key] = top.localized(service, *value)
		}
	}
	return environment(given)
}

// command is what a service's container runs: what the compose file says, and what it
// leaves to the image.
func (top *topology) command(t *testing.T, service string) []string {
	t.Helper()
	s := top.Services[service]
	entrypoint, args := slices.Clone([]string(s.Entrypoint)), slices.Clone([]string(s.Command))
	if s.Build != nil {
		i := top.images[s.Build.Target]
		if entrypoint == nil {
			entrypoint = map[string][]string{"/gateway": {programsOf(t).gateway}, "/standin": {programsOf(t).standin}}[i.entrypoint[0]]
		}
		if args == nil {
			args = i.cmd
		}
	}
	for i := range args {
		args[i] = top.localized(service, args[i])
	}
	switch service { // as the images' own entrypoints have it
	case "prometheus":
		entrypoint = []string{tool(t, "prometheus", "prometheus")}
	case "otel-collector":
		entrypoint = []string{top.collector}
	case "redis":
		entrypoint, args = []string{tool(t, "redis-server", "redis-server")}, append(args[1:], "--bind", top.addresses[service])
	case "balancer":
		entrypoint = []string{tool(t, "nginx", "nginx")}
		if os.Geteuid() == 0 { // its workers may enter its folders
			args[len(args)-1] += " user root;"
		}
	}
	return append(entrypoint, args...)
}

// start starts a service after those that it depends on, as docker compose up does.
func (top *topology) start(t *testing.T, service string) {
	t.Helper()
	if p := top.running[service]; p != nil && p.gone() == "" {
		return
	}
	for on, how := range top.Services[service].DependsOn {
		top.start(t, on)
		if how.Condition == types.ServiceConditionHealthy {
			top.healthy(t, on)
		}
	}
	top.furnish(t, service)
	top.running[service] = launch(top.t, service, top.env(service), top.command(t, service)...)
}

// healthy waits until a service's own health check says so.
func (top *topology) healthy(t *testing.T, service string) {
	t.Helper()
	until(t, func() string {
		if gone := top.running[service].gone(); gone != "" {
			t.Fatal(gone)
		}
		if err := top.check(t, service); err != nil {
			return fmt.Sprintf("%s is not healthy: %v", service, err)
		}
		return ""
	})
}

// check runs a service's health check once. Images have wget for it; here the test
// asks.
func (top *topology) check(t *testing.T, service string) error {
	t.Helper()
	s := top.Services[service]
	if s.HealthCheck == nil {
		i := top.images[s.Build.Target]
		return answers(t.Context(), top.env(service), append([]string{programsOf(t).gateway}, i.health[2:]...)...)
	}
	test := s.HealthCheck.Test[1:]
	switch test[0] {
	case "redis-cli":
		return answers(t.Context(), top.env(service), append([]string{tool(t, "redis-cli", "redis-tools"), "-h", top.addresses[service]}, test[1:]...)...)
	case "wget":
		_, err := get(t, top.localized(service, test[len(test)-1]), "")
		return err
	}
	return fmt.Errorf("nobody here knows the health check %v", test)
}

// get is the body of a good answer.
func get(t *testing.T, url, token string) (string, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := client.Do(r)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return "", err
	}
	if res.StatusCode/100 != 2 {
		return "", fmt.Errorf("%s answers %s: %s", url, res.Status, body)
	}
	return string(body), nil
}

// at is a service's URL.
func (top *topology) at(service string, port int, rest string) string {
	return fmt.Sprintf("http://%s:%d%s", top.addresses[service], port, rest)
}
