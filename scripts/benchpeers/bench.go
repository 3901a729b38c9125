package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// bench is one run of the program: what is running, and how the figures are taken.
type bench struct {
	o       *options
	ctx     context.Context //nolint:containedctx // that of the part which runs
	stderr  io.Writer
	root    string // of the repository
	temp    string
	running []*process
	missed  int
}

func newBench(o *options, stderr io.Writer) (*bench, error) {
	root, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("find the repository: %w", err)
	}
	temp, err := os.MkdirTemp("", "benchpeers-")
	if err != nil {
		return nil, fmt.Errorf("make a temporary folder: %w", err)
	}
	return &bench{o: o, stderr: stderr, root: root, temp: temp}, nil
}

func (b *bench) close() {
	b.stopAll()
	_ = os.RemoveAll(b.temp)
}

func (b *bench) stopAll() {
	for i := len(b.running) - 1; i >= 0; i-- {
		b.running[i].stop()
	}
	b.running = nil
}

func (b *bench) say(format string, args ...any) {
	fmt.Fprintf(b.stderr, "%s "+format+"\n", append([]any{time.Now().Format("15:04:05")}, args...)...)
}

// window is how long a window of load is.
func (b *bench) window() time.Duration {
	if b.o.quick {
		return 400 * time.Millisecond
	}
	return 1200 * time.Millisecond
}

func (b *bench) warm() time.Duration { return b.window() / 4 }

// patience is for what is awaited beside a measurement.
const patience = 20 * time.Second

// of is few in a quick run and many in a full one.
func (b *bench) of(few, many int) int {
	if b.o.quick {
		return few
	}
	return many
}

// startUpstream starts the upstream. It takes span exports too.
func (b *bench) startUpstream() (*process, error) {
	addr, err := freeAddr()
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	return b.start("upstream", addr, nil, self, "upstream", addr)
}

// startBare starts the bare proxy.
func (b *bench) startBare(up *process) (*process, error) {
	addr, err := freeAddr()
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	return b.start("bare", addr, nil, self, "bare", addr, "http://"+up.addr)
}

// gateway is a running gateway.
type gateway struct {
	*process
	admin string
}

// startGateway starts a gateway as it is shipped, with its defaults but for args.
func (b *bench) startGateway(name string, up *process, env []string, args ...string) (*gateway, error) {
	addr, err := freeAddr()
	if err != nil {
		return nil, err
	}
	admin, err := freeAddr()
	if err != nil {
		return nil, err
	}
	argv := append([]string{gatewayPath(b.o), "serve", "--listen", addr, "--admin-listen", admin, "--upstream", "http://" + up.addr}, args...)
	p, err := b.start(name, addr, append(env, "FOLDGATE_BENCH_PPROF="+profileAddr(b.o)), argv...)
	if err != nil {
		return nil, err
	}
	return &gateway{process: p, admin: admin}, nil
}

// metrics reads some of a gateway's metrics, those without labels.
func (g *gateway) metrics() (map[string]float64, error) {
	res, err := local.Get("http://" + g.admin + "/metrics") //nolint:noctx // the client has a time-out
	if err != nil {
		return nil, fmt.Errorf("read metrics: %w", err)
	}
	defer func() { _ = res.Body.Close() }()
	all := map[string]float64{}
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		name, value, ok := strings.Cut(lines.Text(), " ")
		var v float64
		if _, err := fmt.Sscan(value, &v); ok && err == nil && !strings.HasPrefix(name, "#") {
			all[name] = v
		}
	}
	return all, nil
}

// upstreamStats are what the upstream has seen.
type upstreamStats struct{ Requests, Bytes, Short, Last, Spans, Summaries int64 }

func statsOf(up *process) (s upstreamStats, err error) {
	res, err := local.Get("http://" + up.addr + statsPath) //nolint:noctx // the client has a time-out
	if err != nil {
		return s, fmt.Errorf("ask the upstream: %w", err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return s, fmt.Errorf("ask the upstream: status %d", res.StatusCode)
	}
	return s, json.NewDecoder(res.Body).Decode(&s)
}

// machine says where and how the figures were taken.
func (b *bench) machine(name string) string {
	network := "loopback alone, in a network namespace"
	if os.Getenv(isolated) == "" {
		network = "loopback; the programs could have called out"
	}
	how := ""
	if b.o.quick {
		how = " **A quick run: short windows, few pairs; not to be quoted.**"
	}
	if b.o.profile != "" {
		how += " **With profiles taken.**"
	}
	return fmt.Sprintf("Measured %s: %d cores (%s), %.0f GiB, %s/%s, %s, %s.%s Command: `make bench-peers BENCHFLAGS=\"%s\"`",
		time.Now().UTC().Format("2006-01-02"), runtime.NumCPU(), cpuModel(), float64(memoryTotal())/(1<<30),
		runtime.GOOS, runtime.GOARCH, runtime.Version(), network, how, b.command(name))
}

// command is how a part alone is measured again.
func (b *bench) command(name string) string {
	flags := "-only " + name
	if b.o.quick {
		flags += " -quick"
	}
	return flags
}

func cpuModel() string {
	raw, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.SplitSeq(string(raw), "\n") {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

func memoryTotal() (bytes int64) {
	raw, _ := os.ReadFile("/proc/meminfo")
	_, _ = fmt.Sscanf(string(raw), "MemTotal: %d kB", &bytes)
	return bytes << 10
}

// build runs a build command and keeps its words for the error.
func build(dir string, env []string, argv ...string) error {
	cmd := exec.Command(argv[0], argv[1:]...) //nolint:gosec,noctx // the build tools of whoever runs this
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(argv[:min(3, len(argv))], " "), err, lastLine(out))
	}
	return nil
}

func lastLine(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1]
}

func gatewayPath(o *options) string {
	if o.profile != "" {
		return filepath.Join(o.tools, "gateway-profiled")
	}
	return filepath.Join(o.tools, "gateway")
}
