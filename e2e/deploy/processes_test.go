package deploy

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// process is one running service.
type process struct {
	name  string
	cmd   *exec.Cmd
	said  *log
	ended chan struct{}
	err   error // once ended is closed
}

// log is what a process has printed so far.
type log struct {
	sync.Mutex
	bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.Lock()
	defer l.Unlock()
	return l.Buffer.Write(p)
}

func (l *log) String() string {
	l.Lock()
	defer l.Unlock()
	return l.Buffer.String()
}

// launch starts a program that ends with the test.
func launch(t *testing.T, name string, env []string, command ...string) *process {
	t.Helper()
	p := &process{name: name, cmd: exec.Command(command[0], command[1:]...), said: &log{}, ended: make(chan struct{})}
	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = env, p.said, p.said
	p.cmd.WaitDelay = 5 * time.Second
	// Whatever a service starts ends with it.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	t.Cleanup(func() {
		p.stop(syscall.SIGTERM)
		if t.Failed() {
			t.Logf("%s said:\n%s", name, tail(p.said.String()))
		}
	})
	return p
}

func tail(text string) string {
	if most := 4000; len(text) > most {
		return "…" + text[len(text)-most:]
	}
	return text
}

// signal tells the service, and what it started, something. One that has ended hears
// nothing.
func (p *process) signal(s syscall.Signal) { _ = syscall.Kill(-p.cmd.Process.Pid, s) }

// stop ends the service and waits for its end.
func (p *process) stop(s syscall.Signal) {
	p.signal(s)
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.signal(syscall.SIGKILL)
		<-p.ended
	}
}

// gone says that the service has ended; empty: it runs.
func (p *process) gone() string {
	select {
	case <-p.ended:
		return fmt.Sprintf("%s has ended: %v\n%s", p.name, p.err, tail(p.said.String()))
	default:
		return ""
	}
}

// client asks loopback, each time over a connection of its own, so that no test sees
// what another one left.
var client = &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}

// environment is the least that a program of this machine needs, and what is given.
func environment(given map[string]string) []string {
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent"}
	for key, value := range given {
		env = append(env, key+"="+value)
	}
	return env
}

// answers reports whether a command ends well in good time.
func answers(ctx context.Context, env []string, command ...string) error {
	ctx, stop := context.WithTimeout(ctx, 10*time.Second)
	defer stop()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = env
	if raw, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(command, " "), err, raw)
	}
	return nil
}

// outputOf is what a command prints in an environment; it must succeed.
func outputOf(t *testing.T, env []string, command ...string) string {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = env
	return output(t, cmd)
}
