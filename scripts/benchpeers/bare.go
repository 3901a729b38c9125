package main

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"

	"github.com/foldgate/foldgate/middleware"
)

// runBare serves the proxy that the gateway is measured beside: nothing but
// httputil.ReverseProxy, with the gateway's own transport settings and flushing.
func runBare(addr, target string) error {
	u, err := url.Parse(target)
	if err != nil {
		return fmt.Errorf("read the upstream's URL: %w", err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(u) },
		Transport:     middleware.NewTransport(),
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0), // a cut stream is counted by the client
	}
	s := &http.Server{Addr: addr, Handler: proxy, ErrorLog: proxy.ErrorLog} //nolint:gosec // loopback, a few minutes
	return s.ListenAndServe()
}
