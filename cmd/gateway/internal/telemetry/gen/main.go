// Command gen writes the table of metrics in docs/operating.md from the catalog of
// instruments. "make docs" runs it; its test fails where the table is not what it
// would write.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/foldgate/foldgate/cmd/gateway/internal/telemetry"
)

func main() { os.Exit(run(os.Args[1:], os.Stderr)) }

// run returns the exit code.
func run(args []string, stderr io.Writer) int {
	set := flag.NewFlagSet("gen", flag.ContinueOnError)
	set.SetOutput(stderr)
	page := set.String("page", "docs/operating.md", "page to write into")
	if err := set.Parse(args); err != nil {
		return 2
	}
	if err := write(*page); err != nil {
		fmt.Fprintln(stderr, "gen:", err)
		return 1
	}
	return 0
}

func write(page string) error {
	old, err := os.ReadFile(page) //nolint:gosec // whoever runs this names the page
	if err != nil {
		return err
	}
	renewed, err := renew(old, table(telemetry.Instruments()))
	if err != nil {
		return fmt.Errorf("%s: %w", page, err)
	}
	return os.WriteFile(page, renewed, 0o644) //nolint:gosec // a page of the documentation is for everybody
}

// The table stands between these.
const (
	begin = "<!-- metrics: begin -->\n"
	end   = "<!-- metrics: end -->\n"
)

// renew puts the table into the page.
func renew(page []byte, table string) ([]byte, error) {
	before, rest, ok := bytes.Cut(page, []byte(begin))
	_, after, closed := bytes.Cut(rest, []byte(end))
	if !ok || !closed {
		return nil, errors.New("there is no place for the table")
	}
	return joined(before, []byte(begin), []byte(table), []byte(end), after), nil
}

func joined(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// table is the list of all instruments.
func table(all []telemetry.Instrument) string {
	var t strings.Builder
	t.WriteString("| metric | kind, unit | labels | series | |\n|---|---|---|---|---|\n")
	for _, i := range all {
		var labels []string
		for _, l := range i.Labels {
			labels = append(labels, "`"+labelName(string(l.Key))+"`")
		}
		series := strconv.Itoa(i.Series())
		if i.PerRoute {
			series += " for each route"
		}
		fmt.Fprintf(&t, "| `%s` | %s | %s | %s | %s |\n", i.Prometheus(), kindOf(i), strings.Join(labels, ", "), series, i.About)
	}
	return t.String()
}

// labelName is the label as Prometheus shows it.
func labelName(key string) string { return strings.ReplaceAll(key, ".", "_") }

func kindOf(i telemetry.Instrument) string {
	kind := string(i.Kind)
	if i.Kind == telemetry.UpDown {
		kind = "gauge" // as Prometheus sees it
	}
	switch unit := i.Unit; {
	case unit == "s":
		return kind + ", seconds"
	case unit == "By":
		return kind + ", bytes"
	case unit == "" || unit == "1":
		return kind
	default:
		return kind + ", " + strings.Trim(unit, "{}") + "s"
	}
}
