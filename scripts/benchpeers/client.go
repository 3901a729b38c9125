package main

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// load is one window of load: a closed loop of connections, each of which sends
// its next request when it has read the last answer to its end.
type load struct {
	addrs   []string // the connections are spread over them
	conns   int
	request func(conn int) *request // one for each connection, which owns it
	want    want
	warm    time.Duration
	window  time.Duration
	// least is how many answers a window has at least: a slow target gets up to
	// longest instead of window. Zero: window it is.
	least   int
	longest time.Duration
	total   int           // if not 0: so many requests in all, in no window
	cost    func() cpuUse // of the processes under load; nil: not measured
}

// sample is what came of a load.
type sample struct {
	n         int
	took      time.Duration
	cpu       time.Duration // of the processes under load, in the window
	latencies []time.Duration
	firsts    []time.Duration // until the first byte of a body
	wrong     tally
	err       error // the first that went wrong
}

// tally counts answers that were not what was sent.
type tally struct{ short, corrupt, refused, other int }

func (t tally) sum() int { return t.short + t.corrupt + t.refused + t.other }

func (t *tally) add(err error) {
	switch {
	case errors.Is(err, errShort):
		t.short++
	case errors.Is(err, errCorrupt):
		t.corrupt++
	case errors.Is(err, errRefused):
		t.refused++
	default:
		t.other++
	}
}

// rate is in answers a second.
func (s *sample) rate() float64 { return float64(s.n) / s.took.Seconds() }

// each is the processor time for one answer.
func (s *sample) each() time.Duration {
	if s.n == 0 {
		return 0
	}
	return s.cpu / time.Duration(s.n)
}

// exchangeLimit bounds one exchange, so that a target that hangs ends a run.
const exchangeLimit = 2 * time.Minute

// run loads the target. A sample with err is no measurement.
func (l *load) run() *sample {
	r := &running{load: l, finished: make([][]exchangeTimes, l.conns)}
	var workers sync.WaitGroup
	for i := range l.conns {
		workers.Go(func() { r.work(i) })
	}
	if l.total > 0 {
		from, cost := time.Now(), l.costNow()
		workers.Wait()
		return r.sample(from, time.Now(), l.costNow()-cost)
	}
	time.Sleep(l.warm)
	from, cost, before := time.Now(), l.costNow(), r.done.Load()
	time.Sleep(l.window)
	for end := from.Add(max(l.longest, l.window)); int(r.done.Load()-before) < l.least && time.Now().Before(end) && !r.broken.Load(); {
		time.Sleep(5 * time.Millisecond)
	}
	to, cost := time.Now(), l.costNow()-cost
	r.stop.Store(true)
	workers.Wait()
	return r.sample(from, to, cost)
}

func (l *load) costNow() time.Duration {
	if l.cost == nil {
		return 0
	}
	return l.cost().cpu
}

type exchangeTimes struct {
	end          time.Time
	first, whole time.Duration
}

type running struct {
	load     *load
	finished [][]exchangeTimes // by connection
	begun    atomic.Int64
	done     atomic.Int64
	stop     atomic.Bool
	broken   atomic.Bool
	mu       sync.Mutex
	wrong    tally
	err      error
}

// work is one connection.
func (r *running) work(i int) {
	req := r.load.request(i)
	c := &connection{addr: r.load.addrs[i%len(r.load.addrs)]}
	defer c.close()
	for !r.stop.Load() {
		if r.load.total > 0 && r.begun.Add(1) > int64(r.load.total) {
			return
		}
		req.next()
		_, t, err := c.exchange(req.raw, &r.load.want)
		if err != nil {
			r.note(err)
			if c.close(); r.load.total == 0 {
				r.broken.Store(true)
				return
			}
			continue
		}
		r.finished[i] = append(r.finished[i], t)
		r.done.Add(1)
	}
}

func (r *running) note(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wrong.add(err)
	if r.err == nil {
		r.err = err
	}
}

func (r *running) sample(from, to time.Time, cpu time.Duration) *sample {
	s := &sample{took: to.Sub(from), cpu: cpu, wrong: r.wrong, err: r.err}
	for _, all := range r.finished {
		for _, t := range all {
			if t.end.After(from) && !t.end.After(to) {
				s.n++
				s.latencies = append(s.latencies, t.whole)
				s.firsts = append(s.firsts, t.first)
			}
		}
	}
	if s.n == 0 && s.err == nil {
		s.err = fmt.Errorf("no answer within %s", s.took.Round(time.Millisecond))
	}
	return s
}

// connection is kept open as long as the peer does. One is for one goroutine.
type connection struct {
	addr string
	conn net.Conn
	r    *bufio.Reader
	body []byte
}

// exchange sends a request and reads its answer to the end.
func (c *connection) exchange(raw []byte, w *want) (a answer, t exchangeTimes, err error) {
	if c.conn == nil {
		if c.conn, err = net.DialTimeout("tcp", c.addr, 10*time.Second); err != nil {
			return a, t, fmt.Errorf("connect: %w", err)
		}
		c.r = bufio.NewReaderSize(c.conn, 64<<10)
	}
	start := time.Now()
	if err := c.conn.SetDeadline(start.Add(exchangeLimit)); err != nil {
		return a, t, fmt.Errorf("set a deadline: %w", err)
	}
	if _, err := c.conn.Write(raw); err != nil {
		return a, t, fmt.Errorf("send: %w", err)
	}
	a, err = c.read(w)
	t.end = time.Now()
	t.first, t.whole = a.first.Sub(start), t.end.Sub(start)
	if err == nil && a.close {
		c.close()
	}
	return a, t, err
}

// ask sends a request and returns its answer, whatever it says.
func (c *connection) ask(raw []byte) (answer, error) {
	a, _, err := c.exchange(raw, &want{anything: true})
	return a, err
}

func (c *connection) close() {
	if c.conn != nil {
		_ = c.conn.Close()
		c.conn = nil
	}
}
