package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/foldgate/foldgate/cmd/gateway/internal/config"
	"github.com/foldgate/foldgate/cmd/gateway/internal/demo"
)

// The exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // failed while running
	exitUsage  = 2 // wrong usage or configuration
)

// program is one run of the command.
type program struct {
	environ        []string
	stdin          io.Reader
	stdout, stderr io.Writer
	// hangups ask for a reload. Nil: SIGHUP does.
	hangups <-chan os.Signal
}

// command is one of the program's commands.
type command struct {
	name, args, text string
	// settings is whether the command reads the configuration.
	settings bool
	run      func(p program, ctx context.Context, args []string) int
}

func commands() []command {
	return []command{
		{"serve", "[flags]", "run the gateway (the default); SIGHUP reads its configuration again", true, program.serve},
		{"demo", "", "a real fold on loopback, without network or key", false, program.demo},
		{"fold", "[flags] [file]", "dry run: fold the request in file or on stdin, print it", true, program.fold},
		{"check", "[flags]", "report all problems of the configuration at once", true, program.check},
		{"healthcheck", "[flags]", "ask a running gateway whether it is ready", true, program.healthcheck},
		{"version", "", "print the version", false, program.version},
		{"help", "[command]", "print this, or what a command takes", false, program.help},
	}
}

func commandNamed(name string) (command, bool) {
	for _, c := range commands() {
		if c.name == name {
			return c, true
		}
	}
	return command{}, false
}

// load reads the configuration of a command. ok is false when the command ends
// here, with code.
func (p program) load(name string, purpose config.Purpose, args []string) (loaded config.Loaded, code int, ok bool) {
	loaded, err := config.Load(p.input(name, purpose, args))
	var wrong *config.UsageError
	switch {
	case errors.Is(err, flag.ErrHelp):
		return loaded, p.help(context.Background(), []string{name}), false
	case errors.As(err, &wrong):
		return loaded, p.misused(name, wrong.Error()), false
	case err != nil:
		p.report(err)
		return loaded, exitUsage, false
	}
	return loaded, exitOK, true
}

// input is what the configuration of a command is made of.
func (p program) input(name string, purpose config.Purpose, args []string) config.Input {
	return config.Input{Purpose: purpose, Name: name, Args: args, Environ: p.environ, ReadFile: readBounded}
}

// readBounded reads a file of the configuration. One that never ends must not end the
// program that reads it again while it serves.
func readBounded(name string) ([]byte, error) {
	const longest = 4 << 20 // bytes
	f, err := os.Open(name) //nolint:gosec // whoever runs this names the file
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, longest+1))
	if err == nil && len(content) > longest {
		err = errors.New("it is longer than 4 MiB")
	}
	return content, err
}

// report prints all problems of a configuration.
func (p program) report(err error) {
	problems := config.Problems(err)
	noun := "problems"
	if len(problems) == 1 {
		noun = "problem"
	}
	fmt.Fprintf(p.stderr, "gateway: the configuration has %d %s:\n", len(problems), noun)
	for _, problem := range problems {
		fmt.Fprintf(p.stderr, "  %s\n", problem)
	}
	fmt.Fprintf(p.stderr, "Run \"gateway help serve\" for all settings.\n")
}

// misused prints what is wrong with a command line, and the right usage in one
// line: the whole help would push the error out of sight.
func (p program) misused(name, message string) int {
	fmt.Fprintf(p.stderr, "gateway %s: %s\n", name, message)
	if c, known := commandNamed(name); known {
		fmt.Fprintf(p.stderr, "usage: %s\nRun \"gateway help %s\" for more.\n", strings.TrimSpace("gateway "+c.name+" "+c.args), c.name)
	}
	return exitUsage
}

func (p program) serve(ctx context.Context, args []string) int {
	loaded, code, ok := p.load("serve", config.ForServing, args)
	if !ok {
		return code
	}
	if len(loaded.Args) > 0 {
		return p.misused("serve", fmt.Sprintf("unexpected argument %q", loaded.Args[0]))
	}
	if p.hangups == nil {
		// One is enough to wait while another is being answered.
		hangups := make(chan os.Signal, 1)
		signal.Notify(hangups, syscall.SIGHUP)
		defer signal.Stop(hangups)
		p.hangups = hangups
	}
	r := reloads{input: p.input("serve", config.ForServing, args), asked: p.hangups}
	if err := serve(ctx, loaded, r, p.stderr); err != nil {
		fmt.Fprintf(p.stderr, "gateway: %v\n", err)
		return exitFailed
	}
	return exitOK
}

func (p program) check(_ context.Context, args []string) int {
	loaded, code, ok := p.load("check", config.ForServing, args)
	for _, w := range loaded.Warnings {
		fmt.Fprintf(p.stderr, "gateway: warning: %s\n", w)
	}
	if !ok {
		return code
	}
	if len(loaded.Args) > 0 {
		return p.misused("check", fmt.Sprintf("unexpected argument %q: the file is named by --config", loaded.Args[0]))
	}
	fmt.Fprintln(p.stdout, "configuration ok")
	return exitOK
}

func (p program) demo(ctx context.Context, args []string) int {
	if len(args) > 0 {
		return p.misused("demo", "the demo takes no arguments")
	}
	if err := demo.Run(ctx, p.stdout); err != nil {
		fmt.Fprintf(p.stderr, "gateway demo: %v\n", err)
		return exitFailed
	}
	return exitOK
}
