package ownershiptest

import (
	"context"

	"github.com/foldgate/foldgate/ownership"
)

func invalidCases() []testCase {
	return []testCase{
		{"keys", 0, invalidKeys},
		{"claims", 0, invalidClaims},
		{"fences", 0, invalidFences},
		{"arguments", 0, invalidArguments},
	}
}

func invalidKeys(x *fixture) {
	f := x.begin(x.A, claimOf(target(1)))
	for _, key := range []ownership.Key{"", "x", x.key[1:], x.key + "0", "{" + x.key[2:] + "}", "ABCDEF" + x.key[6:]} {
		for name, call := range fenced(key, f) {
			x.is(call(x.Context(), x.A), ownership.ErrInvalid, name+" with key "+string(key))
		}
		_, err := x.A.Read(x.Context(), key, nil)
		x.is(err, ownership.ErrInvalid, "read")
		_, err = x.A.Claim(x.Context(), key, claimOf(target(1)))
		x.is(err, ownership.ErrInvalid, "claim")
		_, err = x.A.Forget(x.Context(), key)
		x.is(err, ownership.ErrInvalid, "forget")
		_, err = x.A.RestoreOperator(x.Context(), key, f, newID())
		x.is(err, ownership.ErrInvalid, "operator's restore")
	}
}

func invalidClaims(x *fixture) {
	for name, spoil := range map[string]func(c *ownership.Claim){
		"no attempt id":               func(c *ownership.Claim) { c.Attempt = "" },
		"an attempt id with a slash":  func(c *ownership.Claim) { c.Attempt = "1/" + c.Attempt },
		"no message covered":          func(c *ownership.Claim) { c.Target.Covered = 0 },
		"fewer messages than none":    func(c *ownership.Claim) { c.Target.Covered = -1 },
		"no lease":                    func(c *ownership.Claim) { c.Lease = 0 },
		"a negative lease":            func(c *ownership.Claim) { c.Lease = -lease },
		"no ceiling":                  func(c *ownership.Claim) { c.Ceiling = 0 },
		"superseding generation zero": func(c *ownership.Claim) { c.Supersede = ownership.Fence{Attempt: newID()} },
		"superseding half a fence":    func(c *ownership.Claim) { c.Supersede = ownership.Fence{Generation: 1} },
	} {
		c := claimOf(target(1))
		spoil(&c)
		_, err := x.A.Claim(x.Context(), x.key, c)
		x.is(err, ownership.ErrInvalid, "claim with "+name)
	}
	if v := x.read(x.B); v.Generation != 0 || v.Owner != nil {
		x.Fatalf("invalid claims wrote %s", show(v))
	}
}

// fenced are the operations that carry a fence.
func fenced(key ownership.Key, f ownership.Fence) map[string]func(ctx context.Context, s ownership.Store) error {
	return map[string]func(ctx context.Context, s ownership.Store) error{
		"renew": func(ctx context.Context, s ownership.Store) error {
			return s.Renew(ctx, key, f, ownership.Renewal{Lease: lease})
		},
		"commit": func(ctx context.Context, s ownership.Store) error {
			_, err := s.Commit(ctx, key, f, commitOf(target(1), "s"))
			return err
		},
		"settle": func(ctx context.Context, s ownership.Store) error {
			_, err := s.Settle(ctx, key, f)
			return err
		},
		"restore": func(ctx context.Context, s ownership.Store) error {
			_, err := s.Restore(ctx, key, f, nil)
			return err
		},
		"finish": func(ctx context.Context, s ownership.Store) error {
			return s.Finish(ctx, key, f, failed("timeout"))
		},
		"raise": func(ctx context.Context, s ownership.Store) error {
			return s.Raise(ctx, key, f, "operator")
		},
		"clear": func(ctx context.Context, s ownership.Store) error {
			_, err := s.Clear(ctx, key, f)
			return err
		},
	}
}

func invalidFences(x *fixture) {
	f := x.begin(x.A, claimOf(target(1)))
	for what, bad := range map[string]ownership.Fence{
		"no fence": {}, "generation zero": {Attempt: f.Attempt}, "no attempt": {Generation: f.Generation},
	} {
		x.unchanged(what, func() {
			for name, call := range fenced(x.key, bad) {
				x.is(call(x.Context(), x.A), ownership.ErrInvalid, name+" with "+what)
			}
		})
	}
	x.unchanged("half a fence", func() {
		_, err := x.A.RestoreOperator(x.Context(), x.key, ownership.Fence{Generation: 1}, newID())
		x.is(err, ownership.ErrInvalid, "operator's restore that saw half a fence")
		_, err = x.A.RestoreOperator(x.Context(), x.key, f, "")
		x.is(err, ownership.ErrInvalid, "operator's restore without an id")
	})
}

func invalidArguments(x *fixture) {
	f := x.begin(x.A, claimOf(target(1)))
	x.unchanged("an invalid call", func() {
		x.is(x.A.Renew(x.Context(), x.key, f, ownership.Renewal{}), ownership.ErrInvalid, "renew without a lease")
		for name, spoil := range map[string]func(c *ownership.Commit){
			"no handoff":        func(c *ownership.Commit) { c.Checkpoint.Handoff = nil },
			"no message":        func(c *ownership.Commit) { c.Checkpoint.Covered = 0 },
			"a negative number": func(c *ownership.Commit) { c.Checkpoint.Tokens = -1 },
		} {
			c := commitOf(target(1), "s")
			spoil(&c)
			_, err := x.A.Commit(x.Context(), x.key, f, c)
			x.is(err, ownership.ErrInvalid, "commit with "+name)
		}
		for _, p := range []ownership.Phase{"", ownership.Working, ownership.Committed, ownership.Settled, ownership.Restored, ownership.Superseded, ownership.Lost, "nonsense"} {
			x.is(x.A.Finish(x.Context(), x.key, f, ownership.Ending{Phase: p}), ownership.ErrInvalid, "finish as "+string(p))
		}
		x.is(x.A.Finish(x.Context(), x.key, f, ownership.Ending{Phase: ownership.Failed}), ownership.ErrInvalid, "a failure without a class")
		negative := climbing("timeout")
		negative.Cooldown = -1
		x.is(x.A.Finish(x.Context(), x.key, f, ownership.Ending{Phase: ownership.Failed, Failure: negative}), ownership.ErrInvalid, "a negative cooldown")
		_, err := x.A.Restore(x.Context(), x.key, f, &ownership.Failure{})
		x.is(err, ownership.ErrInvalid, "a charge without a class")
	})
}
