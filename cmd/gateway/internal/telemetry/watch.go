package telemetry

import (
	"context"
	"errors"
	"math"

	"go.opentelemetry.io/otel/metric"

	"github.com/foldgate/foldgate/internal/semconv"
)

// BreakerState is a circuit breaker's state as the metric shows it.
type BreakerState int64

// The states.
const (
	BreakerClosed   BreakerState = 0 // calls go through
	BreakerHalfOpen BreakerState = 1 // one call tries
	BreakerOpen     BreakerState = 2 // no call goes through
)

// WatchBreaker shows the state of the store's breaker. state is asked at every
// collection and must not block. Call it at most once.
func (t *Telemetry) WatchBreaker(state func() BreakerState) error {
	return t.watch(semconv.MetricBreaker, func(_ context.Context, o metric.Int64Observer) error {
		o.Observe(int64(state()))
		return nil
	})
}

// Unopened are the handoffs that could not be opened so far, by reason.
type Unopened struct{ Key, Broken, Plain uint64 }

// unopenedReasons are the values of the metric's label.
func unopenedReasons() []string { return []string{"key", "broken", "plain"} }

// WatchUnopened counts the handoffs that could not be opened. counts is asked at
// every collection and must not block. Call it at most once.
func (t *Telemetry) WatchUnopened(counts func() Unopened) error {
	k := maker{meter: t.meter, catalog: Instruments()}
	k.tally(semconv.MetricUnopened, func(_ context.Context, o metric.Int64Observer) error {
		now := counts()
		for i, n := range [...]uint64{now.Key, now.Broken, now.Plain} {
			o.Observe(int64(min(n, math.MaxInt64)), metric.WithAttributes(semconv.LabelReason.String(unopenedReasons()[i])))
		}
		return nil
	})
	return errors.Join(k.problems...)
}

// WatchBodies shows how many bytes of bodies are in flight. size is asked at every
// collection and must not block. Call it at most once.
func (t *Telemetry) WatchBodies(size func() int64) error {
	return t.watch(semconv.MetricBodies, func(_ context.Context, o metric.Int64Observer) error {
		o.Observe(size())
		return nil
	})
}

// WatchParts shows which parts the last call found down, by name (2: upstream,
// summarizer). The functions are asked at every collection and must not block.
// Call it at most once.
func (t *Telemetry) WatchParts(down map[string]func() bool) error {
	return t.watch(semconv.MetricPartDown, func(_ context.Context, o metric.Int64Observer) error {
		for part, is := range down {
			value := int64(0)
			if is() {
				value = 1
			}
			o.Observe(value, metric.WithAttributes(semconv.LabelPart.String(part)))
		}
		return nil
	})
}

func (t *Telemetry) watch(name string, ask metric.Int64Callback) error {
	k := maker{meter: t.meter, catalog: Instruments()}
	k.watch(name, ask)
	return errors.Join(k.problems...)
}
