package llm

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/foldgate/foldgate/compression/refusal"
)

// Why an answer that began well is none. With ErrCut, ErrEmpty and ErrTooLong
// the Answer beside it holds what is known of model and usage.
var (
	// ErrCut: it ended without a finish reason and without [DONE].
	ErrCut = errors.New("llm: the answer was cut off")
	// ErrEmpty: it ended properly, with neither text nor reasoning nor refusal.
	ErrEmpty = errors.New("llm: the answer is empty")
	// ErrTooLong: more than Call.MaxAnswer bytes of text, or an event or a body
	// beyond all reason.
	ErrTooLong = errors.New("llm: the answer is too long")
	// ErrMalformed: it is no chat completion; of Advertised, none of the forms that
	// it reads.
	ErrMalformed = errors.New("llm: the answer is no chat completion")
)

// maxRetryAfter is the longest wait that a server is believed.
const maxRetryAfter = 24 * time.Hour

// StatusError says that the server refused the call.
type StatusError struct {
	// Status is the response's status, redirects included. For an error object
	// inside a 2xx it is the status that the object names, else the 2xx.
	Status int
	// RetryAfter is how long the server asks to be left alone; 0 if it does not
	// say. At most a day.
	RetryAfter time.Duration
	// Refusal is what the body says about the request's size and structure.
	Refusal refusal.Refusal
}

// Error names the status and the kind of the refusal, and nothing that the
// server wrote.
func (e *StatusError) Error() string {
	what := "status"
	if e.Status >= 200 && e.Status < 300 {
		what = "an error inside status"
	}
	if e.Refusal.Kind != refusal.None {
		return fmt.Sprintf("llm: the server answered %s %d (%v)", what, e.Status, e.Refusal.Kind)
	}
	return fmt.Sprintf("llm: the server answered %s %d", what, e.Status)
}

// retryAfter reads how long the server asks to be left alone. A date counts from
// the server's own clock where it names it.
func retryAfter(h http.Header) time.Duration {
	if ms, err := strconv.ParseFloat(strings.TrimSpace(h.Get("Retry-After-Ms")), 64); err == nil {
		return wait(ms / 1000)
	}
	value := strings.TrimSpace(h.Get("Retry-After"))
	if seconds, err := strconv.ParseFloat(value, 64); err == nil {
		return wait(seconds)
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	now, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		now = time.Now()
	}
	return wait(at.Sub(now).Seconds())
}

// wait makes a wait of seconds, within reason.
func wait(seconds float64) time.Duration {
	if math.IsNaN(seconds) || seconds <= 0 {
		return 0
	}
	return time.Duration(min(seconds, maxRetryAfter.Seconds()) * float64(time.Second))
}
