package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foldgate/foldgate/compression/tokens"
)

// What a request tells the upstream, past the gateway: headers of the caller go on
// as they came. So each caller knows what its own answer must be.
const (
	headNonce = "X-Chaos-Nonce"
	headMark  = "X-Chaos-Mark"
	headTurns = "X-Chaos-Turns"
	headPlan  = "X-Chaos-Plan"
	headFrom  = "X-Chaos-From" // in answers: the upstream wrote it
)

const (
	window = 4000 // tokens, of every model here but under load alone
	pieces = 12   // of an answer
)

// elsewhere is where a redirect points: nobody may go there.
const elsewhere = "http://127.0.0.1:1/elsewhere"

// backend is the upstream. It judges every request that it is sent, and answers by
// the request's plan.
type backend struct {
	addr   string
	server *http.Server
	ledger *atomic.Pointer[ledger]
	window int           // tokens
	open   atomic.Int64  // answers under way
	peak   atomic.Int64  // the most of them at once
	huge   int64         // bytes of the plan "huge"
	apart  time.Duration // between the pieces of the plan "trickle"
	served chan struct{}

	// later is set while small requests are measured: what a request is judged by is
	// kept, and done in judgeKept, since counting tokens here would be in their way.
	later bool
	mu    sync.Mutex
	kept  []func()
}

func newBackend(at *atomic.Pointer[ledger], window int, huge int64, apart time.Duration) (*backend, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the upstream: %w", err)
	}
	b := &backend{addr: l.Addr().String(), ledger: at, window: window, huge: huge, apart: apart, served: make(chan struct{})}
	b.server = &http.Server{Handler: b, ReadHeaderTimeout: patience}
	go func() {
		defer close(b.served)
		_ = b.server.Serve(l) // it ends by Close
	}()
	return b, nil
}

func (b *backend) close() {
	_ = b.server.Close()
	<-b.served
}

func (b *backend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set(headFrom, "upstream")
	if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/chat/completions") {
		http.NotFound(w, r)
		return
	}
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return // the replica is gone, or gave up: nothing was asked
	}
	led := b.ledger.Load()
	var asked struct {
		Stream   bool
		Messages []struct{ Role, Content string }
	}
	if err := json.Unmarshal(raw, &asked); err != nil {
		led.isWrong("the upstream was sent %d bytes that are no request: %v", len(raw), err)
		http.Error(w, "no request", http.StatusBadRequest)
		return
	}
	b.orLater(func() {
		if what := b.judge(raw, r.Header, asked.Messages); what != "" {
			led.isWrong("the upstream was sent a request that is not right: %s", what)
		}
	})
	if n := b.open.Add(1); n > b.peak.Load() {
		b.peak.Store(n) // close enough: another one may be a few higher
	}
	defer b.open.Add(-1)
	text := answerText(r.Header.Get(headNonce), r.Header.Get(headMark))
	b.play(w, r, asked.Stream, text)
}

// orLater does it now, or in judgeKept.
func (b *backend) orLater(judge func()) {
	if !b.later {
		judge()
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.kept = append(b.kept, judge)
}

// judgeKept judges all that was kept for later.
func (b *backend) judgeKept() {
	b.mu.Lock()
	kept := b.kept
	b.kept = nil
	b.mu.Unlock()
	for _, judge := range kept {
		judge()
	}
}

// judge says what is wrong with a request as it was forwarded.
func (b *backend) judge(raw []byte, h http.Header, messages []struct{ Role, Content string }) string {
	mark := h.Get(headMark)
	turns, _ := strconv.Atoi(h.Get(headTurns))
	var c conversation
	if _, err := fmt.Sscanf(mark, "mk-t%d-c%d-", &c.tenant, &c.id); err != nil {
		return "it has no mark"
	}
	if h.Get("Authorization") != c.credential() {
		return "another tenant's credential"
	}
	if m := foreign(string(raw), mark); m != "" {
		return fmt.Sprintf("%s stands in a request of %s", m, mark)
	}
	if len(messages) < 2 || messages[0].Role != "system" {
		return "the system message is missing"
	}
	last := messages[len(messages)-1]
	if last.Role != "user" || !strings.Contains(last.Content, c.lastQuestion(turns)) {
		return fmt.Sprintf("the last message is not the question of turn %d", turns)
	}
	if len(messages) == 2*turns {
		return "" // as it came
	}
	if turns < b.window/200 {
		return fmt.Sprintf("%d messages of a request that fits with %d", len(messages), 2*turns)
	}
	size := 0
	for i, m := range messages {
		if i > 0 && (m.Role == "system" || m.Role == messages[i-1].Role) {
			return fmt.Sprintf("message %d is of %s, after one of %s", i, m.Role, messages[i-1].Role)
		}
		size += 4 + tokens.Shared().CountString(m.Content)
	}
	if size > b.window {
		return fmt.Sprintf("folded, and still %d tokens", size)
	}
	return ""
}

// answerText is what the answer to a request of that nonce says.
func answerText(nonce, mark string) string {
	var b strings.Builder
	for i := range pieces {
		b.WriteString(piece(i, nonce, mark))
	}
	return b.String()
}

func piece(i int, nonce, mark string) string {
	return fmt.Sprintf("[%d of %d, %s, %s] ", i+1, pieces, nonce, mark)
}

func delta(text string) string {
	return `data: {"choices":[{"index":0,"delta":{"content":` + strconv.Quote(text) + `}}]}` + "\n\n"
}

const streamEnd = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"

func whole(text string) string {
	return `{"choices":[{"index":0,"message":{"role":"assistant","content":` + strconv.Quote(text) + `},"finish_reason":"stop"}]}`
}

var errNoHijack = errors.New("the connection cannot be taken")

// hijack takes the connection over.
func hijack(w http.ResponseWriter) (*net.TCPConn, error) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil, err
	}
	if t, ok := conn.(*net.TCPConn); ok {
		return t, nil
	}
	return nil, errNoHijack
}
