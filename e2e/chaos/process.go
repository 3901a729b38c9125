package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// patience bounds every wait for something that happens in well under a second on
// a machine that has nothing else to do.
const patience = 60 * time.Second

// process is a program that ends at the latest with this one.
type process struct {
	cmd  *exec.Cmd
	over chan struct{} // closed when it has ended
}

// launch starts a program. Its output goes to out.
func launch(out io.Writer, environ []string, name string, args ...string) (*process, error) {
	p := &process{cmd: exec.Command(name, args...), over: make(chan struct{})} //nolint:gosec // our own programs
	p.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH")}, environ...)
	p.cmd.Stdout, p.cmd.Stderr = out, out
	p.cmd.SysProcAttr = dieWithParent()
	started := make(chan error, 1)
	go func() {
		defer close(p.over)
		// The kernel's "parent" is the thread that started the process.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			_ = p.cmd.Wait() // the exit code says it
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	return p, nil
}

func (p *process) signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) } // it may have ended

// kill ends it at once, a paused one too.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.over
}

// exits waits for its end.
func (p *process) exits(limit time.Duration) (code int, err error) {
	select {
	case <-p.over:
		return p.cmd.ProcessState.ExitCode(), nil
	case <-time.After(limit):
		return 0, fmt.Errorf("%s does not end within %v", p.cmd.Path, limit)
	}
}

// descriptors is the number of its open files.
func (p *process) descriptors() (int, error) {
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.cmd.Process.Pid))
	return len(list), err
}

// peak is the most memory that was ever resident, in bytes.
func (p *process) peak() (int64, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(raw)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return kib << 10, err
		}
	}
	return 0, fmt.Errorf("no VmHWM of process %d", p.cmd.Process.Pid)
}

// freeAddr is an address that nobody listens on at the moment.
func freeAddr() (string, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String(), nil
}

// until asks again and again until it is so, at most for patience.
func until(ctx context.Context, what string, so func() error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("not within %v", patience))
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := so()
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%s: %w: %w", what, context.Cause(ctx), err)
		}
	}
}

// tail keeps the end of what is written to it.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

const tailBytes = 64 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if len(t.buf) > 2*tailBytes {
		t.buf = append([]byte(nil), t.buf[len(t.buf)-tailBytes:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf)
}
