package telemetry

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/foldgate/foldgate/internal/semconv"
)

// ReloadOutcome is what came of reading the configuration again, as the metric
// names it.
type ReloadOutcome string

// The outcomes.
const (
	ReloadChanged   ReloadOutcome = "changed"
	ReloadUnchanged ReloadOutcome = "unchanged"
	ReloadRefused   ReloadOutcome = "refused" // the running configuration stays
)

// Loaded notes that a configuration was read and is served by. From the first time
// on all outcomes of a reload are there, with zero: a series that begins at one is
// no increase to Prometheus, and nobody would be told of the first refusal.
func (t *Telemetry) Loaded() {
	ctx := context.Background()
	t.loaded.Record(ctx, time.Now().Unix())
	for _, o := range []ReloadOutcome{ReloadChanged, ReloadUnchanged, ReloadRefused} {
		t.reloads.Add(ctx, 0, metric.WithAttributes(semconv.LabelOutcome.String(string(o))))
	}
}

// Reloaded counts one time that the configuration was read again.
func (t *Telemetry) Reloaded(o ReloadOutcome) {
	t.reloads.Add(context.Background(), 1, metric.WithAttributes(semconv.LabelOutcome.String(string(o))))
	if o != ReloadRefused {
		t.Loaded()
	}
}
