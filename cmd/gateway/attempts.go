package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/foldgate/foldgate/ownership"
)

// attemptLog counts attempts, and says why a route failed one: many run beside
// their request, whose own line cannot tell.
type attemptLog struct {
	watched

	logger *slog.Logger
}

// AttemptEnded is ownership.Observer's.
func (l attemptLog) AttemptEnded(a ownership.Attempt, p ownership.Phase, unfenced bool, d time.Duration, err error) {
	l.Telemetry.AttemptEnded(a, p, unfenced, d, err)
	var route *ownership.RouteError
	if !errors.As(err, &route) {
		return
	}
	ctx := trace.ContextWithSpanContext(context.Background(), a.Trace)
	// The class only: the text is the summarizer's.
	l.logger.LogAttrs(ctx, slog.LevelWarn, "summary failed",
		slog.String("conversation", string(a.Conversation)), slog.String("attempt", string(a.Fence.Attempt)),
		slog.String("route", a.Route.Name), slog.String("class", route.Class), slog.Float64("duration_ms", float64(d.Microseconds())/1000))
}
