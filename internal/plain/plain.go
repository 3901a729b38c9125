package plain

import (
	"bytes"
	"context"
	"log"
	"log/slog"
	"strings"
)

// Error is the text of err as far as no peer wrote it; empty for nil. It suits
// errors of net/http, whose own texts come first.
func Error(err error) string {
	if err == nil {
		return ""
	}
	return Text(err.Error())
}

// Text is text up to what it quotes. After "malformed" the library also quotes
// without marks.
func Text(text string) string {
	const broken = "malformed"
	if i := strings.Index(text, broken); i >= 0 {
		text = text[:i+len(broken)]
	}
	text, _, _ = strings.Cut(text, `"`)
	return strings.TrimRight(text, " :=")
}

// Logger is for a library that wants one of package log: each line goes to l at
// level, as Text.
func Logger(l *slog.Logger, level slog.Level) *log.Logger {
	return log.New(writer{l, level}, "", 0)
}

// Standard sends what libraries print with the standard logger to l, at debug. The
// process has one such logger, so this is for main.
func Standard(l *slog.Logger) {
	log.SetFlags(0)
	log.SetOutput(writer{l, slog.LevelDebug})
}

type writer struct {
	log   *slog.Logger
	level slog.Level
}

// Write takes one line.
func (w writer) Write(p []byte) (int, error) {
	w.log.Log(context.Background(), w.level, Text(string(bytes.TrimRight(p, "\n")))) //nolint:sloglint // the message is the library's
	return len(p), nil
}
