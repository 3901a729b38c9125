package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// report is everything that was found.
type report struct {
	results []result
	// wrong are the entries of equivalent.txt that do not hold.
	wrong []string
	took  time.Duration
}

// excuse is one entry of equivalent.txt.
type excuse struct {
	file, condition, mutation, reason string
}

// parseExcuses reads lines of "file | condition | mutation | reason". Empty lines
// and those that begin with # are left out.
func parseExcuses(text string) ([]excuse, error) {
	var all []excuse
	for n, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		parts := strings.SplitN(line, " | ", 4)
		if len(parts) != 4 || strings.TrimSpace(parts[3]) == "" {
			return nil, fmt.Errorf("equivalent.txt:%d: not of the form file | condition | mutation | reason", n+1)
		}
		all = append(all, excuse{file: parts[0], condition: parts[1], mutation: parts[2], reason: parts[3]})
	}
	return all, nil
}

// excuse marks survivors that are listed, and finds what is listed wrongly. only,
// if not empty, is the one file that was judged.
func (r *report) excuse(all []excuse, only string) {
	for _, e := range all {
		if only != "" && e.file != only {
			continue
		}
		i := slices.IndexFunc(r.results, func(m result) bool {
			return m.File == e.file && m.Condition == e.condition && m.Mutation == e.mutation
		})
		what := e.file + ": " + e.condition + " -> " + e.mutation
		switch {
		case i < 0:
			r.wrong = append(r.wrong, what+": there is no such mutant")
		case r.results[i].Verdict != survived:
			r.wrong = append(r.wrong, what+": a test tells it from the original ("+r.results[i].By+")")
		default:
			r.results[i].Verdict, r.results[i].Reason = equivalent, e.reason
		}
	}
}

func (r *report) count(v verdict) int {
	n := 0
	for _, m := range r.results {
		if m.Verdict == v {
			n++
		}
	}
	return n
}

// Failed reports whether something is left to be done.
func (r *report) Failed() bool { return r.count(survived)+r.count(broken)+len(r.wrong) > 0 }

// Summary is one paragraph.
func (r *report) Summary() string {
	return fmt.Sprintf("%d mutants: %d killed by a wrong answer, %d by an error of the script, %d by a time-out; %d equivalent, %d that do not compile, %d survived; %v",
		len(r.results), r.count(killed), r.count(crashed), r.count(timedOut), r.count(equivalent), r.count(broken), r.count(survived),
		r.took.Round(time.Second))
}

// Text writes a table for a terminal.
func (r *report) Text(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "PLACE\tCONDITION\tMUTATION\tVERDICT\tBY\tSECONDS")
	for _, m := range r.results {
		fmt.Fprintf(table, "%s:%d\t%s\t%s\t%s\t%s%s\t%.1f\n", m.File, m.Line, m.Condition, m.Mutation, m.Verdict, m.By, m.Reason, m.Seconds)
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	text := "\n" + r.Summary() + "\n"
	for _, w := range r.wrong {
		text += "equivalent.txt: " + w + "\n"
	}
	if _, err := io.WriteString(w, text); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// JSON writes everything as one object.
func (r *report) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	err := e.Encode(struct {
		Mutants []result        `json:"mutants"`
		Counts  map[verdict]int `json:"counts"`
		Wrong   []string        `json:"wrong_entries"`
		Seconds float64         `json:"seconds"`
	}{r.results, map[verdict]int{
		killed: r.count(killed), crashed: r.count(crashed), timedOut: r.count(timedOut), equivalent: r.count(equivalent),
		broken: r.count(broken), survived: r.count(survived),
	}, r.wrong, r.took.Seconds()})
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// Markdown is the report as a document.
func (r *report) Markdown() string {
	var b strings.Builder
	b.WriteString("# Mutation check of the Lua scripts\n\nWritten by `go run ./scripts/mutate -out`, whose documentation says what is changed and how it is judged.\n\n")
	b.WriteString(r.Summary() + ".\n\n")
	for _, w := range r.wrong {
		b.WriteString("- equivalent.txt: " + w + "\n")
	}
	b.WriteString("| file | line | condition | mutation | verdict | by | seconds |\n|---|---|---|---|---|---|---|\n")
	for _, m := range r.results {
		fmt.Fprintf(&b, "| %s | %d | `%s` | `%s` | %s | %s%s | %.1f |\n", m.File, m.Line, m.Condition, m.Mutation, m.Verdict, m.By, m.Reason, m.Seconds)
	}
	return b.String()
}
