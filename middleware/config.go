package middleware

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/foldgate/foldgate/compression/llm"
	"github.com/foldgate/foldgate/compression/window"
	"github.com/foldgate/foldgate/ownership"
)

// Mode says how much the middleware does.
type Mode string

// The modes. The zero Mode is ModeFold.
const (
	// ModeFold folds what has outgrown its window.
	ModeFold Mode = "fold"
	// ModeObserve decides and reports, forwards the original and starts no attempt.
	ModeObserve Mode = "observe"
	// ModeOff looks into nothing.
	ModeOff Mode = "off"
)

// SummarizerRoute is one place where a summary may be asked for.
type SummarizerRoute struct {
	// Name stands in owner records, metrics and logs. Required, unique.
	Name string
	// URL is a base URL as SDKs take it. Empty: the upstream, by the path and
	// query of the caller's own request.
	URL string
	// Model is the model to ask. Empty: the model of the caller's request.
	Model string
	// Key is sent as a bearer. Empty: the caller's own credential where the
	// route is on the upstream's origin, else none.
	Key string
	// Window is the route's window: a transcript that does not fit it is
	// summarized in steps, and where it holds no useful step the next route is
	// asked. Zero: what the Book knows where the route is the upstream, or of the
	// model by its name; else 32,768 tokens.
	Window window.Tokens
	// Idle is the silence allowed on this route. Zero: the coordinator's.
	Idle time.Duration
}

// Config is what New needs. Upstream, Store, Coordinator and Book are required.
type Config struct {
	// Upstream is the base URL of the API. The middleware itself needs only its
	// origin, for credentials; the next handler does the forwarding.
	Upstream *url.URL
	// Mode is ModeFold if empty.
	Mode Mode

	Store       ownership.Store
	Coordinator *ownership.Coordinator
	Book        *window.Book
	// Settings are the shares of the window. The zero value means the defaults of
	// the configuration reference (trigger 0.80, keep_recent 0.25, ...).
	Settings window.Settings

	// Prepare asks for a summary as soon as a request is over the trigger, also
	// when it still fits.
	Prepare bool
	// Wait is how long a request that cannot fit waits for a summary. Zero: never.
	Wait time.Duration
	// Hold is how long a response's head is held while a retry is possible,
	// counted from the head's arrival. Zero: never.
	Hold time.Duration
	// Keepalive is how often a waiting stream gets a comment frame; the first one
	// also sends the head. Zero: off.
	Keepalive time.Duration

	// BodyLimit is the longest request body, in bytes. Zero: 64 MiB.
	BodyLimit int64
	// Memory bounds the bytes of bodies in flight. Zero: 1 GiB.
	Memory int64

	// Routes are asked in order. Empty: one default route, which repeats the
	// caller's request with another body.
	Routes []SummarizerRoute
	// Transport carries the summary calls, and the questions to the upstream about
	// its models. Nil: a tuned one of its own.
	Transport http.RoundTripper

	// TenantHeader names the header that tells tenants apart. Empty, or missing
	// in a request: the caller's credential.
	TenantHeader string
	// TenantSecret keys the hash of credentials. The same on all replicas.
	// Empty: a fixed label, so that summaries can still be shared.
	TenantSecret []byte

	// Learned shares with other replicas what upstreams taught. Nil: this replica
	// learns for itself.
	Learned Learned
	// IgnoreAdvertised keeps upstreams from being asked what their models accept.
	// Without it they are, beside large requests of models without a configured
	// window, with the credential of such a request: see section 3.2.
	IgnoreAdvertised bool

	// Logger gets one line per chat request, and at debug one per question
	// to the upstream. Nil: none.
	Logger *slog.Logger
	// Observer gets what metrics are made of. Nil: none.
	Observer Observer
	// TracerProvider makes the spans of requests, folds and summary calls; give the
	// same one to the coordinator and the proxy. While there is one, traceparent and
	// tracestate of what is forwarded name the request's span. Nil: no spans, at no
	// cost, and the header leaves byte for byte as it came.
	TracerProvider trace.TracerProvider
}

// Defaults of Config and of window.Settings.
const (
	DefaultBodyLimit = 64 << 20
	DefaultMemory    = 1 << 30
	// storeTimeout bounds one store call of a request. The store's own time-outs
	// are shorter; this one only guards against a store that has none.
	storeTimeout = 5 * time.Second
)

// DefaultSettings are the shares of the window that the configuration reference
// names.
func DefaultSettings() window.Settings {
	return window.Settings{Trigger: 0.80, KeepRecent: 0.25, Recall: 0.10, ReserveOutput: 4096}
}

func (c Config) withDefaults() Config {
	if c.Mode == "" {
		c.Mode = ModeFold
	}
	if c.Settings == (window.Settings{}) {
		c.Settings = DefaultSettings()
	}
	if c.BodyLimit == 0 {
		c.BodyLimit = DefaultBodyLimit
	}
	if c.Memory == 0 {
		c.Memory = DefaultMemory
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Observer == nil {
		c.Observer = noObserver{}
	}
	if len(c.Routes) == 0 {
		c.Routes = []SummarizerRoute{{Name: "default"}}
	}
	return c
}

// validate reports all problems at once.
func (c Config) validate() error {
	var problems []error
	bad := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if c.Upstream == nil || c.Upstream.Host == "" || (c.Upstream.Scheme != "http" && c.Upstream.Scheme != "https") {
		bad("upstream: an absolute http or https URL is required")
	}
	if c.Mode != ModeFold && c.Mode != ModeObserve && c.Mode != ModeOff {
		bad("mode: %q is none of fold, observe, off", c.Mode)
	}
	if c.Store == nil {
		bad("store: required")
	}
	if c.Coordinator == nil {
		bad("coordinator: required")
	}
	if c.Book == nil {
		bad("book: required")
	}
	if c.Wait < 0 || c.Hold < 0 || c.Keepalive < 0 {
		bad("wait, hold, keepalive: must not be negative")
	}
	if c.BodyLimit < 0 || c.Memory < 0 {
		bad("body limit, memory: must not be negative")
	}
	names := map[string]bool{}
	for i, r := range c.Routes {
		if r.Name == "" || names[r.Name] {
			bad("routes[%d]: a name is required and must be unique", i)
		}
		names[r.Name] = true
		if r.URL == "" {
			continue
		}
		if _, err := llm.EndpointURL(r.URL); err != nil {
			bad("routes[%d]: %w", i, err)
		}
	}
	return errors.Join(problems...)
}

// detached is a context for settling: the caller is usually gone when it
// matters, so only the deadline bounds it.
func detached(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
}
