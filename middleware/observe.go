package middleware

import (
	"time"

	"github.com/foldgate/foldgate/compression/window"
)

// Report is what one chat request came to. It holds no text of anybody and is
// what the log line and the metrics are made of.
type Report struct {
	Kind   string // the token of Foldgate-Fold
	Reason string // its reason, or empty
	Status int    // of the response; 0 when the caller left before there was one
	Stream bool
	// Before and After are corrected tokens; zero where nothing was counted.
	Before, After window.Tokens
	Window        window.Tokens
	Source        window.Source
	Retried       bool
	Joined        bool
	// Wait is how long the request waited for a summary.
	Wait time.Duration
	// Added is the time from the request's arrival to the first forwarding, less
	// Wait: the gateway's own.
	Added time.Duration
	// Total is the time until the response's end.
	Total     time.Duration
	BodyBytes int
}

// Observer is the seam for metrics. Its methods do not block and may be called
// concurrently.
type Observer interface {
	// ChatDone is called once per chat request, at its end.
	ChatDone(Report)
	// SummaryTokens reports what a summary call cost, by its own usage.
	SummaryTokens(input, output int)
	// StoreError reports a store call of the request path that failed.
	StoreError(operation string, err error)
	// Refused reports a settle or restore that the fence refused.
	Refused(operation string, err error)
}

type noObserver struct{}

func (noObserver) ChatDone(Report)          {}
func (noObserver) SummaryTokens(int, int)   {}
func (noObserver) StoreError(string, error) {}
func (noObserver) Refused(string, error)    {}
