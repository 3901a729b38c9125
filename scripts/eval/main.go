package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/foldgate/foldgate/compression"
)

// Exit codes.
const (
	exitOK     = 0
	exitBroken = 1 // -check: a hard rule is; or measuring went wrong
	exitUsage  = 2 // no data, or a flag that is none
)

// options are what the command line says.
type options struct {
	shares shares
	check  bool
	quick  bool
	only   string
	out    string
	later  string
}

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	var o options
	flags := flag.NewFlagSet("eval", flag.ContinueOnError)
	flags.SetOutput(stderr)
	o.shares.flags(flags)
	flags.BoolVar(&o.check, "check", false, "exit with 1 where a fold invented, broke a rule or was too large")
	flags.BoolVar(&o.quick, "quick", false, "measure recall alone")
	flags.StringVar(&o.only, "only", "", "measure only files whose name begins so")
	flags.StringVar(&o.out, "o", "", "write the tables into this file, between its two marks, instead of printing them")
	flags.StringVar(&o.later, "later", "", "print what later.txt should hold, from the whole recording in this file")
	if flags.Parse(args) != nil {
		return exitUsage
	}
	if flags.NArg() > 0 {
		fmt.Fprintf(stderr, "eval: unexpected argument %q\n", flags.Arg(0))
		return exitUsage
	}
	memo := compression.NewMemo(memoEntries)
	files, err := load(dataFolder(), memo)
	if err != nil {
		fmt.Fprintf(stderr, "eval: %v; FOLDGATE_TESTDATA names the folder of recordings\n", err)
		return exitUsage
	}
	if err := evaluate(o, files, memo, stdout); err != nil {
		fmt.Fprintf(stderr, "eval: %v\n", err)
		return exitBroken
	}
	return exitOK
}

// dataFolder is where the recordings are.
func dataFolder() string {
	if dir := os.Getenv("FOLDGATE_TESTDATA"); dir != "" {
		return dir
	}
	return filepath.Join("..", "shared", "testdata")
}

// evaluate measures the files and writes what comes of it.
func evaluate(o options, files []*file, memo *compression.Memo, stdout io.Writer) error {
	if o.later != "" {
		return printLater(o.later, files, stdout)
	}
	if o.out != "" { // rather now than after all that
		if err := hasMarks(o.out); err != nil {
			return err
		}
	}
	one, defaults := &bench{memo: memo, plans: o.shares.plan}, &bench{memo: memo, plans: shipped}
	measure := full
	if o.quick {
		measure = quick
	}
	rep := report{shares: o.shares, quick: o.quick}
	for _, f := range files {
		if !strings.HasPrefix(f.name, o.only) {
			continue
		}
		r, err := measure(f, one, defaults)
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		rep.results = append(rep.results, r)
		if f.facts.firstOld > 0 && !o.quick {
			if rep.named, err = needed(f, memo); err != nil {
				return fmt.Errorf("%s: %w", f.name, err)
			}
		}
	}
	if len(rep.results) == 0 {
		return fmt.Errorf("%w whose name begins with %q", errNoData, o.only)
	}
	text := rep.printed()
	if o.out != "" {
		if err := replaceIn(o.out, rep.markdown()); err != nil {
			return err
		}
		text = rep.summary()
	}
	if _, err := io.WriteString(stdout, text); err != nil {
		return fmt.Errorf("write the tables: %w", err)
	}
	if o.check {
		return hardRules(rep.results)
	}
	return nil
}

// errBroken says that a hard rule is broken.
var errBroken = errors.New("hard rules are broken")

// hardRules is an error where any of them is broken.
func hardRules(results []result) error {
	t, moved := total(results), loose(results)
	if !t.broken() && moved == 0 {
		return nil
	}
	return fmt.Errorf("%w: %d invented, %d rules, %d too large, %d bytes of prefix changed without a fold",
		errBroken, t.invented.n, t.rules.n, t.over.n, moved)
}

// printLater prints what later.txt should hold.
func printLater(recording string, files []*file, stdout io.Writer) error {
	for _, f := range files {
		if f.facts.firstOld == 0 {
			continue
		}
		hashes, err := recordLater(f, recording)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(stdout, strings.Join(hashes, "\n")); err != nil {
			return fmt.Errorf("write the list: %w", err)
		}
	}
	return nil
}
