package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Exit codes.
const (
	exitOK     = 0
	exitBroken = 1 // something could not be measured, or -check and a target was missed
	exitUsage  = 2
)

var (
	errNotIsolated = errors.New("a network namespace is not to be had here")
	errUsage       = errors.New("wrong usage")
)

// options are what the command line says.
type options struct {
	quick   bool
	check   bool
	parts   []string
	out     string
	tools   string
	profile string
	given   givenPeers
	pairs   int
	memory  int64
}

func main() {
	runtime.LockOSThread() // children end with the thread that started them
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

func run(args []string, stdout, stderr io.Writer) int {
	if len(args) > 1 { // the children of this program
		switch args[0] {
		case "upstream":
			return report(stderr, runUpstream(args[1]))
		case "bare":
			return report(stderr, runBare(args[1], args[2]))
		}
	}
	o, err := parse(args, stderr)
	if err != nil {
		fmt.Fprintf(stderr, "benchpeers: %v\n", err)
		return exitUsage
	}
	if os.Getenv(isolated) != "" {
		if err := loopbackUp(); err != nil {
			return report(stderr, err)
		}
		return measure(o, stdout, stderr)
	}
	// Building needs the network; measuring must not have it.
	if err := prepare(o, stderr); err != nil {
		return report(stderr, err)
	}
	code, err := isolate(args)
	if errors.Is(err, errNotIsolated) {
		fmt.Fprintf(stderr, "benchpeers: %v: programs under test could call out\n", err)
		return measure(o, stdout, stderr)
	}
	if err != nil {
		return report(stderr, err)
	}
	return code
}

func report(stderr io.Writer, err error) int {
	if err != nil {
		fmt.Fprintf(stderr, "benchpeers: %v\n", err)
		return exitBroken
	}
	return exitOK
}

func parse(args []string, stderr io.Writer) (*options, error) {
	o := &options{given: givenPeers{}}
	flags := flag.NewFlagSet("benchpeers", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.BoolVar(&o.quick, "quick", false, "short windows and few pairs: to try the harness, not to publish")
	flags.BoolVar(&o.check, "check", false, "exit with 1 where a target was missed")
	only := flags.String("only", "", "run only these parts, separated by commas: "+strings.Join(partNames(), ", "))
	flags.StringVar(&o.out, "o", "", "write the tables into this document, between the marks of each part, instead of printing them alone")
	flags.StringVar(&o.tools, "tools", filepath.Join(os.TempDir(), "foldgate-benchpeers"), "folder for what is built and installed; it stays")
	flags.StringVar(&o.profile, "profile", "", "write CPU and allocation profiles of the gateway into this folder; figures are then not comparable")
	flags.Var(o.given, "peer", "NAME=PATH[@VERSION], repeatable: a peer that is already built or installed there")
	flags.IntVar(&o.pairs, "pairs", 9, "alternating pairs for each ratio, at least 7")
	flags.Int64Var(&o.memory, "memory-mib", 640, "part memory: the gateway's bound on bodies in flight, in MiB")
	if flags.Parse(args) != nil || flags.NArg() > 0 {
		return nil, errUsage
	}
	tools, err := filepath.Abs(o.tools)
	if err != nil {
		return nil, fmt.Errorf("find the folder for tools: %w", err)
	}
	o.tools = tools
	if o.quick {
		o.pairs = 3
	} else if o.pairs < 7 {
		return nil, fmt.Errorf("%w: %d pairs are too few to judge by", errUsage, o.pairs)
	}
	o.parts = partNames()
	if *only != "" {
		o.parts = strings.Split(*only, ",")
	}
	for _, name := range o.parts {
		if !slices.Contains(partNames(), name) {
			return nil, fmt.Errorf("%w: no part %q", errUsage, name)
		}
	}
	if o.out != "" { // rather now than after all that
		return o, hasMarks(o.out, o.parts)
	}
	return o, nil
}

// limits bound a whole run, whatever hangs.
const (
	limitFull  = 25 * time.Minute
	limitQuick = 3 * time.Minute
)

// measure runs the parts, one after another.
func measure(o *options, stdout, stderr io.Writer) int {
	limit := limitFull
	if o.quick {
		limit = limitQuick
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	b, err := newBench(o, stderr)
	if err != nil {
		return report(stderr, err)
	}
	defer b.close()
	// The parts run in the main goroutine, whose thread their children end with;
	// what ends the run ends it between two windows at most.
	code := exitOK
	for _, p := range parts() {
		if !slices.Contains(o.parts, p.name) {
			continue
		}
		if ctx.Err() != nil {
			fmt.Fprintf(stderr, "benchpeers: part %s was not run: %v\n", p.name, context.Cause(ctx))
			return exitBroken
		}
		if err := b.part(ctx, p, stdout); err != nil {
			fmt.Fprintf(stderr, "benchpeers: part %s: %v\n", p.name, err)
			code = exitBroken
		}
	}
	if o.check && b.missed > 0 {
		fmt.Fprintf(stderr, "benchpeers: %d targets missed\n", b.missed)
		code = exitBroken
	}
	return code
}

// part runs one part and writes its section.
func (b *bench) part(ctx context.Context, p part, stdout io.Writer) error {
	start := time.Now()
	b.say("part %s", p.name)
	b.ctx = ctx
	text, err := p.run(b)
	b.stopAll()
	if err != nil {
		return err
	}
	text += fmt.Sprintf("\n%s, in %s.\n", b.machine(p.name), time.Since(start).Round(time.Second))
	fmt.Fprintf(stdout, "## %s\n\n%s\n", p.name, text)
	if b.o.out != "" {
		return replaceIn(b.o.out, p.name, text)
	}
	return nil
}

// part is one subject of the measurements.
type part struct {
	name string
	run  func(*bench) (string, error)
}

func parts() []part {
	return []part{
		{"pass", (*bench).partPass},
		{"large", (*bench).partLarge},
		{"peers", (*bench).partPeers},
		{"first", (*bench).partFirst},
		{"cut", (*bench).partCut},
		{"growth", (*bench).partGrowth},
		{"scale", (*bench).partScale},
		{"memory", (*bench).partMemory},
		{"alone", (*bench).partAlone},
	}
}

func partNames() []string {
	var all []string
	for _, p := range parts() {
		all = append(all, p.name)
	}
	return all
}
