// Spantree prints spans as trees, one for each trace: a viewer for those who have
// none at hand. It reads what OpenTelemetry's console exporter writes
// (OTEL_TRACES_EXPORTER=console), from the files that are named or from its input.
// Spans of several replicas go together: name all of their files.
//
//	spantree [-trace ID] [file ...]
//
// A line is a span: when it began, how long it took, its name, and the attributes
// that tell most. Below it are its events (·), its links (→) and its children.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

func main() {
	err := run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "spantree:", err)
		os.Exit(1)
	}
}

func run(args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("spantree", flag.ContinueOnError)
	flags.SetOutput(stderr)
	only := flags.String("trace", "", "show the traces only whose id begins like this")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var spans []span
	err := each(flags.Args(), stdin, func(r io.Reader) (err error) {
		spans, err = read(spans, r)
		return err
	})
	if err != nil {
		return err
	}
	return show(stdout, spans, *only)
}

// each opens the files one after another, or takes the input where none is named.
func each(names []string, stdin io.Reader, do func(io.Reader) error) error {
	if len(names) == 0 {
		return do(stdin)
	}
	for _, name := range names {
		f, err := os.Open(name) //nolint:gosec // the user names the file
		if err != nil {
			return fmt.Errorf("read spans: %w", err)
		}
		err = do(f)
		_ = f.Close() // it was only read
		if err != nil {
			return fmt.Errorf("read spans of %s: %w", name, err)
		}
	}
	return nil
}

// read adds the spans of r. The last one may be cut: its process still writes.
func read(spans []span, r io.Reader) ([]span, error) {
	for d := json.NewDecoder(r); ; {
		var s span
		switch err := d.Decode(&s); {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return spans, nil
		case err != nil:
			return spans, err
		}
		spans = append(spans, s)
	}
}

// show prints the traces in the order in which they began.
func show(w io.Writer, spans []span, only string) error {
	slices.SortStableFunc(spans, func(a, b span) int { return a.StartTime.Compare(b.StartTime) })
	t := tree{children: map[string][]span{}}
	here := map[string]bool{}
	for _, s := range spans {
		here[s.SpanContext.id()] = true
	}
	var traces []string
	for _, s := range spans {
		trace, parent := s.SpanContext.TraceID, s.Parent.id()
		if !strings.HasPrefix(trace, only) {
			continue
		}
		if !here[parent] { // the caller's, or nobody's
			parent = trace
		}
		t.children[parent] = append(t.children[parent], s)
		if !slices.Contains(traces, trace) {
			traces = append(traces, trace)
		}
	}
	for _, trace := range traces {
		t.printf("trace %s\n", trace)
		t.below(trace, 1)
	}
	_, err := io.WriteString(w, t.out.String())
	return err
}

// tree is what is printed.
type tree struct {
	children map[string][]span // by the parent's id, or by the trace's
	out      strings.Builder
}

func (t *tree) printf(format string, args ...any) { fmt.Fprintf(&t.out, format, args...) }

func (t *tree) below(parent string, depth int) {
	margin := strings.Repeat("  ", depth)
	for _, s := range t.children[parent] {
		t.printf("%s %s%s %s%s\n", clock(s.StartTime), margin, s.Name, s.EndTime.Sub(s.StartTime).Round(100*time.Microsecond), told(s.Attributes))
		for _, e := range s.Events {
			t.printf("%s %s  · %s%s\n", clock(e.Time), margin, e.Name, told(e.Attributes))
		}
		for _, l := range s.Links {
			t.printf("%12s %s  → span %s of trace %s%s\n", "", margin, l.SpanContext.SpanID, l.SpanContext.TraceID, told(l.Attributes))
		}
		t.below(s.SpanContext.id(), depth+1)
	}
}

func clock(t time.Time) string { return t.UTC().Format("15:04:05.000") }
