package telemetry

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"go.opentelemetry.io/otel/metric"

	"github.com/foldgate/foldgate/internal/semconv"
)

// instruments are what is written to. What each of them is stands in catalog.go.
type instruments struct {
	folds       metric.Int64Counter
	retries     metric.Int64Counter
	wait        metric.Float64Histogram
	added       metric.Float64Histogram
	share       metric.Float64Histogram
	saved       metric.Int64Counter
	savable     metric.Int64Counter
	requests    metric.Int64UpDownCounter
	summary     metric.Int64Counter
	attempts    metric.Int64Counter
	running     metric.Int64UpDownCounter
	duration    metric.Float64Histogram
	refusals    metric.Int64Counter
	storeErrors metric.Int64Counter
	reloads     metric.Int64Counter
	loaded      metric.Int64Gauge

	served    metric.Float64Histogram
	forwarded metric.Float64Histogram

	genAIDuration   metric.Float64Histogram
	genAIFirstChunk metric.Float64Histogram
	genAIInput      metric.Int64Counter
	genAIOutput     metric.Int64Counter
}

// newInstruments makes all of them and reports every failure at once.
func newInstruments(m metric.Meter, version string) (instruments, error) {
	k := maker{meter: m, catalog: Instruments()}
	all := instruments{
		folds:       k.counter(semconv.MetricFolds),
		retries:     k.counter(semconv.MetricRetries),
		wait:        k.histogram(semconv.MetricWait),
		added:       k.histogram(semconv.MetricAdded),
		share:       k.histogram(semconv.MetricWindowShare),
		saved:       k.counter(semconv.MetricSaved),
		savable:     k.counter(semconv.MetricSavable),
		requests:    k.upDown(semconv.MetricInFlight),
		summary:     k.counter(semconv.MetricSummaryTokens),
		attempts:    k.counter(semconv.MetricAttempts),
		running:     k.upDown(semconv.MetricRunning),
		duration:    k.histogram(semconv.MetricDuration),
		refusals:    k.counter(semconv.MetricRefusals),
		storeErrors: k.counter(semconv.MetricStoreErrors),
		reloads:     k.counter(semconv.MetricReloads),
		loaded:      k.gauge(semconv.MetricConfigLoaded),

		served:    k.histogram(semconv.MetricServerDuration),
		forwarded: k.histogram(semconv.MetricClientDuration),

		genAIDuration:   k.histogram(semconv.MetricGenAIDuration),
		genAIFirstChunk: k.histogram(semconv.MetricGenAIFirstChunk),
		genAIInput:      k.counter(semconv.MetricGenAIInputTokens),
		genAIOutput:     k.counter(semconv.MetricGenAIOutputTokens),
	}
	k.watch(semconv.MetricBuild, func(_ context.Context, o metric.Int64Observer) error {
		o.Observe(1, metric.WithAttributes(semconv.LabelVersion.String(version)))
		return nil
	})
	return all, errors.Join(k.problems...)
}

// maker makes instruments as the catalog describes them and collects what went
// wrong.
type maker struct {
	meter    metric.Meter
	catalog  []Instrument
	problems []error
}

// described is an instrument's entry in the catalog.
func (k *maker) described(name string, kind Kind) Instrument {
	i := slices.IndexFunc(k.catalog, func(i Instrument) bool { return i.Name == name && i.Kind == kind })
	if i < 0 {
		k.note(fmt.Errorf("no %s %s in the catalog", kind, name))
		return Instrument{Name: name}
	}
	return k.catalog[i]
}

func (k *maker) note(err error) {
	if err != nil {
		k.problems = append(k.problems, err)
	}
}

func (k *maker) counter(name string) metric.Int64Counter {
	i := k.described(name, Counter)
	c, err := k.meter.Int64Counter(i.Name, metric.WithUnit(i.Unit), metric.WithDescription(i.About))
	k.note(err)
	return c
}

func (k *maker) upDown(name string) metric.Int64UpDownCounter {
	i := k.described(name, UpDown)
	c, err := k.meter.Int64UpDownCounter(i.Name, metric.WithUnit(i.Unit), metric.WithDescription(i.About))
	k.note(err)
	return c
}

func (k *maker) gauge(name string) metric.Int64Gauge {
	i := k.described(name, Gauge)
	g, err := k.meter.Int64Gauge(i.Name, metric.WithUnit(i.Unit), metric.WithDescription(i.About))
	k.note(err)
	return g
}

func (k *maker) histogram(name string) metric.Float64Histogram {
	i := k.described(name, Histogram)
	h, err := k.meter.Float64Histogram(i.Name, metric.WithUnit(i.Unit), metric.WithDescription(i.About),
		metric.WithExplicitBucketBoundaries(i.Bounds...))
	k.note(err)
	return h
}

// tally makes a counter that is asked at every collection.
func (k *maker) tally(name string, ask metric.Int64Callback) {
	i := k.described(name, Counter)
	_, err := k.meter.Int64ObservableCounter(i.Name, metric.WithUnit(i.Unit), metric.WithDescription(i.About), metric.WithInt64Callback(ask))
	k.note(err)
}

// watch makes a gauge that is asked at every collection.
func (k *maker) watch(name string, ask metric.Int64Callback) {
	i := k.described(name, Gauge)
	_, err := k.meter.Int64ObservableGauge(i.Name, metric.WithUnit(i.Unit), metric.WithDescription(i.About), metric.WithInt64Callback(ask))
	k.note(err)
}
