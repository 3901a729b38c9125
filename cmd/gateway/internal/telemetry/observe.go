package telemetry

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/foldgate/foldgate/internal/semconv"
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
	key := foldKey{kind: known(r.Kind, kinds()), reason: known(r.Reason, reasons())}
	t.folds.Add(ctx, 1, t.foldLabels.of(key, foldKey.labels).add...)
	if r.Retried {
		t.retries.Add(ctx, 1)
	}
	if r.Wait > 0 {
		t.wait.Record(ctx, r.Wait.Seconds())
	}
	t.added.Record(ctx, r.Added.Seconds())
	if r.Before > 0 && r.Window > 0 {
		t.share.Record(ctx, float64(r.Before)/float64(r.Window))
	}
	if r.After <= 0 || r.Before <= r.After {
		return
	}
	switch saved := int64(r.Before - r.After); {
	case folded(r.Kind):
		t.saved.Add(ctx, saved)
	case r.Reason == reasonObserved:
		t.savable.Add(ctx, saved)
	}
}

// foldKey is what the labels of a chat request are made from.
type foldKey struct{ kind, reason string }

func (k foldKey) labels() []attribute.KeyValue {
	return []attribute.KeyValue{semconv.LabelKind.String(k.kind), semconv.LabelReason.String(k.reason)}
}

// reasonObserved is the reason of a request in mode observe.
const reasonObserved = "mode"

// SummaryDone adds up what one summary call cost, and times it. Tokens that we
// counted ourselves are in our own metric alone: the conventions' are the server's.
func (t *Telemetry) SummaryDone(r middleware.SummaryReport) {
	ctx := context.Background()
	t.summary.Add(ctx, int64(max(r.Input, 0)), metric.WithAttributes(semconv.LabelDirection.String("input")))
	t.summary.Add(ctx, int64(max(r.Output, 0)), metric.WithAttributes(semconv.LabelDirection.String("output")))

	labels := append(make([]attribute.KeyValue, 0, 7),
		semconv.KeyGenAIOperation.String(semconv.OperationChat),
		semconv.KeyGenAIProvider.String(semconv.Provider(r.Address)),
		semconv.KeyServerAddress.String(r.Address),
		semconv.KeyServerPort.Int(r.Port),
	)
	if r.Model != "" {
		labels = append(labels, semconv.KeyGenAIRequestModel.String(r.Model))
	}
	same := slices.Clip(labels)
	if r.FirstText > 0 {
		t.genAIFirstChunk.Record(ctx, r.FirstText.Seconds(), metric.WithAttributes(same...))
	}
	modality, input, output := semconv.ModalityUnknown, 0, 0
	if r.Reported {
		modality, input, output = semconv.ModalityText, r.Input, r.Output
	}
	spent := metric.WithAttributes(append(same, semconv.KeyGenAITokenModality.String(modality))...)
	t.genAIInput.Add(ctx, int64(max(input, 0)), spent)
	t.genAIOutput.Add(ctx, int64(max(output, 0)), spent)
	if r.ErrorType != "" {
		same = append(same, semconv.KeyErrorType.String(callError(r.ErrorType)))
	}
	t.genAIDuration.Record(ctx, r.Duration.Seconds(), metric.WithAttributes(same...))
}

// callError keeps error.type of a summary call within its lists.
func callError(word string) string {
	status, err := strconv.Atoi(word)
	if err == nil && slices.Contains(statuses(), status) || slices.Contains(callErrors(), word) {
		return word
	}
	return semconv.ErrorOther
}

// callErrors are those that are no status; see middleware.SummaryReport.
func callErrors() []string {
	return []string{"error_in_answer", "cut", "empty", "too_long", "malformed", "connection_error", "stalled", "canceled"}
}

// AttemptStarted counts an attempt that works.
func (t *Telemetry) AttemptStarted(ownership.Attempt) { t.running.Add(context.Background(), 1) }

// AttemptEnded counts an attempt that ended.
func (t *Telemetry) AttemptEnded(_ ownership.Attempt, p ownership.Phase, unfenced bool, d time.Duration, _ error) {
	ctx := context.Background()
	t.running.Add(ctx, -1)
	by := metric.WithAttributes(semconv.LabelOutcome.String(known(ownership.OutcomeOf(p, unfenced), outcomes())))
	t.attempts.Add(ctx, 1, by)
	t.duration.Record(ctx, d.Seconds(), by)
}

// Refused counts a write that the store refused by its fence.
func (t *Telemetry) Refused(operation string, err error) {
	t.refusals.Add(context.Background(), 1, metric.WithAttributes(
		semconv.LabelOperation.String(known(operation, operations())), semconv.LabelAnswer.String(AnswerOf(err))))
}

// AnswerOf is how the metrics name a refusal by the fence: superseded, lost, ended
// or other.
func AnswerOf(err error) string {
	switch {
	case errors.Is(err, ownership.ErrSuperseded):
		return "superseded"
	case errors.Is(err, ownership.ErrLost):
		return "lost"
	case errors.Is(err, ownership.ErrEnded), errors.Is(err, ownership.ErrNotCurrent):
		return "ended"
	}
	return other
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
		semconv.LabelOperation.String(known(operation, operations())), semconv.LabelKind.String(kind)))
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
	return []string{"committed", "ineffective", "failed", "cancelled", "abandoned", "superseded", "lost", "unfenced"}
}

func operations() []string {
	return []string{"read", "claim", "renew", "commit", "settle", "restore", "finish", "raise", "clear", "restoreoperator", "forget", "learned_load", "learned_save"}
}
