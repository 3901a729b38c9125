//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// balancer does what balancers do: it asks every replica now and then whether it
// is ready, sends each request to the next one that is, over connections that it
// keeps, and to another one where a replica refuses the connection or says that
// it is draining. Whatever else goes wrong is the client's loss.
type balancer struct {
	slots  []*slot
	over   chan struct{}
	probes sync.WaitGroup
	*board
	turn  int
	again int // requests that were sent again elsewhere
}

// slot is one place behind the balancer. Its fields but process and client are
// the balancer's, under its lock.
type slot struct {
	process atomic.Pointer[process]
	client  *http.Client
	ready   bool
	streams int            // long streams under way
	served  map[string]int // whole answers, by replica
}

func newBalancer(t *testing.T, behind []*process) *balancer {
	t.Helper()
	b := &balancer{over: make(chan struct{}), board: newBoard(t)}
	for _, p := range behind {
		s := &slot{client: &http.Client{Timeout: patience, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}, served: map[string]int{}}
		s.process.Store(p)
		b.slots = append(b.slots, s)
		b.probes.Go(func() { b.probe(s) })
	}
	t.Cleanup(func() {
		close(b.over)
		b.probes.Wait()
		for _, s := range b.slots {
			s.client.CloseIdleConnections()
		}
	})
	for _, s := range b.slots {
		b.until("a replica that is ready", func() bool { return s.ready })
	}
	return b
}

// probe asks one replica again and again whether it is ready.
func (b *balancer) probe(s *slot) {
	tick := time.NewTicker(2 * beat)
	defer tick.Stop()
	for {
		a, err := try(context.WithoutCancel(b.t.Context()), http.MethodGet, s.process.Load().admin+"/readyz", "")
		b.note(func() { s.ready = err == nil && a.status == http.StatusOK })
		select {
		case <-tick.C:
		case <-b.over:
			return
		}
	}
}

// pick is the next slot that is ready.
func (b *balancer) pick(q question) (*slot, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for range b.slots {
		b.turn++
		if s := b.slots[b.turn%len(b.slots)]; s.ready {
			if q.pieces == long {
				s.streams++
				b.changed.Broadcast()
			}
			return s, nil
		}
	}
	return nil, errors.New("no replica is ready")
}

// whole is a response to its last byte.
type whole struct {
	reply
	trailer http.Header
}

// send answers as a client of the balancer sees it.
func (b *balancer) send(q question, name string) (whole, error) {
	for range 3 * len(b.slots) {
		s, err := b.pick(q)
		if err != nil {
			return whole{}, err
		}
		p := s.process.Load()
		r, err := s.send(b.t, p, q, name)
		elsewhere := errors.Is(err, syscall.ECONNREFUSED) || r.status == http.StatusServiceUnavailable && strings.Contains(r.body, `"draining"`)
		b.note(func() {
			if q.pieces == long {
				s.streams--
			}
			switch {
			case elsewhere:
				s.ready = false // until it says otherwise
				b.again++
			case err == nil:
				s.served[p.name]++
			}
		})
		if !elsewhere {
			return r, err
		}
	}
	return whole{}, errors.New("every replica refuses")
}

func (s *slot) send(t *testing.T, p *process, q question, name string) (whole, error) {
	method, path := http.MethodPost, "/v1/chat/completions"
	if q.method != "" {
		method, path = q.method, q.path
	}
	r, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), method, p.data+path, strings.NewReader(q.body))
	if err != nil {
		return whole{}, err
	}
	r.Header.Set("Authorization", "Bearer sk-tenant")
	r.Header.Set(nameHeader, name)
	r.Header.Set(piecesHeader, strconv.Itoa(q.pieces))
	res, err := s.client.Do(r)
	if err != nil {
		return whole{}, err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		err = fmt.Errorf("cut after %d bytes by replica %s: %w", len(raw), p.name, err)
	}
	return whole{reply{answer{res.StatusCode, res.Header, string(raw)}, err}, res.Trailer}, err
}

// What a client says for the upstream alone. The gateway passes it on.
const (
	nameHeader   = "X-Name"
	piecesHeader = "X-Pieces"
)

// choir is the upstream and the model: it answers every request at its pace,
// with something that only this request can be answered with.
type choir struct {
	*httptest.Server
	*board
	names     atomic.Int64
	summaries map[string][]string // by conversation: the replicas that asked
	writing   map[string]int      // summaries under way, by replica
}

func newChoir(t *testing.T) *choir {
	t.Helper()
	c := &choir{board: newBoard(t), summaries: map[string][]string{}, writing: map[string]int{}}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		if by, isSummary := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, "/"), "/chat/completions"); isSummary && by != "v1" {
			c.summarize(w, r, by, string(raw))
			return
		}
		pieces, err := strconv.Atoi(r.Header.Get(piecesHeader))
		if err != nil {
			t.Errorf("%s %s has lost what its client said: %v", r.Method, r.URL, r.Header)
		}
		if pieces == 0 {
			w.Header().Set("Content-Type", "application/json")
			c.sing(w, r, 2, func(int) string { return "" })
			_, _ = io.WriteString(w, c.answer(r.Header.Get(nameHeader), 0))
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		c.sing(w, r, pieces, func(i int) string { return event(r.Header.Get(nameHeader), i) })
		_, _ = io.WriteString(w, streamEnd)
	}))
	t.Cleanup(c.Close)
	return c
}

// name is a new request's.
func (c *choir) name() string { return fmt.Sprintf("request-%d", c.names.Add(1)) }

// answer is the answer to the request of that name.
func (c *choir) answer(name string, pieces int) string {
	if pieces == 0 {
		return fmt.Sprintf(`{"choices":[{"index":0,"message":{"role":"assistant","content":%q},"finish_reason":"stop"}]}`, strings.Repeat(name+" ", 500))
	}
	var b strings.Builder
	for i := range pieces {
		b.WriteString(event(name, i))
	}
	return b.String() + streamEnd
}

const streamEnd = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"

func event(name string, i int) string {
	return fmt.Sprintf("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"%s %d \"}}]}\n\n", name, i)
}

// sing writes a piece at every beat.
func (c *choir) sing(w http.ResponseWriter, r *http.Request, pieces int, piece func(int) string) {
	tick := time.NewTicker(beat)
	defer tick.Stop()
	for i := range pieces {
		select {
		case <-tick.C:
		case <-r.Context().Done():
			return
		}
		if text := piece(i); text != "" {
			_, _ = io.WriteString(w, text)
			_ = http.NewResponseController(w).Flush()
		}
	}
}

var conversationName = regexp.MustCompile(`conv-[a-z]+-[0-9]+`)

func (c *choir) summarize(w http.ResponseWriter, r *http.Request, by, prompt string) {
	conversation := conversationName.FindString(prompt)
	c.note(func() {
		c.summaries[conversation] = append(c.summaries[conversation], by)
		c.writing[by]++
	})
	defer c.note(func() { c.writing[by]-- })
	w.Header().Set("Content-Type", "text/event-stream")
	beats := 30
	if strings.Contains(conversation, "slow") {
		beats = 200
	}
	c.sing(w, r, beats, func(i int) string {
		if i%10 != 0 {
			return ""
		}
		return fmt.Sprintf("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Point %d of %s was answered. \"}}]}\n\n", i, conversation)
	})
	_, _ = io.WriteString(w, streamEnd)
}

// calls are the summary calls by conversation: the replicas that made them, in
// their order.
func (c *choir) calls() map[string][]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.summaries
}

// board is what several goroutines write to, and a test waits for.
type board struct {
	t       *testing.T
	mu      sync.Mutex
	changed *sync.Cond
}

func newBoard(t *testing.T) *board {
	b := &board{t: t}
	b.changed = sync.NewCond(&b.mu)
	return b
}

func (b *board) note(change func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change()
	b.changed.Broadcast()
}

// until waits until something is so. What it looks at is under the lock.
func (b *board) until(what string, so func() bool) {
	b.t.Helper()
	late := false
	limit := time.AfterFunc(patience, func() { b.note(func() { late = true }) })
	defer limit.Stop()
	b.mu.Lock()
	defer b.mu.Unlock()
	for !so() {
		if late {
			b.t.Fatalf("%s: not in time", what)
		}
		b.changed.Wait()
	}
}
