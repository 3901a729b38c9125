package telemetry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/foldgate/foldgate/internal/semconv"
)

// The exporters that a variable may name. Others are OpenTelemetry's to refuse.
const (
	exporterNone       = "none"
	exporterOTLP       = "otlp"
	exporterPrometheus = "prometheus" // is /metrics, which is there anyway
)

// exports are what the environment asks for; nil is what it does not.
type exports struct {
	resource *resource.Resource
	traces   *sdktrace.TracerProvider
	metrics  sdkmetric.Reader
}

// asked is the exporter that the environment asks for: the one that is named, else
// OTLP where an endpoint is, else none.
func asked(getenv func(string) string, signal string) string {
	if strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") {
		return exporterNone
	}
	if named := getenv("OTEL_" + signal + "_EXPORTER"); named != "" {
		return named
	}
	if cmp.Or(getenv("OTEL_EXPORTER_OTLP_"+signal+"_ENDPOINT"), getenv("OTEL_EXPORTER_OTLP_ENDPOINT")) != "" {
		return exporterOTLP
	}
	return exporterNone
}

func newExports(ctx context.Context, o Options) (exports, error) {
	traces, metrics := asked(os.Getenv, "TRACES"), asked(os.Getenv, "METRICS")
	if metrics == exporterPrometheus {
		metrics = exporterNone
	}
	if traces == exporterNone && metrics == exporterNone {
		return exports{}, nil
	}
	report(o.Logger)
	var out exports
	var err error
	if out.resource, err = newResource(ctx, o); err != nil {
		return exports{}, fmt.Errorf("describe this process: %w", err)
	}
	if metrics != exporterNone {
		if out.metrics, err = autoexport.NewMetricReader(ctx); err != nil {
			return exports{}, fmt.Errorf("export metrics as OTEL_* says (%s): %w", metrics, plain(err))
		}
	}
	if traces != exporterNone {
		exporter, err := autoexport.NewSpanExporter(ctx)
		if err != nil {
			return exports{}, fmt.Errorf("export traces as OTEL_* says (%s): %w", traces, plain(err))
		}
		out.traces = sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(out.resource))
	}
	return out, nil
}

// newResource says who sends. What the environment says wins. Of the process
// nothing is told: its command line may hold a token.
func newResource(ctx context.Context, o Options) (*resource.Resource, error) {
	own := []attribute.KeyValue{semconv.KeyServiceName.String(semconv.ServiceName)}
	if o.Version != "" {
		own = append(own, semconv.KeyServiceVersion.String(o.Version))
	}
	if o.Instance != "" {
		own = append(own, semconv.KeyServiceInstanceID.String(o.Instance))
	}
	r, err := resource.New(ctx,
		resource.WithSchemaURL(semconv.SchemaURL),
		resource.WithAttributes(own...),
		resource.WithHost(),
		resource.WithTelemetrySDK(),
		resource.WithFromEnv(),
	)
	if errors.Is(err, resource.ErrPartialResource) || errors.Is(err, resource.ErrSchemaURLConflict) {
		return r, nil // most of it will do
	}
	return r, err
}

// report makes l hear of OpenTelemetry's own trouble. That is a setting of the
// process: the last one that exports something hears of it all.
func report(l *slog.Logger) {
	if l == nil {
		l = slog.New(slog.DiscardHandler)
	}
	otel.SetErrorHandler(&rare{log: func(err error, left int) {
		l.Warn("telemetry could not be exported", "error", err, "left_out", left)
	}})
	otel.SetLogger(logr.FromSlogHandler(l.Handler()))
}

// rare hands on an error at most once a minute: a collector that is down fails
// every few seconds.
type rare struct {
	log func(err error, left int)

	mu   sync.Mutex
	next time.Time
	left int // errors that were not handed on
}

// Handle is otel.ErrorHandler's.
func (r *rare) Handle(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if now.Before(r.next) {
		r.left++
		return
	}
	r.log(plain(err), r.left)
	r.next, r.left = now.Add(time.Minute), 0
}

// plain unwraps what net/http wraps around an error: the URL of a collector may
// hold a key.
func plain(err error) error {
	if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}
