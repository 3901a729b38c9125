package main

import (
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/foldgate/foldgate/cmd/gateway/internal/config"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stderr))
}

// run writes the page. The names of files are relative to where it is called.
func run(args []string, stderr io.Writer) int {
	set := flag.NewFlagSet("gen", flag.ContinueOnError)
	set.SetOutput(stderr)
	example := set.String("example", "docs/foldgate.yaml", "example file to show")
	out := set.String("o", "docs/configuration.md", "page to write")
	if err := set.Parse(args); err != nil {
		return 2
	}
	shown, err := os.ReadFile(*example)
	if err == nil {
		err = os.WriteFile(*out, page(config.Keys(), config.RouteKeys(), shown), 0o644) //nolint:gosec // a page of the documentation, for everybody
	}
	if err != nil {
		fmt.Fprintf(stderr, "gen: %v\n", err)
		return 1
	}
	return 0
}
