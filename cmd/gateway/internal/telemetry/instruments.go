package telemetry

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// instruments are what the observers write to. Names are those of
// OpenTelemetry; Prometheus shows them with underscores, unit and suffix, such
// as foldgate_wait_seconds. A histogram of n bounds counts as n+3 series.
type instruments struct {
	// foldgate.folds, requests, by kind (8, other) and reason (21, none, other): at most 207 series.
	folds metric.Int64Counter
	// foldgate.retries, requests: 1 series.
	retries metric.Int64Counter
	// foldgate.wait, seconds, requests that waited: 1 histogram of 13 bounds, 16 series.
	wait metric.Float64Histogram
	// foldgate.added, seconds, the gateway's own: 1 histogram of 13 bounds, 16 series.
	added metric.Float64Histogram
	// foldgate.tokens.saved, tokens: 1 series.
	saved metric.Int64Counter
	// foldgate.summary.tokens, tokens, by direction (2): 2 series.
	summary metric.Int64Counter
	// foldgate.attempts, attempts that ended, by outcome (7, unfenced, none, other): at most 10 series.
	attempts metric.Int64Counter
	// foldgate.attempts.running, attempts: 1 series.
	running metric.Int64UpDownCounter
	// foldgate.attempt.duration, seconds, by outcome (10): 10 histograms of 12 bounds, at most 150 series.
	duration metric.Float64Histogram
	// foldgate.fence.refusals, calls, by operation (14) and answer (4): at most 56 series.
	refusals metric.Int64Counter
	// foldgate.store.errors, calls, by operation (14) and kind (3): at most 42 series.
	storeErrors metric.Int64Counter
	// foldgate.requests.in_flight, requests: 1 series.
	requests metric.Int64UpDownCounter
}

// newInstruments makes all of them and reports every failure at once.
func newInstruments(m metric.Meter, version string) (instruments, error) {
	k := maker{meter: m}
	all := instruments{
		folds:       k.counter("foldgate.folds", "{request}", "Chat requests by what was done with them"),
		retries:     k.counter("foldgate.retries", "{request}", "Chat requests that were sent to the upstream a second time"),
		wait:        k.seconds("foldgate.wait", "Time that requests waited for a summary, those that waited", waitBounds()),
		added:       k.seconds("foldgate.added", "Time that the gateway itself added to chat requests, without waiting", addedBounds()),
		saved:       k.counter("foldgate.tokens.saved", "{token}", "Prompt tokens that folding kept from the upstream"),
		summary:     k.counter("foldgate.summary.tokens", "{token}", "Tokens that summary calls spent, as their usage says"),
		attempts:    k.counter("foldgate.attempts", "{attempt}", "Compression attempts of this replica that ended"),
		running:     k.upDown("foldgate.attempts.running", "{attempt}", "Compression attempts of this replica that work"),
		duration:    k.seconds("foldgate.attempt.duration", "Duration of compression attempts", durationBounds()),
		refusals:    k.counter("foldgate.fence.refusals", "{call}", "Writes that the store refused by their fence"),
		storeErrors: k.counter("foldgate.store.errors", "{call}", "Store calls that failed"),
		requests:    k.upDown("foldgate.requests.in_flight", "{request}", "Requests that the data plane is working on"),
	}
	k.info(version)
	return all, errors.Join(k.problems...)
}

func waitBounds() []float64 {
	return []float64{0.1, 0.25, 0.5, 1, 2, 3, 5, 7.5, 10, 15, 20, 30, 60}
}

func addedBounds() []float64 {
	return []float64{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5}
}

func durationBounds() []float64 {
	return []float64{0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1200}
}

// maker makes instruments and collects what went wrong.
type maker struct {
	meter    metric.Meter
	problems []error
}

func (k *maker) note(err error) {
	if err != nil {
		k.problems = append(k.problems, err)
	}
}

func (k *maker) counter(name, unit, text string) metric.Int64Counter {
	c, err := k.meter.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(text))
	k.note(err)
	return c
}

func (k *maker) upDown(name, unit, text string) metric.Int64UpDownCounter {
	c, err := k.meter.Int64UpDownCounter(name, metric.WithUnit(unit), metric.WithDescription(text))
	k.note(err)
	return c
}

func (k *maker) seconds(name, text string, bounds []float64) metric.Float64Histogram {
	h, err := k.meter.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(text),
		metric.WithExplicitBucketBoundaries(bounds...))
	k.note(err)
	return h
}

// info makes foldgate.build, always 1, by version: 1 series.
func (k *maker) info(version string) {
	_, err := k.meter.Int64ObservableGauge("foldgate.build", metric.WithDescription("Always 1; the label names the version"),
		metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
			o.Observe(1, metric.WithAttributes(attribute.String("version", version)))
			return nil
		}))
	k.note(err)
}
