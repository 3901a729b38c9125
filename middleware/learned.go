package middleware

import (
	"context"
	"encoding/hex"
	"log/slog"
	"net/url"
	"strings"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/foldgate/foldgate/compression/llm"
	"github.com/foldgate/foldgate/compression/window"
)

// Learned shares between replicas what upstreams taught each of them: windows and
// corrections, by scope and model. The values mean something to this package only.
// It is asked beside requests and never waited for: one that is down or slow
// costs nothing but that each replica learns for itself. The implementation must
// be safe for concurrent use.
type Learned interface {
	// Save keeps a value, of at most 4 KiB, for a model in a scope, and announces
	// the scope.
	Save(ctx context.Context, scope, model string, value []byte) error
	// Load returns the values of a scope by model; none for an unknown one.
	Load(ctx context.Context, scope string) (map[string][]byte, error)
	// Announcements yields the Hash of every scope that is saved, until ctx ends, and
	// an empty string whenever listening begins: what was saved before that may have
	// been missed, and is loaded then. Some may be missing.
	Announcements(ctx context.Context) <-chan string
	// Hash is the form in which a scope is announced.
	Hash(scope string) string
}

// learner is what goes on beside requests so that windows are known: upstreams
// are asked what they accept, and replicas tell each other what they learned. No
// request waits for any of it.
type learner struct {
	book     *window.Book
	client   *llm.Client
	store    Learned // nil: nothing is shared
	nearby   bool    // the upstream is somebody's own server
	observer Observer
	logger   *slog.Logger
	// background is the middleware's: who waits for it waits for the learner too.
	background *sync.WaitGroup
	wake       chan struct{} // holds at most one: there is something to share

	mu      sync.Mutex
	ended   bool
	next    int                        // names the next goroutine
	running map[int]context.CancelFunc // what goes on now
	asking  int                        // how many upstreams are being asked
	asked   *simplelru.LRU[window.Scope, *askedScope]
	sharing bool // the goroutine that shares was started
	shared  *simplelru.LRU[window.Scope, *sharedScope]
	byHash  map[string]window.Scope // of shared
}

func newLearner(c Config, client *llm.Client, background *sync.WaitGroup) (*learner, error) {
	l := &learner{
		book: c.Book, client: client, store: c.Learned, nearby: llm.Nearby(c.Upstream), observer: c.Observer, logger: c.Logger,
		background: background, wake: make(chan struct{}, 1),
		running: map[int]context.CancelFunc{}, byHash: map[string]window.Scope{},
	}
	var err error
	if l.asked, err = simplelru.NewLRU[window.Scope, *askedScope](window.MaxScopes, nil); err != nil {
		return nil, err
	}
	l.shared, err = simplelru.NewLRU(window.MaxScopes, func(_ window.Scope, s *sharedScope) { delete(l.byHash, s.hash) })
	return l, err
}

// seen is told of every request that was looked into, before it is decided.
func (l *learner) seen(x *exchange) {
	if l.store != nil && len(x.captured.Decoded) >= shareFrom {
		l.use(x.ctx(), x.scope, x.start, x.m.cfg.Mode)
	}
	if !x.m.cfg.IgnoreAdvertised && l.worthAsking(x.limits, len(x.captured.Decoded)) {
		l.ask(x)
	}
}

// done is told of every request at its end, when it has taught what it could. What
// was only observed is kept for this replica.
func (l *learner) done(x *exchange) {
	if l.store == nil || x.m.cfg.Mode == ModeObserve || x.envelope.Messages.Empty() || !l.book.Unshared(x.scope, x.envelope.Model, x.start.Add(x.report.Total)) {
		return
	}
	l.tell(x.ctx(), x.scope, x.envelope.Model)
}

// beside runs do on a goroutine of its own, until it returns, and with a context
// that ends with the learner. It reports whether it was started.
func (l *learner) beside(ctx context.Context, do func(context.Context)) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.start(ctx, do)
}

// start is beside for those who have the lock.
func (l *learner) start(ctx context.Context, do func(context.Context)) bool {
	if l.ended {
		return false
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // it outlives the request
	id := l.next
	l.next++
	l.running[id] = cancel
	l.background.Go(func() {
		defer func() {
			cancel()
			l.mu.Lock()
			defer l.mu.Unlock()
			delete(l.running, id)
		}()
		do(ctx)
	})
	return true
}

// end ends what goes on; waiting for it is the caller's. Nothing begins from here
// on.
func (l *learner) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	for _, cancel := range l.running {
		cancel()
	}
}

// scopeName is a scope as the shared store knows it. A tenant is a keyed hash, so
// neither part is anybody's secret, and no two scopes have one name.
func scopeName(s window.Scope) string {
	return hex.EncodeToString([]byte(s.Tenant)) + " " + s.Upstream
}

// askedBase is what stands before /chat/completions in the upstream's URL of a
// request.
func askedBase(upstream, in *url.URL) *url.URL {
	u := upstreamURL(upstream, in)
	u.Path = strings.TrimSuffix(u.Path, chatPath)
	u.RawPath, u.Opaque = "", ""
	return u
}
