package redisstore_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/foldgate/foldgate/ownership"
	"github.com/foldgate/foldgate/redisstore"
	"github.com/foldgate/foldgate/redisstore/redistest"
)

// The tests of this file hold the comparisons of the scripts that no call of a
// correct Go program reaches: what scripts/mutate found unguarded.

// forger is a hook that changes arguments of scripts on their way to the server,
// as a replica of another version, or a broken one, might send them.
type forger map[int]string // by the number of ARGV

func (forger) DialHook(next redis.DialHook) redis.DialHook { return next }

func (forger) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (f forger) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		args := cmd.Args()
		if name := cmd.Name(); name == "eval" || name == "evalsha" {
			keys, err := strconv.Atoi(fmt.Sprint(args[2]))
			if err != nil {
				return fmt.Errorf("count the keys: %w", err)
			}
			for n, value := range f {
				args[2+keys+n] = value
			}
		}
		return next(ctx, cmd)
	}
}

// forged is a store whose scripts are passed what f says.
func forged(t *testing.T, addr string, f forger) *redisstore.Store {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: addr, Protocol: 2, DisableIdentity: true, MaxRetries: -1, ContextTimeoutEnabled: true})
	client.AddHook(f)
	s := redisstore.New(client, redisstore.Options{Timeout: patience})
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		if err := client.Close(); err != nil {
			t.Errorf("close the client: %v", err)
		}
	})
	return s
}

// What no argument may be, by what it should be.
var (
	noFence      = []string{"", "1", "x/a", "0/a", "01/a", "1/", "1/a b", "1/a\n", "1/" + strings.Repeat("a", 84)}
	noFenceThere = noFence[1:]
	noAttempt    = []string{"", "a b", "1/a", strings.Repeat("a", 65)}
	noDigest     = []string{"", strings.Repeat("a", 63), strings.Repeat("a", 65), strings.Repeat("g", 64)}
	noCount      = []string{"", "x", "-1", "1.5", "1e3", " 1", "1000000000000000"}
	noSpan       = append([]string{"0"}, noCount...)
	noFlag       = []string{"", "2", "true"}
)

// argument is one ARGV of a script, with what it may not be.
type argument struct {
	index int
	name  string // as the refusal calls it
	bad   []string
}

// operation is a call that the server takes, but for the argument that is forged.
type operation struct {
	name string
	args []argument
	do   func(context.Context, *redisstore.Store) error
}

func operations(t *testing.T, key ownership.Key, f ownership.Fence, what ownership.Target) []operation {
	id, claim := newID(t), claimOf(t, what)
	fence := argument{3, "fence", noFence}
	return []operation{
		{"read", nil, func(ctx context.Context, s *redisstore.Store) error { _, err := s.Read(ctx, key, nil); return err }},
		{"claim", []argument{
			{3, "attempt", noAttempt},
			{4, "supersede", noFenceThere},
			{5, "digest", noDigest},
			{6, "covered", noCount},
			{7, "lease", noSpan},
			{8, "ceiling", noSpan},
			{9, "bypass", noFlag},
		}, func(ctx context.Context, s *redisstore.Store) error { _, err := s.Claim(ctx, key, claim); return err }},
		{"renew", []argument{fence, {4, "lease", noSpan}, {5, "progress", noFlag}}, func(ctx context.Context, s *redisstore.Store) error {
			return s.Renew(ctx, key, f, ownership.Renewal{Lease: lease})
		}},
		{"commit", []argument{
			fence,
			{4, "digest", noDigest},
			{5, "covered", noCount},
			{6, "checkpoint", []string{"", "1", "x 1 r", "1  r", "1 1 r x", "1 1 r\n"}},
			{7, "strike", noFlag},
		}, func(ctx context.Context, s *redisstore.Store) error {
			_, err := s.Commit(ctx, key, f, commitOf(what, "h"))
			return err
		}},
		{"settle", []argument{fence}, func(ctx context.Context, s *redisstore.Store) error { _, err := s.Settle(ctx, key, f); return err }},
		{"restore", []argument{fence, {4, "charge", noFlag}, {6, "climb", noFlag}, {7, "cooldown", noCount}}, func(ctx context.Context, s *redisstore.Store) error {
			_, err := s.Restore(ctx, key, f, &ownership.Failure{Class: "refused"})
			return err
		}},
		{"finish", []argument{
			fence,
			{4, "phase", []string{"", "working", "committed", "settled", "restored", "Failed"}},
			{6, "climb", noFlag},
			{7, "cooldown", noCount},
		}, func(ctx context.Context, s *redisstore.Store) error {
			return s.Finish(ctx, key, f, ownership.Ending{Phase: ownership.Failed, Failure: ownership.Failure{Class: "timeout"}})
		}},
		{"raise", []argument{fence}, func(ctx context.Context, s *redisstore.Store) error { return s.Raise(ctx, key, f, "r") }},
		{"clear", []argument{fence}, func(ctx context.Context, s *redisstore.Store) error { _, err := s.Clear(ctx, key, f); return err }},
		{"restore_operator", []argument{{3, "saw", noFenceThere}, {4, "attempt", noAttempt}}, func(ctx context.Context, s *redisstore.Store) error {
			_, err := s.RestoreOperator(ctx, key, f, id)
			return err
		}},
		{"forget", nil, func(ctx context.Context, s *redisstore.Store) error { _, err := s.Forget(ctx, key); return err }},
	}
}

// A script trusts no caller: an argument of another form is refused by name, and
// nothing is written.
func TestScriptsRefuseForgedArguments(t *testing.T) {
	s, server := real(t)
	key, what := keyOf(t.Name()), target(3, "x")
	f := mustClaim(t, s, key, claimOf(t, what)).Fence
	before := contents(t, server, key)
	common := []argument{{1, "retention", noSpan}, {2, "publish", []string{"", "DEL", "publish"}}}
	for _, op := range operations(t, key, f, what) {
		for _, arg := range append(common, op.args...) {
			for _, bad := range arg.bad {
				t.Run(fmt.Sprintf("%s %s %.9q", op.name, arg.name, bad), func(t *testing.T) {
					err := op.do(t.Context(), forged(t, server.Addr, forger{arg.index: bad}))
					wantError(t, "answer", err, ownership.ErrInvalid)
					if err != nil && !strings.Contains(err.Error(), arg.name) {
						t.Errorf("%v does not name the argument", err)
					}
					if d := cmp.Diff(before, contents(t, server, key)); d != "" {
						t.Fatalf("something was written (-before +after):\n%s", d)
					}
				})
			}
		}
	}
}

// contents is all that the server keeps of a conversation.
func contents(t *testing.T, server *redistest.Server, key ownership.Key) map[string]string {
	t.Helper()
	all := maps.Clone(server.Client().HGetAll(t.Context(), conversationOf(key)).Val())
	all["(counter)"] = fmt.Sprint(server.Do("GET", "foldgate:1:{"+string(key)+"}:gen"))
	return all
}

func conversationOf(key ownership.Key) string { return "foldgate:1:{" + string(key) + "}:conversation" }

// Hints travel on sharded channels in a cluster: a script takes either command. One
// that the server does not know undoes nothing.
func TestScriptsPublishEitherWay(t *testing.T) {
	server := redistest.Start(t)
	for _, command := range []string{"PUBLISH", "SPUBLISH"} {
		mustCommit(t, forged(t, server.Addr, forger{2: command}), keyOf(t.Name()+command), target(3, "x"), "h")
	}
}

func TestLearnedRefusesForgedArguments(t *testing.T) {
	server := redistest.Start(t)
	for _, arg := range []argument{
		{1, "retention", []string{"", "0", "x", "01", "1.5"}},
		{4, "models", []string{"", "x", "0", "-1"}},
	} {
		for _, bad := range arg.bad {
			err := forged(t, server.Addr, forger{arg.index: bad}).Learned().Save(t.Context(), "s", "m", []byte("v"))
			wantError(t, arg.name+" "+bad, err, ownership.ErrInvalid)
			if err != nil && !strings.Contains(err.Error(), arg.name) {
				t.Errorf("%v does not name %s", err, arg.name)
			}
			if n := server.Do("DBSIZE"); n != int64(0) {
				t.Fatalf("%s %q: something was written", arg.name, bad)
			}
		}
	}
}

// The oldest goes first, whatever it is called and whenever it was first saved; of
// equally old ones, the first by name, so that every server drops the same.
func TestLearnedDropsByAgeThenName(t *testing.T) {
	server := redistest.Start(t)
	l := forged(t, server.Addr, forger{4: "4"}).Learned()
	name := "foldgate:1:learned:{" + redisstore.ScopeHash("s") + "}"
	tests := []struct {
		name string
		at   map[string]int
		gone string
	}{
		{"age with name", map[string]int{"a": 1, "b": 2, "c": 3, "d": 4}, "a"},
		{"age against name", map[string]int{"a": 4, "b": 3, "c": 2, "d": 1}, "d"},
		{"age across names", map[string]int{"a": 3, "b": 4, "c": 1, "d": 2}, "c"},
		{"name alone", map[string]int{"a": 1, "b": 1, "c": 1, "d": 1}, "a"},
		{"name among the oldest", map[string]int{"a": 2, "b": 1, "c": 1, "d": 3}, "b"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, order := range permutations("abcd") {
				server.FlushAll()
				for _, model := range strings.Split(order, "") {
					server.Do("HSET", name, model, fmt.Sprintf("%d v", tt.at[model]))
				}
				if err := l.Save(t.Context(), "s", "e", []byte("v")); err != nil {
					t.Fatalf("save: %v", err)
				}
				kept, err := l.Load(t.Context(), "s")
				if err != nil {
					t.Fatalf("load: %v", err)
				}
				if _, ok := kept[tt.gone]; ok || len(kept) != 4 || kept["e"] == nil {
					t.Fatalf("after %s: kept %v, want all but %s", order, slices.Sorted(maps.Keys(kept)), tt.gone)
				}
			}
		})
	}
}

// permutations are all orders of the letters.
func permutations(letters string) []string {
	if letters == "" {
		return []string{""}
	}
	var all []string
	for i := range letters {
		for _, rest := range permutations(letters[:i] + letters[i+1:]) {
			all = append(all, letters[i:i+1]+rest)
		}
	}
	return all
}

// What is saved again takes nobody's place, even where there is no more room.
func TestLearnedSavedAgain(t *testing.T) {
	server := redistest.Start(t)
	l := forged(t, server.Addr, forger{4: "3"}).Learned()
	for _, model := range []string{"a", "b", "c", "a", "c"} {
		if err := l.Save(t.Context(), "s", model, []byte("v")); err != nil {
			t.Fatalf("save %s: %v", model, err)
		}
	}
	if kept, err := l.Load(t.Context(), "s"); err != nil || len(kept) != 3 {
		t.Errorf("kept %v, %v; want all three", slices.Sorted(maps.Keys(kept)), err)
	}
}

// The record holds no field that says nothing, and no operation removes what is
// not there: what is written is what every replica of the server is sent.
func TestWritesNothingNeedless(t *testing.T) {
	s, server := real(t)
	key := keyOf(t.Name())
	mustClaim(t, s, key, claimOf(t, target(3, "x")))
	for name, value := range contents(t, server, key) {
		if value == "" || name == "deaths" || strings.HasPrefix(name, "cancel") || strings.HasPrefix(name, "snap") {
			t.Errorf("field %s = %q", name, value)
		}
	}
	if strings.Contains(fmt.Sprint(server.Do("INFO", "commandstats")), "cmdstat_hdel:") {
		t.Error("fields were removed from a new record")
	}
}

// Watchers are told what ends an attempt, and nothing of a claim that ends none.
func TestClaimOfAFreeConversationIsNoNews(t *testing.T) {
	s, server := real(t)
	key := keyOf(t.Name())
	pubsub := server.Client().Subscribe(t.Context(), "foldgate:1:{"+string(key)+"}:events")
	defer func() { _ = pubsub.Close() }()
	if _, err := pubsub.Receive(t.Context()); err != nil {
		t.Fatalf("subscribe: %v", err)
	}
	f := mustClaim(t, s, key, claimOf(t, target(3, "x"))).Fence
	next := claimOf(t, target(4, "y"))
	next.Supersede = f
	mustClaim(t, s, key, next)
	server.Do("PUBLISH", "foldgate:1:{"+string(key)+"}:events", "the end")
	var got []string
	for messages := pubsub.Channel(); len(got) == 0 || got[len(got)-1] != "the end"; {
		got = append(got, receive(t, "the end", messages).Payload)
	}
	if len(got) != 2 {
		t.Errorf("%d events, want that of the superseded attempt and the end", len(got))
	}
}

// An old fence learns how its checkpoint stands.
func TestRaiseOfAnOldAttemptNamesItsPhase(t *testing.T) {
	s, _ := real(t)
	for _, want := range []ownership.Phase{ownership.Committed, ownership.Settled} {
		key := keyOf(t.Name() + string(want))
		f := mustCommit(t, s, key, target(3, "x"), "h")
		if want == ownership.Settled {
			if _, err := s.Settle(t.Context(), key, f); err != nil {
				t.Fatalf("settle: %v", err)
			}
		}
		mustClaim(t, s, key, claimOf(t, target(4, "y")))
		if err := s.Raise(t.Context(), key, f, "r"); decisive(err) != "ended "+string(want) {
			t.Errorf("raise: %v, want it ended as %s", err, want)
		}
	}
}

// Count and digest are both of the claimed target, or there is no commit.
func TestCommitOfHalfTheTarget(t *testing.T) {
	s, server := real(t)
	key := keyOf(t.Name())
	f := mustClaim(t, s, key, claimOf(t, target(3, "x"))).Fence
	before := contents(t, server, key)
	for _, other := range []ownership.Target{target(3, "y"), target(4, "x")} {
		_, err := s.Commit(t.Context(), key, f, commitOf(other, "h"))
		wantError(t, "commit", err, ownership.ErrInvalid)
	}
	if d := cmp.Diff(before, contents(t, server, key)); d != "" {
		t.Errorf("something was written (-before +after):\n%s", d)
	}
}

// Proof of one checkpoint is none of those before it.
func TestSettleProvesOneCheckpoint(t *testing.T) {
	s, _ := real(t)
	key := keyOf(t.Name())
	first := mustCommit(t, s, key, target(3, "x"), "h")
	second := mustCommit(t, s, key, target(4, "y"), "i")
	if _, err := s.Settle(t.Context(), key, second); err != nil {
		t.Fatalf("settle: %v", err)
	}
	for _, c := range mustRead(t, s, key).State.Checkpoints {
		if c.Settled == (c.Fence == first) {
			t.Errorf("checkpoint of %v: settled is %t", c.Fence, c.Settled)
		}
	}
}

// A record that somebody damaged costs no checkpoint that it still holds: where
// the parts contradict each other, nothing is put back and nothing is proven.
func TestDamagedRecords(t *testing.T) {
	const other = "7/01890a5d-ac96-774b-bcce-b302099a8057"
	settle := func(ctx context.Context, s *redisstore.Store, key ownership.Key, f ownership.Fence) error {
		_, err := s.Settle(ctx, key, f)
		return err
	}
	restore := func(ctx context.Context, s *redisstore.Store, key ownership.Key, f ownership.Fence) error {
		_, err := s.Restore(ctx, key, f, nil)
		return err
	}
	tests := []struct {
		name   string
		damage func(do func(...any) any, conversation string)
		call   func(context.Context, *redisstore.Store, ownership.Key, ownership.Fence) error
		want   ownership.Phase
	}{
		{"restore without a snapshot", func(do func(...any) any, name string) { do("HDEL", name, "snap") }, restore, ownership.Committed},
		{"restore with another's snapshot", func(do func(...any) any, name string) { do("HSET", name, "snap", other) }, restore, ownership.Committed},
		{"restore of what is settled", func(do func(...any) any, name string) { do("HSET", name, "phase", "settled") }, restore, ownership.Settled},
		{"settle without the checkpoint", func(do func(...any) any, name string) { do("HDEL", name, "checkpoints") }, settle, ownership.Committed},
		{"settle of what is restored", func(do func(...any) any, name string) { do("HSET", name, "phase", "restored") }, settle, ownership.Restored},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, server := real(t)
			key := keyOf(t.Name())
			f := mustCommit(t, s, key, target(3, "x"), "h")
			tt.damage(server.Do, conversationOf(key))
			before := contents(t, server, key)
			if err := tt.call(t.Context(), s, key, f); decisive(err) != "ended "+string(tt.want) {
				t.Errorf("answer %v, want that it ended as %s", err, tt.want)
			}
			if d := cmp.Diff(before, contents(t, server, key)); d != "" {
				t.Errorf("something was written (-before +after):\n%s", d)
			}
		})
	}
}

// The same for the operator: what takes one checkpoint off is right whatever the
// snapshot says, unless it is the one of the committed owner.
func TestOperatorTrustsOnlyTheOwnersSnapshot(t *testing.T) {
	tests := []struct {
		name         string
		field, value string
	}{
		{"of another", "snap", "7/01890a5d-ac96-774b-bcce-b302099a8057"},
		{"of one that is settled", "phase", "settled"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, server := real(t)
			key := keyOf(t.Name())
			below := mustCommit(t, s, key, target(3, "x"), "h")
			f := mustCommit(t, s, key, target(4, "y"), "i")
			// A snapshot that would bring back something else.
			server.Do("HSET", conversationOf(key), tt.field, tt.value, "snap_error", "from the snapshot")
			if done, err := s.RestoreOperator(t.Context(), key, f, newID(t)); err != nil || done != ownership.DoneNow {
				t.Fatalf("restore: %d, %v", done, err)
			}
			st := mustRead(t, s, key).State
			if len(st.Checkpoints) != 1 || st.Checkpoints[0].Fence != below || st.LastError != "" {
				t.Errorf("state %+v, want the checkpoint of %v alone", st, below)
			}
		})
	}
}

// A snapshot that nobody owns brings nothing back, and so wipes nothing.
func TestOperatorFindsNoOwner(t *testing.T) {
	s, server := real(t)
	key := keyOf(t.Name())
	below := mustCommit(t, s, key, target(3, "x"), "h")
	mustCommit(t, s, key, target(4, "y"), "i")
	server.Do("HDEL", conversationOf(key), "owner", "snap", "snap_checkpoints")
	if done, err := s.RestoreOperator(t.Context(), key, ownership.Fence{}, newID(t)); err != nil || done != ownership.DoneNow {
		t.Fatalf("restore: %d, %v", done, err)
	}
	if got := mustRead(t, s, key).State.Checkpoints; len(got) != 1 || got[0].Fence != below {
		t.Errorf("checkpoints %+v, want that of %v alone", got, below)
	}
}

// An attempt that is superseded did not die, however often that happens.
func TestSupersededAttemptsAreNoDeaths(t *testing.T) {
	s, _ := real(t)
	key := keyOf(t.Name())
	f := mustClaim(t, s, key, claimOf(t, target(3, "x"))).Fence
	for range ownership.MaxDeaths {
		next := claimOf(t, target(3, "x"))
		next.Supersede = f
		f = mustClaim(t, s, key, next).Fence
		if n := mustRead(t, s, key).Owner.Deaths; n != 0 {
			t.Errorf("%d deaths", n)
		}
	}
}

// Deaths that a version with another limit counted end nobody who is not dead.
func TestDeathsBeyondTheLimit(t *testing.T) {
	s, server := real(t)
	key := keyOf(t.Name())
	f := mustClaim(t, s, key, claimOf(t, target(3, "x"))).Fence
	server.Do("HSET", conversationOf(key), "deaths", ownership.MaxDeaths+2)
	next := claimOf(t, target(4, "y"))
	next.Supersede = f
	mustClaim(t, s, key, next)
}

// A line that is no checkpoint is not carried on: the next commit leaves it out.
func TestCommitLeavesOutWhatIsNoCheckpoint(t *testing.T) {
	s, server := real(t)
	key, what := keyOf(t.Name()), target(4, "y")
	mustCommit(t, s, key, target(3, "x"), "h")
	f := mustClaim(t, s, key, claimOf(t, what)).Fence
	name := conversationOf(key)
	server.Do("HSET", name, "checkpoints", fmt.Sprint(server.Do("HGET", name, "checkpoints"))+"\nwhat nobody wrote")
	if _, err := s.Commit(t.Context(), key, f, commitOf(what, "i")); err != nil {
		t.Fatalf("commit: %v", err)
	}
	if got := mustRead(t, s, key).State.Checkpoints; len(got) != 2 || got[0].Fence != f {
		t.Errorf("checkpoints %+v", got)
	}
}

// Ten is above nine, though not as text: a counter that has run ahead is not
// taken back to the owner's generation.
func TestGenerationsGrowPastNine(t *testing.T) {
	s, server := real(t)
	key := keyOf(t.Name())
	server.Do("SET", "foldgate:1:{"+string(key)+"}:gen", "8")
	f := mustClaim(t, s, key, claimOf(t, target(3, "x"))).Fence
	server.Do("SET", "foldgate:1:{"+string(key)+"}:gen", "10")
	next := claimOf(t, target(4, "y"))
	next.Supersede = f
	got := mustClaim(t, s, key, next).Fence
	if f.Generation != 9 || got.Generation != 11 {
		t.Errorf("generations %v and %v, want 9 and 11", f.Generation, got.Generation)
	}
	wantError(t, "renew of the ninth", s.Renew(t.Context(), key, f, ownership.Renewal{Lease: lease}), ownership.ErrSuperseded)
	invented := ownership.Fence{Generation: 90, Attempt: newID(t)}
	wantError(t, "renew of one that never was", s.Renew(t.Context(), key, invented, ownership.Renewal{Lease: lease}), ownership.ErrLost)
}

// The last generation there is: nobody follows it, and the answer leaves no trace,
// not even of the counter that was lost.
func TestNoGenerationIsLeft(t *testing.T) {
	s, server := real(t)
	key := keyOf(t.Name())
	gen := "foldgate:1:{" + string(key) + "}:gen"
	server.Do("SET", gen, "9223372036854775806")
	f := mustClaim(t, s, key, claimOf(t, target(3, "x"))).Fence
	server.Do("DEL", gen)
	before := contents(t, server, key)
	next := claimOf(t, target(4, "y"))
	next.Supersede = f
	calls := map[string]func() error{
		"claim":    func() error { _, err := s.Claim(t.Context(), key, next); return err },
		"operator": func() error { _, err := s.RestoreOperator(t.Context(), key, f, newID(t)); return err },
		"forget":   func() error { _, err := s.Forget(t.Context(), key); return err },
	}
	for name, call := range calls {
		err := call()
		wantError(t, name, err, ownership.ErrUnavailable)
		if err != nil && !strings.Contains(err.Error(), "gen holds what no store wrote") {
			t.Errorf("%s: %v does not say why", name, err)
		}
		if d := cmp.Diff(before, contents(t, server, key)); d != "" {
			t.Errorf("%s: something was written (-before +after):\n%s", name, d)
		}
	}
}

// A failover to a server whose clock is behind puts the end of every lease ahead
// again. An attempt that has ended is not alive by it.
func TestEndedAttemptHoldsNobodyUp(t *testing.T) {
	server := miniredis.RunT(t)
	now := time.Date(2031, 5, 6, 7, 8, 9, 0, time.UTC)
	server.SetTime(now)
	s := open(t, redisstore.Config{URL: "redis://" + server.Addr()})
	key := keyOf(t.Name())
	f := mustClaim(t, s, key, claimOf(t, target(3, "x"))).Fence
	if err := s.Finish(t.Context(), key, f, ownership.Ending{Phase: ownership.Abandoned}); err != nil {
		t.Fatalf("finish: %v", err)
	}
	server.SetTime(now.Add(-lease / 2))
	if v := mustRead(t, s, key); v.Owner.Live || v.Owner.LeaseLeft != 0 {
		t.Errorf("owner counts as alive: %+v", v.Owner)
	}
	mustClaim(t, s, key, claimOf(t, target(4, "y")))
}
