package middleware

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"go.opentelemetry.io/otel/trace"

	"github.com/foldgate/foldgate/compression"
	"github.com/foldgate/foldgate/compression/chat"
	"github.com/foldgate/foldgate/compression/llm"
	"github.com/foldgate/foldgate/compression/window"
	"github.com/foldgate/foldgate/ownership"
)

// How much this replica remembers. Entries are small but for the handoffs in
// held, which have a bound of their own.
const (
	memoEntries    = 1 << 17
	heldEntries    = 4096
	heldBytes      = 128 << 20
	recentEntries  = 1024
	refusedEntries = 4096
)

// Middleware folds oversized chat requests in front of another handler. It is
// safe for concurrent use; make it with New, or from another one by With.
type Middleware struct {
	cfg     Config // never changes: see With
	tenancy tenancy
	budget  *bodyBudget
	// resting are the summarizer's routes that failed lately.
	resting *resting
	*memory
}

// memory is what a Middleware knows and does beside its configuration: the part
// that With hands on.
type memory struct {
	tracer  trace.Tracer // nil without a TracerProvider
	memo    *compression.Memo
	seen    *chat.Seen
	llm     *llm.Client
	held    *heldCheckpoints
	recent  *lru.Cache[ownership.Key, Touched]
	refused *lru.Cache[ownership.Fence, struct{}]
	known   *knownSizes
	drain   *drain
	turns   *turns
	// summarizer is how the last summary call went.
	summarizer Health
	// background are the settlings that outlive their requests, and the learner.
	background sync.WaitGroup
	learner    *learner
}

// New checks c, reporting all its problems at once, and makes a middleware.
func New(c Config) (*Middleware, error) {
	c = c.withDefaults()
	if err := c.validate(); err != nil {
		return nil, err
	}
	recent, err := lru.New[ownership.Key, Touched](recentEntries)
	if err != nil {
		return nil, err
	}
	refused, err := lru.New[ownership.Fence, struct{}](refusedEntries)
	if err != nil {
		return nil, err
	}
	known, err := newKnownSizes(knownEntries)
	if err != nil {
		return nil, err
	}
	held, err := newHeldCheckpoints(heldEntries, heldBytes)
	if err != nil {
		return nil, err
	}
	m := &Middleware{
		cfg:     c,
		tenancy: newTenancy(c.TenantHeader, c.TenantSecret),
		budget:  newBodyBudget(c.Memory),
		resting: new(resting),
		memory: &memory{
			tracer:  tracerOf(c.TracerProvider),
			memo:    compression.NewMemo(memoEntries),
			seen:    chat.NewSeen(),
			llm:     llm.NewClient(c.Transport),
			held:    held,
			recent:  recent,
			refused: refused,
			known:   known,
			drain:   newDrain(),
			turns:   newTurns(spareProcessor),
		},
	}
	if m.learner, err = newLearner(c, m.llm, &m.background); err != nil {
		return nil, err
	}
	return m, nil
}

// Handler wraps next: usually NewProxy, but any handler that forwards a request
// to the upstream will do. next sees chat requests with their body in memory, which
// is used again when the request is over: Body, and what GetBody opens, can be read
// until it is closed, and GetBody fails behind the end of next. A client has a minute
// to take each 32 KiB of a response; where the server has a WriteTimeout, that counts
// instead.
func (m *Middleware) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w, finish := newPatientWriter(w, r)
		defer finish()
		if m.tracer != nil {
			m.traced(w, r, next)
			return
		}
		m.serve(w, r, next)
	})
}

func (m *Middleware) serve(w http.ResponseWriter, r *http.Request, next http.Handler) {
	if m.drain.on() {
		if isChat(r.Method, r.URL) {
			w.Header()[headerFold] = []string{foldHeader{Kind: kindNone}.String()}
			w.Header()[headerTokens] = []string{tokensHeader{Before: -1, After: -1}.String()}
		}
		writeError(w, r, codeDraining, "this replica is draining; ask another one", "")
		return
	}
	if !isChat(r.Method, r.URL) {
		next.ServeHTTP(w, withoutOwn(r))
		return
	}
	newExchange(m, w, r, next).serve()
}

// isChat is section 3.1's test.
func isChat(method string, u *url.URL) bool {
	return method == http.MethodPost && strings.HasSuffix(u.Path, chatPath)
}

// chatPath ends the path of every chat request.
const chatPath = "/chat/completions"

// Wait returns when what requests left to be settled is settled, and ends what
// goes on beside them: upstreams are asked nothing more, and what was learned is
// shared no longer. Call it after the servers have stopped, and before the store
// is closed.
func (m *Middleware) Wait() {
	m.learner.end()
	m.background.Wait()
}

// Summarizer is how the last summary call went, on whatever route.
func (m *Middleware) Summarizer() *Health { return &m.summarizer }

// BytesInFlight is how many bytes of bodies are held in memory now.
func (m *Middleware) BytesInFlight() int64 { return m.budget.InFlight() }

// Touched is a conversation that this replica saw lately.
type Touched struct {
	Conversation  ownership.Key
	Seen          time.Time
	Kind          string // of its last request, as Foldgate-Fold names it
	Before, After window.Tokens
	Covered       int // messages that the forwarded handoff stood for; 0 if none
}

// Recent lists the conversations that this replica touched lately, newest
// first, from memory. At most limit; zero or less means all of them.
func (m *Middleware) Recent(limit int) []Touched {
	all := m.recent.Values()
	slices.SortFunc(all, func(a, b Touched) int {
		return cmp.Or(b.Seen.Compare(a.Seen), cmp.Compare(a.Conversation, b.Conversation))
	})
	if limit > 0 && len(all) > limit {
		all = all[:limit]
	}
	return all
}

// Drop forgets what this replica holds of a conversation, so that its next
// request asks the store again. For an operator who restored or forgot it.
func (m *Middleware) Drop(key ownership.Key) { m.held.drop(key) }
