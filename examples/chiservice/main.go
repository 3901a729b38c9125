package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"go.opentelemetry.io/contrib/exporters/autoexport"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "chiservice:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stderr io.Writer) error {
	flags := flag.NewFlagSet("chiservice", flag.ContinueOnError)
	flags.SetOutput(stderr)
	upstream := flags.String("upstream", "http://127.0.0.1:8000", "base URL of the API")
	listen := flags.String("listen", "127.0.0.1:8085", "address to serve on")
	redis := flags.String("redis", "", "URL of a shared store; empty: one in the process")
	windowFile := flags.String("window-file", "", "file that holds a window, such as gpt-*=128000")
	if err := flags.Parse(args); err != nil {
		return err
	}
	s := settings{RedisURL: *redis, TenantSecret: []byte(os.Getenv("TENANT_SECRET")), Logger: slog.New(slog.NewJSONHandler(stderr, nil))}
	var err error
	if s.Upstream, err = url.Parse(*upstream); err != nil {
		return err
	}
	if s.Window, err = windowIn(*windowFile); err != nil {
		return err
	}
	traces, err := traceProvider(ctx)
	if err != nil {
		return err
	}
	if traces != nil {
		s.Traces = traces
		defer func() { _ = traces.Shutdown(context.WithoutCancel(ctx)) }() // after all others have ended
	}
	v, err := newService(ctx, s)
	if err != nil {
		return err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", *listen)
	if err != nil {
		return errors.Join(err, v.closeStore())
	}
	s.Logger.Info("listening", "listen", l.Addr().String())
	defer v.follow(*windowFile)()
	return v.serve(ctx, l)
}

// traceProvider exports spans where the OTEL_* variables ask for it; nil where
// they do not, so that no span is made at all.
func traceProvider(ctx context.Context) (*sdktrace.TracerProvider, error) {
	if os.Getenv("OTEL_TRACES_EXPORTER") == "" && os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") == "" {
		return nil, nil //nolint:nilnil // no provider is what is asked for
	}
	exporter, err := autoexport.NewSpanExporter(ctx)
	if err != nil {
		return nil, err
	}
	return sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter)), nil
}

// follow reads the window again at each SIGHUP, until the returned function is
// called.
func (v *service) follow(windowFile string) (end func()) {
	hangups, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(hangups, syscall.SIGHUP)
	go func() {
		defer close(done)
		for range hangups {
			rule, err := windowIn(windowFile)
			if err == nil {
				err = v.reconfigure(rule)
			}
			if err != nil {
				v.settings.Logger.Error("configuration not reloaded", "error", err)
			} else {
				v.settings.Logger.Info("configuration reloaded")
			}
		}
	}()
	return func() {
		signal.Stop(hangups)
		close(hangups)
		<-done
	}
}

func windowIn(file string) (string, error) {
	if file == "" {
		return "", nil
	}
	rule, err := os.ReadFile(file) //nolint:gosec // the operator names the file
	return strings.TrimSpace(string(rule)), err
}
