package redisstore_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/foldgate/foldgate/ownership"
	"github.com/foldgate/foldgate/ownership/memstore"
	"github.com/foldgate/foldgate/redisstore"
)

// TestModel runs random calls against this store and the one in memory, which
// were written apart from one another, and wants the same answers and the same
// view after each. Fences are drawn from all that were ever given out, current
// or not, and some that never were.
func TestModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		server := miniredis.NewMiniRedis()
		if err := server.Start(); err != nil {
			rt.Fatalf("start: %v", err)
		}
		defer server.Close()
		server.ClockTTL(true)
		store, err := redisstore.Open(t.Context(), redisstore.Config{URL: "redis://" + server.Addr(), Timeout: patience})
		if err != nil {
			rt.Fatalf("open: %v", err)
		}
		defer func() { _ = store.Close() }()
		m := &machine{redis: store, server: server}
		m.memory = memstore.New(memstore.Options{Now: func() time.Time { return m.now }})
		m.passTo(time.Date(2031, 5, 6, 7, 8, 9, 0, time.UTC))
		rt.Repeat(map[string]func(*rapid.T){
			"claim":    m.claim,
			"claim+":   m.claim,
			"renew":    m.renew,
			"commit":   m.commit,
			"commit+":  m.commit,
			"settle":   m.settle,
			"restore":  m.restore,
			"finish":   m.finish,
			"raise":    m.raise,
			"clear":    m.clear,
			"operator": m.operator,
			"forget":   m.forget,
			"evict":    m.evict,
			"pass":     m.pass,
			"":         m.check,
		})
	})
}

// machine is both stores and what the callers remember.
type machine struct {
	redis  ownership.Store
	memory ownership.Store
	server *miniredis.Miniredis
	now    time.Time
	ids    int
	claims []ownership.Claim
	fences []ownership.Fence
}

var modelKey = keyOf("model")

func (m *machine) passTo(now time.Time) {
	m.now = now
	m.server.SetTime(now)
}

func (m *machine) pass(t *rapid.T) {
	m.passTo(m.now.Add(rapid.SampledFrom([]time.Duration{
		time.Millisecond, time.Second, lease - time.Millisecond, lease, lease + time.Second,
		time.Minute, 5 * time.Minute, ceiling, 16 * time.Minute, time.Hour,
	}).Draw(t, "pass")))
}

func (m *machine) newID() ownership.AttemptID {
	m.ids++
	return ownership.AttemptID(fmt.Sprintf("01890a5d-ac96-774b-bcce-%012x", m.ids))
}

// fence is one that some caller may hold; the newest most often.
func (m *machine) fence(t *rapid.T) ownership.Fence {
	n := len(m.fences)
	if n == 0 || rapid.IntRange(0, 19).Draw(t, "invent") == 0 {
		return ownership.Fence{
			Generation: ownership.Generation(rapid.IntRange(1, 12).Draw(t, "generation")),
			Attempt:    m.newID(),
		}
	}
	if rapid.IntRange(0, 2).Draw(t, "older") > 0 {
		return m.fences[n-1]
	}
	return rapid.SampledFrom(m.fences).Draw(t, "fence")
}

func (m *machine) target(t *rapid.T) ownership.Target {
	n := rapid.IntRange(1, 8).Draw(t, "target")
	return target(n, fmt.Sprint(n))
}

func (m *machine) claim(t *rapid.T) {
	ctx := t.Context()
	if len(m.claims) > 0 && rapid.IntRange(0, 5).Draw(t, "repeat") == 0 {
		c := rapid.SampledFrom(m.claims).Draw(t, "claim")
		got, err := m.redis.Claim(ctx, modelKey, c)
		want, wantErr := m.memory.Claim(ctx, modelKey, c)
		same(t, "claim again", got, err, want, wantErr)
		return
	}
	c := ownership.Claim{
		Attempt: m.newID(), Target: m.target(t), Replica: "a", Route: "r", Lease: lease, Ceiling: ceiling,
		Bypass: rapid.Bool().Draw(t, "bypass"),
	}
	if rapid.IntRange(0, 2).Draw(t, "supersede") == 0 {
		c.Supersede = m.fence(t)
	}
	m.claims = append(m.claims, c)
	got, err := m.redis.Claim(ctx, modelKey, c)
	want, wantErr := m.memory.Claim(ctx, modelKey, c)
	same(t, "claim", got, err, want, wantErr)
	if got.Verdict == ownership.VerdictClaimed {
		m.fences = append(m.fences, got.Fence)
	}
}

func (m *machine) renew(t *rapid.T) {
	f, r := m.fence(t), ownership.Renewal{Lease: lease, Progress: rapid.Bool().Draw(t, "progress")}
	same(t, "renew", 0, m.redis.Renew(t.Context(), modelKey, f, r), 0, m.memory.Renew(t.Context(), modelKey, f, r))
}

// commit is for the claimed target mostly, and for another one sometimes.
func (m *machine) commit(t *rapid.T) {
	f, what := m.fence(t), m.target(t)
	if rapid.IntRange(0, 9).Draw(t, "other target") > 0 {
		for _, c := range m.claims {
			if c.Attempt == f.Attempt {
				what = c.Target
			}
		}
	}
	c := commitOf(what, "handoff of "+f.String())
	c.Strike = rapid.Bool().Draw(t, "strike")
	got, err := m.redis.Commit(t.Context(), modelKey, f, c)
	want, wantErr := m.memory.Commit(t.Context(), modelKey, f, c)
	same(t, "commit", got, err, want, wantErr)
}

func (m *machine) settle(t *rapid.T) {
	f := m.fence(t)
	got, err := m.redis.Settle(t.Context(), modelKey, f)
	want, wantErr := m.memory.Settle(t.Context(), modelKey, f)
	same(t, "settle", got, err, want, wantErr)
}

func failureOf(t *rapid.T) ownership.Failure {
	return ownership.Failure{
		Class:    rapid.SampledFrom([]string{"timeout", "status_500"}).Draw(t, "class"),
		Climb:    rapid.Bool().Draw(t, "climb"),
		Cooldown: rapid.SampledFrom([]time.Duration{0, 0, time.Second, 10 * time.Minute, 5 * time.Hour}).Draw(t, "cooldown"),
	}
}

func (m *machine) restore(t *rapid.T) {
	f := m.fence(t)
	var charge *ownership.Failure
	if rapid.Bool().Draw(t, "charge") {
		failure := failureOf(t)
		charge = &failure
	}
	got, err := m.redis.Restore(t.Context(), modelKey, f, charge)
	want, wantErr := m.memory.Restore(t.Context(), modelKey, f, charge)
	same(t, "restore", got, err, want, wantErr)
}

func (m *machine) finish(t *rapid.T) {
	f, e := m.fence(t), ownership.Ending{Phase: rapid.SampledFrom([]ownership.Phase{
		ownership.Failed, ownership.Failed, ownership.Ineffective, ownership.Cancelled, ownership.Abandoned,
	}).Draw(t, "phase")}
	if e.Phase == ownership.Failed {
		e.Failure = failureOf(t)
	}
	same(t, "finish", 0, m.redis.Finish(t.Context(), modelKey, f, e), 0, m.memory.Finish(t.Context(), modelKey, f, e))
}

func (m *machine) raise(t *rapid.T) {
	f, reason := m.fence(t), rapid.SampledFrom([]string{"", "operator", "ü\x00"}).Draw(t, "reason")
	same(t, "raise", 0, m.redis.Raise(t.Context(), modelKey, f, reason), 0, m.memory.Raise(t.Context(), modelKey, f, reason))
}

func (m *machine) clear(t *rapid.T) {
	f := m.fence(t)
	got, err := m.redis.Clear(t.Context(), modelKey, f)
	want, wantErr := m.memory.Clear(t.Context(), modelKey, f)
	same(t, "clear", got, err, want, wantErr)
}

func (m *machine) operator(t *rapid.T) {
	saw, by := m.fence(t), m.newID()
	if rapid.IntRange(0, 3).Draw(t, "saw none") == 0 {
		saw = ownership.Fence{}
	}
	for range 2 {
		got, err := m.redis.RestoreOperator(t.Context(), modelKey, saw, by)
		want, wantErr := m.memory.RestoreOperator(t.Context(), modelKey, saw, by)
		same(t, "restore by an operator", got, err, want, wantErr)
	}
	v, err := m.redis.Read(t.Context(), modelKey, nil)
	if err == nil && v.Owner != nil && v.Owner.Fence.Attempt == by {
		m.fences = append(m.fences, v.Owner.Fence)
	}
}

func (m *machine) forget(t *rapid.T) {
	if rapid.IntRange(0, 3).Draw(t, "really") > 0 {
		return
	}
	got, err := m.redis.Forget(t.Context(), modelKey)
	want, wantErr := m.memory.Forget(t.Context(), modelKey)
	same(t, "forget", got, err, want, wantErr)
}

// evict removes the counter where the owner's generation makes up for it.
func (m *machine) evict(t *rapid.T) {
	v, err := m.redis.Read(t.Context(), modelKey, nil)
	if err != nil || v.Owner == nil || v.Owner.Fence.Generation != v.Generation {
		return
	}
	name := "foldgate:1:{" + string(modelKey) + "}:gen"
	was, err := m.server.Get(name)
	if err != nil {
		return
	}
	m.server.Del(name)
	m.claim(t)
	if !m.server.Exists(name) {
		if err := m.server.Set(name, was); err != nil {
			t.Fatalf("put the counter back: %v", err)
		}
		m.server.SetTTL(name, m.server.TTL("foldgate:1:{"+string(modelKey)+"}:conversation"))
	}
}

// check compares the whole view after every step.
func (m *machine) check(t *rapid.T) {
	known := m.fences[:len(m.fences)/2]
	got, err := m.redis.Read(t.Context(), modelKey, known)
	want, wantErr := m.memory.Read(t.Context(), modelKey, known)
	same(t, "read", got, err, want, wantErr)
	if n := m.server.TTL("foldgate:1:{" + string(modelKey) + "}:gen"); len(m.fences) > 0 && err == nil && got.Owner != nil &&
		n != m.server.TTL("foldgate:1:{"+string(modelKey)+"}:conversation") {
		t.Fatalf("the counter lives %v, not as long as the conversation", n)
	}
}

// same wants two answers equal; of errors, what a caller decides on.
func same[T any](t *rapid.T, what string, got T, err error, want T, wantErr error) {
	t.Helper()
	if a, b := decisive(err), decisive(wantErr); a != b {
		t.Fatalf("%s: %q (%v), in memory %q (%v)", what, a, err, b, wantErr)
	}
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
		t.Fatalf("%s (-memory +redis):\n%s", what, d)
	}
}

func decisive(err error) string {
	var ended *ownership.EndedError
	var cancelled *ownership.CancelledError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &ended):
		return "ended " + string(ended.Phase)
	case errors.As(err, &cancelled):
		return "cancelled " + cancelled.Reason
	}
	for _, target := range []error{
		ownership.ErrSuperseded, ownership.ErrLost, ownership.ErrNotCurrent, ownership.ErrInvalid,
		ownership.ErrUnavailable, ownership.ErrIndeterminate,
	} {
		if errors.Is(err, target) {
			return target.Error()
		}
	}
	return "unknown: " + err.Error()
}
