package main

import (
	"fmt"
	"net/http"
	"net/url"

	"github.com/foldgate/foldgate/cmd/gateway/internal/config"
	"github.com/foldgate/foldgate/compression/window"
	"github.com/foldgate/foldgate/middleware"
)

// edition is what one configuration makes of the gateway. It never changes: a
// reload makes another one, which shares with it whatever was learned, held or
// counted. See reload.go.
type edition struct {
	config     config.Loaded
	book       *window.Book
	middleware *middleware.Middleware
	data       http.Handler // the data plane
	admin      http.Handler // the admin plane
}

// now is the edition for requests that begin now.
func (g *gateway) now() *edition { return g.edition.Load() }

// newEdition makes an edition, from the one before it if there is one. Nothing
// that is running notices.
func (g *gateway) newEdition(loaded config.Loaded, before *edition) (*edition, error) {
	e := &edition{config: loaded}
	upstream, err := url.Parse(loaded.Upstream)
	if err != nil {
		return nil, fmt.Errorf("read the upstream: %w", err)
	}
	if e.book, err = nextBook(loaded.Config, before); err != nil {
		return nil, err
	}
	if e.middleware, err = g.nextMiddleware(loaded.Config, upstream, e.book, before); err != nil {
		return nil, err
	}
	// No router: a router would clean paths and refuse unknown methods, and
	// whatever is no chat request passes exactly as it came.
	e.data = e.middleware.Handler(middleware.NewProxy(middleware.ProxyConfig{
		Upstream: upstream, Transport: g.telemetry.Transport(g.transport), Timeout: loaded.UpstreamTimeout, Logger: g.logger,
		Health: &g.upstream, TracerProvider: g.telemetry.TracerProvider(),
	}))
	if e.admin, err = g.adminPlane(e); err != nil {
		return nil, err
	}
	return e, nil
}

func nextBook(c config.Config, before *edition) (*window.Book, error) {
	if before == nil {
		return bookOf(c)
	}
	book, err := before.book.With(windowsOf(c))
	if err != nil {
		return nil, fmt.Errorf("read the windows: %w", err)
	}
	return book, nil
}

func (g *gateway) nextMiddleware(c config.Config, upstream *url.URL, book *window.Book, before *edition) (*middleware.Middleware, error) {
	settings := middleware.Config{
		Upstream: upstream, Mode: middleware.Mode(c.Mode),
		Store: g.store, Coordinator: g.coordinator, Book: book, Settings: settingsOf(c),
		Prepare: c.Compression.Prepare, Wait: c.Compression.Wait, Hold: c.Hold, Keepalive: c.Keepalive,
		BodyLimit: c.BodyLimit, Memory: c.Memory, Routes: routesOf(c),
		TenantHeader: c.TenantHeader, TenantSecret: []byte(c.TenantSecret),
		Learned: g.learned, IgnoreAdvertised: !c.Advertised,
		Logger: g.logger, Observer: g.watched(), TracerProvider: g.telemetry.TracerProvider(),
	}
	renew := middleware.New
	if before != nil {
		renew = before.middleware.With
	}
	m, err := renew(settings)
	if err != nil {
		return nil, fmt.Errorf("make the middleware: %w", err)
	}
	return m, nil
}

// dataPlane is what clients talk to.
func (g *gateway) dataPlane() http.Handler {
	return g.telemetry.Requests(g.running.track(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.now().data.ServeHTTP(w, r)
	})))
}

func windowsOf(c config.Config) window.BookConfig {
	return window.BookConfig{Rules: c.Windows, Default: c.DefaultWindow}
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
