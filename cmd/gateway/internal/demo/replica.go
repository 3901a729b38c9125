package demo

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/foldgate/foldgate/compression/window"
	"github.com/foldgate/foldgate/middleware"
	"github.com/foldgate/foldgate/ownership"
)

// replica is one gateway on loopback, built from the parts that `gateway serve`
// is built from.
type replica struct {
	name        string
	coordinator *ownership.Coordinator
	handler     *middleware.Middleware
	served      *server
}

// The demo's time-outs: short, so that it ends soon.
const (
	stallAfter = 400 * time.Millisecond
	lease      = 2 * time.Second
	ceiling    = 10 * time.Second
)

func newReplica(name string, upstream *url.URL, store ownership.Store) (*replica, error) {
	book, err := window.NewBook(window.BookConfig{Rules: []window.Rule{{Glob: chatModel, Total: modelWindow}}})
	if err != nil {
		return nil, err
	}
	r := &replica{name: name}
	r.coordinator, err = ownership.NewCoordinator(ownership.Config{
		Store: store, Replica: name, Lease: lease, Idle: ceiling, Ceiling: ceiling,
	})
	if err != nil {
		return nil, err
	}
	r.handler, err = middleware.New(middleware.Config{
		Upstream: upstream, Store: store, Coordinator: r.coordinator, Book: book,
		Prepare: true, Wait: ceiling, Hold: time.Second,
		Routes: []middleware.SummarizerRoute{
			{Name: "first", Model: stallingModel, Idle: stallAfter},
			{Name: "second", Model: summaryModel},
		},
	})
	if err != nil {
		return nil, err
	}
	r.served, err = serve(r.handler.Handler(middleware.NewProxy(middleware.ProxyConfig{Upstream: upstream})))
	return r, err
}

func (r *replica) close(ctx context.Context) error {
	err := r.served.close(ctx)
	if e := r.coordinator.Shutdown(ctx); err == nil {
		err = e
	}
	r.handler.Wait()
	return err
}

// server is an HTTP server on a free loopback port.
type server struct {
	url  *url.URL
	http *http.Server
	done chan error
}

func serve(h http.Handler) (*server, error) {
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &server{
		url:  &url.URL{Scheme: "http", Host: l.Addr().String()},
		http: &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second},
		done: make(chan error, 1),
	}
	go func() { s.done <- s.http.Serve(l) }()
	return s, nil
}

func (s *server) close(ctx context.Context) error {
	err := s.http.Shutdown(ctx)
	if e := <-s.done; err == nil && !errors.Is(e, http.ErrServerClosed) {
		err = e
	}
	return err
}
