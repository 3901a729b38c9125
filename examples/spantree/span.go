package main

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// span is what is read of a span as the console exporter writes it.
type span struct {
	Name               string
	SpanContext        spanContext
	Parent             spanContext
	StartTime, EndTime time.Time
	Attributes         []attribute
	Events             []event
	Links              []link
}

type spanContext struct{ TraceID, SpanID string }

// id is unlike any trace's, so that both can be keys of one map.
func (c spanContext) id() string { return c.TraceID + "/" + c.SpanID }

type event struct {
	Name       string
	Time       time.Time
	Attributes []attribute
}

type link struct {
	SpanContext spanContext
	Attributes  []attribute
}

type attribute struct {
	Key   string
	Value struct{ Value json.RawMessage }
}

// shown are the attributes that are printed, in this order. The others are the
// same on every span of a kind, or told by the spans above.
func shown() []string {
	return []string{
		"foldgate.route", "foldgate.generation", "foldgate.answer", "foldgate.outcome", "foldgate.reason", "foldgate.joined", "foldgate.late",
		"foldgate.fold.kind", "foldgate.fold.reason", "foldgate.tokens.before", "foldgate.tokens.after", "foldgate.wait",
		"server.port", "http.response.status_code", "error.type",
	}
}

// told are the attributes worth telling, without their prefix.
func told(all []attribute) string {
	var out strings.Builder
	for _, key := range shown() {
		i := slices.IndexFunc(all, func(a attribute) bool { return a.Key == key })
		if i < 0 {
			continue
		}
		out.WriteString("  " + strings.TrimPrefix(key, "foldgate.") + "=" + strings.Trim(string(all[i].Value.Value), `"`))
	}
	return out.String()
}
