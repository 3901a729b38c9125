package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/foldgate/foldgate/cmd/gateway/internal/config"
)

// healthTimeout is shorter than the time-outs of those who run health checks.
const healthTimeout = 3 * time.Second

// healthcheck asks /readyz of the configured admin plane. It is for containers
// without a client of their own.
func (p program) healthcheck(ctx context.Context, args []string) int {
	loaded, code, ok := p.load("healthcheck", config.ForTools, args)
	if !ok {
		return code
	}
	if len(loaded.Args) > 0 {
		return p.misused("healthcheck", fmt.Sprintf("unexpected argument %q", loaded.Args[0]))
	}
	address, err := reachable(loaded.AdminListen)
	if err != nil {
		return p.misused("healthcheck", err.Error())
	}
	if err := askReady(ctx, address); err != nil {
		fmt.Fprintf(p.stderr, "gateway healthcheck: %v\n", err)
		return exitFailed
	}
	fmt.Fprintln(p.stdout, "ready")
	return exitOK
}

func askReady(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/readyz", nil)
	if err != nil {
		return fmt.Errorf("ask %s: %w", address, err)
	}
	// No proxy of the environment stands between a machine and itself.
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(r)
	if err != nil {
		return fmt.Errorf("ask the admin plane: %w", err)
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10)) // only the status counts
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("not ready: %s answers %s", address, res.Status)
	}
	return nil
}

// reachable is an address under which a listener can be asked from this
// machine: one that listens on all addresses is asked on loopback.
func reachable(listen string) (string, error) {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return "", fmt.Errorf("admin_listen: %w", err)
	}
	if port == "0" {
		return "", fmt.Errorf("admin_listen %q has no fixed port to ask", listen)
	}
	switch host {
	case "", "0.0.0.0":
		host = "127.0.0.1"
	case "::":
		host = "::1"
	}
	return net.JoinHostPort(host, port), nil
}
