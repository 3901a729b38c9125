package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"runtime/debug"
	"strings"

	"github.com/foldgate/foldgate/cmd/gateway/internal/config"
	"github.com/foldgate/foldgate/cmd/gateway/internal/telemetry"
	"github.com/foldgate/foldgate/compression/window"
	"github.com/foldgate/foldgate/middleware"
	"github.com/foldgate/foldgate/ownership"
	"github.com/foldgate/foldgate/ownership/memstore"
	"github.com/foldgate/foldgate/redisstore"
)

// run is the whole program: it returns the exit code. ctx ends with the first
// signal.
func run(ctx context.Context, args, environ []string, stdin io.Reader, stdout, stderr io.Writer) int {
	p := program{environ: environ, stdin: stdin, stdout: stdout, stderr: stderr}
	name := "serve"
	if len(args) > 0 {
		switch first := args[0]; {
		case first == "-h" || first == "-help" || first == "--help":
			name, args = "help", args[1:]
		case first == "-version" || first == "--version":
			name, args = "version", args[1:]
		case !strings.HasPrefix(first, "-"):
			name, args = first, args[1:]
		}
	}
	c, known := commandNamed(name)
	if !known {
		fmt.Fprintf(stderr, "gateway: unknown command %q\n\n", name)
		p.usage(stderr)
		return exitUsage
	}
	return c.run(p, ctx, args)
}

// gateway is the program's parts, put together in one place: configuration,
// telemetry, store, coordinator, middleware, handlers.
type gateway struct {
	config      config.Config
	logger      *slog.Logger
	telemetry   *telemetry.Telemetry
	store       ownership.Store
	learned     middleware.Learned // nil without a shared store
	closeStore  func() error
	storeState  func() string
	coordinator *ownership.Coordinator
	book        *window.Book
	middleware  *middleware.Middleware
	upstream    middleware.Health
	running     *tracker
}

// serve runs the gateway until ctx ends and everything in it has ended.
func serve(ctx context.Context, loaded config.Loaded, stderr io.Writer) error {
	logger := telemetry.NewLogger(stderr, telemetry.Format(loaded.LogFormat), loaded.LogLevel)
	for _, w := range loaded.Warnings {
		logger.Warn("configuration", "warning", w)
	}
	if loaded.RedisURL != "" && loaded.TenantSecret == "" {
		logger.Warn("configuration", "warning", "the store is shared and tenant_secret is not set: whoever reads the store can test guesses of a credential")
	}
	g, err := compose(ctx, loaded.Config, logger)
	if err != nil {
		return err
	}
	return g.serve(ctx)
}

// compose makes the parts. Nothing listens yet.
func compose(ctx context.Context, c config.Config, logger *slog.Logger) (*gateway, error) {
	g := &gateway{config: c, logger: logger, running: newTracker()}
	var err error
	if g.telemetry, err = telemetry.New(versionOf(debug.ReadBuildInfo())); err != nil {
		return nil, err
	}
	if err = g.openStore(ctx); err != nil {
		return nil, err
	}
	if err = g.compress(); err != nil {
		return nil, errors.Join(err, g.closeStore())
	}
	return g, nil
}

// openStore opens the shared store, or makes one in the process. A shared store
// that is down is no error: the gateway serves without it until it is back.
func (g *gateway) openStore(ctx context.Context) error {
	if g.config.RedisURL == "" {
		g.store = memstore.New(memstore.Options{Retention: g.config.Retention})
		g.closeStore = func() error { return nil }
		g.storeState = func() string { return "in process" }
		return nil
	}
	redisstore.SetClientLogger(g.logger)
	store, err := redisstore.Open(ctx, redisstore.Config{
		URL: string(g.config.RedisURL), Retention: g.config.Retention, Logger: g.logger,
	})
	if err != nil {
		return fmt.Errorf("open the store: %w", err)
	}
	g.learned = store.Learned()
	g.store, g.closeStore, g.storeState = store, store.Close, func() string { return storeWord(store.BreakerState()) }
	return g.telemetry.WatchBreaker(func() telemetry.BreakerState { return breakerState(store.BreakerState()) })
}

// compress makes what decides about chat requests.
func (g *gateway) compress() error {
	c := g.config
	var err error
	g.coordinator, err = ownership.NewCoordinator(ownership.Config{
		Store: g.store, Replica: replicaName(), Lease: c.Lease, Idle: c.Summarizer.Idle, Ceiling: c.Summarizer.Ceiling,
		MaxAttempts: c.Summarizer.MaxAttempts, Observer: attemptLog{g.telemetry, g.logger},
	})
	if err != nil {
		return fmt.Errorf("make the coordinator: %w", err)
	}
	if g.book, err = bookOf(c); err != nil {
		return err
	}
	upstream, err := url.Parse(c.Upstream)
	if err != nil {
		return fmt.Errorf("read the upstream: %w", err)
	}
	g.middleware, err = middleware.New(middleware.Config{
		Upstream: upstream, Mode: middleware.Mode(c.Mode),
		Store: g.store, Coordinator: g.coordinator, Book: g.book, Settings: settingsOf(c),
		Prepare: c.Compression.Prepare, Wait: c.Compression.Wait, Hold: c.Hold, Keepalive: c.Keepalive,
		BodyLimit: c.BodyLimit, Memory: c.Memory, Routes: routesOf(c),
		TenantHeader: c.TenantHeader, TenantSecret: []byte(c.TenantSecret),
		Learned: g.learned, IgnoreAdvertised: !c.Advertised,
		Logger: g.logger, Observer: g.telemetry,
	})
	if err != nil {
		return fmt.Errorf("make the middleware: %w", err)
	}
	return errors.Join(
		g.telemetry.WatchBodies(g.middleware.BytesInFlight),
		g.telemetry.WatchParts(map[string]func() bool{"upstream": g.upstream.Down, "summarizer": g.middleware.Summarizer().Down}),
	)
}

// dataPlane is what clients talk to.
func (g *gateway) dataPlane() (http.Handler, error) {
	upstream, err := url.Parse(g.config.Upstream)
	if err != nil {
		return nil, fmt.Errorf("read the upstream: %w", err)
	}
	proxy := middleware.NewProxy(middleware.ProxyConfig{Upstream: upstream, Timeout: g.config.UpstreamTimeout, Logger: g.logger, Health: &g.upstream})
	// No router: a router would clean paths and refuse unknown methods, and
	// whatever is no chat request passes exactly as it came.
	return g.telemetry.InFlight(g.running.track(g.middleware.Handler(proxy))), nil
}

func settingsOf(c config.Config) window.Settings {
	return window.Settings{
		Trigger: c.Compression.Trigger, KeepRecent: c.Compression.KeepRecent, Recall: c.Compression.Recall,
		ReserveOutput: c.Compression.ReserveOutput,
	}
}

func routesOf(c config.Config) []middleware.SummarizerRoute {
	var routes []middleware.SummarizerRoute
	for _, r := range c.Summarizer.Routes {
		routes = append(routes, middleware.SummarizerRoute{
			Name: r.Name, URL: r.URL, Model: r.Model, Key: string(r.Key), Window: r.Window, Idle: r.Idle,
		})
	}
	return routes
}

// replicaName tells people which replica owns an attempt: the machine's name and
// a few random digits, since several replicas may share a machine.
func replicaName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "replica"
	}
	var digits [3]byte
	_, _ = rand.Read(digits[:]) // never fails
	return host + "-" + hex.EncodeToString(digits[:])
}

func breakerState(state string) telemetry.BreakerState {
	switch state {
	case "open":
		return telemetry.BreakerOpen
	case "half-open":
		return telemetry.BreakerHalfOpen
	}
	return telemetry.BreakerClosed
}

func storeWord(state string) string {
	return cmp.Or(map[string]string{"closed": "ok", "open": "down", "half-open": "trying"}[state], state)
}
