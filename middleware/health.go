package middleware

import (
	"sync/atomic"
	"time"
)

// Health remembers how the last calls to a part went. It informs operators and
// decides nothing: a part that is down never makes a replica unready, since it
// still serves. The zero Health has seen no call. Safe for concurrent use.
type Health struct {
	state atomic.Int32
	since atomic.Int64 // Unix milliseconds of the last change
}

// The states of a part.
const (
	healthUnknown int32 = iota
	healthOK
	healthDown
)

// note takes in how a call went. Health may be nil: nobody asks.
func (h *Health) note(ok bool) {
	if h == nil {
		return
	}
	next := healthDown
	if ok {
		next = healthOK
	}
	if h.state.Load() != next && h.state.Swap(next) != next {
		h.since.Store(time.Now().UnixMilli())
	}
}

// Down reports whether the last call failed.
func (h *Health) Down() bool { return h.state.Load() == healthDown }

// String is "ok", "down since …" or "unknown" before the first call.
func (h *Health) String() string {
	switch h.state.Load() {
	case healthOK:
		return "ok"
	case healthDown:
		return "down since " + time.UnixMilli(h.since.Load()).UTC().Format(time.RFC3339)
	default:
		return "unknown"
	}
}
