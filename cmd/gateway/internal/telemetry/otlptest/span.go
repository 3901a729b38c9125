package otlptest

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// Span is one span as it came. Ids are lower-case hexadecimal, empty where there is
// none; values of attributes are string, int64, float64, bool, or []any of these.
type Span struct {
	Name       string
	Kind       string // "internal", "server", "client", …
	Trace, ID  string
	Parent     string
	State      string // tracestate
	Start, End time.Time
	Attributes map[string]any
	Events     []Event
	Links      []Link
	Error      bool   // the status is an error
	Message    string // of the status
	Scope      string
	Resource   map[string]any
}

// Event is one event of a span.
type Event struct {
	Name       string
	At         time.Time
	Attributes map[string]any
}

// Link names another span.
type Link struct {
	Trace, ID  string
	Attributes map[string]any
}

// Text is an attribute as text; empty where there is none.
func (s Span) Text(key string) string { return text(s.Attributes[key]) }

// Text is an attribute as text; empty where there is none.
func (e Event) Text(key string) string { return text(e.Attributes[key]) }

// Service is the name of the replica that sent the span.
func (s Span) Service() string { return text(s.Resource["service.instance.id"]) }

// Event returns the first event of a name.
func (s Span) Event(name string) (Event, bool) {
	i := slices.IndexFunc(s.Events, func(e Event) bool { return e.Name == name })
	if i < 0 {
		return Event{}, false
	}
	return s.Events[i], true
}

// Spans are spans in the order of their arrival.
type Spans []Span

// Named are those of a name.
func (s Spans) Named(name string) Spans {
	return s.where(func(span Span) bool { return span.Name == name })
}

// With are those that have an attribute of that text.
func (s Spans) With(key, value string) Spans {
	return s.where(func(span Span) bool { return span.Text(key) == value })
}

// Of are those of one trace.
func (s Spans) Of(trace string) Spans {
	return s.where(func(span Span) bool { return span.Trace == trace })
}

// Under are the children of a span.
func (s Spans) Under(parent Span) Spans {
	return s.where(func(span Span) bool { return span.Trace == parent.Trace && span.Parent == parent.ID })
}

func (s Spans) where(fits func(Span) bool) Spans {
	var out Spans
	for _, span := range s {
		if fits(span) {
			out = append(out, span)
		}
	}
	return out
}

// String draws the traces as trees, for the message of a test that failed.
func (s Spans) String() string {
	ids := map[string]bool{}
	for _, span := range s {
		ids[span.ID] = true
	}
	var b strings.Builder
	for _, span := range s {
		if !ids[span.Parent] {
			s.draw(&b, span, 0)
		}
	}
	return b.String()
}

func (s Spans) draw(b *strings.Builder, span Span, depth int) {
	fmt.Fprintf(b, "%s%s [%s %.8s/%s] %v", strings.Repeat("  ", depth), span.Name, span.Kind, span.Trace, span.ID, span.Attributes)
	for _, e := range span.Events {
		fmt.Fprintf(b, " · %s %v", e.Name, e.Attributes)
	}
	for _, l := range span.Links {
		fmt.Fprintf(b, " → %.8s/%s", l.Trace, l.ID)
	}
	b.WriteByte('\n')
	for _, child := range s.Under(span) {
		s.draw(b, child, depth+1)
	}
}

// Tree draws the traces as a person reads them: below each span its children in the
// order of their begin; of each span and event the given attributes, those that it
// has, in that order, and how many spans it links to. Nothing in it differs from one
// run to the next unless an attribute does.
func (s Spans) Tree(keys ...string) string {
	ids := map[string]bool{}
	for _, span := range s {
		ids[span.ID] = true
	}
	var roots Spans
	for _, span := range s {
		if !ids[span.Parent] {
			roots = append(roots, span)
		}
	}
	var b strings.Builder
	s.branch(&b, roots, 0, keys)
	return b.String()
}

func (s Spans) branch(b *strings.Builder, of Spans, depth int, keys []string) {
	slices.SortStableFunc(of, func(x, y Span) int { return x.Start.Compare(y.Start) })
	for _, span := range of {
		b.WriteString(strings.Repeat("  ", depth) + span.Name + chosen(span.Attributes, keys))
		if span.Error {
			b.WriteString(" ERROR")
		}
		if n := len(span.Links); n > 0 {
			fmt.Fprintf(b, " links=%d", n)
		}
		for _, e := range span.Events {
			b.WriteString(" · " + e.Name + chosen(e.Attributes, keys))
		}
		b.WriteByte('\n')
		s.branch(b, s.Under(span), depth+1, keys)
	}
}

// chosen are the attributes of these keys, each by the last part of its name.
func chosen(attributes map[string]any, keys []string) string {
	var b strings.Builder
	for _, key := range keys {
		if v, ok := attributes[key]; ok {
			fmt.Fprintf(&b, " %s=%v", key[strings.LastIndexByte(key, '.')+1:], v)
		}
	}
	return b.String()
}

func spanOf(resource map[string]any, scope string, s *tracepb.Span) Span {
	out := Span{
		Name:       s.GetName(),
		Kind:       strings.ToLower(strings.TrimPrefix(s.GetKind().String(), "SPAN_KIND_")),
		Trace:      hex.EncodeToString(s.GetTraceId()),
		ID:         hex.EncodeToString(s.GetSpanId()),
		Parent:     hex.EncodeToString(s.GetParentSpanId()),
		State:      s.GetTraceState(),
		Start:      timeOf(s.GetStartTimeUnixNano()),
		End:        timeOf(s.GetEndTimeUnixNano()),
		Attributes: valuesOf(s.GetAttributes()),
		Error:      s.GetStatus().GetCode() == tracepb.Status_STATUS_CODE_ERROR,
		Message:    s.GetStatus().GetMessage(),
		Scope:      scope,
		Resource:   resource,
	}
	for _, e := range s.GetEvents() {
		out.Events = append(out.Events, Event{Name: e.GetName(), At: timeOf(e.GetTimeUnixNano()), Attributes: valuesOf(e.GetAttributes())})
	}
	for _, l := range s.GetLinks() {
		out.Links = append(out.Links, Link{
			Trace: hex.EncodeToString(l.GetTraceId()), ID: hex.EncodeToString(l.GetSpanId()), Attributes: valuesOf(l.GetAttributes()),
		})
	}
	return out
}

func timeOf(nanoseconds uint64) time.Time { return time.Unix(0, int64(nanoseconds)) }

func valuesOf(attributes []*commonpb.KeyValue) map[string]any {
	out := make(map[string]any, len(attributes))
	for _, a := range attributes {
		out[a.GetKey()] = valueOf(a.GetValue())
	}
	return out
}

func valueOf(v *commonpb.AnyValue) any {
	switch v := v.GetValue().(type) {
	case *commonpb.AnyValue_StringValue:
		return v.StringValue
	case *commonpb.AnyValue_IntValue:
		return v.IntValue
	case *commonpb.AnyValue_DoubleValue:
		return v.DoubleValue
	case *commonpb.AnyValue_BoolValue:
		return v.BoolValue
	case *commonpb.AnyValue_ArrayValue:
		var out []any
		for _, element := range v.ArrayValue.GetValues() {
			out = append(out, valueOf(element))
		}
		return out
	}
	return nil
}

func text(v any) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}
