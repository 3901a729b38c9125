package telemetry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"go.opentelemetry.io/otel"

	"github.com/foldgate/foldgate/cmd/gateway/internal/telemetry"
	"github.com/foldgate/foldgate/cmd/gateway/internal/telemetry/otlptest"
	"github.com/foldgate/foldgate/internal/semconv"
	"github.com/foldgate/foldgate/middleware"
)

// environ sets variables as a process would have them.
func environ(t *testing.T, variables ...string) {
	t.Helper()
	for _, v := range variables {
		name, value, _ := strings.Cut(v, "=")
		t.Setenv(name, value)
	}
}

func exporting(t *testing.T, o telemetry.Options) *telemetry.Telemetry {
	t.Helper()
	tel, err := telemetry.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tel.Shutdown(context.Background()) })
	return tel
}

func TestExportOverOTLP(t *testing.T) {
	for name, collector := range map[string]func(testing.TB) *otlptest.Collector{"http/protobuf": otlptest.HTTP, "grpc": otlptest.GRPC} {
		for _, compression := range []string{"", "gzip"} {
			t.Run(name+" "+compression, func(t *testing.T) {
				c := collector(t)
				environ(t, c.Environ()...)
				environ(t, "OTEL_EXPORTER_OTLP_COMPRESSION="+compression, "OTEL_RESOURCE_ATTRIBUTES=deployment.environment.name=test")
				tel := exporting(t, telemetry.Options{Version: "v1.2.3", Instance: "replica-7"})
				_, span := tel.TracerProvider().Tracer("t").Start(t.Context(), "work")
				span.End()
				tel.ChatDone(middleware.Report{Kind: "none", Reason: "under"})

				spans := c.Wait(t, func(s otlptest.Spans) bool { return len(s.Named("work")) == 1 })
				resource := spans[0].Resource
				for key, want := range map[string]string{
					"service.name": "foldgate", "service.version": "v1.2.3", "service.instance.id": "replica-7",
					"deployment.environment.name": "test", "telemetry.sdk.language": "go",
				} {
					if resource[key] != want {
						t.Errorf("%s is %v, want %q", key, resource[key], want)
					}
				}
				for key := range resource {
					if strings.HasPrefix(key, "process.command") {
						t.Errorf("the command line is told: %s", key)
					}
				}
				folds := c.WaitMetric(t, semconv.MetricFolds)[0]
				if got := folds.GetSum().GetDataPoints()[0].GetAsInt(); got != 1 {
					t.Errorf("%d folds", got)
				}
				if got := scrape(t, tel); !strings.Contains(got, "foldgate_folds_total") {
					t.Error("what is exported is missing on /metrics")
				}
			})
		}
	}
}

// What was begun is there after the end, though no batch was due.
func TestShutdownFlushes(t *testing.T) {
	c := otlptest.HTTP(t)
	environ(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.Endpoint(), "OTEL_BSP_SCHEDULE_DELAY=3600000", "OTEL_METRIC_EXPORT_INTERVAL=3600000")
	tel := exporting(t, telemetry.Options{})
	_, span := tel.TracerProvider().Tracer("t").Start(t.Context(), "last")
	span.End()
	tel.ChatDone(middleware.Report{Kind: "none"})
	stopped, cancel := context.WithCancel(t.Context())
	cancel() // a stop that has run out of time still flushes
	if err := tel.Shutdown(stopped); err != nil {
		t.Fatal(err)
	}
	if n := len(c.Spans().Named("last")); n != 1 {
		t.Errorf("%d spans", n)
	}
	if len(c.Metrics(semconv.MetricFolds)) == 0 {
		t.Error("no metrics")
	}
}

func TestWhatTheEnvironmentAsksFor(t *testing.T) {
	c := otlptest.HTTP(t)
	for _, tc := range []struct {
		name            string
		variables       []string
		traces, metrics bool
	}{
		{"nothing", nil, false, false},
		{"an endpoint", []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.Endpoint()}, true, true},
		{"an endpoint for traces", []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=" + c.Endpoint() + "/v1/traces"}, true, false},
		{"an endpoint for metrics", []string{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=" + c.Endpoint() + "/v1/metrics"}, false, true},
		{"none", []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.Endpoint(), "OTEL_TRACES_EXPORTER=none", "OTEL_METRICS_EXPORTER=none"}, false, false},
		{"one named", []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.Endpoint(), "OTEL_METRICS_EXPORTER=none"}, true, false},
		{"disabled", []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.Endpoint(), "OTEL_SDK_DISABLED=TRUE"}, false, false},
		{"the console", []string{"OTEL_TRACES_EXPORTER=console"}, true, false},
		{"prometheus is there anyway", []string{"OTEL_METRICS_EXPORTER=prometheus"}, false, false},
		{"an exporter for another signal", []string{"OTEL_LOGS_EXPORTER=otlp", "OTEL_SERVICE_NAME=mine"}, false, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			environ(t, tc.variables...)
			before := len(c.Metrics(semconv.MetricFolds))
			tel := exporting(t, telemetry.Options{})
			if got := tel.TracerProvider() != nil; got != tc.traces {
				t.Errorf("traces: %t", got)
			}
			tel.ChatDone(middleware.Report{Kind: "none"})
			if err := tel.Shutdown(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := len(c.Metrics(semconv.MetricFolds)) > before; got != tc.metrics {
				t.Errorf("metrics: %t", got)
			}
		})
	}
}

func TestSampler(t *testing.T) {
	c := otlptest.HTTP(t)
	environ(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.Endpoint(), "OTEL_TRACES_SAMPLER=always_off")
	tel := exporting(t, telemetry.Options{})
	_, span := tel.TracerProvider().Tracer("t").Start(t.Context(), "unsampled")
	if span.IsRecording() {
		t.Error("the sampler is not asked")
	}
	span.End()
}

// A wrong setting is an error at the start, and no silence.
func TestWrongEnvironment(t *testing.T) {
	for _, tc := range []struct{ variable, want string }{
		{"OTEL_TRACES_EXPORTER=jaeger", "traces"},
		{"OTEL_METRICS_EXPORTER=statsd", "metrics"},
		{"OTEL_EXPORTER_OTLP_PROTOCOL=carrier-pigeon", "protocol"},
	} {
		t.Run(tc.variable, func(t *testing.T) {
			environ(t, tc.variable)
			if strings.Contains(tc.variable, "PROTOCOL") {
				environ(t, "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1")
			}
			_, err := telemetry.New(t.Context(), telemetry.Options{})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// The address of a collector may hold a key. It is not logged.
func TestCollectorsAddressIsNotLogged(t *testing.T) {
	environ(t, "OTEL_TRACES_EXPORTER=console")
	var log lockedBuffer
	exporting(t, telemetry.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	otel.Handle(fmt.Errorf("traces export: %w", &url.Error{Op: "Post", URL: "http://collector/?key=sk-secret", Err: io.ErrUnexpectedEOF}))
	if got := log.String(); strings.Contains(got, "secret") || !strings.Contains(got, io.ErrUnexpectedEOF.Error()) {
		t.Errorf("got %s", got)
	}
}

// A collector that is down is told of once, and the stop is not held up for long.
func TestCollectorIsDown(t *testing.T) {
	down := httptest.NewServer(http.NotFoundHandler())
	endpoint := down.URL
	down.Close()
	environ(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+endpoint, "OTEL_EXPORTER_OTLP_TIMEOUT=100", "OTEL_BSP_EXPORT_TIMEOUT=100")
	var log lockedBuffer
	tel := exporting(t, telemetry.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	for range 20 {
		_, span := tel.TracerProvider().Tracer("t").Start(t.Context(), "lost")
		span.End()
		tel.ChatDone(middleware.Report{Kind: "none"})
	}
	_ = tel.Shutdown(t.Context())
	for range 100 {
		otel.Handle(io.ErrUnexpectedEOF)
	}
	got := log.String()
	if n := strings.Count(got, "telemetry could not be exported"); n != 1 {
		t.Errorf("%d lines:\n%s", n, got)
	}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func TestLogNamesTheSpan(t *testing.T) {
	c := otlptest.HTTP(t)
	environ(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.Endpoint())
	tel := exporting(t, telemetry.Options{})
	var out bytes.Buffer
	l := telemetry.NewLogger(&out, telemetry.JSON, slog.LevelInfo).With("a", 1)
	ctx, span := tel.TracerProvider().Tracer("t").Start(t.Context(), "work")
	l.InfoContext(ctx, "within")
	l.InfoContext(t.Context(), "outside")
	span.End()
	lines := strings.SplitN(out.String(), "\n", 2)
	var within map[string]any
	if err := json.Unmarshal([]byte(lines[0]), &within); err != nil {
		t.Fatal(err)
	}
	if within["trace_id"] != span.SpanContext().TraceID().String() || within["span_id"] != span.SpanContext().SpanID().String() {
		t.Errorf("got %s", lines[0])
	}
	if strings.Contains(lines[1], "trace_id") {
		t.Errorf("got %s", lines[1])
	}
}
