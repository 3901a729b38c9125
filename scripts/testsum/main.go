// Command testsum runs "go test -json" with its arguments, prints what a person
// wants to read of it, and ends with one line that counts the tests which were
// skipped because FOLDGATE_TESTDATA is not set. Its exit code is that of go test.
package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// dataVariable is the variable without which some tests are skipped.
const dataVariable = "FOLDGATE_TESTDATA"

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

func run(args []string, stdout, stderr io.Writer) int {
	// It ends with go test; an interrupt reaches both.
	cmd := exec.CommandContext(context.Background(), "go", append([]string{"test", "-json"}, args...)...) //nolint:gosec // the arguments are the caller's own
	cmd.Stderr = stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		fmt.Fprintf(stderr, "testsum: %v\n", err)
		return 1
	}
	if err := cmd.Start(); err != nil {
		fmt.Fprintf(stderr, "testsum: run go test: %v\n", err)
		return 1
	}
	s := newSummary(stdout)
	readErr := s.read(out)
	err = cmd.Wait()
	s.finish()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return exit.ExitCode()
	case cmp.Or(err, readErr) != nil:
		fmt.Fprintf(stderr, "testsum: %v\n", cmp.Or(err, readErr))
		return 1
	}
	return 0
}

// event is one line of go test -json.
type event struct {
	Action     string
	Package    string
	ImportPath string // of a build-output
	Test       string
	Elapsed    float64
	Output     string
}

// summary turns events into text.
type summary struct {
	out io.Writer
	// output is what each test wrote so far, by package and test; the package's own
	// output is that of the empty test.
	output  map[string]map[string]*strings.Builder
	forData int
	others  map[string]int // skipped for another reason, by package and reason
	failed  int
}

func newSummary(out io.Writer) *summary {
	return &summary{out: out, output: map[string]map[string]*strings.Builder{}, others: map[string]int{}}
}

// read takes in all events. A line that is no event is printed as it is.
func (s *summary) read(r io.Reader) error {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) == nil && e.Action != "" {
				s.take(e)
			} else {
				_, _ = s.out.Write(line) // as much as can be told
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the events: %w", err)
		}
	}
}

func (s *summary) take(e event) {
	switch e.Action {
	case "build-output":
		fmt.Fprint(s.out, e.Output)
	case "output":
		s.of(e).WriteString(e.Output)
	case "pass", "skip", "fail":
		if e.Test == "" {
			s.packageDone(e)
			return
		}
		s.testDone(e)
	}
}

func (s *summary) of(e event) *strings.Builder {
	tests := s.output[e.Package]
	if tests == nil {
		tests = map[string]*strings.Builder{}
		s.output[e.Package] = tests
	}
	if tests[e.Test] == nil {
		tests[e.Test] = &strings.Builder{}
	}
	return tests[e.Test]
}

// testDone prints a failure at once and forgets what passed.
func (s *summary) testDone(e event) {
	text := s.of(e).String()
	delete(s.output[e.Package], e.Test)
	switch e.Action {
	case "fail":
		s.failed++
		fmt.Fprint(s.out, text)
	case "skip":
		if strings.Contains(text, dataVariable) {
			s.forData++
			return
		}
		s.others[e.Package+": "+reasonOf(text)]++
	}
}

// packageDone prints a package's result and, where it failed, what is left of
// its output: that of tests which never ended, such as after a panic.
func (s *summary) packageDone(e event) {
	tests := s.output[e.Package]
	delete(s.output, e.Package)
	if e.Action == "fail" {
		for _, name := range slices.Sorted(maps.Keys(tests)) {
			fmt.Fprint(s.out, tests[name].String())
		}
		return // the package's own output ends with go test's FAIL line
	}
	if own := tests[""]; own != nil {
		lines := strings.Split(strings.TrimSpace(own.String()), "\n")
		fmt.Fprintln(s.out, lines[len(lines)-1])
	}
}

// finish prints the skips, and last the one line that counts those for want of
// the test data.
func (s *summary) finish() {
	for _, why := range slices.Sorted(maps.Keys(s.others)) {
		fmt.Fprintf(s.out, "skipped: %d in %s\n", s.others[why], why)
	}
	if s.failed > 0 {
		fmt.Fprintf(s.out, "failed: %d\n", s.failed)
	}
	fmt.Fprintf(s.out, "skipped for want of %s: %d\n", dataVariable, s.forData)
}

// reasonOf is what a skipped test said last, without file and line.
func reasonOf(text string) string {
	reason := "no reason given"
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if _, said, found := strings.Cut(line, ": "); found && !strings.HasPrefix(line, "--- ") && !strings.HasPrefix(line, "=== ") {
			reason = said
		}
	}
	return reason
}
