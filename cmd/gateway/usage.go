package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/foldgate/foldgate/cmd/gateway/internal/config"
)

func (p program) help(_ context.Context, args []string) int {
	switch len(args) {
	case 0:
		p.usage(p.stdout)
		return exitOK
	case 1:
		if c, known := commandNamed(args[0]); known {
			p.commandUsage(p.stdout, c)
			return exitOK
		}
	}
	fmt.Fprintf(p.stderr, "gateway help: unknown command %q\n\n", args[0])
	p.usage(p.stderr)
	return exitUsage
}

// usage prints the commands.
func (p program) usage(w io.Writer) {
	fmt.Fprint(w, "Foldgate keeps long conversations with OpenAI-compatible chat APIs alive: a request\n"+
		"that outgrew its model's window is folded, everything else goes through untouched.\n\n"+
		"usage: gateway [command] [flags]\n\n")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, c := range commands() {
		fmt.Fprintf(t, "  gateway %s %s\t%s\n", c.name, c.args, c.text)
	}
	_ = t.Flush() // nothing is left to tell where this fails
	fmt.Fprint(w, "\nIn front of a real API:  gateway serve --upstream https://api.openai.com\n"+
		"All settings:            gateway help serve\n")
}

// commandUsage prints one command and, where it reads the configuration, all
// settings.
func (p program) commandUsage(w io.Writer, c command) {
	fmt.Fprintf(w, "usage: gateway %s %s\n\n%s\n", c.name, c.args, c.text)
	if !c.settings {
		return
	}
	fmt.Fprint(w, "\nFlags win over environment variables, those over the file, that over the defaults.\n"+
		"On the right: the key in the file. The environment variable is FOLDGATE_ and that key\n"+
		"in upper case, with _ for the dot: FOLDGATE_COMPRESSION_TRIGGER.\n\n")
	for _, k := range config.Keys() {
		fmt.Fprintf(w, "  %-34s %s\n        %s%s\n", flagOf(k), nameOf(k), k.Usage, defaultOf(k))
	}
}

func flagOf(k config.Key) string {
	if k.Flag == "" {
		return "(no flag) " + k.Value
	}
	return "--" + k.Flag + " " + k.Value
}

// nameOf is the key in the file, or the variable of a setting that has none.
func nameOf(k config.Key) string {
	if k.Path == "" {
		return k.Env()
	}
	return k.Path
}

func defaultOf(k config.Key) string {
	if k.Default == "" {
		return ""
	}
	return " (default " + k.Default + ")"
}
