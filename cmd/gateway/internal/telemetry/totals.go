package telemetry

import (
	"fmt"
	"slices"

	"go.opentelemetry.io/otel/attribute"

	"github.com/foldgate/foldgate/internal/semconv"
)

// Totals are what was counted since the start, as /metrics would show it now.
// Label values that never came are absent.
type Totals struct {
	Folds    map[string]int64 // chat requests by kind
	Attempts map[string]int64 // attempts that ended, by outcome
	Refusals []RefusalTotal   // by the fence
	// Retries and StoreErrors are calls, Saved to SummaryOutput tokens, InFlight and
	// Running how many requests and attempts work now.
	Retries, StoreErrors        int64
	Saved, Savable              int64
	SummaryInput, SummaryOutput int64
	InFlight, Running           int64
}

// RefusalTotal is how often one operation got one refusal.
type RefusalTotal struct {
	Operation, Answer string
	Count             int64
}

// sample is one series of the registry.
type sample struct {
	labels map[string]string
	value  int64
}

// samples are the series of counters and gauges, by their name on /metrics.
type samples map[string][]sample

// Totals reads the registry: there is no second count that could differ.
func (t *Telemetry) Totals() (Totals, error) {
	read, err := t.samples()
	if err != nil {
		return Totals{}, err
	}
	spent := read.by(semconv.MetricSummaryTokens, semconv.LabelDirection)
	all := Totals{
		Folds: read.by(semconv.MetricFolds, semconv.LabelKind), Attempts: read.by(semconv.MetricAttempts, semconv.LabelOutcome),
		Retries: read.sum(semconv.MetricRetries), StoreErrors: read.sum(semconv.MetricStoreErrors),
		Saved: read.sum(semconv.MetricSaved), Savable: read.sum(semconv.MetricSavable),
		SummaryInput: spent["input"], SummaryOutput: spent["output"],
		InFlight: read.sum(semconv.MetricInFlight), Running: read.sum(semconv.MetricRunning),
	}
	for _, s := range read[exposed(semconv.MetricRefusals)] {
		all.Refusals = append(all.Refusals, RefusalTotal{
			Operation: s.labels[string(semconv.LabelOperation)], Answer: s.labels[string(semconv.LabelAnswer)], Count: s.value,
		})
	}
	return all, nil
}

// samples gathers the registry. What of it can be read is enough: a collector of
// the process that fails must not hide what we counted.
func (t *Telemetry) samples() (samples, error) {
	families, err := t.registry.Gather()
	if err != nil && len(families) == 0 {
		return nil, fmt.Errorf("read the metrics: %w", err)
	}
	read := samples{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			s := sample{labels: map[string]string{}, value: int64(m.GetCounter().GetValue() + m.GetGauge().GetValue())}
			for _, l := range m.GetLabel() {
				s.labels[l.GetName()] = l.GetValue()
			}
			read[f.GetName()] = append(read[f.GetName()], s)
		}
	}
	return read, nil
}

// by adds up the series of a metric by one of its labels.
func (s samples) by(name string, label attribute.Key) map[string]int64 {
	sums := map[string]int64{}
	for _, one := range s[exposed(name)] {
		sums[one.labels[string(label)]] += one.value
	}
	return sums
}

func (s samples) sum(name string) (n int64) {
	for _, one := range s[exposed(name)] {
		n += one.value
	}
	return n
}

// exposed is a metric's name on /metrics.
func exposed(name string) string {
	i := slices.IndexFunc(Instruments(), func(i Instrument) bool { return i.Name == name })
	if i < 0 {
		return name
	}
	return Instruments()[i].Prometheus()
}
