package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"

	"github.com/foldgate/foldgate/cmd/gateway/internal/config"
	"github.com/foldgate/foldgate/compression"
	"github.com/foldgate/foldgate/compression/window"
	"github.com/foldgate/foldgate/middleware"
)

// fold is the dry run: request body in, folded body out, report on stderr.
func (p program) fold(_ context.Context, args []string) int {
	loaded, code, ok := p.load("fold", config.ForTools, args)
	if !ok {
		return code
	}
	if len(loaded.Args) > 1 {
		return p.misused("fold", fmt.Sprintf("unexpected argument %q: one file at a time", loaded.Args[1]))
	}
	body, err := p.readRequest(loaded)
	if err != nil {
		fmt.Fprintf(p.stderr, "gateway fold: %v\n", err)
		return exitFailed
	}
	book, err := bookOf(loaded.Config)
	if err != nil {
		fmt.Fprintf(p.stderr, "gateway fold: %v\n", err)
		return exitUsage
	}
	report, err := middleware.DryRun(book, settingsOf(loaded.Config), body)
	if errors.Is(err, middleware.ErrUnknownWindow) {
		fmt.Fprintf(p.stderr, "gateway fold: the window of model %q is not known: name it with --window TOTAL\n", report.Model)
		return exitUsage
	}
	if err != nil {
		fmt.Fprintf(p.stderr, "gateway fold: %v\n", err)
		return exitFailed
	}
	printReport(p.stderr, report)
	if _, err := p.stdout.Write(report.Body); err != nil {
		fmt.Fprintf(p.stderr, "gateway fold: write the request: %v\n", err)
		return exitFailed
	}
	return exitOK
}

// readRequest reads the named file, or stdin where there is none or "-".
func (p program) readRequest(loaded config.Loaded) ([]byte, error) {
	in := p.stdin
	if len(loaded.Args) == 1 && loaded.Args[0] != "-" {
		f, err := os.Open(loaded.Args[0])
		if err != nil {
			return nil, fmt.Errorf("read the request: %w", err)
		}
		defer f.Close()
		in = f
	}
	body, err := io.ReadAll(io.LimitReader(in, loaded.BodyLimit+1))
	if err != nil {
		return nil, fmt.Errorf("read the request: %w", err)
	}
	if int64(len(body)) > loaded.BodyLimit {
		return nil, fmt.Errorf("read the request: over body_limit, %d bytes", loaded.BodyLimit)
	}
	return body, nil
}

func bookOf(c config.Config) (*window.Book, error) {
	book, err := window.NewBook(windowsOf(c))
	if err != nil {
		return nil, fmt.Errorf("read the windows: %w", err)
	}
	return book, nil
}

func printReport(w io.Writer, r middleware.DryRunReport) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) { fmt.Fprintf(t, name+"\t"+format+"\n", args...) }
	row("fold", "%s%s", r.Kind, because(r.Reason))
	row("model", "%s", r.Model)
	row("window", "%d (%s), usable %d, trigger %d", r.Limits.Total, r.Limits.Source, r.Usable, r.Trigger)
	row("tokens", "%d before, %d after", r.Before, r.After)
	row("messages", "%d, of them %d at the head, %d folded, %d shrunk", r.Messages, r.Head, r.Covered, r.Shrunk)
	_ = t.Flush() // nothing is left to tell where this fails
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return " (" + reason + ")"
}

// foldShape is the dry run as the admin plane answers it.
type foldShape struct {
	Kind     string        `json:"kind"`
	Reason   string        `json:"reason"`
	Model    string        `json:"model"`
	Before   window.Tokens `json:"before"`
	After    window.Tokens `json:"after"`
	Window   window.Tokens `json:"window"`
	Source   window.Source `json:"source"`
	Usable   window.Tokens `json:"usable"`
	Trigger  window.Tokens `json:"trigger"`
	Messages int           `json:"messages"`
	Head     int           `json:"head"`
	Covered  int           `json:"covered"`
	Shrunk   int           `json:"shrunk"`
	Recalled int           `json:"recalled"`
	// TookMS is how long the fold took here, in milliseconds.
	TookMS float64 `json:"took_ms"`
	// Outline says what became of each message.
	Outline outlineShape `json:"outline"`
	// Body is the request as it would be forwarded. It is a text, not an object,
	// so that what is not replaced stays byte for byte.
	Body string `json:"body"`
}

func showFold(original []byte, r middleware.DryRunReport, took time.Duration) foldShape {
	return foldShape{
		Kind: r.Kind, Reason: r.Reason, Model: r.Model, Before: r.Before, After: r.After,
		Window: r.Limits.Total, Source: r.Limits.Source, Usable: r.Usable, Trigger: r.Trigger,
		Messages: r.Messages, Head: r.Head, Covered: r.Covered, Shrunk: r.Shrunk, Recalled: r.Recalled,
		TookMS: float64(took.Microseconds()) / 1000, Outline: outlineOf(original, r), Body: string(r.Body),
	}
}

// foldProblem is the field at fault of a request that cannot be folded.
func foldProblem(err error) string {
	var unfit *compression.UnfitError
	switch {
	case errors.Is(err, middleware.ErrUnknownWindow):
		return "window"
	case errors.As(err, &unfit):
		return "messages"
	}
	return ""
}
