package redistest

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// program is what is started.
	program = "redis-server"
	// patience bounds each wait for a server, which takes well under a second.
	patience = time.Minute
)

// ready is what a server, or a sentinel, writes to its log once it accepts
// connections.
func ready(line string) bool {
	return strings.Contains(line, "Ready to accept connections") || strings.Contains(line, "Sentinel ID is")
}

// Server is a running redis-server. Its methods fail the test instead of
// returning errors. They may be called from the test's own goroutine only.
type Server struct {
	// Addr is host:port.
	Addr string
	// URL is Addr as redis://… or rediss://…, with the password if there is one.
	URL string

	t        testing.TB
	options  options
	dir      string
	port     string
	process  *process
	client   *redis.Client
	stopping sync.Once
}

type options struct {
	password string
	secure   *Certificate
	extra    []string
	sentinel string // a configuration file: the server is a sentinel
}

// Option changes what Start starts.
type Option func(*options)

// WithPassword makes the server ask for a password.
func WithPassword(password string) Option { return func(o *options) { o.password = password } }

// WithTLS makes the server speak TLS only, with that certificate.
func WithTLS(c *Certificate) Option { return func(o *options) { o.secure = c } }

// WithArgs adds arguments for redis-server, such as "--maxmemory", "10mb".
func WithArgs(args ...string) Option {
	return func(o *options) { o.extra = append(o.extra, args...) }
}

// Require skips the test, or fails it, where redis-server is not installed.
func Require(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath(program); err == nil {
		return
	}
	const missing = program + " is not installed (Debian, Ubuntu: apt-get install redis-server; Alpine: apk add redis; macOS: brew install redis)"
	if isSet("CI") || isSet("FOLDGATE_REQUIRE_REDIS") {
		t.Fatal(missing)
	}
	t.Skip(missing)
}

func isSet(name string) bool {
	switch strings.ToLower(os.Getenv(name)) {
	case "", "0", "false":
		return false
	}
	return true
}

// Start starts a server that keeps nothing on disk and stops with the test.
func Start(t testing.TB, opts ...Option) *Server {
	t.Helper()
	Require(t)
	s := &Server{t: t, dir: t.TempDir()}
	for _, o := range opts {
		o(&s.options)
	}
	t.Cleanup(s.stop)
	// Between choosing a free port and using it somebody else may take it.
	const tries = 5
	var err error
	for range tries {
		if s.port, err = freePort(); err != nil {
			break
		}
		if err = s.launch(); err == nil {
			return s
		}
	}
	t.Fatalf("start %s: %v", program, err)
	return nil
}

func (s *Server) launch() error {
	s.Addr = net.JoinHostPort("127.0.0.1", s.port)
	args := []string{"--bind", "127.0.0.1", "--dir", s.dir, "--save", "", "--appendonly", "no", "--daemonize", "no", "--logfile", ""}
	credentials := ""
	if s.options.password != "" {
		args = append(args, "--requirepass", s.options.password, "--masterauth", s.options.password)
		credentials = ":" + s.options.password + "@"
	}
	if c := s.options.secure; c != nil {
		args = append(args, "--port", "0", "--tls-port", s.port, "--tls-auth-clients", "no",
			"--tls-cert-file", c.CertFile, "--tls-key-file", c.KeyFile, "--tls-ca-cert-file", c.CertFile)
		s.URL = "rediss://" + credentials + s.Addr
	} else {
		args = append(args, "--port", s.port)
		s.URL = "redis://" + credentials + s.Addr
	}
	args = append(args, s.options.extra...)
	if file := s.options.sentinel; file != "" {
		// A sentinel keeps its own file up to date, so the port cannot be a mere
		// argument there.
		args = []string{file, "--sentinel", "--port", s.port, "--bind", "127.0.0.1", "--dir", s.dir, "--logfile", ""}
	}
	p, err := startProcess(program, args)
	if err != nil {
		return err
	}
	s.process = p
	return nil
}

func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	defer func() { _ = l.Close() }()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}

// Client is a plain client of the server, for looking behind the scenes. It is
// closed with the test.
func (s *Server) Client() *redis.Client {
	if s.client != nil {
		return s.client
	}
	o := &redis.Options{Addr: s.Addr, Password: s.options.password, Protocol: 2, DisableIdentity: true}
	if c := s.options.secure; c != nil {
		o.TLSConfig = &tls.Config{RootCAs: c.Pool, MinVersion: tls.VersionTLS12}
	}
	s.client = redis.NewClient(o)
	s.t.Cleanup(func() { _ = s.client.Close() })
	return s.client
}

// Do sends one command and fails the test if it is refused.
func (s *Server) Do(args ...any) any {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	v, err := s.Client().Do(ctx, args...).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		s.t.Fatalf("redis %v: %v", args[0], err)
	}
	return v
}

// FlushAll deletes everything, as an operator's mistake would.
func (s *Server) FlushAll() {
	s.t.Helper()
	s.Do("FLUSHALL")
}

// Pause freezes the server: it stays connected and answers nothing.
func (s *Server) Pause() {
	s.t.Helper()
	s.signal(syscall.SIGSTOP)
}

// Resume wakes a frozen server.
func (s *Server) Resume() {
	s.t.Helper()
	s.signal(syscall.SIGCONT)
}

// Kill ends the server at once, without a goodbye. Restart brings it back.
func (s *Server) Kill() {
	s.t.Helper()
	s.process.kill()
}

// Restart kills the server if it runs and starts it again on the same port. It
// keeps nothing on disk, so it comes back empty.
func (s *Server) Restart() {
	s.t.Helper()
	s.process.kill()
	if err := s.launch(); err != nil {
		s.t.Fatalf("restart %s: %v", program, err)
	}
}

func (s *Server) signal(sig os.Signal) {
	s.t.Helper()
	if err := s.process.cmd.Process.Signal(sig); err != nil {
		s.t.Fatalf("signal %s: %v", program, err)
	}
}

func (s *Server) stop() {
	s.stopping.Do(func() {
		if s.process != nil {
			s.process.kill()
		}
	})
}

// process is one run of the program.
type process struct {
	cmd  *exec.Cmd
	over chan struct{} // closed when it has ended
}

// startProcess returns once the server accepts connections.
func startProcess(name string, args []string) (*process, error) {
	p := &process{over: make(chan struct{})}
	started := make(chan error, 1)
	lines := make(chan string)
	go p.run(name, args, started, lines)
	if err := <-started; err != nil {
		return nil, err
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	var last string
	for {
		select {
		case line, ok := <-lines:
			if !ok {
				<-p.over
				return nil, fmt.Errorf("it ended at once: %s", last)
			}
			if ready(line) {
				go drain(lines)
				return p, nil
			}
			if strings.TrimSpace(line) != "" {
				last = line
			}
		case <-timer.C:
			go drain(lines)
			p.kill()
			return nil, fmt.Errorf("not ready after %v: %s", patience, last)
		}
	}
}

func drain(lines <-chan string) {
	for range lines {
	}
}

// run starts the program, passes its log on and waits for its end, all from one
// goroutine; see bind for why.
func (p *process) run(name string, args []string, started chan<- error, lines chan<- string) {
	defer close(p.over)
	release := bind()
	defer release()
	p.cmd = exec.Command(name, args...)
	p.cmd.SysProcAttr = attributes()
	out, err := p.cmd.StdoutPipe()
	if err == nil {
		p.cmd.Stderr = p.cmd.Stdout
		err = p.cmd.Start()
	}
	started <- err
	if err != nil {
		close(lines)
		return
	}
	scanner := bufio.NewScanner(out)
	for scanner.Scan() {
		lines <- scanner.Text()
	}
	close(lines)
	_ = p.cmd.Wait()
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.over
}
