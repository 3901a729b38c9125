package ownershiptest

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/foldgate/foldgate/ownership"
)

func dataCases() []testCase {
	return []testCase{
		{"binary and large handoffs come back as they went", 0, dataHandoffs},
		{"handoffs cannot be changed from outside", 0, dataImmutable},
		{"the newest checkpoints are kept, by order of commit", 0, dataMaxCheckpoints},
		{"names and reasons of any text come back", 0, dataText},
		{"another conversation never waits", 0, dataOthers},
		{"a context that ended leaves a state that a repeat can finish", 0, dataContext},
	}
}

func dataHandoffs(x *fixture) {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	large := make([]byte, 1<<20)
	source := rand.NewChaCha8([32]byte{1})
	_, _ = source.Read(large)
	for name, want := range map[string][]byte{
		"every byte": every, "large": large, "one zero": {0}, "line ends": []byte("\r\n$-1\r\n*0\r\n"), "invalid UTF-8": {0xff, 0xfe, 0xed, 0xa0, 0x80},
	} {
		x.Run(name, func(t *testing.T) {
			x := newFixture(t, x.Harness)
			f := x.begin(x.A, claimOf(target(1)))
			c := commitOf(target(1), "")
			c.Checkpoint.Handoff = want
			x.commit(x.A, f, c, ownership.DoneNow)
			if got := x.read(x.B).State.Checkpoints[0].Handoff; !bytes.Equal(got, want) {
				x.Fatalf("read %d bytes, want %d", len(got), len(want))
			}
			if got := x.claim(x.B, claimOf(target(1)), ownership.VerdictCommitted).Checkpoint.Handoff; !bytes.Equal(got, want) {
				x.Fatalf("claim answered %d bytes, want %d", len(got), len(want))
			}
		})
	}
}

func dataImmutable(x *fixture) {
	f := x.begin(x.A, claimOf(target(1)))
	c := commitOf(target(1), "the summary")
	x.commit(x.A, f, c, ownership.DoneNow)
	clear(c.Checkpoint.Handoff)
	v := x.read(x.A)
	clear(v.State.Checkpoints[0].Handoff)
	clear(x.claim(x.A, claimOf(target(1)), ownership.VerdictCommitted).Checkpoint.Handoff)
	v.State.Checkpoints[0] = ownership.Checkpoint{}
	if got := x.texts(); len(got) != 1 || got[0] != "the summary" {
		x.Fatalf("handoffs %q", got)
	}
}

func dataMaxCheckpoints(x *fixture) {
	var want []ownership.Fence
	for n := range ownership.MaxCheckpoints + 3 {
		// Descending cover, so that no other order gives the same list.
		want = append([]ownership.Fence{x.committed(x.A, target(100-n))}, want...)
	}
	x.stand(want[:ownership.MaxCheckpoints]...)
	last := x.begin(x.B, claimOf(target(100))) // long pushed out: work, not "committed"
	x.clear(x.B, last, ownership.Abandoned)
}

func dataText(x *fixture) {
	const odd = "a b\t\"c\" {d} $e %s\\ é 日本 \x00\x7f|,;/"
	c := claimOf(target(1))
	c.Replica, c.Route = odd, "route"+odd
	f := x.begin(x.A, c)
	x.raise(x.A, f, odd)
	v := x.read(x.B)
	if v.Owner.Replica != odd || v.Owner.Route != "route"+odd || v.Cancel.Reason != odd {
		x.Fatalf("came back as %+v, %+v", v.Owner, v.Cancel)
	}
	x.clear(x.A, f, ownership.Cancelled)
	g := x.begin(x.A, claimOf(target(1)))
	commit := commitOf(target(1), "s")
	commit.Checkpoint.Route = odd
	x.commit(x.A, g, commit, ownership.DoneNow)
	if got := x.read(x.B).State.Checkpoints[0].Route; got != odd {
		x.Fatalf("route %q", got)
	}
	x.finish(x.A, x.begin(x.A, claimOf(target(2))), ownership.Ending{Phase: ownership.Failed, Failure: climbing(odd)})
	if got := x.read(x.B).State.LastError; got != odd {
		x.Fatalf("last error %q", got)
	}
}

func dataOthers(x *fixture) {
	stop := make(chan struct{})
	var wg sync.WaitGroup
	busy := x.key
	for i := range 4 {
		wg.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				got, err := x.A.Claim(x.Context(), busy, claimOf(target(1+i+4*n)))
				if err == nil && got.Verdict == ownership.VerdictClaimed {
					_, _ = x.A.Clear(x.Context(), busy, got.Fence)
				}
			}
		})
	}
	for range 50 {
		x.key = newKey()
		if f := x.begin(x.B, claimOf(target(1))); f.Generation != 1 {
			x.Errorf("another conversation begins at %d", f.Generation)
		}
	}
	close(stop)
	wg.Wait()
}

func dataContext(x *fixture) {
	gone, cancel := context.WithCancel(x.Context())
	cancel()
	c := claimOf(target(1))
	_, err := x.A.Claim(gone, x.key, c)
	x.unanswered(err, "claim")
	f := x.begin(x.A, c)
	x.unanswered(x.A.Renew(gone, x.key, f, ownership.Renewal{Lease: lease}), "renew")
	_, err = x.A.Commit(gone, x.key, f, commitOf(target(1), "s"))
	x.unanswered(err, "commit")
	if _, err := x.A.Commit(x.Context(), x.key, f, commitOf(target(1), "s")); err != nil {
		x.Fatalf("commit after no answer: %v", err)
	}
	_, err = x.A.Settle(gone, x.key, f)
	x.unanswered(err, "settle")
	if _, err := x.A.Settle(x.Context(), x.key, f); err != nil {
		x.Fatalf("settle after no answer: %v", err)
	}
	x.stand(f)
}

// unanswered wants one of the two errors that say "ask again".
func (x *fixture) unanswered(err error, what string) {
	x.Helper()
	if !errors.Is(err, ownership.ErrUnavailable) && !errors.Is(err, ownership.ErrIndeterminate) {
		x.Fatalf("%s with a context that ended: %v", what, err)
	}
}
