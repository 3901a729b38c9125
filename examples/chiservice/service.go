package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/go-chi/chi/v5"
	"go.opentelemetry.io/otel/trace"

	"github.com/foldgate/foldgate/compression/window"
	"github.com/foldgate/foldgate/middleware"
	"github.com/foldgate/foldgate/ownership"
	"github.com/foldgate/foldgate/ownership/memstore"
	"github.com/foldgate/foldgate/redisstore"
)

// settings are what this service is told.
type settings struct {
	Upstream     *url.URL
	RedisURL     string // empty: a store in the process
	TenantSecret []byte // the same in all replicas
	Window       string // such as gpt-*=128000; empty: what Foldgate finds out
	Logger       *slog.Logger
	Traces       trace.TracerProvider // nil: none
}

// service is the service's parts.
type service struct {
	settings    settings
	store       ownership.Store
	closeStore  func() error
	coordinator *ownership.Coordinator
	book        *window.Book
	counts      *counts
	folding     atomic.Pointer[middleware.Middleware]
}

// newService makes the parts. Nothing listens yet.
func newService(ctx context.Context, s settings) (*service, error) {
	v := &service{settings: s, counts: new(counts)}
	learned, err := v.openStore(ctx)
	if err != nil {
		return nil, err
	}
	v.coordinator, err = ownership.NewCoordinator(ownership.Config{
		Store:          v.store,
		Observer:       v.counts,
		TracerProvider: s.Traces,
	})
	if err != nil {
		return nil, errors.Join(err, v.closeStore())
	}
	windows, err := windowsOf(s.Window)
	if err != nil {
		return nil, errors.Join(err, v.closeStore())
	}
	if v.book, err = window.NewBook(windows); err != nil {
		return nil, errors.Join(err, v.closeStore())
	}
	fold, err := middleware.New(v.config(learned, v.book))
	if err != nil {
		return nil, errors.Join(err, v.closeStore())
	}
	v.folding.Store(fold)
	return v, nil
}

// openStore opens the shared store or makes one in the process.
func (v *service) openStore(ctx context.Context) (middleware.Learned, error) {
	if v.settings.RedisURL == "" {
		v.store, v.closeStore = memstore.New(memstore.Options{}), func() error { return nil }
		return nil, nil //nolint:nilnil // nothing is shared, and that is right
	}
	// A server that is down is no error: requests go on without it.
	store, err := redisstore.Open(ctx, redisstore.Config{URL: v.settings.RedisURL, Logger: v.settings.Logger})
	if err != nil {
		return nil, fmt.Errorf("open the store: %w", err)
	}
	v.store, v.closeStore = store, store.Close
	return store.Learned(), nil
}

// config is the middleware's.
func (v *service) config(learned middleware.Learned, book *window.Book) middleware.Config {
	return middleware.Config{
		Upstream:    v.settings.Upstream,
		Store:       v.store,
		Coordinator: v.coordinator,
		Book:        book,

		Prepare: true,             // summaries before they are needed
		Wait:    20 * time.Second, // how long a request that cannot fit waits for one
		Hold:    5 * time.Second,  // an overflow error is seen before the caller sees it

		TenantSecret:   v.settings.TenantSecret,
		Learned:        learned,
		Logger:         v.settings.Logger,
		Observer:       v.counts,
		TracerProvider: v.settings.Traces,
	}
}

// router has routes of its own beside the folded one.
func (v *service) router() http.Handler {
	r := chi.NewRouter()
	r.Get("/healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "fine") })
	r.Get("/counts", v.counts.show)

	proxy := middleware.NewProxy(middleware.ProxyConfig{
		Upstream:       v.settings.Upstream,
		Timeout:        10 * time.Minute,
		Logger:         v.settings.Logger,
		TracerProvider: v.settings.Traces,
	})
	r.With(v.fold).Handle("/v1/*", proxy)
	return r
}

// fold is the middleware that serves now: another one may take its place.
func (v *service) fold(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v.folding.Load().Handler(next).ServeHTTP(w, r)
	})
}

// reconfigure changes the window for the requests that begin from now on. What
// runs ends as it began, and nothing that was learned is forgotten.
func (v *service) reconfigure(rule string) error {
	windows, err := windowsOf(rule)
	if err != nil {
		return err
	}
	book, err := v.book.With(windows)
	if err != nil {
		return err
	}
	// Store, coordinator, logger and observer stay those of New.
	next, err := v.folding.Load().With(v.config(nil, book))
	if err != nil {
		return err
	}
	v.folding.Store(next)
	return nil
}

// serve serves until ctx ends, and then stops in order.
func (v *service) serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{Handler: v.router(), ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	select {
	case err := <-ended:
		return errors.Join(err, v.stop(context.WithoutCancel(ctx), server))
	case <-ctx.Done():
		return v.stop(context.WithoutCancel(ctx), server)
	}
}

// patience is how long requests that run may take when the service ends.
const patience = 30 * time.Second

// stop ends what there is, in this order.
func (v *service) stop(ctx context.Context, server *http.Server) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	fold := v.folding.Load()

	// No new requests. Who waits for a summary does so for half of the time, so
	// that the upstream has the other half.
	fold.Drain(patience / 2)
	// Requests that run end.
	err := server.Shutdown(ctx)
	// Attempts are handed over.
	err = errors.Join(err, v.coordinator.Shutdown(ctx))
	// What requests left to be settled is settled.
	fold.Wait()
	// And only then:
	return errors.Join(err, v.closeStore())
}

// windowsOf is the configuration of a Book that knows one rule, or none.
func windowsOf(rule string) (c window.BookConfig, err error) {
	if rule == "" {
		return c, nil
	}
	r, err := window.ParseRule(rule)
	c.Rules = []window.Rule{r}
	return c, err
}
