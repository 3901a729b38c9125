package telemetry

import (
	"io"
	"log/slog"
	"os"
)

// Format is how log lines are written.
type Format string

// The formats. Auto is text on a terminal, else JSON.
const (
	Auto Format = "auto"
	Text Format = "text"
	JSON Format = "json"
)

// NewLogger makes the program's logger. It writes to w at level and above.
func NewLogger(w io.Writer, f Format, level slog.Leveler) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
	if f == Text || f == Auto && terminal(w) {
		return slog.New(slog.NewTextHandler(w, options))
	}
	return slog.New(slog.NewJSONHandler(w, options))
}

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
