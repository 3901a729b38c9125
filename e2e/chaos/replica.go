package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

// replica is one gateway, a process of its own.
type replica struct {
	name        string
	program     string
	config      string
	data, admin string // host:port
	out         *tail
	link        *link // to the store
	process     *process
	down        atomic.Bool  // the balancer does not send here
	ends        atomic.Int64 // times that it was killed
	ask         http.Client  // of the admin plane

	descriptors, goroutines int // after the start; open files without the connections to the store
}

// configuration is every replica's. Times are short, so that each rule is seen at
// work within seconds.
const configuration = `
upstream: http://%s
redis_url: redis://%s
memory: %dMiB
windows:
  "*": %d
compression:
  wait: %s
summarizer:
  idle: 1s
  ceiling: 20s
  routes:
    - {name: writer, url: "http://%s/v1", model: writer, idle: 1s}
lease: 1s
retention: 3m
hold: 1s
upstream_timeout: %s
drain: 10s
log_level: warn
`

// newReplica starts one that writes its log where it can be read.
func (w *world) newReplica(name, upstream string) (*replica, error) {
	r, err := w.prepareReplica(name, upstream)
	if err != nil {
		return nil, err
	}
	return r, r.start(r.out)
}

func (w *world) prepareReplica(name, upstream string) (*replica, error) {
	k, err := newLink(w.store.addr)
	if err != nil {
		return nil, err
	}
	r := &replica{name: name, program: w.options.gateway, link: k, out: new(tail), config: filepath.Join(w.dir, name+".yaml")}
	text := fmt.Sprintf(configuration, upstream, k.addr, w.options.memory, w.options.window, w.options.wait, w.summaryLink.addr, w.options.silence)
	if err := os.WriteFile(r.config, []byte(text), 0o600); err != nil {
		return nil, fmt.Errorf("write a configuration: %w", err)
	}
	return r, nil
}

// start starts it and waits until it serves. A second start takes the addresses of
// the first.
func (r *replica) start(out io.Writer) (err error) {
	return until(context.Background(), "start of replica "+r.name, func() error {
		if r.process != nil {
			select {
			case <-r.process.over:
				if r.ends.Load() == 0 { // somebody took the port
					r.data = ""
				}
				r.process = nil
			default:
			}
		}
		if r.data == "" {
			if r.data, err = freeAddr(); err != nil {
				return err
			}
			if r.admin, err = freeAddr(); err != nil {
				return err
			}
		}
		if r.process == nil {
			r.process, err = launch(out, []string{"FOLDGATE_TENANT_SECRET=" + secret, "FOLDGATE_ADMIN_TOKEN=" + secret},
				r.program, "serve", "--config", r.config, "--listen", r.data, "--admin-listen", r.admin)
			if err != nil {
				return err
			}
		}
		res, err := r.ask.Get("http://" + r.admin + "/readyz")
		if err != nil {
			return err
		}
		_ = res.Body.Close()
		if res.StatusCode != http.StatusOK {
			return fmt.Errorf("not ready: %s", res.Status)
		}
		return nil
	})
}

// kill ends it as a power cut would. Its callers are cut.
func (r *replica) kill() {
	r.down.Store(true)
	r.ends.Add(1)
	r.process.kill()
}

func (r *replica) restart() error {
	if err := r.start(r.out); err != nil {
		return err
	}
	r.down.Store(false)
	return nil
}

func (r *replica) pause()  { r.process.signal(syscall.SIGSTOP) }
func (r *replica) resume() { r.process.signal(syscall.SIGCONT) }

func (r *replica) close() {
	if r.process != nil {
		r.process.kill()
	}
	r.ask.CloseIdleConnections()
	r.link.close()
}

// metrics reads the replica's own numbers. Their labels are part of the name.
func (r *replica) metrics() (map[string]float64, error) {
	q, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://"+r.admin+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	q.Header.Set("Authorization", "Bearer "+secret)
	res, err := r.ask.Do(q)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	out := map[string]float64{}
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		name, value, ok := strings.Cut(lines.Text(), " ")
		if v, err := strconv.ParseFloat(value, 64); ok && err == nil && !strings.HasPrefix(name, "#") {
			out[name] = v
		}
	}
	return out, lines.Err()
}
