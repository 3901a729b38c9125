package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is a program that was started here, with all that it starts itself.
type process struct {
	name string
	cmd  *exec.Cmd
	addr string // where it serves
	log  string // the file of its output
	done chan error
}

// start runs a program in a process group of its own and waits until addr takes
// connections.
func (b *bench) start(name, addr string, env []string, argv ...string) (*process, error) {
	p := &process{name: name, addr: addr, log: filepath.Join(b.temp, name+".log"), done: make(chan error, 1)}
	out, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open a log: %w", err)
	}
	defer func() { _ = out.Close() }()         // the child has its own
	p.cmd = exec.Command(argv[0], argv[1:]...) //nolint:gosec,noctx // stopped by stop, and with this program by the kernel
	p.cmd.Stdout, p.cmd.Stderr = out, out
	p.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + b.temp, "TMPDIR=" + b.temp}, env...)
	p.cmd.Dir = b.root
	p.cmd.SysProcAttr = childAttributes()
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	b.running = append(b.running, p)
	go func() { p.done <- p.cmd.Wait() }()
	if err := p.await(); err != nil {
		p.stop()
		return nil, fmt.Errorf("start %s: %w; its last words: %s", name, err, p.lastWords())
	}
	return p, nil
}

// startPatience is how long a program may take until it listens.
const startPatience = 30 * time.Second

func (p *process) await() error {
	for end := time.Now().Add(startPatience); time.Now().Before(end); {
		c, err := net.DialTimeout("tcp", p.addr, time.Second)
		if err == nil {
			return c.Close()
		}
		select {
		case err := <-p.done:
			p.done <- err
			return fmt.Errorf("it ended: %w", err)
		case <-time.After(50 * time.Millisecond):
		}
	}
	return fmt.Errorf("it does not listen on %s", p.addr)
}

// stop ends the process and its group. It may be called more than once.
func (p *process) stop() {
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGTERM)
	select {
	case err := <-p.done:
		p.done <- err
	case <-time.After(5 * time.Second):
	}
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) // what did not listen, and what it left behind
}

func (p *process) lastWords() string {
	raw, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(raw[max(0, len(raw)-600):])
}

// cpuUse is what processes have used since they began.
type cpuUse struct{ cpu time.Duration }

// cost sums the processor time of the groups of some processes.
func cost(all ...*process) func() cpuUse {
	return func() cpuUse {
		var ticks int64
		names, _ := filepath.Glob("/proc/[0-9]*/stat")
		for _, name := range names {
			group, used := statOf(name)
			for _, p := range all {
				if group == p.cmd.Process.Pid {
					ticks += used
				}
			}
		}
		return cpuUse{time.Duration(ticks) * 10 * time.Millisecond} // USER_HZ is 100 for every program
	}
}

// statOf reads a process's group and its ticks, user and system.
func statOf(name string) (group int, ticks int64) {
	raw, err := os.ReadFile(name) //nolint:gosec // of /proc
	if err != nil {
		return 0, 0 // it ended
	}
	_, rest, _ := strings.Cut(string(raw), ") ")
	f := strings.Fields(rest)
	if len(f) < 13 {
		return 0, 0
	}
	group, _ = strconv.Atoi(f[2])
	user, _ := strconv.ParseInt(f[11], 10, 64)
	system, _ := strconv.ParseInt(f[12], 10, 64)
	return group, user + system
}

// peakMemory is the most that a process has been resident, in bytes.
func (p *process) peakMemory() int64 {
	raw, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	_, rest, _ := strings.Cut(string(raw), "VmHWM:")
	f := strings.Fields(rest)
	if len(f) == 0 {
		return 0
	}
	kib, _ := strconv.ParseInt(f[0], 10, 64)
	return kib << 10
}

// freeAddr is an address that nobody listens on.
func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String(), nil
}

// local asks loopback, whatever the environment says of proxies.
var local = &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{}}
