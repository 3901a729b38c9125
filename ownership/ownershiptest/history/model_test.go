package history_test

import (
	"testing"
	"time"

	"github.com/foldgate/foldgate/ownership"
	"github.com/foldgate/foldgate/ownership/ownershiptest/history"
)

// What the model makes of small histories: calls that overlap, calls whose answer
// never came, and data that was taken away.
func TestHistories(t *testing.T) {
	t.Parallel()
	const lease, ceiling = time.Hour, 2 * time.Hour
	what := ownership.Target{Covered: 3, Digest: ownership.Digest{1}}
	claim := func(n byte) ownership.Claim {
		id := []byte("01890a5d-ac96-774b-bcce-00000000000a")
		id[35] = '0' + n
		return ownership.Claim{Attempt: ownership.AttemptID(id), Target: what, Lease: lease, Ceiling: ceiling}
	}
	fence := func(g ownership.Generation, n byte) ownership.Fence {
		return ownership.Fence{Generation: g, Attempt: claim(n).Attempt}
	}
	claimed := func(g ownership.Generation, n byte) *ownership.Claimed {
		return &ownership.Claimed{Verdict: ownership.VerdictClaimed, Fence: fence(g, n)}
	}
	owned := func(g ownership.Generation, n byte) ownership.View {
		return ownership.View{Generation: g, Now: start, Owner: &ownership.Owner{
			Fence: fence(g, n), Phase: ownership.Working, Claimed: start, Progress: start, Target: what,
			LeaseEnd: start.Add(lease), Ceiling: start.Add(ceiling), Live: true, LeaseLeft: lease,
		}}
	}
	nobody := ownership.View{Now: start}
	busy := func(g ownership.Generation, n byte) *ownership.Claimed {
		return &ownership.Claimed{Verdict: ownership.VerdictBusy, Owner: *owned(g, n).Owner}
	}
	commit := ownership.Commit{Checkpoint: ownership.Checkpoint{Target: what, Handoff: []byte("h")}}
	begin := func() *history.Script { return history.NewScript(start) }
	// The counter goes while the owner works; then another one claims.
	evicted := func(g ownership.Generation) *history.Script {
		next, got := claim(2), claimed(g, 2)
		next.Target = ownership.Target{Covered: 4, Digest: ownership.Digest{2}}
		got.State.Checkpoints = []ownership.Checkpoint{{Target: what, Fence: fence(1, 1), Created: start}}
		return begin().Claim(1, 2, claim(1), claimed(1, 1)).Fault(3, 4, "evict").
			Commit(5, 6, fence(1, 1), commit, "done").Claim(7, 8, next, got)
	}
	for _, c := range []struct {
		name   string
		script *history.Script
		want   bool
	}{
		{"one claim", begin().Claim(1, 2, claim(1), claimed(1, 1)).Read(3, 4, owned(1, 1)), true},
		{"a generation is skipped", begin().Claim(1, 2, claim(1), claimed(2, 1)), false},
		{"two owners, one after the other", begin().Claim(1, 2, claim(1), claimed(1, 1)).Claim(3, 4, claim(2), claimed(2, 2)), false},
		{"two at once, one is busy", begin().Claim(1, 3, claim(1), busy(1, 2)).Claim(2, 4, claim(2), claimed(1, 2)), true},
		{"busy with one who claims later", begin().Claim(1, 2, claim(1), busy(1, 2)).Claim(3, 4, claim(2), claimed(1, 2)), false},
		{"no answer, it ran", begin().Claim(1, 2, claim(1), nil).Read(3, 4, owned(1, 1)), true},
		{"no answer, it did not run", begin().Claim(1, 2, claim(1), nil).Read(3, 4, nobody), true},
		{"no answer, it ran late", begin().Claim(1, 2, claim(1), nil).Read(3, 4, nobody).Read(5, 6, owned(1, 1)), true},
		{"no answer, it ran and then it did not", begin().Claim(1, 2, claim(1), nil).Read(3, 4, owned(1, 1)).Read(5, 6, nobody), false},
		{"no answer, asked again", begin().Claim(1, 2, claim(1), nil).Claim(3, 4, claim(1), claimed(1, 1)).Read(5, 6, owned(1, 1)), true},
		{"no answer, asked again, two generations", begin().Claim(1, 2, claim(1), nil).Claim(3, 4, claim(1), claimed(2, 1)), false},
		{
			"committed once, said twice",
			begin().Claim(1, 2, claim(1), claimed(1, 1)).Commit(3, 4, fence(1, 1), commit, "done").Commit(5, 6, fence(1, 1), commit, "done"), false,
		},
		{
			"a commit whose first try had no answer",
			begin().Claim(1, 2, claim(1), claimed(1, 1)).Commit(3, 4, fence(1, 1), commit, "").Commit(5, 6, fence(1, 1), commit, "already"), true,
		},
		{
			"raised, then committed",
			begin().Claim(1, 2, claim(1), claimed(1, 1)).Raise(3, 4, fence(1, 1), "done").Commit(5, 6, fence(1, 1), commit, "done"), false,
		},
		{
			"raised and committed at once, and both say done",
			begin().Claim(1, 2, claim(1), claimed(1, 1)).Raise(3, 6, fence(1, 1), "done").Commit(4, 5, fence(1, 1), commit, "done"), false,
		},
		{
			"raised at once with a commit that was first",
			begin().Claim(1, 2, claim(1), claimed(1, 1)).Raise(3, 6, fence(1, 1), "ended committed").Commit(4, 5, fence(1, 1), commit, "done"), true,
		},
		{"wiped while it works", begin().Claim(1, 2, claim(1), claimed(1, 1)).Fault(3, 4, "wipe").Read(5, 6, nobody), true},
		{"numbers repeat after a wipe", begin().Claim(1, 2, claim(1), claimed(1, 1)).Fault(3, 4, "wipe").Claim(5, 6, claim(2), claimed(1, 2)), true},
		{"lost without a wipe", begin().Claim(1, 2, claim(1), claimed(1, 1)).Read(5, 6, nobody), false},
		{
			"an old fence after a wipe is lost",
			begin().Claim(1, 2, claim(1), claimed(1, 1)).Fault(3, 4, "wipe").Claim(5, 6, claim(2), claimed(1, 2)).Commit(7, 8, fence(1, 1), commit, "lost"), true,
		},
		{
			"an old fence after a wipe is not superseded",
			begin().Claim(1, 2, claim(1), claimed(1, 1)).Fault(3, 4, "wipe").Claim(5, 6, claim(2), claimed(1, 2)).Commit(7, 8, fence(1, 1), commit, "superseded"), false,
		},
		{
			"fallen back to before the claim",
			begin().Fault(1, 2, "keep").Claim(3, 4, claim(1), claimed(1, 1)).Fault(5, 6, "fall back").Read(7, 8, nobody), true,
		},
		{
			"fallen back, and the later claim still stands",
			begin().Fault(1, 2, "keep").Claim(3, 4, claim(1), claimed(1, 1)).Fault(5, 6, "fall back").Read(7, 8, owned(1, 1)), false,
		},
		{
			"fallen back to after the claim",
			begin().Claim(1, 4, claim(1), claimed(1, 1)).Fault(2, 3, "keep").Fault(5, 6, "fall back").Read(7, 8, owned(1, 1)), true,
		},
		{"the counter is lost, the owner is not", evicted(2), true},
		{"the counter is lost, and an owner's number comes again", evicted(1), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := c.script.Allowed(); got != c.want {
				t.Errorf("allowed: %t, want %t", got, c.want)
			}
		})
	}
}

// A check that is not done in time is no pass.
func TestTimeIsNoPass(t *testing.T) {
	t.Parallel()
	s := history.NewScript(start)
	for i := range int64(20_000) {
		s.Read(i, 40_000, ownership.View{Now: start})
	}
	s.Read(1, 2, ownership.View{Now: start, Generation: 1})
	if !s.TimesOut() {
		t.Error("a check without time passed, or was done")
	}
}
