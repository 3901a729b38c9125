package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"syscall"

	"github.com/redis/go-redis/v9"
)

// store is a real redis-server that keeps nothing on disk.
type store struct {
	addr   string
	dir    string
	out    *tail
	server *process
	client *redis.Client // straight to the server, past every link
}

// silent drops what the client says of a server that we broke ourselves.
type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

// errNoRedis says what is missing.
var errNoRedis = errors.New("redis-server is not installed (Debian, Ubuntu: apt-get install redis-server)")

func newStore(dir string) (*store, error) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		return nil, errNoRedis
	}
	addr, err := freeAddr()
	if err != nil {
		return nil, err
	}
	redis.SetLogger(silent{})
	s := &store{addr: addr, dir: dir, out: new(tail)}
	s.client = redis.NewClient(&redis.Options{Addr: addr, Protocol: 2, DisableIdentity: true, MaxRetries: -1, DialerRetries: 1})
	return s, s.start(context.Background())
}

// start starts the server, empty, and waits until it answers.
func (s *store) start(ctx context.Context) error {
	_, port, err := net.SplitHostPort(s.addr)
	if err != nil {
		return err
	}
	return until(ctx, "start of redis-server", func() error {
		if s.server != nil {
			select {
			case <-s.server.over:
				s.server = nil
			default:
			}
		}
		if s.server == nil {
			s.server, err = launch(s.out, os.Environ(), "redis-server", "--bind", "127.0.0.1", "--port", port,
				"--dir", s.dir, "--save", "", "--appendonly", "no", "--daemonize", "no", "--logfile", "")
			if err != nil {
				return err
			}
		}
		return s.client.Ping(ctx).Err()
	})
}

func (s *store) kill() {
	if s.server != nil {
		s.server.kill()
		s.server = nil
	}
}

func (s *store) pause()  { s.server.signal(syscall.SIGSTOP) }
func (s *store) resume() { s.server.signal(syscall.SIGCONT) }

func (s *store) close() {
	_ = s.client.Close()
	s.kill()
}

// do sends one command.
func (s *store) do(ctx context.Context, args ...any) error {
	if err := s.client.Do(ctx, args...).Err(); err != nil {
		return fmt.Errorf("redis %v: %w", args[0], err)
	}
	return nil
}
