package telemetry

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/attribute"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
)

// Telemetry counts what happens. It is safe for concurrent use and satisfies
// the observers of packages middleware and ownership.
type Telemetry struct {
	registry *prometheus.Registry
	provider *sdkmetric.MeterProvider
	meter    metric.Meter
	instruments
}

// New makes the registry and all instruments. version is the program's own.
// Call Shutdown at the end.
func New(version string) (*Telemetry, error) {
	registry := prometheus.NewRegistry()
	err := errors.Join(
		registry.Register(collectors.NewGoCollector()),
		registry.Register(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})),
	)
	if err != nil {
		return nil, fmt.Errorf("register collectors: %w", err)
	}
	exporter, err := otelprometheus.New(
		otelprometheus.WithRegisterer(registry),
		otelprometheus.WithoutScopeInfo(),
		otelprometheus.WithoutTargetInfo(),
	)
	if err != nil {
		return nil, fmt.Errorf("make the metrics exporter: %w", err)
	}
	t := &Telemetry{registry: registry, provider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(exporter))}
	t.meter = t.provider.Meter("github.com/foldgate/foldgate")
	if t.instruments, err = newInstruments(t.meter, version); err != nil {
		return nil, fmt.Errorf("make the instruments: %w", err)
	}
	return t, nil
}

// Handler serves the metrics in the text formats of Prometheus.
func (t *Telemetry) Handler() http.Handler {
	return promhttp.HandlerFor(t.registry, promhttp.HandlerOpts{Registry: t.registry})
}

// Shutdown releases what New made.
func (t *Telemetry) Shutdown(ctx context.Context) error {
	if err := t.provider.Shutdown(ctx); err != nil {
		return fmt.Errorf("shut the metrics down: %w", err)
	}
	return nil
}

// InFlight counts the requests that next is working on.
func (t *Telemetry) InFlight(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.requests.Add(r.Context(), 1)
		defer t.requests.Add(context.WithoutCancel(r.Context()), -1)
		next.ServeHTTP(w, r)
	})
}

// BreakerState is a circuit breaker's state as the metric shows it.
type BreakerState int64

// The states.
const (
	BreakerClosed   BreakerState = 0 // calls go through
	BreakerHalfOpen BreakerState = 1 // one call tries
	BreakerOpen     BreakerState = 2 // no call goes through
)

// WatchBreaker shows the state of the store's breaker: foldgate.breaker.state,
// 0 closed, 1 half open, 2 open. 1 series. state is asked at every scrape and
// must not block. Call it at most once.
func (t *Telemetry) WatchBreaker(state func() BreakerState) error {
	_, err := t.meter.Int64ObservableGauge("foldgate.breaker.state",
		metric.WithDescription("State of the store's circuit breaker: 0 closed, 1 half open, 2 open"),
		metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
			o.Observe(int64(state()))
			return nil
		}))
	if err != nil {
		return fmt.Errorf("watch the breaker: %w", err)
	}
	return nil
}

// WatchBodies shows how many bytes of bodies are in flight:
// foldgate.bodies.in_flight, in bytes. 1 series. size is asked at every scrape
// and must not block. Call it at most once.
func (t *Telemetry) WatchBodies(size func() int64) error {
	_, err := t.meter.Int64ObservableGauge("foldgate.bodies.in_flight",
		metric.WithUnit("By"), metric.WithDescription("Bytes of request bodies held in memory"),
		metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
			o.Observe(size())
			return nil
		}))
	if err != nil {
		return fmt.Errorf("watch the bodies: %w", err)
	}
	return nil
}

// WatchParts shows which parts the last call found down: foldgate.part.down, by
// part, 1 down and 0 otherwise. One series per part (2: upstream, summarizer).
// The functions are asked at every scrape and must not block. Call it at most
// once.
func (t *Telemetry) WatchParts(down map[string]func() bool) error {
	_, err := t.meter.Int64ObservableGauge("foldgate.part.down",
		metric.WithDescription("Whether the last call to a part of the service failed: 1 yes, 0 no or not called yet"),
		metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
			for part, is := range down {
				value := int64(0)
				if is() {
					value = 1
				}
				o.Observe(value, metric.WithAttributes(attribute.String("part", part)))
			}
			return nil
		}))
	if err != nil {
		return fmt.Errorf("watch the parts: %w", err)
	}
	return nil
}
