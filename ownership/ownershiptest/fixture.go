package ownershiptest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/foldgate/foldgate/ownership"
)

// What the cases use where the value does not matter.
const (
	lease   = 15 * time.Second
	ceiling = 600 * time.Second
	// slack is how much real time a case may take between two calls.
	slack = 10 * time.Second
)

// fixture is a conversation of its own, with helpers that fail the test.
type fixture struct {
	*testing.T
	Harness
	key ownership.Key
}

func newFixture(t *testing.T, h Harness) *fixture {
	return &fixture{T: t, Harness: h, key: newKey()}
}

func newKey() ownership.Key {
	sum := sha256.Sum256([]byte(uuid.NewString()))
	return ownership.Key(hex.EncodeToString(sum[:20]))
}

func newID() ownership.AttemptID { return ownership.AttemptID(uuid.Must(uuid.NewV7()).String()) }

// target is the n-th prefix of a conversation.
func target(n int) ownership.Target {
	return ownership.Target{Covered: n, Digest: sha256.Sum256(fmt.Append(nil, "prefix ", n))}
}

func claimOf(t ownership.Target) ownership.Claim {
	return ownership.Claim{Attempt: newID(), Target: t, Replica: "a", Route: "primary", Lease: lease, Ceiling: ceiling}
}

func superseding(f ownership.Fence, t ownership.Target) ownership.Claim {
	c := claimOf(t)
	c.Supersede, c.Bypass = f, true
	return c
}

func bypassing(t ownership.Target) ownership.Claim {
	c := claimOf(t)
	c.Bypass = true
	return c
}

func commitOf(t ownership.Target, text string) ownership.Commit {
	return ownership.Commit{Checkpoint: ownership.Checkpoint{
		Target: t, Tokens: 7, Route: "primary", Step: 1, Handoff: []byte(text),
	}}
}

func striking(t ownership.Target) ownership.Commit {
	c := commitOf(t, "long")
	c.Strike = true
	return c
}

func climbing(class string) ownership.Failure { return ownership.Failure{Class: class, Climb: true} }

func failed(class string) ownership.Ending {
	return ownership.Ending{Phase: ownership.Failed, Failure: climbing(class)}
}

// claim claims and wants a verdict.
func (x *fixture) claim(s ownership.Store, c ownership.Claim, want ownership.Verdict) ownership.Claimed {
	x.Helper()
	got, err := s.Claim(x.Context(), x.key, c)
	x.ok(err, "claim")
	if got.Verdict != want {
		x.Fatalf("claim: verdict %d, want %d (%+v)", got.Verdict, want, got)
	}
	return got
}

// begin becomes the owner.
func (x *fixture) begin(s ownership.Store, c ownership.Claim) ownership.Fence {
	x.Helper()
	got := x.claim(s, c, ownership.VerdictClaimed)
	if got.Fence.Attempt != c.Attempt || got.Fence.Generation == 0 {
		x.Fatalf("claim: fence %v for attempt %s", got.Fence, c.Attempt)
	}
	return got.Fence
}

// committed is a fence whose commit of t stands.
func (x *fixture) committed(s ownership.Store, t ownership.Target) ownership.Fence {
	x.Helper()
	f := x.begin(s, bypassing(t))
	x.commit(s, f, commitOf(t, "summary of "+t.Digest.String()), ownership.DoneNow)
	return f
}

func (x *fixture) commit(s ownership.Store, f ownership.Fence, c ownership.Commit, want ownership.Done) {
	x.Helper()
	got, err := s.Commit(x.Context(), x.key, f, c)
	x.done(got, err, want, "commit")
}

func (x *fixture) settle(s ownership.Store, f ownership.Fence, want ownership.Done) {
	x.Helper()
	got, err := s.Settle(x.Context(), x.key, f)
	x.done(got, err, want, "settle")
}

func (x *fixture) restore(s ownership.Store, f ownership.Fence, charge *ownership.Failure, want ownership.Done) {
	x.Helper()
	got, err := s.Restore(x.Context(), x.key, f, charge)
	x.done(got, err, want, "restore")
}

func (x *fixture) finish(s ownership.Store, f ownership.Fence, e ownership.Ending) {
	x.Helper()
	x.ok(s.Finish(x.Context(), x.key, f, e), "finish")
}

func (x *fixture) raise(s ownership.Store, f ownership.Fence, reason string) {
	x.Helper()
	x.ok(s.Raise(x.Context(), x.key, f, reason), "raise")
}

func (x *fixture) clear(s ownership.Store, f ownership.Fence, want ownership.Phase) {
	x.Helper()
	got, err := s.Clear(x.Context(), x.key, f)
	x.ok(err, "clear")
	if got != want {
		x.Fatalf("clear: phase %q, want %q", got, want)
	}
}

func (x *fixture) renew(s ownership.Store, f ownership.Fence) error {
	return s.Renew(x.Context(), x.key, f, ownership.Renewal{Lease: lease})
}

func (x *fixture) read(s ownership.Store, known ...ownership.Fence) ownership.View {
	x.Helper()
	v, err := s.Read(x.Context(), x.key, known)
	x.ok(err, "read")
	return v
}

func (x *fixture) owner() ownership.Owner {
	x.Helper()
	v := x.read(x.B)
	if v.Owner == nil {
		x.Fatal("read: no owner")
	}
	return *v.Owner
}

// texts are the handoffs that stand, newest first.
func (x *fixture) texts() []string {
	x.Helper()
	out := []string{}
	for _, c := range x.read(x.B).State.Checkpoints {
		out = append(out, string(c.Handoff))
	}
	return out
}

// fences are the checkpoints that stand, newest first.
func (x *fixture) fences() []ownership.Fence {
	x.Helper()
	out := []ownership.Fence{}
	for _, c := range x.read(x.B).State.Checkpoints {
		out = append(out, c.Fence)
	}
	return out
}

func (x *fixture) stand(want ...ownership.Fence) {
	x.Helper()
	if want == nil {
		want = []ownership.Fence{}
	}
	if got := x.fences(); !reflect.DeepEqual(got, want) {
		x.Fatalf("checkpoints of %v stand, want %v", got, want)
	}
}

// unchanged runs fn and wants the conversation as it was.
func (x *fixture) unchanged(what string, fn func()) {
	x.Helper()
	before := x.still()
	fn()
	if after := x.still(); !reflect.DeepEqual(before, after) {
		x.Fatalf("%s changed the conversation\nbefore %s\nafter  %s", what, show(before), show(after))
	}
}

// still is the conversation without what a clock moves.
func (x *fixture) still() ownership.View {
	x.Helper()
	v := x.read(x.B)
	v.Now = time.Time{}
	if v.Owner != nil {
		v.Owner.LeaseLeft, v.Owner.Live = 0, false
	}
	return v
}

func show(v ownership.View) string {
	return fmt.Sprintf("generation %d owner %+v cancel %+v state %+v", v.Generation, v.Owner, v.Cancel, v.State)
}

func (x *fixture) ok(err error, what string) {
	x.Helper()
	if err != nil {
		x.Fatalf("%s: %v", what, err)
	}
}

func (x *fixture) done(got ownership.Done, err error, want ownership.Done, what string) {
	x.Helper()
	x.ok(err, what)
	if got != want {
		x.Fatalf("%s: done %d, want %d", what, got, want)
	}
}

func (x *fixture) is(err, want error, what string) {
	x.Helper()
	if !errors.Is(err, want) {
		x.Fatalf("%s: %v, want %v", what, err, want)
	}
}

func (x *fixture) ended(err error, want ownership.Phase, what string) {
	x.Helper()
	var e *ownership.EndedError
	if !errors.As(err, &e) || e.Phase != want {
		x.Fatalf("%s: %v, want ended as %s", what, err, want)
	}
}

// within wants got to be want, less the real time that the case took.
func (x *fixture) within(got, want time.Duration, what string) {
	x.Helper()
	if got > want || got < want-slack {
		x.Fatalf("%s: %v, want %v", what, got, want)
	}
}

// cooldown is what is left of the cooldown, zero if there is none.
func (x *fixture) cooldown() time.Duration {
	x.Helper()
	v := x.read(x.B)
	if v.State.CooldownUntil.IsZero() {
		return 0
	}
	return max(0, v.State.CooldownUntil.Sub(v.Now))
}
