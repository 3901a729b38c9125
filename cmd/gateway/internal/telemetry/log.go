package telemetry

import (
	"context"
	"io"
	"log/slog"
	"os"

	"go.opentelemetry.io/otel/trace"
)

// Format is how log lines are written.
type Format string

// The formats. Auto is text on a terminal, else JSON.
const (
	Auto Format = "auto"
	Text Format = "text"
	JSON Format = "json"
)

// NewLogger makes the program's logger. It writes to w at level and above. A line
// that is written in the context of a span names it, as trace_id and span_id.
func NewLogger(w io.Writer, f Format, level slog.Leveler) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
	if f == Text || f == Auto && terminal(w) {
		return slog.New(traced{slog.NewTextHandler(w, options)})
	}
	return slog.New(traced{slog.NewJSONHandler(w, options)})
}

// traced adds the ids of the span in a record's context, sampled or not: the
// caller may know more of the trace.
type traced struct{ slog.Handler }

// Handle is slog.Handler's.
func (h traced) Handle(ctx context.Context, r slog.Record) error {
	if span := trace.SpanContextFromContext(ctx); span.IsValid() {
		r = r.Clone()
		r.AddAttrs(slog.String("trace_id", span.TraceID().String()), slog.String("span_id", span.SpanID().String()))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs is slog.Handler's.
func (h traced) WithAttrs(attrs []slog.Attr) slog.Handler { return traced{h.Handler.WithAttrs(attrs)} }

// WithGroup is slog.Handler's.
func (h traced) WithGroup(name string) slog.Handler { return traced{h.Handler.WithGroup(name)} }

// terminal reports whether w is a character device, such as a terminal. What is
// no file is none.
func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
