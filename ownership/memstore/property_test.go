package memstore_test

import (
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/foldgate/foldgate/ownership"
	"github.com/foldgate/foldgate/ownership/memstore"
)

// history is what callers were told about one conversation, whatever order of calls
// rapid chose: stale fences, repeats, pauses, forgetting and the operator included.
type history struct {
	s     *memstore.Store
	clock *fakeClock

	fences  []ownership.Fence        // every fence ever given out
	raised  map[ownership.Fence]bool // told "raised"
	commits map[ownership.Fence]bool // told "done now" by commit
	settled map[ownership.Fence]bool // told "done now" by settle
	charged map[ownership.Fence]int  // failures charged
	highest ownership.Generation
}

func TestHistories(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		clock := newClock()
		h := &history{
			s: memstore.New(memstore.Options{Now: clock.Now}), clock: clock,
			raised:  map[ownership.Fence]bool{},
			commits: map[ownership.Fence]bool{},
			settled: map[ownership.Fence]bool{},
			charged: map[ownership.Fence]int{},
		}
		t.Repeat(map[string]func(*rapid.T){
			"claim":   h.claim,
			"renew":   h.renew,
			"commit":  h.commit,
			"settle":  h.settle,
			"restore": h.restore,
			"finish":  h.finish,
			"raise":   h.raise,
			"clear":   h.clear,
			"back":    h.back,
			"forget":  h.forget,
			"pause":   h.pause,
			"":        h.invariants,
		})
	})
}

func (h *history) view(t *rapid.T) ownership.View {
	v, err := h.s.Read(t.Context(), keyOf(1), nil)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// pick is any fence ever given out, so mostly a stale one.
func (h *history) pick(t *rapid.T) ownership.Fence {
	if len(h.fences) == 0 {
		t.Skip("nobody claimed")
	}
	return h.fences[max(0, len(h.fences)-1-rapid.IntRange(0, 3).Draw(t, "age"))]
}

// isCurrent is judged before a write that then must be refused or not.
func (h *history) isCurrent(t *rapid.T, f ownership.Fence) bool {
	o := h.view(t).Owner
	return o != nil && o.Fence == f
}

func (h *history) claim(t *rapid.T) {
	c := claimOf(rapid.IntRange(1, 6).Draw(t, "target"))
	c.Bypass = rapid.Bool().Draw(t, "bypass")
	if len(h.fences) > 0 && rapid.Bool().Draw(t, "supersede") {
		c.Supersede = h.pick(t)
	}
	before := h.view(t)
	got, err := h.s.Claim(t.Context(), keyOf(1), c)
	if err != nil || got.Verdict != ownership.VerdictClaimed {
		return
	}
	if got.Fence.Generation <= h.highest {
		t.Fatalf("generation %d after %d", got.Fence.Generation, h.highest)
	}
	if h.raised[c.Supersede] {
		t.Fatal("went on past a raised flag")
	}
	if len(h.view(t).State.Checkpoints) != len(before.State.Checkpoints) {
		t.Fatal("a claim touched the state")
	}
	h.highest = got.Fence.Generation
	h.fences = append(h.fences, got.Fence)
}

func (h *history) renew(t *rapid.T) {
	f := h.pick(t)
	current := h.isCurrent(t, f)
	err := h.s.Renew(t.Context(), keyOf(1), f, ownership.Renewal{Lease: 15 * time.Second})
	if err == nil && !current {
		t.Fatal("renewed by a stale fence")
	}
	if errors.Is(err, ownership.ErrCancelled) && !h.raised[f] {
		t.Fatal("cancelled, but nobody raised")
	}
}

func (h *history) commit(t *rapid.T) {
	f := h.pick(t)
	current := h.isCurrent(t, f)
	o := h.view(t).Owner
	target := targetOf(1)
	if current {
		target = o.Target
	}
	done, err := h.s.Commit(t.Context(), keyOf(1), f, ownership.Commit{Checkpoint: ownership.Checkpoint{Target: target, Handoff: []byte(f.String())}})
	switch {
	case err != nil:
	case done == ownership.DoneAlready && !h.commits[f]:
		t.Fatal("already, but never committed")
	case done == ownership.DoneNow && (h.commits[f] || !current || h.raised[f] || h.charged[f] > 0):
		t.Fatalf("committed: before %t, current %t, raised %t", h.commits[f], current, h.raised[f])
	case done == ownership.DoneNow:
		h.commits[f] = true
	}
}

func (h *history) settle(t *rapid.T) {
	f := h.pick(t)
	current := h.isCurrent(t, f)
	done, err := h.s.Settle(t.Context(), keyOf(1), f)
	if err != nil {
		return
	}
	if done == ownership.DoneNow && (!current || !h.commits[f] || h.settled[f]) {
		t.Fatal("settled what was not its own open commit")
	}
	h.settled[f] = true
}

func (h *history) restore(t *rapid.T) {
	f := h.pick(t)
	before := h.view(t)
	done, err := h.s.Restore(t.Context(), keyOf(1), f, nil)
	if err != nil || done != ownership.DoneNow || before.Owner.Phase == ownership.Working {
		return
	}
	if h.settled[f] || before.Owner.Fence != f {
		t.Fatal("restored a settled checkpoint, or by a stale fence")
	}
	for _, c := range before.State.Checkpoints {
		if c.Fence != f && !stands(h.view(t), c.Fence) {
			t.Fatalf("restore of %v took %v along", f, c.Fence)
		}
	}
}

func (h *history) finish(t *rapid.T) {
	f := h.pick(t)
	before := h.view(t)
	err := h.s.Finish(t.Context(), keyOf(1), f, ownership.Ending{Phase: ownership.Failed, Failure: ownership.Failure{Class: "timeout", Climb: true}})
	after := h.view(t)
	if after.State.Streak == before.State.Streak {
		return
	}
	if h.charged[f]++; err != nil || h.charged[f] > 1 || h.commits[f] || before.Owner.Fence != f {
		t.Fatalf("charged %d times (%v), committed %t", h.charged[f], err, h.commits[f])
	}
}

func (h *history) raise(t *rapid.T) {
	f := h.pick(t)
	if err := h.s.Raise(t.Context(), keyOf(1), f, "operator"); err == nil {
		if h.commits[f] {
			t.Fatal("raised after its commit")
		}
		// An attempt that ended as cancelled answers the same: nothing commits it.
		h.raised[f] = true
	}
}

func (h *history) clear(t *rapid.T) {
	f := h.pick(t)
	current := h.isCurrent(t, f)
	if _, err := h.s.Clear(t.Context(), keyOf(1), f); (err == nil) != current {
		t.Fatalf("clear: current %t, %v", current, err)
	}
}

func (h *history) back(t *rapid.T) {
	saw, by := h.pick(t), newID()
	current := h.isCurrent(t, saw)
	done, err := h.s.RestoreOperator(t.Context(), keyOf(1), saw, by)
	if (err == nil) != current {
		t.Fatalf("operator's restore: current %t, %v", current, err)
	}
	if done == ownership.DoneNow {
		h.own(t)
	}
}

func (h *history) forget(t *rapid.T) {
	g, err := h.s.Forget(t.Context(), keyOf(1))
	if err != nil || g <= h.highest {
		t.Fatalf("forget: %d after %d, %v", g, h.highest, err)
	}
	h.highest = g
}

// own takes note of the owner's fence that the operator's restore took.
func (h *history) own(t *rapid.T) {
	f := h.view(t).Owner.Fence
	if f.Generation <= h.highest {
		t.Fatalf("generation %d after %d", f.Generation, h.highest)
	}
	h.highest = f.Generation
	h.fences = append(h.fences, f)
}

func (h *history) pause(t *rapid.T) {
	h.clock.Advance(time.Duration(rapid.IntRange(1, 900).Draw(t, "seconds")) * time.Second)
}

func (h *history) invariants(t *rapid.T) {
	v := h.view(t)
	if len(v.State.Checkpoints) > ownership.MaxCheckpoints {
		t.Fatalf("%d checkpoints", len(v.State.Checkpoints))
	}
	for _, c := range v.State.Checkpoints {
		if !h.commits[c.Fence] || string(c.Handoff) != c.Fence.String() {
			t.Fatalf("checkpoint %v with handoff %q", c.Fence, c.Handoff)
		}
		if c.Settled != h.settled[c.Fence] {
			t.Fatalf("checkpoint %v settled %t", c.Fence, c.Settled)
		}
	}
	if v.Owner != nil && v.Owner.Fence.Generation > v.Generation {
		t.Fatalf("owner %v above the counter %d", v.Owner.Fence, v.Generation)
	}
	if v.Cancel != nil && (v.Owner == nil || v.Owner.Phase != ownership.Working || v.Cancel.Fence != v.Owner.Fence) {
		t.Fatalf("flag %+v of owner %+v", v.Cancel, v.Owner)
	}
}

func stands(v ownership.View, f ownership.Fence) bool {
	for _, c := range v.State.Checkpoints {
		if c.Fence == f {
			return true
		}
	}
	return false
}
