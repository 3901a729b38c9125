package redisstore

import (
	"context"
	"errors"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/foldgate/foldgate/ownership"
)

const (
	// tripAfter calls in a row without service open the breaker. Two, so that one
	// slow command of somebody else does not, and a server that hangs costs two
	// time-outs at most.
	tripAfter = 2
	// openFor is how long it stays open before one call probes.
	openFor = 2 * time.Second
)

// pauses before a call is asked again. Long enough for a connection to be made
// anew, short enough to stay unnoticed within Timeout.
var pauses = [...]time.Duration{20 * time.Millisecond, 80 * time.Millisecond}

// breaker is the circuit breaker around whole calls.
type breaker = gobreaker.CircuitBreaker[struct{}]

func newBreaker(onChange func(from, to string)) *breaker {
	return gobreaker.NewCircuitBreaker[struct{}](gobreaker.Settings{
		Name:        "redis",
		MaxRequests: 1,
		Timeout:     openFor,
		ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= tripAfter },
		IsSuccessful: func(err error) bool {
			var f *failure
			return !errors.As(err, &f) || !f.counts()
		},
		IsExcluded: func(err error) bool {
			var f *failure
			return errors.As(err, &f) && f.trouble == troubleCaller
		},
		OnStateChange: func(_ string, from, to gobreaker.State) { onChange(from.String(), to.String()) },
	})
}

// operate runs a script on a conversation. The error, if any, is final: wrapped,
// and of the port's own kind.
func (s *Store) operate(ctx context.Context, op *script, key ownership.Key, args ...any) (reply, error) {
	if err := key.Check(); err != nil {
		return reply{}, named(op.name, err)
	}
	common := make([]any, 0, 2+len(args))
	common = append(common, span(s.retention), s.publish)
	return s.call(ctx, op, namesOf(key).keys(), append(common, args...))
}

// call runs a script through the breaker and within Timeout. A script may be
// sent twice: the second run answers what the first one did.
func (s *Store) call(ctx context.Context, op *script, keys []string, args []any) (reply, error) {
	var r reply
	err := s.guarded(ctx, op.name, func(ctx context.Context) error {
		values, err := op.Run(ctx, s.client, keys, args...).Slice()
		if err == nil {
			r = newReply(values)
		}
		return err
	})
	if err != nil {
		return reply{}, err
	}
	return r, refused(op, &r, nil)
}

// guarded asks through the breaker and within Timeout. The error, if any, is
// final.
func (s *Store) guarded(ctx context.Context, op string, ask func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		f := &failure{cause: err}
		return f.public(ctx, op)
	}
	_, err := s.breaker.Execute(func() (struct{}, error) {
		bounded, cancel := context.WithTimeout(ctx, s.timeout)
		defer cancel()
		if f := s.tries(ctx, bounded, ask); f != nil {
			return struct{}{}, f
		}
		return struct{}{}, nil
	})
	if err == nil {
		return nil
	}
	var f *failure
	if !errors.As(err, &f) {
		// The breaker's own refusal: it is open, or another call is the probe.
		f = &failure{cause: err}
	}
	return f.public(ctx, op)
}

// tries asks, and asks again what passes by itself.
func (s *Store) tries(caller, ctx context.Context, ask func(context.Context) error) *failure {
	var tally account
	began := time.Now()
	ctx = context.WithValue(ctx, accountKey{}, &tally)
	for try := 0; ; try++ {
		err := ask(ctx)
		if err == nil {
			return nil
		}
		if !s.witnessed && !isAnswer(err) {
			// The client may have tried more than once: what it reports of the last
			// try says nothing of those before.
			tally.unanswered = true
		}
		over := ended(caller)
		hurried := errors.Is(over, context.Canceled) || over != nil && time.Since(began) < s.timeout/2
		f := &failure{trouble: troubleOf(err, hurried), unanswered: tally.unanswered, cause: err}
		if try == len(pauses) || !f.again() || !pause(ctx, pauses[try]) {
			return f
		}
	}
}

// pause waits, unless ctx ends first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
