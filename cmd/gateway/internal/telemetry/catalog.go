package telemetry

import (
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"

	"github.com/foldgate/foldgate/internal/semconv"
)

// Kind is what an instrument is.
type Kind string

// The kinds.
const (
	Counter   Kind = "counter"
	UpDown    Kind = "up-down counter"
	Gauge     Kind = "gauge"
	Histogram Kind = "histogram"
)

// Instrument describes one metric: what docs/operating.md says of it, and what it
// is made from.
type Instrument struct {
	Name   string // as OTLP shows it
	Kind   Kind
	Unit   string // UCUM; in braces: things that are counted
	About  string
	Labels []Label
	// Sets is how many sets of labels there are at most: no more than the product of
	// the labels' values, and less where they depend on each other.
	Sets int
	// PerRoute: Sets is for each of the summarizer's routes (one by default).
	PerRoute bool
	Bounds   []float64 // of a histogram
}

// Label is one label and how many values it has at most.
type Label struct {
	Key    attribute.Key
	Values int
}

// Series is how many time series there are at most in Prometheus, for each of the
// summarizer's routes if PerRoute.
func (i Instrument) Series() int {
	if i.Kind == Histogram {
		return i.Sets * (len(i.Bounds) + 3) // the buckets, +Inf, sum, count
	}
	return i.Sets
}

// Prometheus is the name on /metrics; a histogram's series add _bucket, _sum and
// _count.
func (i Instrument) Prometheus() string {
	name := strings.ReplaceAll(i.Name, ".", "_")
	switch {
	case i.Unit == "s":
		name += "_seconds"
	case i.Unit == "By":
		name += "_bytes"
	case i.Unit == "1" && i.Kind == Gauge:
		name += "_ratio"
	}
	if i.Kind == Counter {
		name += "_total"
	}
	return name
}

// Instruments are all metrics, in the order in which the documentation lists them.
// Nothing else is emitted but what describes the process and Go's runtime, which is
// on /metrics only.
func Instruments() []Instrument {
	return slices.Concat(requestInstruments(), attemptInstruments(), partInstruments(), conventionInstruments())
}

// of completes an instrument whose labels do not depend on each other.
func of(i Instrument, labels ...Label) Instrument {
	i.Labels, i.Sets = labels, 1
	for _, l := range labels {
		i.Sets *= l.Values
	}
	return i
}

// with is a label of a list: its values, "other" and, where it may be empty, "none".
func with(key attribute.Key, values []string, extra int) Label {
	return Label{Key: key, Values: len(values) + extra}
}

func requestInstruments() []Instrument {
	seconds := func(name, about string, bounds []float64) Instrument {
		return of(Instrument{Name: name, Kind: Histogram, Unit: "s", About: about, Bounds: bounds})
	}
	return []Instrument{
		of(Instrument{Name: semconv.MetricFolds, Kind: Counter, Unit: "{request}", About: "Chat requests by what was done with them"},
			with(semconv.LabelKind, kinds(), 1), with(semconv.LabelReason, reasons(), 2)),
		of(Instrument{Name: semconv.MetricRetries, Kind: Counter, Unit: "{request}", About: "Chat requests that were sent to the upstream a second time"}),
		seconds(semconv.MetricWait, "Time that requests waited for a summary, those that waited", waitBounds()),
		seconds(semconv.MetricAdded, "Time that the gateway itself added to chat requests, without waiting", addedBounds()),
		of(Instrument{Name: semconv.MetricWindowShare, Kind: Histogram, Unit: "1", About: "Size of chat requests as they came, as a share of the model's window, those that were counted", Bounds: shareBounds()}),
		of(Instrument{Name: semconv.MetricSaved, Kind: Counter, Unit: "{token}", About: "Prompt tokens that folding kept from the upstream"}),
		of(Instrument{Name: semconv.MetricSavable, Kind: Counter, Unit: "{token}", About: "Prompt tokens that folding without a model would have kept from the upstream, in mode observe"}),
		of(Instrument{Name: semconv.MetricInFlight, Kind: UpDown, Unit: "{request}", About: "Requests that the data plane is working on"}),
		of(Instrument{Name: semconv.MetricBodies, Kind: Gauge, Unit: "By", About: "Bytes of request bodies held in memory"}),
	}
}

func attemptInstruments() []Instrument {
	outcome := with(semconv.LabelOutcome, outcomes(), 2) // none, other
	operation := with(semconv.LabelOperation, operations(), 1)
	return []Instrument{
		of(Instrument{Name: semconv.MetricAttempts, Kind: Counter, Unit: "{attempt}", About: "Compression attempts of this replica that ended"}, outcome),
		of(Instrument{Name: semconv.MetricRunning, Kind: UpDown, Unit: "{attempt}", About: "Compression attempts of this replica that work"}),
		of(Instrument{Name: semconv.MetricDuration, Kind: Histogram, Unit: "s", About: "Duration of compression attempts", Bounds: durationBounds()}, outcome),
		of(Instrument{Name: semconv.MetricSummaryTokens, Kind: Counter, Unit: "{token}", About: "Tokens that summary calls spent, by the server's usage or else by our count"},
			Label{semconv.LabelDirection, 2}),
		of(Instrument{Name: semconv.MetricRefusals, Kind: Counter, Unit: "{call}", About: "Writes that the store refused by their fence"},
			operation, Label{semconv.LabelAnswer, 4}),
		of(Instrument{Name: semconv.MetricStoreErrors, Kind: Counter, Unit: "{call}", About: "Store calls that failed"},
			operation, Label{semconv.LabelKind, 3}),
		of(Instrument{Name: semconv.MetricUnopened, Kind: Counter, Unit: "{handoff}", About: "Handoffs that were read and could not be decrypted, each time that they were; only with a shared store"},
			Label{semconv.LabelReason, len(unopenedReasons())}),
	}
}

func partInstruments() []Instrument {
	return []Instrument{
		of(Instrument{Name: semconv.MetricBreaker, Kind: Gauge, About: "State of the store's circuit breaker: 0 closed, 1 half open, 2 open"}),
		of(Instrument{Name: semconv.MetricPartDown, Kind: Gauge, About: "Whether the last call to a part of the service failed: 1 yes, 0 no or not called yet"},
			Label{semconv.LabelPart, 2}),
		of(Instrument{Name: semconv.MetricReloads, Kind: Counter, Unit: "{reload}", About: "Times that the configuration was read again"},
			Label{semconv.LabelOutcome, 3}),
		of(Instrument{Name: semconv.MetricConfigLoaded, Kind: Gauge, Unit: "s", About: "Unix time at which the configuration that is served by was last read and found right"}),
		of(Instrument{Name: semconv.MetricBuild, Kind: Gauge, About: "Always 1; the label names the version"}, Label{semconv.LabelVersion, 1}),
	}
}

// conventionInstruments are those that the semantic conventions name. Their buckets
// reach as far as answers of models take, beyond what the conventions propose.
func conventionInstruments() []Instrument {
	var (
		methods  = with(semconv.KeyHTTPRequestMethod, semconv.Methods(), 1)
		status   = Label{semconv.KeyHTTPResponseStatusCode, len(statuses()) + 1} // or none
		address  = Label{semconv.KeyServerAddress, 1}
		port     = Label{semconv.KeyServerPort, 1}
		chat     = Label{semconv.KeyGenAIOperation, 1}
		provider = Label{semconv.KeyGenAIProvider, 1}
		model    = Label{semconv.KeyGenAIRequestModel, 1}
		modality = Label{semconv.KeyGenAITokenModality, 2}
		failures = Label{semconv.KeyErrorType, len(statuses()) + len(callErrors()) + 2} // another, none
	)
	const aborted = 2 // error.type without a status: the caller left, the answer broke off
	server := Instrument{
		Name: semconv.MetricServerDuration, Kind: Histogram, Unit: "s", Bounds: httpBounds(),
		About:  "Duration of requests to the data plane, until the end of the answer",
		Labels: []Label{methods, {semconv.KeyHTTPRoute, 4}, {semconv.KeyURLScheme, 1}, status, {semconv.KeyErrorType, len(statuses()) + 1 + aborted}},
		Sets:   (methods.Values + 3) * (status.Values + aborted), // a route goes with POST only, a status gives its error type
	}
	client := Instrument{
		Name: semconv.MetricClientDuration, Kind: Histogram, Unit: "s", Bounds: httpBounds(),
		About:  "Duration of forwarded calls to the upstream, until the end of the answer",
		Labels: []Label{methods, address, port, status, {semconv.KeyErrorType, len(statuses()) + 1 + aborted + 1}},
		Sets:   methods.Values * (status.Values + aborted + 1), // or no answer
	}
	genAI := func(i Instrument, labels ...Label) Instrument {
		i = of(i, append([]Label{chat, provider, model, address, port}, labels...)...)
		i.PerRoute = true
		return i
	}
	return []Instrument{
		server, client,
		genAI(Instrument{Name: semconv.MetricGenAIDuration, Kind: Histogram, Unit: "s", About: "Duration of summary calls", Bounds: genAIBounds()}, failures),
		genAI(Instrument{Name: semconv.MetricGenAIFirstChunk, Kind: Histogram, Unit: "s", About: "Time until the first text of a summary call", Bounds: genAIBounds()}),
		genAI(Instrument{Name: semconv.MetricGenAIInputTokens, Kind: Counter, Unit: "{token}", About: "Input tokens of summary calls, as the server said"}, modality),
		genAI(Instrument{Name: semconv.MetricGenAIOutputTokens, Kind: Counter, Unit: "{token}", About: "Output tokens of summary calls, as the server said"}, modality),
	}
}
