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
	"os"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"github.com/foldgate/foldgate/cmd/gateway/internal/admin"
	"github.com/foldgate/foldgate/cmd/gateway/internal/config"
	"github.com/foldgate/foldgate/cmd/gateway/internal/telemetry"
	"github.com/foldgate/foldgate/internal/plain"
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

// gateway is the program's parts, put together in one place: telemetry, store and
// coordinator, and, in an edition, what the configuration makes of them.
type gateway struct {
	replica     string // its name in owner records and in telemetry
	logger      *slog.Logger
	level       *slog.LevelVar
	telemetry   *telemetry.Telemetry
	record      *admin.Record // for the admin plane's page
	started     time.Time
	store       ownership.Store
	learned     middleware.Learned // nil without a shared store
	sealing     *redisstore.Store  // whose keys a reload changes; nil without a shared store
	closeStore  func() error
	storeState  func() string
	coordinator *ownership.Coordinator
	transport   *http.Transport // to the upstream
	upstream    middleware.Health
	running     *tracker
	edition     atomic.Pointer[edition]
}

// serve runs the gateway until ctx ends and everything in it has ended.
func serve(ctx context.Context, loaded config.Loaded, r reloads, stderr io.Writer) error {
	g := &gateway{replica: replicaName(), level: new(slog.LevelVar), transport: middleware.NewTransport(), running: newTracker(), record: new(admin.Record), started: time.Now()}
	g.level.Set(loaded.LogLevel)
	g.logger = telemetry.NewLogger(stderr, telemetry.Format(loaded.LogFormat), g.level)
	plain.Standard(g.logger) // net/http says there what came unasked
	spaceCollections()
	g.warn(loaded, nil)
	if err := g.compose(ctx, loaded); err != nil {
		return err
	}
	return g.serve(ctx, r)
}

// compose makes the parts. Nothing listens yet.
func (g *gateway) compose(ctx context.Context, loaded config.Loaded) (err error) {
	g.telemetry, err = telemetry.New(ctx, telemetry.Options{
		Version: versionOf(debug.ReadBuildInfo()), Instance: g.replica, Logger: g.logger,
	})
	if err != nil {
		return err
	}
	if err = g.openStore(ctx, loaded.Config); err != nil {
		return err
	}
	if err = g.compress(loaded); err != nil {
		return errors.Join(err, g.closeStore())
	}
	return nil
}

// openStore opens the shared store, or makes one in the process. A shared store
// that is down is no error: the gateway serves without it until it is back.
func (g *gateway) openStore(ctx context.Context, c config.Config) error {
	if c.RedisURL == "" {
		g.store = memstore.New(memstore.Options{Retention: c.Retention})
		g.closeStore = func() error { return nil }
		g.storeState = func() string { return "in process" }
		return nil
	}
	redisstore.SetClientLogger(g.logger)
	keys, err := storeKeys(c)
	if err != nil {
		return err
	}
	store, err := redisstore.Open(ctx, redisstore.Config{
		URL: string(c.RedisURL), Retention: c.Retention, Keys: keys, Logger: g.logger,
	})
	if err != nil {
		return fmt.Errorf("open the store: %w", err)
	}
	g.learned, g.sealing = store.Learned(), store
	g.store, g.closeStore, g.storeState = store, store.Close, func() string { return storeWord(store.BreakerState()) }
	return errors.Join(
		g.telemetry.WatchBreaker(func() telemetry.BreakerState { return breakerState(store.BreakerState()) }),
		g.telemetry.WatchUnopened(func() telemetry.Unopened { return telemetry.Unopened(store.Unopened()) }),
	)
}

// compress makes what decides about chat requests, and the first edition.
func (g *gateway) compress(loaded config.Loaded) error {
	var err error
	g.coordinator, err = ownership.NewCoordinator(ownership.Config{
		Store: g.store, Replica: g.replica, Lease: loaded.Lease, Idle: loaded.Summarizer.Idle, Ceiling: loaded.Summarizer.Ceiling,
		MaxAttempts: loaded.Summarizer.MaxAttempts, Observer: attemptLog{g.watched(), g.logger},
		TracerProvider: g.telemetry.TracerProvider(),
	})
	if err != nil {
		return fmt.Errorf("make the coordinator: %w", err)
	}
	first, err := g.newEdition(loaded, nil)
	if err != nil {
		return err
	}
	g.edition.Store(first)
	g.telemetry.Loaded()
	return errors.Join(
		g.telemetry.WatchBodies(first.middleware.BytesInFlight),
		g.telemetry.WatchParts(map[string]func() bool{"upstream": g.upstream.Down, "summarizer": first.middleware.Summarizer().Down}),
	)
}

// watched is who is told of requests and attempts.
func (g *gateway) watched() watched { return watched{g.telemetry, g.record} }

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
