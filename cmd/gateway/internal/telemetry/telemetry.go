package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/foldgate/foldgate/internal/semconv"
)

// flushPatience bounds how long Shutdown waits for a collector to take what is
// left: one that is down must not hold up a stop.
const flushPatience = 3 * time.Second

// Telemetry counts what happens, and exports it where the environment asks for
// that. It is safe for concurrent use and satisfies the observers of packages
// middleware and ownership.
type Telemetry struct {
	registry *prometheus.Registry
	provider *sdkmetric.MeterProvider
	traces   *sdktrace.TracerProvider // nil: none are exported
	meter    metric.Meter
	instruments

	servedLabels    labelSets[serverKey]
	forwardedLabels labelSets[clientKey]
	foldLabels      labelSets[foldKey]
}

// Options are what New needs. The zero value will do.
type Options struct {
	// Version is the program's own.
	Version string
	// Instance tells this process from others of the service; empty: nothing does.
	Instance string
	// Logger is told, at most once a minute, that something could not be exported.
	// Nil: nobody is.
	Logger *slog.Logger
}

// New makes the registry, all instruments and, where the standard OTEL_* variables
// of the process ask for them, the exporters. It reads the process's own
// environment, since OpenTelemetry's exporters do. With an exporter it becomes the
// process's handler of OpenTelemetry's errors. Call Shutdown at the end.
func New(ctx context.Context, o Options) (*Telemetry, error) {
	registry := prometheus.NewRegistry()
	err := errors.Join(
		registry.Register(collectors.NewGoCollector()),
		registry.Register(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})),
	)
	if err != nil {
		return nil, fmt.Errorf("register collectors: %w", err)
	}
	scraped, err := otelprometheus.New(
		otelprometheus.WithRegisterer(registry),
		otelprometheus.WithoutScopeInfo(),
		otelprometheus.WithoutTargetInfo(),
	)
	if err != nil {
		return nil, fmt.Errorf("make the metrics exporter: %w", err)
	}
	out, err := newExports(ctx, o)
	if err != nil {
		return nil, err
	}
	readers := []sdkmetric.Option{sdkmetric.WithReader(scraped)}
	if out.resource != nil {
		readers = append(readers, sdkmetric.WithResource(out.resource))
	}
	if out.metrics != nil {
		readers = append(readers, sdkmetric.WithReader(out.metrics))
	}
	t := &Telemetry{registry: registry, provider: sdkmetric.NewMeterProvider(readers...), traces: out.traces}
	t.meter = t.provider.Meter(semconv.ScopeMetrics, metric.WithSchemaURL(semconv.SchemaURL))
	if t.instruments, err = newInstruments(t.meter, o.Version); err != nil {
		return nil, errors.Join(fmt.Errorf("make the instruments: %w", err), t.Shutdown(ctx))
	}
	return t, nil
}

// TracerProvider makes spans; nil where none are exported, so that nobody makes
// any.
func (t *Telemetry) TracerProvider() trace.TracerProvider {
	if t.traces == nil {
		return nil // and not a nil pointer in an interface
	}
	return t.traces
}

// Handler serves the metrics in the text formats of Prometheus.
func (t *Telemetry) Handler() http.Handler {
	return promhttp.HandlerFor(t.registry, promhttp.HandlerOpts{Registry: t.registry})
}

// Shutdown exports what is left and releases what New made. It takes at most a few
// seconds of its own, also when ctx has ended.
func (t *Telemetry) Shutdown(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushPatience)
	defer cancel()
	var both sync.WaitGroup
	var traces, metrics error
	both.Go(func() {
		if t.traces != nil {
			traces = t.traces.Shutdown(ctx)
		}
	})
	both.Go(func() { metrics = t.provider.Shutdown(ctx) })
	both.Wait()
	if err := errors.Join(traces, metrics); err != nil {
		return fmt.Errorf("shut the telemetry down: %w", plain(err))
	}
	return nil
}
