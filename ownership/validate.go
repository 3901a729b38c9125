package ownership

import (
	"fmt"
	"time"
)

// The checks of the first step of every operation. Stores share them, so that
// all of them refuse the same arguments. Each returns nil or an error that is
// ErrInvalid.

// maxName bounds the names and reasons that go into a record, in bytes.
const maxName = 1024

// Valid reports whether id has the canonical text form of a UUID: 36 characters,
// lower-case hexadecimal digits and hyphens. A store refuses any other.
func (id AttemptID) Valid() bool {
	if len(id) != 36 {
		return false
	}
	for i := range len(id) {
		c := id[i]
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if c != '-' {
				return false
			}
			continue
		}
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// Check reports why k is no key.
func (k Key) Check() error {
	if !k.Valid() {
		return fmt.Errorf("%w: conversation key", ErrInvalid)
	}
	return nil
}

// Check reports why no shared call may carry f: it is unfenced, or its attempt
// id is not one.
func (f Fence) Check() error {
	switch {
	case f.Unfenced():
		return fmt.Errorf("%w: fence without a generation", ErrInvalid)
	case !f.Attempt.Valid():
		return fmt.Errorf("%w: attempt id of the fence", ErrInvalid)
	}
	return nil
}

// Check reports why t cannot be covered: it holds no message.
func (t Target) Check() error {
	if t.Covered <= 0 {
		return fmt.Errorf("%w: target covers no message", ErrInvalid)
	}
	return nil
}

// Check reports what is wrong with c.
func (c Claim) Check() error {
	switch {
	case !c.Attempt.Valid():
		return fmt.Errorf("%w: attempt id of the claim", ErrInvalid)
	case c.Lease < time.Millisecond || c.Ceiling < time.Millisecond:
		return fmt.Errorf("%w: lease and ceiling are at least a millisecond", ErrInvalid)
	case len(c.Replica) > maxName || len(c.Route) > maxName || len(c.TraceParent) > maxName:
		return fmt.Errorf("%w: a name in the claim is too long", ErrInvalid)
	}
	if c.Supersede != (Fence{}) {
		if err := c.Supersede.Check(); err != nil {
			return err
		}
		if c.Supersede.Attempt == c.Attempt {
			return fmt.Errorf("%w: an attempt cannot supersede itself", ErrInvalid)
		}
	}
	return c.Target.Check()
}

// Check reports what is wrong with r.
func (r Renewal) Check() error {
	if r.Lease < time.Millisecond {
		return fmt.Errorf("%w: a lease is at least a millisecond", ErrInvalid)
	}
	return nil
}

// Check reports what is wrong with c. Whether its target is the claimed one is
// for the store to compare.
func (c Commit) Check() error {
	switch {
	case len(c.Checkpoint.Handoff) == 0:
		return fmt.Errorf("%w: commit without a handoff", ErrInvalid)
	case c.Checkpoint.Tokens < 0:
		return fmt.Errorf("%w: negative token count", ErrInvalid)
	case len(c.Checkpoint.Route) > maxName:
		return fmt.Errorf("%w: route name too long", ErrInvalid)
	}
	return c.Checkpoint.Target.Check()
}

// Check reports what is wrong with f.
func (f Failure) Check() error {
	if f.Class == "" || len(f.Class) > maxName {
		return fmt.Errorf("%w: a failure has a class", ErrInvalid)
	}
	if f.Cooldown < 0 {
		return fmt.Errorf("%w: negative cooldown", ErrInvalid)
	}
	return nil
}

// Check reports what is wrong with e.
func (e Ending) Check() error {
	switch e.Phase {
	case Failed:
		return e.Failure.Check()
	case Ineffective, Cancelled, Abandoned:
		return nil
	}
	return fmt.Errorf("%w: an attempt does not end as %q", ErrInvalid, e.Phase)
}

// CheckReason reports whether reason may stand in a cancel flag.
func CheckReason(reason string) error {
	if len(reason) > maxName {
		return fmt.Errorf("%w: reason too long", ErrInvalid)
	}
	return nil
}

// Charge applies f to a streak: the streak after it, and for how long no attempt
// follows.
func (f Failure) Charge(streak int) (after int, cooldown time.Duration) {
	after = streak
	if f.Climb {
		after++
	}
	if f.Cooldown > 0 {
		return after, min(f.Cooldown, MaxCooldown)
	}
	if !f.Climb {
		return after, FirstRung
	}
	switch after {
	case 1:
		return after, FirstRung
	case 2:
		return after, SecondRung
	}
	return after, ThirdRung
}
