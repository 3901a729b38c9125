package telemetry

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/foldgate/foldgate/middleware"
	"github.com/foldgate/foldgate/ownership"
)

var (
	_ middleware.Observer = (*Telemetry)(nil)
	_ ownership.Observer  = (*Telemetry)(nil)
)

const other = "other"

// ChatDone counts one chat request.
func (t *Telemetry) ChatDone(r middleware.Report) {
	ctx := context.Background() // no request is left to take one from
	t.folds.Add(ctx, 1, metric.WithAttributes(
		attribute.String("kind", known(r.Kind, kinds())),
		attribute.String("reason", known(r.Reason, reasons())),
	))
	if r.Retried {
		t.retries.Add(ctx, 1)
	}
	if r.Wait > 0 {
		t.wait.Record(ctx, r.Wait.Seconds())
	}
	t.added.Record(ctx, r.Added.Seconds())
	if folded(r.Kind) && r.After > 0 && r.Before > r.After {
		t.saved.Add(ctx, int64(r.Before-r.After))
	}
}

// SummaryDone adds up what one summary call cost.
func (t *Telemetry) SummaryDone(r middleware.SummaryReport) {
	ctx := context.Background()
	t.summary.Add(ctx, int64(max(r.Input, 0)), metric.WithAttributes(attribute.String("direction", "input")))
	t.summary.Add(ctx, int64(max(r.Output, 0)), metric.WithAttributes(attribute.String("direction", "output")))
}

// AttemptStarted counts an attempt that works.
func (t *Telemetry) AttemptStarted(ownership.Attempt) { t.running.Add(context.Background(), 1) }

// AttemptEnded counts an attempt that ended.
func (t *Telemetry) AttemptEnded(_ ownership.Attempt, p ownership.Phase, unfenced bool, d time.Duration, _ error) {
	ctx := context.Background()
	t.running.Add(ctx, -1)
	outcome := known(string(p), outcomes())
	if unfenced && p == ownership.Committed {
		outcome = "unfenced"
	}
	by := metric.WithAttributes(attribute.String("outcome", outcome))
	t.attempts.Add(ctx, 1, by)
	t.duration.Record(ctx, d.Seconds(), by)
}

// Refused counts a write that the store refused by its fence.
func (t *Telemetry) Refused(operation string, err error) {
	answer := other
	switch {
	case errors.Is(err, ownership.ErrSuperseded):
		answer = "superseded"
	case errors.Is(err, ownership.ErrLost):
		answer = "lost"
	case errors.Is(err, ownership.ErrEnded), errors.Is(err, ownership.ErrNotCurrent):
		answer = "ended"
	}
	t.refusals.Add(context.Background(), 1, metric.WithAttributes(
		attribute.String("operation", known(operation, operations())), attribute.String("answer", answer)))
}

// StoreError counts a store call that failed.
func (t *Telemetry) StoreError(operation string, err error) {
	kind := other
	switch {
	case errors.Is(err, ownership.ErrUnavailable):
		kind = "unavailable"
	case errors.Is(err, ownership.ErrIndeterminate):
		kind = "indeterminate"
	}
	t.storeErrors.Add(context.Background(), 1, metric.WithAttributes(
		attribute.String("operation", known(operation, operations())), attribute.String("kind", kind)))
}

// known keeps a label within its list of values. An empty value is one of them
// and shows as "none".
func known(value string, values []string) string {
	if value == "" {
		return "none"
	}
	for _, v := range values {
		if v == value {
			return v
		}
	}
	return other
}

// folded reports whether what was forwarded is the fold.
func folded(kind string) bool {
	switch kind {
	case "reused", "committed", "unfenced", "fallback":
		return true
	}
	return false
}

func kinds() []string {
	return []string{"none", "reused", "committed", "unfenced", "fallback", "unfit", "bypassed", "pending"}
}

func reasons() []string {
	return []string{
		"under", "fits", "unknown-window", "busy", "cooling", "blocked", "timeout", "full", "store", "routes",
		"cancelled", "too-large", "native", "encoding", "duplicate-key", "not-chat", "superseded", "lost",
		"ineffective", "mode", "caller",
	}
}

func outcomes() []string {
	return []string{"committed", "ineffective", "failed", "cancelled", "abandoned", "superseded", "lost"}
}

func operations() []string {
	return []string{"read", "claim", "renew", "commit", "settle", "restore", "finish", "raise", "clear", "restoreoperator", "forget", "learned_load", "learned_save"}
}
