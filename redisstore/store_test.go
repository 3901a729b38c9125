package redisstore_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/foldgate/foldgate/ownership"
	"github.com/foldgate/foldgate/redisstore"
)

func TestCommitIsReadBack(t *testing.T) {
	s, _ := real(t)
	key, what := keyOf(t.Name()), target(7, "a")
	handoff := "binary \x00\xff\r\n and text ü"
	f := mustCommit(t, s, key, what, handoff)
	if f.Generation != 1 {
		t.Errorf("generation %v, want 1", f.Generation)
	}
	v := mustRead(t, s, key)
	if v.Generation != 1 || v.Owner == nil || v.Owner.Fence != f || v.Owner.Phase != ownership.Committed || v.Owner.Live || v.Cancel != nil {
		t.Errorf("view: %+v owner %+v", v, v.Owner)
	}
	if len(v.State.Checkpoints) != 1 {
		t.Fatalf("%d checkpoints, want 1", len(v.State.Checkpoints))
	}
	got := v.State.Checkpoints[0]
	if got.Created.IsZero() || got.Created.After(v.Now) {
		t.Errorf("created %v, now %v", got.Created, v.Now)
	}
	want := commitOf(what, handoff).Checkpoint
	want.Fence, want.Created = f, got.Created
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("checkpoint (-want +got):\n%s", d)
	}
	if known := mustRead(t, s, key, f).State.Checkpoints[0].Handoff; known != nil {
		t.Errorf("handoff of a known fence: %q, want nil", known)
	}
}

func TestHandoffsGoWithTheirCheckpoints(t *testing.T) {
	s, server := real(t)
	key := keyOf(t.Name())
	for i := range 7 {
		f := mustCommit(t, s, key, target(i+1, strconv.Itoa(i)), "handoff "+strconv.Itoa(i))
		if _, err := s.Settle(t.Context(), key, f); err != nil {
			t.Fatalf("settle: %v", err)
		}
	}
	names := handoffFields(t, server.Client().HKeys(t.Context(), "foldgate:1:{"+string(key)+"}:conversation").Val())
	if len(names) != ownership.MaxCheckpoints {
		t.Errorf("handoff fields %v, want %d", names, ownership.MaxCheckpoints)
	}
	for _, c := range mustRead(t, s, key).State.Checkpoints {
		if want := "handoff " + strconv.Itoa(c.Covered-1); string(c.Handoff) != want {
			t.Errorf("handoff %q, want %q", c.Handoff, want)
		}
	}
	// The one that a provisional commit pushes out is still named by the snapshot.
	f := mustCommit(t, s, key, target(8, "7"), "handoff 7")
	names = handoffFields(t, server.Client().HKeys(t.Context(), "foldgate:1:{"+string(key)+"}:conversation").Val())
	if len(names) != ownership.MaxCheckpoints+1 {
		t.Errorf("handoff fields %v, want %d", names, ownership.MaxCheckpoints+1)
	}
	if _, err := s.Restore(t.Context(), key, f, nil); err != nil {
		t.Fatalf("restore: %v", err)
	}
	oldest := mustRead(t, s, key).State.Checkpoints[ownership.MaxCheckpoints-1]
	if string(oldest.Handoff) != "handoff 3" {
		t.Errorf("oldest handoff after the restore: %q", oldest.Handoff)
	}
}

func handoffFields(t *testing.T, all []string) []string {
	t.Helper()
	var out []string
	for _, name := range all {
		if strings.HasPrefix(name, "handoff:") {
			out = append(out, name)
		}
	}
	return out
}

// The operator closes what was open: no snapshot stays behind to name handoffs
// that nobody can bring back.
func TestOperatorLeavesNoSnapshot(t *testing.T) {
	s, server := real(t)
	key := keyOf(t.Name())
	mustCommit(t, s, key, target(3, "x"), "h")
	working := mustClaim(t, s, key, claimOf(t, target(4, "y"))).Fence
	if _, err := s.RestoreOperator(t.Context(), key, working, newID(t)); err != nil {
		t.Fatalf("restore: %v", err)
	}
	for _, name := range server.Client().HKeys(t.Context(), "foldgate:1:{"+string(key)+"}:conversation").Val() {
		if strings.HasPrefix(name, "snap") || strings.HasPrefix(name, "handoff:") {
			t.Errorf("field %s is left", name)
		}
	}
}

// Lua's numbers cannot tell 2^53 from 2^53+1, and the counter may stand anywhere.
func TestGenerationsBeyondDoubles(t *testing.T) {
	tests := []struct {
		name, counter string
		want          ownership.Generation
	}{
		{"at 2^53", "9007199254740992", 9007199254740993},
		{"above 2^53", "9007199254740993", 9007199254740994},
		{"last one", "9223372036854775806", 9223372036854775807},
	}
	s, server := real(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			key := keyOf(t.Name())
			server.Do("SET", "foldgate:1:{"+string(key)+"}:gen", tt.counter)
			what := target(3, "x")
			first := mustClaim(t, s, key, claimOf(t, what)).Fence
			if first.Generation != tt.want {
				t.Fatalf("generation %v, want %v", first.Generation, tt.want)
			}
			if v := mustRead(t, s, key); v.Generation != tt.want || v.Owner.Fence != first {
				t.Errorf("read: %v, %+v", v.Generation, v.Owner)
			}
			older := first
			older.Generation--
			wantError(t, "renew below", s.Renew(t.Context(), key, older, ownership.Renewal{Lease: lease}), ownership.ErrSuperseded)
			if _, err := s.Commit(t.Context(), key, first, commitOf(what, "h")); err != nil {
				t.Errorf("commit: %v", err)
			}
		})
	}
}

func TestCounterThatCannotGrow(t *testing.T) {
	s, server := real(t)
	for _, counter := range []string{"9223372036854775807", "not a number", "-3"} {
		key := keyOf(t.Name() + counter)
		server.Do("SET", "foldgate:1:{"+string(key)+"}:gen", counter)
		_, err := s.Claim(t.Context(), key, claimOf(t, target(3, "x")))
		wantError(t, counter, err, ownership.ErrUnavailable)
		if n := server.Do("EXISTS", "foldgate:1:{"+string(key)+"}:conversation"); n != int64(0) {
			t.Errorf("%s: the conversation was written", counter)
		}
		if got := server.Do("GET", "foldgate:1:{"+string(key)+"}:gen"); got != counter {
			t.Errorf("counter %q became %q", counter, got)
		}
	}
}

func TestCounterEvictedAlone(t *testing.T) {
	s, server := real(t)
	key := keyOf(t.Name())
	server.Do("SET", "foldgate:1:{"+string(key)+"}:gen", "56")
	first := claimOf(t, target(3, "x"))
	f := mustClaim(t, s, key, first).Fence
	server.Do("DEL", "foldgate:1:{"+string(key)+"}:gen")
	next := claimOf(t, target(4, "y"))
	next.Supersede = f
	if got := mustClaim(t, s, key, next).Fence.Generation; got != 58 {
		t.Errorf("generation %v, want 58", got)
	}
	server.Do("SET", "foldgate:1:{"+string(key)+"}:gen", "2")
	if got, err := s.Forget(t.Context(), key); err != nil || got != 59 {
		t.Errorf("forget: %v, %v; want 59", got, err)
	}
}

// A key of another type is somebody else's: nothing is written over it.
func TestForeignKey(t *testing.T) {
	s, server := real(t)
	key := keyOf(t.Name())
	server.Do("SET", "foldgate:1:{"+string(key)+"}:conversation", "mine")
	_, err := s.Claim(t.Context(), key, claimOf(t, target(3, "x")))
	wantError(t, "claim", err, ownership.ErrUnavailable)
	if n := server.Do("EXISTS", "foldgate:1:{"+string(key)+"}:gen"); n != int64(0) {
		t.Error("a generation was taken")
	}
	if s.BreakerState() != "closed" {
		t.Errorf("breaker %s: a foreign key is no broken connection", s.BreakerState())
	}
}

func TestUnreadableRecord(t *testing.T) {
	s, server := real(t)
	for _, field := range []string{"owner", "checkpoints", "digest"} {
		key := keyOf(t.Name() + field)
		mustCommit(t, s, key, target(3, "x"), "h")
		server.Do("HSET", "foldgate:1:{"+string(key)+"}:conversation", field, "what nobody wrote")
		_, err := s.Read(t.Context(), key, nil)
		wantError(t, field, err, ownership.ErrUnavailable)
	}
}

// Both keys live equally long, on every path that writes.
func TestTimeToLive(t *testing.T) {
	s, server := real(t)
	ctx, key := t.Context(), keyOf(t.Name())
	conversation, gen := "foldgate:1:{"+string(key)+"}:conversation", "foldgate:1:{"+string(key)+"}:gen"
	fresh := func(what string, keys ...string) {
		t.Helper()
		for _, k := range keys {
			ttl := server.Client().PTTL(ctx, k).Val()
			if ttl > 168*time.Hour || ttl < 168*time.Hour-patience {
				t.Errorf("after %s: %s lives %v", what, k, ttl)
			}
			server.Do("PEXPIRE", k, 60_000)
		}
	}
	what := target(3, "x")
	f := mustClaim(t, s, key, claimOf(t, what)).Fence
	fresh("claim", conversation, gen)
	steps := []struct {
		name string
		do   func() error
	}{
		{"renew", func() error { return s.Renew(ctx, key, f, ownership.Renewal{Lease: lease}) }},
		{"commit", func() error { _, err := s.Commit(ctx, key, f, commitOf(what, "h")); return err }},
		{"settle", func() error { _, err := s.Settle(ctx, key, f); return err }},
		{"settle once more", func() error { _, err := s.Settle(ctx, key, f); return err }},
		{"operator", func() error { _, err := s.RestoreOperator(ctx, key, f, newID(t)); return err }},
		{"claim again", func() error { f = mustClaim(t, s, key, claimOf(t, target(4, "y"))).Fence; return nil }},
		{"raise", func() error { return s.Raise(ctx, key, f, "r") }},
		{"clear", func() error { _, err := s.Clear(ctx, key, f); return err }},
		{"claim and finish", func() error {
			f = mustClaim(t, s, key, claimOf(t, target(5, "z"))).Fence
			return s.Finish(ctx, key, f, ownership.Ending{Phase: ownership.Abandoned})
		}},
		{"commit and restore", func() error {
			f = mustCommit(t, s, key, target(6, "w"), "h")
			_, err := s.Restore(ctx, key, f, &ownership.Failure{Class: "refused"})
			return err
		}},
	}
	for _, step := range steps {
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		fresh(step.name, conversation, gen)
	}
	if _, err := s.Forget(ctx, key); err != nil {
		t.Fatalf("forget: %v", err)
	}
	fresh("forget", gen)
}

// A retention shorter than an attempt must not take the attempt's record away.
func TestRetentionCoversTheAttempt(t *testing.T) {
	_, server := real(t)
	s := openWith(t, server.URL, time.Second)
	key := keyOf(t.Name())
	c := claimOf(t, target(3, "x"))
	c.Lease, c.Ceiling = time.Minute, time.Hour
	mustClaim(t, s, key, c)
	for _, kind := range []string{"gen", "conversation"} {
		ttl := server.Client().PTTL(t.Context(), "foldgate:1:{"+string(key)+"}:"+kind).Val()
		if ttl < time.Hour || ttl > time.Hour+time.Minute {
			t.Errorf("%s lives %v, want about an hour and a minute", kind, ttl)
		}
	}
}

// A failover to a server whose clock is behind leaves times far ahead; none of
// them may hold anybody up for longer than it could have been set for.
func TestTimesTooFarAheadArePast(t *testing.T) {
	s, server := real(t)
	hour := strconv.FormatInt(time.Now().Add(2*time.Hour).UnixMilli(), 10)
	tests := []struct {
		name  string
		field string
	}{{"lease", "lease_end"}, {"cooldown", "cooldown"}, {"block", "blocked"}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			key := keyOf(t.Name())
			f := mustClaim(t, s, key, claimOf(t, target(3, "x"))).Fence
			if tt.field != "lease_end" {
				if err := s.Finish(t.Context(), key, f, ownership.Ending{Phase: ownership.Abandoned}); err != nil {
					t.Fatal(err)
				}
			}
			server.Do("HSET", "foldgate:1:{"+string(key)+"}:conversation", tt.field, hour)
			if v := mustRead(t, s, key); v.Owner.Live || v.Owner.LeaseLeft != 0 {
				t.Errorf("owner counts as alive: %+v", v.Owner)
			}
			mustClaim(t, s, key, claimOf(t, target(4, "y")))
		})
	}
}

// The same for the ceiling: an owner that renews for ever must not live on by it.
func TestCeilingTooFarAheadIsPast(t *testing.T) {
	s, server := real(t)
	key := keyOf(t.Name())
	f := mustClaim(t, s, key, claimOf(t, target(3, "x"))).Fence
	ahead := time.Now().Add(2 * time.Hour)
	server.Do("HSET", "foldgate:1:{"+string(key)+"}:conversation",
		"claimed", ahead.UnixMilli(), "ceiling", ahead.Add(ceiling).UnixMilli())
	if err := s.Renew(t.Context(), key, f, ownership.Renewal{Lease: lease}); err != nil {
		t.Fatalf("renew: %v", err)
	}
	if v := mustRead(t, s, key); v.Owner.Live {
		t.Errorf("owner counts as alive: %+v", v.Owner)
	}
	mustClaim(t, s, key, claimOf(t, target(4, "y")))
}

// A fold that helps ends the block that two before it began.
func TestCommitEndsABlock(t *testing.T) {
	s, _ := real(t)
	key := keyOf(t.Name())
	commit := func(n int, strike bool) {
		t.Helper()
		what := target(n, strconv.Itoa(n))
		c := claimOf(t, what)
		c.Bypass = true
		f := mustClaim(t, s, key, c).Fence
		p := commitOf(what, "h")
		p.Strike = strike
		if _, err := s.Commit(t.Context(), key, f, p); err != nil {
			t.Fatalf("commit: %v", err)
		}
	}
	commit(1, true)
	commit(2, true)
	if got, err := s.Claim(t.Context(), key, claimOf(t, target(3, "3"))); err != nil || got.Verdict != ownership.VerdictBlocked {
		t.Fatalf("claim: %+v, %v; want it blocked", got, err)
	}
	commit(3, false)
	if st := mustRead(t, s, key).State; !st.BlockedUntil.IsZero() || st.Strikes != 0 {
		t.Errorf("state %+v", st)
	}
	mustClaim(t, s, key, claimOf(t, target(4, "4")))
}

// A dead owner takes its flag with it.
func TestFlagGoesWithItsOwner(t *testing.T) {
	server := miniredis.RunT(t)
	now := time.Date(2031, 5, 6, 7, 8, 9, 0, time.UTC)
	server.SetTime(now)
	s := open(t, redisstore.Config{URL: "redis://" + server.Addr()})
	key := keyOf(t.Name())
	f := mustClaim(t, s, key, claimOf(t, target(3, "x"))).Fence
	if err := s.Raise(t.Context(), key, f, "operator"); err != nil {
		t.Fatalf("raise: %v", err)
	}
	server.SetTime(now.Add(lease))
	what := target(4, "y")
	next := mustClaim(t, s, key, claimOf(t, what)).Fence
	if v := mustRead(t, s, key); v.Cancel != nil {
		t.Errorf("flag %+v of a dead owner stands", v.Cancel)
	}
	if _, err := s.Commit(t.Context(), key, next, commitOf(what, "h")); err != nil {
		t.Errorf("commit: %v", err)
	}
}

func TestArguments(t *testing.T) {
	s, server := real(t)
	ctx, key, what := t.Context(), keyOf(t.Name()), target(3, "x")
	f := ownership.Fence{Generation: 1, Attempt: newID(t)}
	unfenced := ownership.Fence{Attempt: newID(t)}
	good := claimOf(t, what)
	tests := []struct {
		name string
		do   func() error
	}{
		{"key", func() error { _, err := s.Read(ctx, "{x}", nil); return err }},
		{"claim without an id", func() error { c := good; c.Attempt = ""; _, err := s.Claim(ctx, key, c); return err }},
		{"claim without a lease", func() error { c := good; c.Lease = 0; _, err := s.Claim(ctx, key, c); return err }},
		{"claim of nothing", func() error { c := good; c.Target.Covered = 0; _, err := s.Claim(ctx, key, c); return err }},
		{"claim superseding nobody", func() error { c := good; c.Supersede = unfenced; _, err := s.Claim(ctx, key, c); return err }},
		{"renew unfenced", func() error { return s.Renew(ctx, key, unfenced, ownership.Renewal{Lease: lease}) }},
		{"renew for nothing", func() error { return s.Renew(ctx, key, f, ownership.Renewal{}) }},
		{"commit unfenced", func() error { _, err := s.Commit(ctx, key, unfenced, commitOf(what, "h")); return err }},
		{"commit without a handoff", func() error { _, err := s.Commit(ctx, key, f, commitOf(what, "")); return err }},
		{"settle unfenced", func() error { _, err := s.Settle(ctx, key, unfenced); return err }},
		{"restore unfenced", func() error { _, err := s.Restore(ctx, key, unfenced, nil); return err }},
		{"restore with a strange charge", func() error { _, err := s.Restore(ctx, key, f, &ownership.Failure{}); return err }},
		{"finish as committed", func() error { return s.Finish(ctx, key, f, ownership.Ending{Phase: ownership.Committed}) }},
		{"raise unfenced", func() error { return s.Raise(ctx, key, unfenced, "") }},
		{"raise with an essay", func() error { return s.Raise(ctx, key, f, strings.Repeat("x", 5000)) }},
		{"clear unfenced", func() error { _, err := s.Clear(ctx, key, unfenced); return err }},
		{"operator without an id", func() error { _, err := s.RestoreOperator(ctx, key, f, ""); return err }},
		{"operator saw nothing real", func() error { _, err := s.RestoreOperator(ctx, key, unfenced, newID(t)); return err }},
		{"forget a strange key", func() error { _, err := s.Forget(ctx, "x"); return err }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { wantError(t, tt.name, tt.do(), ownership.ErrInvalid) })
	}
	if n := server.Do("DBSIZE"); n != int64(0) {
		t.Errorf("%v keys were written", n)
	}
}

func TestContextThatEnded(t *testing.T) {
	s, _ := real(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 5 {
		_, err := s.Read(ctx, keyOf(t.Name()), nil)
		wantError(t, "read", err, ownership.ErrUnavailable)
		wantError(t, "read", err, context.Canceled)
	}
	if s.BreakerState() != "closed" {
		t.Errorf("breaker %s: the caller went away, not the server", s.BreakerState())
	}
}

func TestErrorsNameTheOperation(t *testing.T) {
	s, _ := real(t)
	f := ownership.Fence{Generation: 1, Attempt: newID(t)}
	_, err := s.Settle(t.Context(), keyOf(t.Name()), f)
	if !errors.Is(err, ownership.ErrLost) || !strings.Contains(err.Error(), "settle") {
		t.Errorf("settle: %v", err)
	}
}
