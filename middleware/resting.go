package middleware

import (
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/foldgate/foldgate/compression/llm"
	"github.com/foldgate/foldgate/compression/refusal"
	"github.com/foldgate/foldgate/compression/window"
)

// resting remembers which routes failed lately, and more than once, on this
// replica. While a route rests it is asked after all others, so that a
// conversation does not wait for one that is down although the next would answer.
// It is a matter of order alone: no route is left out. The zero value is ready. Safe for
// concurrent use.
type resting struct {
	mu     sync.Mutex
	routes map[string]rest // by name; there are no more than are configured
}

type rest struct {
	failures int // in a row
	until    time.Time
}

// restFor is how long a route rests after so many failures in a row: one alone
// may be an accident of that call, and then it is the ladder of an attempt's
// cooldown.
func restFor(failures int) time.Duration {
	switch failures {
	case 1:
		return 0
	case 2:
		return time.Minute
	case 3:
		return 5 * time.Minute
	default:
		return 15 * time.Minute
	}
}

// failed counts a failure, and lets a route rest. While it rests, what else fails
// there was under way before and counts no more.
func (r *resting) failed(name string, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	had := r.routes[name]
	if now.Before(had.until) {
		return
	}
	if r.routes == nil {
		r.routes = make(map[string]rest)
	}
	had.failures++
	had.until = now.Add(restFor(had.failures))
	r.routes[name] = had
}

// answered ends a route's rest.
func (r *resting) answered(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.routes, name)
}

// carried is what r knows of the routes that stay as they were. One that was
// changed or added is asked as if it had never failed.
func (r *resting) carried(before, after []SummarizerRoute) *resting {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := &resting{routes: make(map[string]rest)}
	for _, route := range after {
		if had, ok := r.routes[route.Name]; ok && slices.Contains(before, route) {
			next.routes[route.Name] = had
		}
	}
	return next
}

// order is the routes by index: as configured, those that rest last.
func (r *resting) order(routes []SummarizerRoute, now time.Time) []int {
	r.mu.Lock()
	defer r.mu.Unlock()
	order := make([]int, 0, len(routes))
	var last []int
	for i := range routes {
		if now.Before(r.routes[routes[i].Name].until) {
			last = append(last, i)
			continue
		}
		order = append(order, i)
	}
	return append(order, last...)
}

// down reports whether a call failed for a reason that lies with the route, and
// not with what this caller sent or chose.
func (r summaryRoute) down(err error) bool {
	var status *llm.StatusError
	switch {
	case !errors.As(err, &status):
		return !errors.Is(err, llm.ErrEmpty) && !errors.Is(err, llm.ErrTooLong)
	case status.Refusal.Kind != refusal.None:
		return false
	case status.Status == http.StatusNotFound:
		return r.ours
	}
	return status.Status >= http.StatusInternalServerError
}

// narrowed is the route with the window that an overflow error shows: the limit
// that it names, and its own count of the prompt; else less than what was sent.
func (r summaryRoute) narrowed(said refusal.Refusal, sent window.Tokens) summaryRoute {
	if said.Actual > 0 && !said.LowerBound && sent > 0 {
		r.per = max(r.per, float64(said.Actual)/float64(sent))
	}
	limit := window.Tokens(said.Limit)
	if limit > 0 && (limit < r.limits.Total || r.limits.Total == 0) {
		r.limits = learnedLimits(said)
		return r
	}
	r.limits = window.Limits{Total: sent}
	return r
}
