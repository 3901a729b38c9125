// Command gateway is Foldgate: a drop-in reverse proxy in front of
// OpenAI-compatible chat APIs that folds requests which outgrew their model's
// window. Run "gateway help" for its commands and settings.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		cancel() // the first asks for a graceful stop
		<-signals
		fmt.Fprintln(os.Stderr, "gateway: a second signal: leaving at once, what runs is cut")
		os.Exit(exitFailed)
	}()
	os.Exit(run(ctx, os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
}
