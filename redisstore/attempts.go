package redisstore

import (
	"context"
	"strconv"
	"strings"

	"github.com/foldgate/foldgate/ownership"
)

// Read implements ownership.Store.
func (s *Store) Read(ctx context.Context, key ownership.Key, known []ownership.Fence) (ownership.View, error) {
	held := make([]string, len(known))
	for i, f := range known {
		held[i] = f.String()
	}
	op := s.scripts.read
	r, err := s.operate(ctx, op, key, strings.Join(held, " "))
	if err != nil {
		return ownership.View{}, err
	}
	if r.code != replyView {
		return ownership.View{}, refused(op, &r, r.refusalOrUnexpected())
	}
	v, err := view(&r)
	if err = refused(op, &r, err); err != nil {
		return ownership.View{}, err
	}
	s.openAll(ctx, key, &v)
	return v, nil
}

func view(r *reply) (ownership.View, error) {
	v := ownership.View{Now: r.instant(), Generation: r.generation()}
	left, f := r.millis(), r.fields()
	var err error
	if v.Owner, err = f.owner(left); err != nil {
		return v, unreadable(r, err)
	}
	if v.Cancel, err = f.cancel(); err != nil {
		return v, unreadable(r, err)
	}
	if v.State, err = f.state(); err != nil {
		return v, unreadable(r, err)
	}
	handoffs := r.list()
	for i := 0; i+1 < len(handoffs); i += 2 {
		for j := range v.State.Checkpoints {
			if c := &v.State.Checkpoints[j]; c.Fence.String() == handoffs[i] {
				c.Handoff = []byte(handoffs[i+1])
			}
		}
	}
	return v, nil
}

// Claim implements ownership.Store.
func (s *Store) Claim(ctx context.Context, key ownership.Key, c ownership.Claim) (ownership.Claimed, error) {
	op := s.scripts.claim
	if err := c.Check(); err != nil {
		return ownership.Claimed{}, named(op.name, err)
	}
	r, err := s.operate(ctx, op, key,
		string(c.Attempt), fenceText(c.Supersede), c.Target.Digest.String(), strconv.Itoa(c.Target.Covered),
		span(c.Lease), span(c.Ceiling), flag(c.Bypass), c.Replica, c.Route, c.TraceParent)
	if err != nil {
		return ownership.Claimed{}, err
	}
	got, err := claimed(&r)
	if err == nil && r.err == nil && got.Verdict == ownership.VerdictCommitted {
		s.openCommitted(ctx, key, &r, &got.Checkpoint)
	}
	if err = refused(op, &r, err); err != nil {
		return ownership.Claimed{}, err
	}
	return got, nil
}

// openCommitted opens the handoff that a claim was refused for. One that cannot be
// opened is a reply that cannot be read: what stands there can neither be used nor,
// under this target, be replaced, so for this one attempt there is no store. The next
// target, which comes as the conversation grows, is claimed as any other.
func (s *Store) openCommitted(ctx context.Context, key ownership.Key, r *reply, c *ownership.Checkpoint) {
	handoff, ok := s.open(ctx, c.Handoff, slot{key, c.Fence, c.Target})
	if !ok {
		_ = unreadable(r, errUnopened)
		return
	}
	c.Handoff = handoff
}

func claimed(r *reply) (ownership.Claimed, error) {
	switch r.code {
	case replyClaimed:
		f := r.fields()
		owner, err := f.owner(0)
		if err != nil || owner == nil {
			return ownership.Claimed{}, unreadable(r, err)
		}
		state, err := f.state()
		if err != nil {
			return ownership.Claimed{}, unreadable(r, err)
		}
		return ownership.Claimed{Verdict: ownership.VerdictClaimed, Fence: owner.Fence, State: state}, nil
	case replyCommitted:
		c, err := parseCheckpoint(r.text())
		if err != nil {
			return ownership.Claimed{}, unreadable(r, err)
		}
		c.Handoff = []byte(r.text())
		return ownership.Claimed{Verdict: ownership.VerdictCommitted, Checkpoint: c}, nil
	case replyBusy:
		left := r.millis()
		owner, err := r.fields().owner(left)
		if err != nil || owner == nil {
			return ownership.Claimed{}, unreadable(r, err)
		}
		return ownership.Claimed{Verdict: ownership.VerdictBusy, Owner: *owner}, nil
	case replyCancelled:
		return ownership.Claimed{Verdict: ownership.VerdictCancelled}, nil
	case replyCooling:
		return ownership.Claimed{Verdict: ownership.VerdictCooling, Until: r.instant(), Left: r.millis()}, nil
	case replyBlocked:
		return ownership.Claimed{Verdict: ownership.VerdictBlocked, Until: r.instant(), Left: r.millis()}, nil
	}
	return ownership.Claimed{}, r.refusalOrUnexpected()
}

// Renew implements ownership.Store.
func (s *Store) Renew(ctx context.Context, key ownership.Key, f ownership.Fence, n ownership.Renewal) error {
	if err := n.Check(); err != nil {
		return named(s.scripts.renew.name, err)
	}
	_, err := s.fenced(ctx, s.scripts.renew, key, f, span(n.Lease), flag(n.Progress))
	return err
}

// Commit implements ownership.Store.
func (s *Store) Commit(ctx context.Context, key ownership.Key, f ownership.Fence, c ownership.Commit) (ownership.Done, error) {
	if err := c.Check(); err != nil {
		return 0, named(s.scripts.commit.name, err)
	}
	p := c.Checkpoint
	handoff, err := s.seals.keys.Load().sealed(p.Handoff, slot{key, f, p.Target})
	if err != nil {
		return 0, named(s.scripts.commit.name, unavailable(err))
	}
	return s.fenced(ctx, s.scripts.commit, key, f,
		p.Digest.String(), strconv.Itoa(p.Covered), checkpointRest(p), flag(c.Strike), handoff)
}

// Settle implements ownership.Store.
func (s *Store) Settle(ctx context.Context, key ownership.Key, f ownership.Fence) (ownership.Done, error) {
	return s.fenced(ctx, s.scripts.settle, key, f)
}

// Restore implements ownership.Store.
func (s *Store) Restore(ctx context.Context, key ownership.Key, f ownership.Fence, charge *ownership.Failure) (ownership.Done, error) {
	var failure ownership.Failure
	if charge != nil {
		failure = *charge
		if err := failure.Check(); err != nil {
			return 0, named(s.scripts.restore.name, err)
		}
	}
	return s.fenced(ctx, s.scripts.restore, key, f,
		flag(charge != nil), failure.Class, flag(failure.Climb), span(failure.Cooldown))
}

// Finish implements ownership.Store.
func (s *Store) Finish(ctx context.Context, key ownership.Key, f ownership.Fence, e ownership.Ending) error {
	if err := e.Check(); err != nil {
		return named(s.scripts.finish.name, err)
	}
	_, err := s.fenced(ctx, s.scripts.finish, key, f,
		string(e.Phase), e.Failure.Class, flag(e.Failure.Climb), span(e.Failure.Cooldown))
	return err
}

// fenced runs an operation whose first argument is a fence and whose answer is
// done, already or a refusal.
func (s *Store) fenced(ctx context.Context, op *script, key ownership.Key, f ownership.Fence, args ...any) (ownership.Done, error) {
	r, err := s.underFence(ctx, op, key, f, args...)
	if err != nil {
		return 0, err
	}
	done, err := r.done()
	return done, refused(op, &r, err)
}

// underFence runs an operation whose first argument is a fence.
func (s *Store) underFence(ctx context.Context, op *script, key ownership.Key, f ownership.Fence, args ...any) (reply, error) {
	if err := f.Check(); err != nil {
		return reply{}, named(op.name, err)
	}
	return s.operate(ctx, op, key, append([]any{f.String()}, args...)...)
}
