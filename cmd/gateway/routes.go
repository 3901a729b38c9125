package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"runtime/debug"
	"slices"
	"time"

	"github.com/foldgate/foldgate"
	"github.com/foldgate/foldgate/cmd/gateway/internal/admin"
	"github.com/foldgate/foldgate/compression/window"
	"github.com/foldgate/foldgate/middleware"
)

// adminPlane is what operators talk to. The types below fit the program's parts
// to the plane's ports.
func (g *gateway) adminPlane(e *edition) (http.Handler, error) {
	h, err := admin.New(admin.Config{
		Conversations: touched{e.middleware},
		Attempts:      g.coordinator,
		Store:         g.store,
		Health:        health{g, e},
		Folder:        folder{e},
		Dropped:       e.middleware.Drop,
		Metrics:       g.telemetry.Handler(),
		Totals:        g.watched().totals,
		Record:        g.record,
		About: admin.About{
			Replica: g.replica, Version: versionOf(debug.ReadBuildInfo()), Mode: string(e.config.Mode), Started: g.started,
		},
		OpenAPI:   foldgate.OpenAPI,
		Hosts:     adminHosts(e.config.AdminListen, e.config.AdminHosts),
		Token:     string(e.config.AdminToken),
		BodyLimit: e.config.BodyLimit,
		Logger:    g.logger,
	})
	if err != nil {
		return nil, fmt.Errorf("make the admin plane: %w", err)
	}
	return h, nil
}

// touched shows what the middleware touched.
type touched struct{ *middleware.Middleware }

func (t touched) Recent(limit int) []admin.Touched {
	recent := t.Middleware.Recent(limit)
	out := make([]admin.Touched, 0, len(recent))
	for _, r := range recent {
		out = append(out, admin.Touched{
			Conversation: r.Conversation, LastSeen: r.Seen, Kind: r.Kind, Before: int(r.Before), After: int(r.After), Covered: r.Covered,
		})
	}
	return out
}

// health says how the replica is.
type health struct {
	*gateway
	*edition
}

func (h health) Draining() bool { return h.running.isLeaving() }

func (h health) Parts() map[string]string {
	return map[string]string{
		"store": h.storeState(), "upstream": h.gateway.upstream.String(), "summarizer": h.middleware.Summarizer().String(),
	}
}

// folder is the dry run with the gateway's windows and shares. What the gateway
// learned of a tenant's windows plays no part: nobody's credential is there.
type folder struct{ *edition }

func (f folder) Fold(_ context.Context, body []byte, total string) (any, error) {
	book := f.book
	if total != "" {
		rule, err := window.ParseRule(total)
		if err != nil {
			return nil, &admin.BadRequestError{Param: "window", Err: err}
		}
		if book, err = window.NewBook(window.BookConfig{Rules: []window.Rule{rule}}); err != nil {
			return nil, &admin.BadRequestError{Param: "window", Err: err}
		}
	}
	began := time.Now()
	report, err := middleware.DryRun(book, settingsOf(f.config.Config), body)
	if err != nil {
		return nil, &admin.BadRequestError{Param: foldProblem(err), Err: err}
	}
	return showFold(body, report, time.Since(began)), nil
}

// adminHosts are the names of the admin plane beside localhost and the address
// that a request came to: the configured ones, and the one it listens on where
// that is a name. Who listens on all addresses listens on loopback too, also
// where something before it (a container's port) makes requests come to another.
func adminHosts(listen string, configured []string) []string {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return configured
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		return slices.Concat([]string{host, "127.0.0.1", "::1"}, configured)
	}
	return append([]string{host}, configured...)
}
