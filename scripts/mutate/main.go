// Command mutate shows that every comparison in the Lua files of redisstore is
// held by a test: it breaks one after the other and wants a test to fail each
// time.
//
//	go run ./scripts/mutate [-file claim.lua] [-workers 1] [-timeout 60s] [-json] [-out report.md] [-v]
//
// # What is changed
//
// One place at a time, in every file of redisstore/scripts, the prelude included:
//
//   - the condition of each if and elseif becomes true, then false;
//   - the condition of each while becomes false (true would never end);
//   - each operand of and and or inside such a condition is dropped, at any depth
//     of parentheses: what remains decides alone;
//   - each comparison that stands elsewhere, in a value, an argument or a function's
//     result, and each check of an argument (a call of is_…) becomes true, then
//     false.
//
// # How it is judged
//
// The test program of redisstore is built once. An overlay makes it read the
// scripts from a folder instead of those embedded, so a mutant costs no build and
// the checkout is only read. The unchanged scripts must pass first. Then each
// mutant goes through the tests in stages, the fastest first, up to the first
// failure. That test runs a second time, alone: a mutant is killed only if it
// fails again, so that a busy machine kills none. Random tests run from a fixed
// seed; the last stage is the only one that has any, so a mutant that only they
// kill shows it. Counted apart are scripts that the tests found stopped by an error
// of Lua, and tests that did not end in time: killed, too. A script that Redis
// cannot compile proves nothing and counts as a fault of this program.
//
// # What comes of it
//
// A line for each mutant and a summary. equivalent.txt lists mutants that no test
// can tell from the original, each with the reason; one that is killed after all,
// or that no longer exists, is reported. Exit code 0: every mutant was killed or
// is listed. 1: there are survivors, scripts that do not compile, or entries of
// the list that do not hold. 2: it could not be judged.
package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

//go:embed equivalent.txt
var equivalents string

// maxWorkers keeps the servers that tests start from crowding each other out.
const maxWorkers = 2

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// options are the flags.
type options struct {
	file    string
	workers int
	timeout time.Duration
	asJSON  bool
	out     string
	verbose bool
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var o options
	flags := flag.NewFlagSet("mutate", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.file, "file", "", "only this file of redisstore/scripts")
	flags.IntVar(&o.workers, "workers", 1, "mutants at once, at most 2")
	flags.DurationVar(&o.timeout, "timeout", time.Minute, "the longest that one stage of tests may take")
	flags.BoolVar(&o.asJSON, "json", false, "print the report as JSON")
	flags.StringVar(&o.out, "out", "", "also write the report to this file, as Markdown")
	flags.BoolVar(&o.verbose, "v", false, "say on stderr what each killing test wrote")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	if flags.NArg() > 0 || o.workers < 1 || o.workers > maxWorkers || o.timeout <= 0 {
		fmt.Fprintln(stderr, "mutate: wrong usage; mutate -h lists the flags")
		return 2
	}
	report, err := mutate(ctx, o, stderr)
	if err == nil {
		err = publish(report, o, stdout)
	}
	if err != nil {
		fmt.Fprintf(stderr, "mutate: %v\n", err)
		return 2
	}
	if report.Failed() {
		return 1
	}
	return 0
}

func publish(r *report, o options, stdout io.Writer) error {
	if o.out != "" {
		if err := os.WriteFile(o.out, []byte(r.Markdown()), 0o644); err != nil { //nolint:gosec // a report is for everybody to read
			return fmt.Errorf("write the report: %w", err)
		}
	}
	if o.asJSON {
		return r.JSON(stdout)
	}
	return r.Text(stdout)
}

// mutate makes the mutants and judges them.
func mutate(ctx context.Context, o options, progress io.Writer) (*report, error) {
	began := time.Now()
	module, err := moduleRoot(ctx)
	if err != nil {
		return nil, err
	}
	scripts, err := readScripts(filepath.Join(module, "redisstore", "scripts"))
	if err != nil {
		return nil, err
	}
	mutants, err := allMutants(scripts, o.file)
	if err != nil {
		return nil, err
	}
	excuses, err := parseExcuses(equivalents)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "mutate-")
	if err != nil {
		return nil, fmt.Errorf("make a folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	fmt.Fprintf(progress, "%d mutants; building the tests\n", len(mutants))
	j, err := newJudge(ctx, module, dir, scripts, o.timeout)
	if err != nil {
		return nil, err
	}
	fmt.Fprintln(progress, "the unchanged scripts")
	if err := j.acquit(ctx); err != nil {
		return nil, err
	}
	r := &report{results: make([]result, len(mutants)), wrong: []string{}}
	if err := judgeAll(ctx, j, mutants, r.results, o, progress); err != nil {
		return nil, err
	}
	r.excuse(excuses, o.file)
	r.took = time.Since(began)
	return r, nil
}

// judgeAll fills results, in the order of mutants.
func judgeAll(ctx context.Context, j *judge, mutants []mutant, results []result, o options, progress io.Writer) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan int)
	var wait sync.WaitGroup
	var mu sync.Mutex
	judged := 0
	for range o.workers {
		wait.Go(func() {
			for i := range next {
				got, err := j.try(ctx, mutants[i])
				if err != nil {
					cancel(err)
					continue
				}
				results[i] = got
				mu.Lock()
				judged++
				fmt.Fprintf(progress, "%d/%d %s:%d %s -> %s: %s %s (%.1fs)\n", judged, len(mutants),
					got.File, got.Line, got.Condition, got.Mutation, got.Verdict, got.By, got.Seconds)
				if o.verbose && got.output != "" {
					fmt.Fprintln(progress, got.output)
				}
				mu.Unlock()
			}
		})
	}
	for i := range mutants {
		select {
		case next <- i:
		case <-ctx.Done():
		}
	}
	close(next)
	wait.Wait()
	return context.Cause(ctx)
}
