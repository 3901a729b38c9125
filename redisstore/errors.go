package redisstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/foldgate/foldgate/ownership"
)

// trouble sorts what can go wrong between this process and an answer.
type trouble int

const (
	// troubleRefused: the server answered and will answer the same again: out of
	// memory, access denied, a key of another type. It does not count against the
	// connection, so that reads go on while writes are refused.
	troubleRefused trouble = iota
	// troublePassing: the server answered that it cannot right now but may in a
	// moment, as during a failover. Asked again; not counted.
	troublePassing
	// troubleDown: the server answered that it serves nobody. Asked again;
	// counted.
	troubleDown
	// troubleBroken: the connection ended without an answer. Asked again, on
	// another connection; counted.
	troubleBroken
	// troubleSilent: no connection, or no answer in time. Counted, and not asked
	// again, since that would take as long again.
	troubleSilent
	// troubleCaller: the caller's context ended too early to tell. Not counted.
	troubleCaller
)

func (t trouble) again() bool {
	return t == troublePassing || t == troubleDown || t == troubleBroken
}

func (t trouble) counts() bool {
	return t == troubleDown || t == troubleBroken || t == troubleSilent
}

// answered lists the first words of error replies that are not final.
var answered = []struct {
	prefix string
	trouble
}{
	{"READONLY", troublePassing},
	{"TRYAGAIN", troublePassing},
	{"NOREPLICAS", troublePassing},
	{"UNBLOCKED", troublePassing},
	{"MOVED", troublePassing},
	{"ASK", troublePassing},
	{"LOADING", troubleDown},
	{"CLUSTERDOWN", troubleDown},
	{"MASTERDOWN", troubleDown},
	{"BUSY", troubleDown},
	{"max number of clients reached", troubleDown},
	{"NOAUTH", troubleDown},
	{"WRONGPASS", troubleDown},
}

// troubleOf sorts err. hurried says that the caller's own context ended before
// the server had a fair time to answer, which says nothing about the server.
func troubleOf(err error, hurried bool) trouble {
	var answer redis.Error
	switch {
	case errors.As(err, &answer):
		text := strings.TrimPrefix(answer.Error(), "ERR ")
		for _, a := range answered {
			if strings.HasPrefix(text, a.prefix) {
				return a.trouble
			}
		}
		return troubleRefused
	case hurried:
		return troubleCaller
	case isTimeout(err), isDial(err), errors.Is(err, redis.ErrPoolTimeout), errors.Is(err, redis.ErrClosed):
		return troubleSilent
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, net.ErrClosed):
		return troubleBroken
	}
	return troubleSilent
}

// isAnswer reports whether the server itself said so.
func isAnswer(err error) bool {
	var answer redis.Error
	return errors.As(err, &answer)
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout()
}

// failure is a call without an answer, on its way through the breaker.
type failure struct {
	trouble
	unanswered bool
	cause      error
}

func (f *failure) Error() string { return f.cause.Error() }

// public is the error that leaves the package. The text of the cause stays, its
// type does not; a context that ended is joined.
func (f *failure) public(ctx context.Context, op string) error {
	kind := ownership.ErrUnavailable
	if f.unanswered {
		kind = ownership.ErrIndeterminate
	}
	if done := ended(ctx); done != nil {
		return fmt.Errorf("redisstore: %s: %w: %w", op, kind, done)
	}
	return fmt.Errorf("redisstore: %s: %w: %s", op, kind, f.cause.Error())
}

// ended is why ctx is over, nil if it is not. A socket's deadline, which is the
// context's, may be noticed a moment before the context itself.
func ended(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
		return context.DeadlineExceeded
	}
	return nil
}

// named wraps an answer of the protocol with the operation.
func named(op string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("redisstore: %s: %w", op, err)
}

// unavailable is ErrUnavailable for what the server holds rather than for how it
// was reached.
func unavailable(err error) error { return fmt.Errorf("%w: %s", ownership.ErrUnavailable, err.Error()) }
