package main

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// alone is a part of the gateway measured by itself, by its benchmark.
type alone struct {
	what      string
	pkg       string // below compression
	benchmark string // its name, as go test prints it
	most      time.Duration
	least     float64 // MB/s; either this or most is the target
}

// allAlone are the parts that have a target of their own. A megabyte here is 2^20
// bytes of messages or text, a MB/s is 10^6 bytes.
func allAlone() []alone {
	rows := []alone{
		{what: "a fold without a model, 1 MB, nothing seen before", pkg: ".", benchmark: "BenchmarkDeterministic1MB/cold", most: 250 * time.Millisecond},
		{what: "a fold without a model, 1 MB, all but the last messages seen before", pkg: ".", benchmark: "BenchmarkDeterministic1MB/warm", most: 40 * time.Millisecond},
		{what: "reading a body and finding its messages, 1 MB", pkg: "chat", benchmark: "BenchmarkParse/1MB", least: 300},
		{what: "replacing half of 1 MB", pkg: "chat", benchmark: "BenchmarkSplice", least: 300},
		{what: "canonical digests, 1 MB", pkg: "chat", benchmark: "BenchmarkCanonical", least: 500},
	}
	for _, worst := range []string{"one letter", "spaces", "emoji", "random letters", "Han"} {
		rows = append(rows, alone{
			what: "counting 1 MB of the worst: " + worst, pkg: "tokens",
			benchmark: "BenchmarkCount/worst_" + strings.ReplaceAll(worst, " ", "_"), most: 500 * time.Millisecond,
		})
	}
	return rows
}

// aloneProgram is the benchmarks of a package as a program.
func aloneProgram(o *options, pkg string) string {
	return filepath.Join(o.tools, "alone-"+strings.ReplaceAll(pkg, ".", "compression")+".test")
}

// buildAlone builds what partAlone runs.
func buildAlone(o *options, root string) error {
	built := map[string]bool{}
	for _, a := range allAlone() {
		if built[a.pkg] {
			continue
		}
		built[a.pkg] = true
		err := build(root, nil, "go", "test", "-c", "-trimpath", "-o", aloneProgram(o, a.pkg), "./"+filepath.Join("compression", a.pkg))
		if err != nil {
			return err
		}
	}
	return nil
}

// partAlone runs single benchmarks, each several times.
func (b *bench) partAlone() (string, error) {
	var t strings.Builder
	t.WriteString("| | measured | target | |\n|---|---|---|---|\n")
	for _, a := range allAlone() {
		b.say("  %s", a.what)
		perOp, err := b.runAlone(a)
		if err != nil {
			return "", err
		}
		if a.least > 0 {
			rates := make([]float64, len(perOp))
			for i, f := range perOp {
				rates[i] = f.rate
			}
			box := boxOf(rates)
			fmt.Fprintf(&t, "| %s | %s MB/s | ≥ %.0f MB/s | %s |\n", a.what, box, a.least, b.judged(atLeast(box, a.least)))
			continue
		}
		times := make([]float64, len(perOp))
		for i, f := range perOp {
			times[i] = f.nanos / 1e6
		}
		box := boxOf(times)
		fmt.Fprintf(&t, "| %s | %s ms | ≤ %d ms | %s |\n", a.what, box, a.most.Milliseconds(), b.judged(atMost(box, float64(a.most.Milliseconds()))))
	}
	return t.String(), nil
}

// figure is one line of a benchmark.
type figure struct{ nanos, rate float64 }

var errNoFigure = errors.New("the benchmark printed no figure")

var figureLine = regexp.MustCompile(`(?m)^Benchmark\S+\s+\d+\s+([\d.]+) ns/op(?:\s+([\d.]+) MB/s)?`)

func (b *bench) runAlone(a alone) ([]figure, error) {
	var exact []string
	for part := range strings.SplitSeq(a.benchmark, "/") {
		exact = append(exact, "^"+regexp.QuoteMeta(part)+"$")
	}
	cmd := exec.CommandContext(b.ctx, aloneProgram(b.o, a.pkg), "-test.run", "^$", //nolint:gosec // built by buildAlone
		"-test.bench", strings.Join(exact, "/"), "-test.count", strconv.Itoa(b.of(3, 9)), "-test.benchtime", "300ms")
	cmd.Dir = filepath.Join("compression", a.pkg)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", a.benchmark, err, lastLine(out))
	}
	var figures []figure
	for _, m := range figureLine.FindAllStringSubmatch(string(out), -1) {
		nanos, err1 := strconv.ParseFloat(m[1], 64)
		rate, err2 := strconv.ParseFloat(m[2], 64)
		if err1 != nil || a.least > 0 && err2 != nil {
			return nil, fmt.Errorf("%s: %w", a.benchmark, errNoFigure)
		}
		figures = append(figures, figure{nanos, rate})
	}
	if len(figures) == 0 || slices.ContainsFunc(figures, func(f figure) bool { return f.nanos <= 0 }) {
		return nil, fmt.Errorf("%s: %w", a.benchmark, errNoFigure)
	}
	return figures, nil
}
