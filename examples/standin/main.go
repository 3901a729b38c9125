package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "standin:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) > 0 && args[0] == "request" {
		return request(args[1:], stdout, stderr)
	}
	flags := flag.NewFlagSet("standin", flag.ContinueOnError)
	flags.SetOutput(stderr)
	listen := flags.String("listen", "127.0.0.1:8000", "address to serve on")
	window := flags.Int("window", 4000, "tokens that the model accepts")
	if err := flags.Parse(args); err != nil {
		return err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", *listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	fmt.Fprintf(stdout, "a model with a window of %d tokens on http://%s\n", *window, l.Addr())
	return serve(ctx, l, &model{window: *window})
}

// serve serves until ctx ends. What is still being written then is cut: nothing
// here is worth waiting for.
func serve(ctx context.Context, l net.Listener, h http.Handler) error {
	s := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		_ = s.Close() // the error of Serve is the one to look at
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	}
}

// request prints a chat request whose conversation has so many turns, and a new
// question.
func request(args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("standin request", flag.ContinueOnError)
	flags.SetOutput(stderr)
	turns := flags.Int("turns", 60, "how many questions were answered; one is about 45 tokens")
	stream := flags.Bool("stream", false, "ask for the answer as a stream")
	topic := flags.String("topic", "garden", "what it is about: another topic is another conversation")
	if err := flags.Parse(args); err != nil {
		return err
	}
	return json.NewEncoder(stdout).Encode(conversation(*topic, *turns, *stream))
}

func conversation(topic string, turns int, stream bool) chat {
	c := chat{Model: "stand-in", Stream: stream, Messages: []message{
		{Role: "system", Content: "You help to plan a " + topic + "."},
	}}
	for i := range turns {
		c.Messages = append(c.Messages,
			message{Role: "user", Content: fmt.Sprintf("Step %d of the %s: who does it, and what is needed from shed %d?", i, topic, i%7)},
			message{Role: "assistant", Content: fmt.Sprintf("Step %d: group %d does it on day %d, with %d boards and the tools of shed %d.", i, i%5, i+3, 10+i*3, i%7)},
		)
	}
	c.Messages = append(c.Messages, message{Role: "user", Content: "What did we decide about step 4?"})
	return c
}
