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

// SummaryReport is what one summary call came to. Nothing in it was chosen by a
// caller: a metric may have each of its fields as a label.
type SummaryReport struct {
	Route   string // the configured name
	Address string // of the server that was asked, as configured
	Port    int
	// Model is the one that is configured for the route; empty where it is the
	// caller's choice.
	Model     string
	Duration  time.Duration
	FirstText time.Duration // until the first text; 0: none came
	// Input and Output are tokens: by the server's own usage (Reported), or by our
	// count; zero where neither is known.
	Input, Output int
	Reported      bool
	// ErrorType is empty when the call succeeded, else a status or one of:
	// error_in_answer, cut, empty, too_long, malformed, connection_error, stalled,
	// canceled.
	ErrorType string
}

// Observer is the seam for metrics. Its methods do not block and may be called
// concurrently.
type Observer interface {
	// ChatDone is called once per chat request, at its end.
	ChatDone(Report)
	// SummaryDone is called once per call for a summary, at its end; an attempt
	// makes one or, where the transcript is too long for the route, several.
	SummaryDone(SummaryReport)
	// StoreError reports a store call that failed, of a request or beside it.
	StoreError(operation string, err error)
	// Refused reports a settle or restore that the fence refused.
	Refused(operation string, err error)
}

type noObserver struct{}

func (noObserver) ChatDone(Report)           {}
func (noObserver) SummaryDone(SummaryReport) {}
func (noObserver) StoreError(string, error)  {}
func (noObserver) Refused(string, error)     {}
