package deploy

import (
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/sirupsen/logrus"
	"sigs.k8s.io/yaml"
)

// project is docker-compose.yml as docker compose reads it, in this environment.
func project(t *testing.T, env ...string) *types.Project {
	t.Helper()
	options, err := cli.NewProjectOptions([]string{filepath.Join(root(t), "docker-compose.yml")},
		cli.WithWorkingDirectory(root(t)), cli.WithEnv(env), cli.WithResolvedPaths(true))
	if err != nil {
		t.Fatal(err)
	}
	p, err := options.LoadProject(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// replicas are the services that run the gateway.
func replicas(p *types.Project) (names []string) {
	for name, s := range p.Services {
		if s.Build != nil && s.Build.Target == "gateway" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// A loader that warns has found something that it does not know.
func TestComposeLoadsWithoutAWarning(t *testing.T) {
	var said strings.Builder
	logrus.SetOutput(&said)
	defer logrus.SetOutput(io.Discard)
	p := project(t)
	if said.Len() > 0 {
		t.Errorf("the loader says: %s", said.String())
	}
	if got := replicas(p); len(got) != 2 {
		t.Errorf("replicas %v, want two", got)
	}
}

// What every service must be, whatever it runs.
func TestComposeIsHardened(t *testing.T) {
	t.Parallel()
	p := project(t)
	pinned := regexp.MustCompile(`^[a-z./-]+:v?\d+\.\d+\.\d+(-alpine)?$`)
	for name, s := range p.Services {
		if s.Build == nil && !pinned.MatchString(s.Image) {
			t.Errorf("%s: image %q is not pinned", name, s.Image)
		}
		if s.Restart != "unless-stopped" || !s.ReadOnly || !slices.Equal(s.CapDrop, []string{"ALL"}) || len(s.CapAdd) > 0 ||
			!slices.Contains(s.SecurityOpt, "no-new-privileges:true") || s.Privileged || s.NetworkMode != "" || s.Pid != "" {
			t.Errorf("%s is not hardened as the others are", name)
		}
		if s.MemLimit <= 0 || s.PidsLimit <= 0 || s.Logging == nil || s.Logging.Options["max-size"] == "" {
			t.Errorf("%s may take as much memory, processes or disk as it likes", name)
		}
		for _, port := range s.Ports {
			if port.HostIP != "127.0.0.1" {
				t.Errorf("%s: port %s is published on %q", name, port.Published, port.HostIP)
			}
		}
		for _, v := range s.Volumes {
			if v.Type != types.VolumeTypeBind {
				continue
			}
			if _, err := os.Stat(v.Source); err != nil || !v.ReadOnly {
				t.Errorf("%s: %s is missing, or may be written: %v", name, v.Source, err)
			}
		}
	}
	for name, s := range p.Secrets {
		if !strings.HasPrefix(s.File, filepath.Join(root(t), "deploy/compose/secrets")+"/") {
			t.Errorf("secret %s comes from %q", name, s.File)
		}
	}
}

// Each service can be told to be well, but for those whose images hold no client.
func TestComposeHealthChecks(t *testing.T) {
	t.Parallel()
	p := project(t)
	silent := []string{"otel-collector", "standin"}
	for name, s := range p.Services {
		has := s.HealthCheck != nil && len(s.HealthCheck.Test) > 0 || slices.Contains(replicas(p), name) // by their image
		if has == slices.Contains(silent, name) {
			t.Errorf("%s: health check: %v", name, has)
		}
		for on, how := range s.DependsOn {
			want := types.ServiceConditionHealthy
			if slices.Contains(silent, on) {
				want = types.ServiceConditionStarted
			}
			if how.Condition != want {
				t.Errorf("%s waits for %s to be %s", name, on, how.Condition)
			}
		}
	}
}

// Redis is reached by the gateways and nobody else.
func TestComposeKeepsRedisApart(t *testing.T) {
	t.Parallel()
	p := project(t)
	redis := p.Services["redis"]
	if len(redis.Ports) > 0 || len(redis.Networks) != 1 {
		t.Fatalf("redis: ports %v, networks %v", redis.Ports, redis.Networks)
	}
	for network := range redis.Networks {
		if !p.Networks[network].Internal {
			t.Errorf("network %s leads outside", network)
		}
		for name, s := range p.Services {
			if _, in := s.Networks[network]; in && name != "redis" && !slices.Contains(replicas(p), name) {
				t.Errorf("%s is in the network of redis", name)
			}
		}
	}
}

// The replicas differ by nothing but the port on which this machine sees them.
func TestReplicasAreAlike(t *testing.T) {
	t.Parallel()
	p := project(t)
	var first types.ServiceConfig
	for i, name := range replicas(p) {
		s := p.Services[name]
		s.Name, s.Ports = "", nil
		if i == 0 {
			first = s
			continue
		}
		a, err := yaml.Marshal(first)
		if err != nil {
			t.Fatal(err)
		}
		b, err := yaml.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if string(a) != string(b) {
			t.Errorf("replicas differ:\n%s\n%s", a, b)
		}
	}
}

// One variable points it at a real API; empty is as if it were not set.
func TestOneVariableNamesTheUpstream(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ env, want string }{
		{"OTHER=1", "http://standin:8000"},
		{"FOLDGATE_UPSTREAM=", "http://standin:8000"},
		{"FOLDGATE_UPSTREAM=https://api.openai.com", "https://api.openai.com"},
	} {
		p := project(t, tc.env)
		for _, name := range replicas(p) {
			if got := p.Services[name].Environment["FOLDGATE_UPSTREAM"]; got == nil || *got != tc.want {
				t.Errorf("%s: %s asks %v, want %s", tc.env, name, got, tc.want)
			}
		}
	}
}

// settings is a gateway's configuration file, as far as others must agree with it.
type settings struct {
	Listen      string   `json:"listen"`
	AdminListen string   `json:"admin_listen"`
	AdminHosts  []string `json:"admin_hosts"`
	AdminToken  string   `json:"admin_token_file"`
	Tenant      string   `json:"tenant_secret_file"`
	RedisURL    string   `json:"redis_url"`
	Upstream    string   `json:"upstream"`
	Memory      string   `json:"memory"`
	BodyLimit   string   `json:"body_limit"`
	DrainDelay  string   `json:"drain_delay"`
	Drain       string   `json:"drain"`
	LogFormat   string   `json:"log_format"`
}

func settingsOf(t *testing.T, file string) settings {
	t.Helper()
	var s settings
	if err := yaml.UnmarshalStrict([]byte(read(t, file)), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

const mib = 1 << 20

// worst is the formula of docs/operating.md, Capacity: the most that a process takes.
func worst(t *testing.T, s settings) int64 {
	t.Helper()
	if !strings.Contains(read(t, "docs/operating.md"), "*3 × `memory` + 300 MiB*") {
		t.Fatal("docs/operating.md has another formula now")
	}
	return 3*bytesOf(t, s.Memory) + 300*mib
}

func bytesOf(t *testing.T, size string) int64 {
	t.Helper()
	for unit, factor := range map[string]int64{"KiB": 1 << 10, "MiB": mib, "GiB": 1 << 30, "Mi": mib, "Gi": 1 << 30, "m": mib} {
		if number, ok := strings.CutSuffix(size, unit); ok {
			if n, err := strconv.ParseInt(number, 10, 64); err == nil {
				return n * factor
			}
		}
	}
	t.Fatalf("%q is no size", size)
	return 0
}

func duration(t *testing.T, text string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Sizes and times that stand in several files agree.
func TestComposeAgreesWithTheConfiguration(t *testing.T) {
	t.Parallel()
	p, s, nginx := project(t), settingsOf(t, "deploy/compose/gateway.yaml"), read(t, "deploy/compose/nginx.conf")
	one := p.Services[replicas(p)[0]]
	limit := bytesOf(t, *one.Environment["GOMEMLIMIT"])
	if limit != worst(t, s) {
		t.Errorf("GOMEMLIMIT is %d MiB, memory %s makes it %d", limit/mib, s.Memory, worst(t, s)/mib)
	}
	if room := int64(one.MemLimit) - limit; room < 32*mib || room > 256*mib {
		t.Errorf("GOMEMLIMIT is %d MiB under the container's limit", room/mib)
	}
	if got, least := time.Duration(*one.StopGracePeriod), duration(t, s.DrainDelay)+duration(t, s.Drain); got < least+5*time.Second {
		t.Errorf("stop_grace_period %v, and draining takes %v", got, least)
	}
	if !slices.Equal(s.AdminHosts, replicas(p)) {
		t.Errorf("the admin planes can be asked as %v, and are called %v", s.AdminHosts, replicas(p))
	}
	body := regexp.MustCompile(`client_max_body_size (\w+);`).FindStringSubmatch(nginx)
	if body == nil || bytesOf(t, body[1]) <= bytesOf(t, s.BodyLimit) {
		t.Errorf("the balancer takes bodies of %v, Foldgate of %s", body, s.BodyLimit)
	}
	upstream := regexp.MustCompile("(?s)### `upstream_timeout`.*?- Default: `(\\w+)`").FindStringSubmatch(read(t, "docs/configuration.md"))
	silence := regexp.MustCompile(`proxy_read_timeout (\w+);`).FindStringSubmatch(nginx)
	if upstream == nil || silence == nil || duration(t, silence[1]) <= duration(t, upstream[1]) {
		t.Errorf("the balancer gives up after %v, Foldgate after %v", silence, upstream)
	}
}

// What Prometheus and the balancer ask are the replicas.
func TestNamesInOtherFiles(t *testing.T) {
	t.Parallel()
	p, s := project(t), settingsOf(t, "deploy/compose/gateway.yaml")
	var proxied, scraped []string
	for _, name := range replicas(p) {
		proxied = append(proxied, name+":"+port(s.Listen))
		scraped = append(scraped, name+":"+port(s.AdminListen))
	}
	var servers []string
	for _, m := range regexp.MustCompile(`(?m)^\s+server (\S+) resolve `).FindAllStringSubmatch(read(t, "deploy/compose/nginx.conf"), -1) {
		servers = append(servers, m[1])
	}
	if !slices.Equal(servers, proxied) {
		t.Errorf("the balancer sends to %v, want %v", servers, proxied)
	}
	var prometheus struct {
		Jobs []struct {
			Name   string `json:"job_name"`
			Static []struct {
				Targets []string `json:"targets"`
			} `json:"static_configs"`
		} `json:"scrape_configs"`
	}
	if err := yaml.Unmarshal([]byte(read(t, "deploy/prometheus/prometheus.yml")), &prometheus); err != nil {
		t.Fatal(err)
	}
	targets := map[string][]string{}
	for _, j := range prometheus.Jobs {
		targets[j.Name] = j.Static[0].Targets
	}
	if want := map[string][]string{"foldgate": scraped, "otel-collector": {"otel-collector:8888"}}; !maps.EqualFunc(targets, want, slices.Equal) {
		t.Errorf("Prometheus asks %v, want %v", targets, want)
	}
}

func port(address string) string { return address[strings.LastIndexByte(address, ':')+1:] }
