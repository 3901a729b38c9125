package redisstore

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/foldgate/foldgate/ownership"
)

// code is the integer that begins every reply of a script.
type code int64

// The replies. Zero is none of them, so that an empty answer is never taken for
// one.
const (
	replyDone code = iota + 1
	replyAlready
	replySuperseded
	replyLost
	replyEnded
	replyCancelled
	replyInvalid
	replyNotCurrent
	replyClaimed
	replyCommitted
	replyBusy
	replyCooling
	replyBlocked
	replyView
	replyGeneration
	replyPhase
	replyCorrupt
)

// replyNames is how scripts call them; scripts.go hands it to Lua.
var replyNames = [...]string{
	replyDone:       "done",
	replyAlready:    "already",
	replySuperseded: "superseded",
	replyLost:       "lost",
	replyEnded:      "ended",
	replyCancelled:  "cancelled",
	replyInvalid:    "invalid",
	replyNotCurrent: "notcurrent",
	replyClaimed:    "claimed",
	replyCommitted:  "committed",
	replyBusy:       "busy",
	replyCooling:    "cooling",
	replyBlocked:    "blocked",
	replyView:       "view",
	replyGeneration: "generation",
	replyPhase:      "phase",
	replyCorrupt:    "corrupt",
}

// errReply says that a reply has not the form that this version knows: another
// layout, or a key that somebody else wrote.
var errReply = errors.New("unreadable reply")

// reply is what a script answered: a code, and what follows it. Its first
// problem is kept and every later read gives a zero value, so that a decoder
// reads straight through and asks err once.
type reply struct {
	code code
	rest []any
	err  error
}

func newReply(values []any) reply {
	if len(values) == 0 {
		return reply{err: fmt.Errorf("%w: empty", errReply)}
	}
	c, ok := values[0].(int64)
	if !ok || c < 1 || c >= int64(len(replyNames)) {
		return reply{err: fmt.Errorf("%w: begins with %T", errReply, values[0])}
	}
	return reply{code: code(c), rest: values[1:]}
}

func (r *reply) fail(want string) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: %s: no %s", errReply, replyNames[r.code], want)
	}
}

// text takes the next value, a string.
func (r *reply) text() string {
	if len(r.rest) == 0 {
		r.fail("further value")
		return ""
	}
	s, ok := r.rest[0].(string)
	if !ok {
		r.fail("text")
	}
	r.rest = r.rest[1:]
	return s
}

// list takes the next value, an array of strings.
func (r *reply) list() []string {
	if len(r.rest) == 0 {
		r.fail("further value")
		return nil
	}
	values, ok := r.rest[0].([]any)
	r.rest = r.rest[1:]
	if !ok {
		r.fail("list")
		return nil
	}
	out := make([]string, len(values))
	for i, v := range values {
		if out[i], ok = v.(string); !ok {
			r.fail("list of texts")
		}
	}
	return out
}

// millis takes a number of milliseconds.
func (r *reply) millis() time.Duration { return time.Duration(r.number()) * time.Millisecond }

// instant takes a time of the server.
func (r *reply) instant() time.Time { return instant(r.number()) }

func (r *reply) number() int64 {
	n, err := strconv.ParseInt(r.text(), 10, 64)
	if err != nil {
		r.fail("number")
	}
	return n
}

// generation takes a counter.
func (r *reply) generation() ownership.Generation {
	n, err := strconv.ParseUint(r.text(), 10, 64)
	if err != nil {
		r.fail("generation")
	}
	return ownership.Generation(n)
}

// fields takes the fields of a conversation.
func (r *reply) fields() fields {
	f := fields(r.list())
	if len(f) != len(fieldNames) {
		r.fail("list of all fields")
		return make(fields, len(fieldNames))
	}
	return f
}

// refusal is the error behind a reply that says no to a call with a fence. Nil
// where the reply is none of those.
func (r *reply) refusal() error {
	switch r.code {
	case replySuperseded:
		return ownership.ErrSuperseded
	case replyLost:
		return ownership.ErrLost
	case replyNotCurrent:
		return ownership.ErrNotCurrent
	case replyEnded:
		return &ownership.EndedError{Phase: ownership.Phase(r.text())}
	case replyCancelled:
		return &ownership.CancelledError{Reason: r.text()}
	case replyInvalid:
		return fmt.Errorf("%w: %s", ownership.ErrInvalid, r.text())
	case replyCorrupt:
		r.err = fmt.Errorf("%w: %s holds what no store wrote", errReply, r.text())
	}
	return nil
}

// done reads the answer of an operation that is done now or was before.
func (r *reply) done() (ownership.Done, error) {
	switch r.code {
	case replyDone:
		return ownership.DoneNow, nil
	case replyAlready:
		return ownership.DoneAlready, nil
	}
	return 0, r.refusalOrUnexpected()
}

// refusalOrUnexpected is refusal for a reply that must be one.
func (r *reply) refusalOrUnexpected() error {
	if err := r.refusal(); err != nil {
		return err
	}
	if r.err == nil {
		r.err = fmt.Errorf("%w: %s is no answer to this", errReply, replyNames[r.code])
	}
	return nil
}

// unreadable marks a reply that broke its form, and returns nil: the mark says
// it all.
func unreadable(r *reply, err error) error {
	if r.err == nil {
		r.err = fmt.Errorf("%w: %s: %w", errReply, replyNames[r.code], err)
	}
	return nil
}

// refused wraps the protocol's answer. A reply that cannot be read goes first:
// nothing in it can be relied on, so for the caller the store was not there.
func refused(op *script, r *reply, err error) error {
	if r.err != nil {
		return named(op.name, unavailable(r.err))
	}
	return named(op.name, err)
}
