// Command chaos breaks a running Foldgate while it works: two real replicas on a
// real Redis, under load, and one fault after another. Every answer is checked
// against its request, and the store against what was sent and against every write
// that the server ran.
//
//	chaos            every fault for a few seconds each
//	chaos -for 30m   the same again and again, in random order, two at a time
//	chaos -load      2,000 streams at once, 500 of them oversized, and no fault;
//	                 -row, -measure and -spread make it shorter, to compare two
//	                 programs by -gateway
//
// With -o the tables of that page are written anew. It ends with 1 when anything
// was lost, wrong, left over, or changed in the store by somebody who may not.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) (err error) {
	flags := flag.NewFlagSet("chaos", flag.ContinueOnError)
	soak := flags.Duration("for", 0, "break for so long, in random order")
	load := flags.Bool("load", false, "load without faults")
	measure := flags.Duration("measure", loadMeasure, "with -load: how long small requests are measured beside each kind of streams")
	spread := flags.Duration("spread", loadSpread, "with -load: over which the oversized callers begin")
	row := flags.Int("row", 0, "with -load: only the row of that number, from 1 on")
	page := flags.String("o", "", "the page whose tables are written")
	seed := flags.Uint64("seed", uint64(time.Now().Unix()), "of the random order") //nolint:gosec // any number does
	program := flags.String("gateway", "", "the program; it is built if none is given")
	if err := flags.Parse(args); err != nil {
		return err
	}
	o, part := long(), "faults"
	switch {
	case *load:
		o, part = loadOptions(), "load"
	case *soak > 0:
		part = "soak"
	}
	o.gateway, o.seed = *program, *seed
	if o.gateway == "" {
		dir, err := os.MkdirTemp("", "chaos")
		if err != nil {
			return fmt.Errorf("make a folder: %w", err)
		}
		defer func() { _ = os.RemoveAll(dir) }()
		o.gateway = filepath.Join(dir, "gateway")
		if err := build(ctx, o.gateway); err != nil {
			return err
		}
	}
	w, err := newWorld(o)
	if err != nil {
		return err
	}
	defer w.close()
	began := time.Now()
	var text string
	switch part {
	case "load":
		text, err = w.underLoad(ctx, *measure, *spread, *row)
	case "soak":
		text, err = w.soak(ctx, *soak)
	default:
		text, err = w.everyFault(ctx)
	}
	text = stamp(began, "go run ./e2e/chaos "+strings.Join(withoutPage(args), " ")) + text
	fmt.Print("\n" + text)
	if err != nil {
		for _, r := range w.replicas {
			fmt.Fprintf(os.Stderr, "the end of replica %s's log:\n%s\n", r.name, r.out)
		}
	}
	if *page != "" {
		err = errors.Join(err, writePart(*page, part, text))
	}
	return err
}

// build makes the program that is broken here.
func build(ctx context.Context, file string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", file, "github.com/foldgate/foldgate/cmd/gateway")
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("build the gateway: %w", err)
	}
	return nil
}

// everyFault runs each scenario once, by itself.
func (w *world) everyFault(ctx context.Context) (string, error) {
	t := &table{}
	var errs []error
	for _, s := range scenarios() {
		began := time.Now()
		led, err := w.run(ctx, s.name, s)
		errs = append(errs, err, t.enter(s.group, led, time.Since(began)))
		if ctx.Err() != nil {
			break
		}
	}
	return w.finish(ctx, t, errs)
}

// soak runs scenarios in random order until the time is over, every other time two
// of different groups at once.
func (w *world) soak(ctx context.Context, d time.Duration) (string, error) {
	t := &table{sums: true}
	var errs []error
	rng := rand.New(rand.NewPCG(w.options.seed, 0)) //nolint:gosec // for variety
	all := scenarios()
	for end := time.Now().Add(d); time.Now().Before(end) && ctx.Err() == nil; {
		one, other := all[rng.IntN(len(all))], all[rng.IntN(len(all))]
		w.options.dwell = time.Duration(1+rng.IntN(7)) * time.Second
		together, name, group := []scenario{one}, one.name, one.group
		if one.group != other.group && rng.IntN(2) == 0 {
			together, name, group = append(together, other), one.name+" + "+other.name, one.group+" and "+other.group
		}
		began := time.Now()
		led, err := w.run(ctx, name, together...)
		errs = append(errs, err, t.enter(group, led, time.Since(began)))
		fmt.Fprintf(os.Stderr, "%s %s: %s\n", time.Now().Format(time.TimeOnly), name, led.told())
	}
	return w.finish(ctx, t, errs)
}

// finish is the end of both: what is left over, and the memory.
func (w *world) finish(ctx context.Context, t *table, errs []error) (string, error) {
	left := w.leftovers(ctx)
	most, err := w.memory()
	return t.text(w, left, most), errors.Join(append(errs, left, err)...)
}

// underLoad is loadRun, of all its rows or of one.
func (w *world) underLoad(ctx context.Context, measure, spread time.Duration, row int) (string, error) {
	rows := loadRows()
	if row > 0 {
		rows = rows[min(row, len(rows))-1:][:1]
	}
	res, err := loadRun(ctx, w, rows, measure, spread)
	return res.text(), errors.Join(append([]error{err, res.leftover}, failed(res.ledger))...)
}
