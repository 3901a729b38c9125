package telemetry

import (
	"context"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

// labels are a set of labels as instruments take them.
type labels struct {
	add    []metric.AddOption
	record []metric.RecordOption
}

// labelSets keeps the sets of labels that came up, by what they are made from: to
// sort and hash one anew costs each request several times what counting it does.
// The zero value is ready. Safe for concurrent use; reading takes no lock.
type labelSets[K comparable] struct {
	mu    sync.Mutex // for writers
	known atomic.Pointer[map[K]labels]
}

// maxLabelSets is far over what the catalog allows: a bound, should a key ever have
// a part that a peer chooses.
const maxLabelSets = 4096

// of is the set of labels of k, which list lists.
func (s *labelSets[K]) of(k K, list func(K) []attribute.KeyValue) labels {
	if known := s.known.Load(); known != nil {
		if l, ok := (*known)[k]; ok {
			return l
		}
	}
	return s.make(k, list)
}

func (s *labelSets[K]) make(k K, list func(K) []attribute.KeyValue) labels {
	set := metric.WithAttributeSet(attribute.NewSet(list(k)...))
	l := labels{add: []metric.AddOption{set}, record: []metric.RecordOption{set}}
	s.mu.Lock()
	defer s.mu.Unlock()
	more := map[K]labels{k: l}
	if known := s.known.Load(); known != nil {
		if len(*known) >= maxLabelSets {
			return l
		}
		for k, l := range *known {
			more[k] = l
		}
	}
	s.known.Store(&more)
	return l
}

// measured is what a measurement needs of a context, whether that has ended or not:
// the span that an exemplar may name.
func measured(ctx context.Context) context.Context {
	if span := trace.SpanContextFromContext(ctx); span.IsSampled() {
		return trace.ContextWithSpanContext(context.Background(), span)
	}
	return context.Background()
}
