package otlptest

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	collectormetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collectortrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/proto"
)

// Patience bounds every wait. Nothing waits so long but a test that is about to
// fail.
const Patience = 30 * time.Second

// Collector keeps what was sent to it. It is safe for concurrent use; make it with
// HTTP or GRPC.
type Collector struct {
	endpoint, protocol string

	mu      sync.Mutex
	spans   Spans
	metrics []*metricspb.Metric
	raw     map[Signal][][]byte
	refuse  bool
	changed chan struct{} // closed and replaced with whatever comes
}

func newCollector(protocol string) *Collector {
	return &Collector{protocol: protocol, raw: map[Signal][][]byte{}, changed: make(chan struct{})}
}

// Endpoint is the value of OTEL_EXPORTER_OTLP_ENDPOINT.
func (c *Collector) Endpoint() string { return c.endpoint }

// Environ makes a program send traces and metrics here, often.
func (c *Collector) Environ() []string {
	return []string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.endpoint,
		"OTEL_EXPORTER_OTLP_PROTOCOL=" + c.protocol,
		"OTEL_BSP_SCHEDULE_DELAY=20",
		"OTEL_METRIC_EXPORT_INTERVAL=50",
	}
}

// Refuse makes the collector answer every further message with an error, or take
// them again.
func (c *Collector) Refuse(refuse bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refuse = refuse
}

// Spans are all spans that came so far, in the order of their arrival.
func (c *Collector) Spans() Spans {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.spans)
}

// Signal is a kind of telemetry.
type Signal string

// The signals that a Collector takes.
const (
	Traces  Signal = "traces"
	Metrics Signal = "metrics"
)

// Raw are the messages of a signal as they came.
func (c *Collector) Raw(s Signal) [][]byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.raw[s])
}

// Metrics are the metrics of one name in the order of their arrival, of all
// senders.
func (c *Collector) Metrics(name string) []*metricspb.Metric {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []*metricspb.Metric
	for _, m := range c.metrics {
		if m.GetName() == name {
			out = append(out, m)
		}
	}
	return out
}

// Wait returns the spans once enough says so.
func (c *Collector) Wait(tb testing.TB, enough func(Spans) bool) Spans {
	tb.Helper()
	var spans Spans
	c.until(tb, func() bool {
		spans = c.Spans()
		return enough(spans)
	}, func() { tb.Fatalf("these spans came, which is not enough:\n%s", spans) })
	return spans
}

// WaitMetric returns the metrics of a name once there are any.
func (c *Collector) WaitMetric(tb testing.TB, name string) []*metricspb.Metric {
	tb.Helper()
	var found []*metricspb.Metric
	c.until(tb, func() bool {
		found = c.Metrics(name)
		return len(found) > 0
	}, func() { tb.Fatalf("no metric %s came", name) })
	return found
}

// until looks again whenever something came.
func (c *Collector) until(tb testing.TB, enough func() bool, late func()) {
	tb.Helper()
	limit := time.NewTimer(Patience)
	defer limit.Stop()
	for {
		c.mu.Lock()
		changed := c.changed
		c.mu.Unlock()
		if enough() {
			return
		}
		select {
		case <-changed:
		case <-limit.C:
			late()
			return
		}
	}
}

// takeTraces keeps one export of spans; false: it was refused.
func (c *Collector) takeTraces(req *collectortrace.ExportTraceServiceRequest) bool {
	raw, err := proto.Marshal(req)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refuse || err != nil {
		return false
	}
	c.raw[Traces] = append(c.raw[Traces], raw)
	for _, r := range req.GetResourceSpans() {
		resource := valuesOf(r.GetResource().GetAttributes())
		for _, s := range r.GetScopeSpans() {
			for _, span := range s.GetSpans() {
				c.spans = append(c.spans, spanOf(resource, s.GetScope().GetName(), span))
			}
		}
	}
	c.tell()
	return true
}

// takeMetrics keeps one export of metrics; false: it was refused.
func (c *Collector) takeMetrics(req *collectormetrics.ExportMetricsServiceRequest) bool {
	raw, err := proto.Marshal(req)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refuse || err != nil {
		return false
	}
	c.raw[Metrics] = append(c.raw[Metrics], raw)
	for _, r := range req.GetResourceMetrics() {
		for _, s := range r.GetScopeMetrics() {
			c.metrics = append(c.metrics, s.GetMetrics()...)
		}
	}
	c.tell()
	return true
}

// tell wakes those who wait. The lock is held.
func (c *Collector) tell() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// traces and metrics are the gRPC services.
type traces struct {
	collectortrace.UnimplementedTraceServiceServer

	c *Collector
}

// Export is the service's one method.
func (s traces) Export(_ context.Context, req *collectortrace.ExportTraceServiceRequest) (*collectortrace.ExportTraceServiceResponse, error) {
	if !s.c.takeTraces(req) {
		return nil, errRefused
	}
	return &collectortrace.ExportTraceServiceResponse{}, nil
}

type metrics struct {
	collectormetrics.UnimplementedMetricsServiceServer

	c *Collector
}

// Export is the service's one method.
func (s metrics) Export(_ context.Context, req *collectormetrics.ExportMetricsServiceRequest) (*collectormetrics.ExportMetricsServiceResponse, error) {
	if !s.c.takeMetrics(req) {
		return nil, errRefused
	}
	return &collectormetrics.ExportMetricsServiceResponse{}, nil
}
