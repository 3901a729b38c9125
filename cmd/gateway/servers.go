package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/foldgate/foldgate/internal/plain"
)

// Limits of the servers. The data plane has none for reading or writing a whole
// message: a stream may take as long as the model does. What bounds it are the
// upstream's silence, the body limit, and the middleware's: the pace of a body that
// comes, and a minute for each 32 KiB of a response.
const (
	headerTimeout  = 10 * time.Second
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 1 << 20
	adminTimeout   = time.Minute
	// handOver is for attempts, connections and store to end after the last
	// request did.
	handOver = 5 * time.Second
)

// listeners are the open doors of the two planes.
type listeners struct{ data, admin net.Listener }

func listen(ctx context.Context, data, admin string) (l listeners, err error) {
	var lc net.ListenConfig
	if l.data, err = lc.Listen(ctx, "tcp", data); err != nil {
		return l, fmt.Errorf("listen: %w", err)
	}
	if l.admin, err = lc.Listen(ctx, "tcp", admin); err != nil {
		_ = l.data.Close() // the error to report is the other one
		return l, fmt.Errorf("listen for the admin plane: %w", err)
	}
	return l, nil
}

// serve listens, tells where, and serves until ctx ends or a listener breaks.
// Then it stops in order; see stop.
func (g *gateway) serve(ctx context.Context, r reloads) error {
	defer g.release(ctx)
	first := g.now().config
	l, err := listen(ctx, first.Listen, first.AdminListen)
	if err != nil {
		return err
	}
	dataServer := g.server(g.dataPlane())
	dataServer.ConnState = g.running.connState
	adminServer := g.server(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { g.now().admin.ServeHTTP(w, r) }))
	adminServer.ReadTimeout, adminServer.WriteTimeout = adminTimeout, adminTimeout

	broken := make(chan error, 2)
	for s, door := range map[*http.Server]net.Listener{dataServer: l.data, adminServer: l.admin} {
		go func() { broken <- s.Serve(door) }()
	}
	g.announce(l)
	defer g.follow(ctx, r)()

	select {
	case <-ctx.Done():
		g.stop(context.WithoutCancel(ctx), dataServer, adminServer)
		err = nil
	case err = <-broken:
		err = fmt.Errorf("serve: %w", err)
		_, _ = dataServer.Close(), adminServer.Close() // the error to report is the first
		broken <- nil                                  // stands for the one already taken
	}
	// Serve has returned on both before the program does.
	for range 2 {
		if ended := <-broken; ended != nil && !errors.Is(ended, http.ErrServerClosed) {
			err = errors.Join(err, ended)
		}
	}
	return err
}

func (g *gateway) server(h http.Handler) *http.Server {
	return &http.Server{
		Handler: h,
		// OPTIONS * is the upstream's to answer, like everything else.
		DisableGeneralOptionsHandler: true,
		ReadHeaderTimeout:            headerTimeout,
		IdleTimeout:                  idleTimeout,
		MaxHeaderBytes:               maxHeaderBytes,
		ErrorLog:                     plain.Logger(g.logger, slog.LevelDebug),
	}
}

// announce is written when both planes can be asked, with their real addresses.
func (g *gateway) announce(l listeners) {
	store := "in process"
	c := g.now().config
	if c.RedisURL != "" {
		store = "redis"
	}
	g.logger.Info("listening",
		"listen", l.data.Addr().String(), "admin_listen", l.admin.Addr().String(),
		"upstream", origin(c.Upstream), "mode", string(c.Mode), "store", store)
}

// release ends what compose made. What requests left to be settled is settled
// before the store closes; each of these calls has a deadline of its own.
func (g *gateway) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), handOver)
	defer cancel()
	err := g.coordinator.Shutdown(ctx)
	g.now().middleware.Wait() // some of it waits for attempts to end
	err = errors.Join(err, g.closeStore(), g.telemetry.Shutdown(ctx))
	if err != nil {
		g.logger.Warn("stop", "error", err)
	}
}

// origin is a URL without path and query, for logs.
func origin(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}
