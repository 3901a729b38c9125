package history_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foldgate/foldgate/ownership"
	"github.com/foldgate/foldgate/ownership/memstore"
	"github.com/foldgate/foldgate/ownership/ownershiptest/history"
)

// clock goes on only when somebody passes time.
type clock struct{ nanos atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.nanos.Store(start.UnixNano())
	return c
}

func (c *clock) Now() time.Time       { return time.Unix(0, c.nanos.Load()) }
func (c *clock) Pass(d time.Duration) { c.nanos.Add(int64(d)) }

var start = time.Date(2031, 5, 6, 7, 8, 9, 0, time.UTC)

// explore tries a store that is memory with something done to it.
func explore(t *testing.T, seed uint64, mutate func(*memstore.Store) ownership.Store) (history.Report, error) {
	t.Helper()
	c := newClock()
	s := mutate(memstore.New(memstore.Options{Now: c.Now, Retention: 1 << 62}))
	return history.Explore(t, history.Config{
		Open: func() []ownership.Store { return slices.Repeat([]ownership.Store{s}, history.MinClients) },
		Ops:  8000, Seed: seed, Lost: 4, Clock: c.Now, Pass: c.Pass,
	})
}

// shortcut is a store of which some methods are wrong. The ones that are nil are
// those of memory.
type shortcut struct {
	*memstore.Store
	claim   func(context.Context, ownership.Key, ownership.Claim) (ownership.Claimed, error)
	renew   func(context.Context, ownership.Key, ownership.Fence, ownership.Renewal) error
	commit  func(context.Context, ownership.Key, ownership.Fence, ownership.Commit) (ownership.Done, error)
	settle  func(context.Context, ownership.Key, ownership.Fence) (ownership.Done, error)
	restore func(context.Context, ownership.Key, ownership.Fence, *ownership.Failure) (ownership.Done, error)
	finish  func(context.Context, ownership.Key, ownership.Fence, ownership.Ending) error
	raise   func(context.Context, ownership.Key, ownership.Fence, string) error
	clear   func(context.Context, ownership.Key, ownership.Fence) (ownership.Phase, error)
	read    func(context.Context, ownership.Key, []ownership.Fence) (ownership.View, error)
}

func (s shortcut) Claim(ctx context.Context, k ownership.Key, c ownership.Claim) (ownership.Claimed, error) {
	if s.claim != nil {
		return s.claim(ctx, k, c)
	}
	return s.Store.Claim(ctx, k, c)
}

func (s shortcut) Renew(ctx context.Context, k ownership.Key, f ownership.Fence, r ownership.Renewal) error {
	if s.renew != nil {
		return s.renew(ctx, k, f, r)
	}
	return s.Store.Renew(ctx, k, f, r)
}

func (s shortcut) Commit(ctx context.Context, k ownership.Key, f ownership.Fence, c ownership.Commit) (ownership.Done, error) {
	if s.commit != nil {
		return s.commit(ctx, k, f, c)
	}
	return s.Store.Commit(ctx, k, f, c)
}

func (s shortcut) Settle(ctx context.Context, k ownership.Key, f ownership.Fence) (ownership.Done, error) {
	if s.settle != nil {
		return s.settle(ctx, k, f)
	}
	return s.Store.Settle(ctx, k, f)
}

func (s shortcut) Restore(ctx context.Context, k ownership.Key, f ownership.Fence, charge *ownership.Failure) (ownership.Done, error) {
	if s.restore != nil {
		return s.restore(ctx, k, f, charge)
	}
	return s.Store.Restore(ctx, k, f, charge)
}

func (s shortcut) Finish(ctx context.Context, k ownership.Key, f ownership.Fence, e ownership.Ending) error {
	if s.finish != nil {
		return s.finish(ctx, k, f, e)
	}
	return s.Store.Finish(ctx, k, f, e)
}

func (s shortcut) Raise(ctx context.Context, k ownership.Key, f ownership.Fence, reason string) error {
	if s.raise != nil {
		return s.raise(ctx, k, f, reason)
	}
	return s.Store.Raise(ctx, k, f, reason)
}

func (s shortcut) Clear(ctx context.Context, k ownership.Key, f ownership.Fence) (ownership.Phase, error) {
	if s.clear != nil {
		return s.clear(ctx, k, f)
	}
	return s.Store.Clear(ctx, k, f)
}

func (s shortcut) Read(ctx context.Context, k ownership.Key, known []ownership.Fence) (ownership.View, error) {
	if s.read != nil {
		return s.read(ctx, k, known)
	}
	return s.Store.Read(ctx, k, known)
}

// ownerOf is who owns the conversation right now; a moment later it may be
// somebody else, which is the mistake of those mutants that ask.
func ownerOf(m *memstore.Store, k ownership.Key) ownership.Owner {
	v, err := m.Read(context.Background(), k, nil)
	if err != nil || v.Owner == nil {
		return ownership.Owner{}
	}
	return *v.Owner
}

// mutants are the mistakes that a store must not make.
func mutants() map[string]func(*memstore.Store) ownership.Store {
	return map[string]func(*memstore.Store) ownership.Store{
		"commit ignores the flag": func(m *memstore.Store) ownership.Store {
			return shortcut{Store: m, commit: func(ctx context.Context, k ownership.Key, f ownership.Fence, c ownership.Commit) (ownership.Done, error) {
				done, err := m.Commit(ctx, k, f, c)
				if errors.Is(err, ownership.ErrCancelled) {
					return ownership.DoneNow, nil
				}
				return done, err
			}}
		},
		"raise is acknowledged before it is written": func(m *memstore.Store) ownership.Store {
			var mu sync.Mutex
			pending := map[ownership.Key]func(){}
			return shortcut{
				Store: m,
				raise: func(ctx context.Context, k ownership.Key, f ownership.Fence, reason string) error {
					if o := ownerOf(m, k); o.Fence != f || o.Phase != ownership.Working {
						return m.Raise(ctx, k, f, reason)
					}
					mu.Lock()
					defer mu.Unlock()
					pending[k] = func() { _ = m.Raise(ctx, k, f, reason) }
					return nil
				},
				commit: func(ctx context.Context, k ownership.Key, f ownership.Fence, c ownership.Commit) (ownership.Done, error) {
					done, err := m.Commit(ctx, k, f, c)
					mu.Lock()
					defer mu.Unlock()
					if write := pending[k]; write != nil {
						write()
						delete(pending, k)
					}
					return done, err
				},
			}
		},
		"settle by a superseded fence": func(m *memstore.Store) ownership.Store {
			return shortcut{Store: m, settle: func(ctx context.Context, k ownership.Key, f ownership.Fence) (ownership.Done, error) {
				done, err := m.Settle(ctx, k, f)
				if errors.Is(err, ownership.ErrSuperseded) {
					return ownership.DoneNow, nil
				}
				return done, err
			}}
		},
		"settle leaves no mark": func(m *memstore.Store) ownership.Store {
			return shortcut{Store: m, settle: func(ctx context.Context, k ownership.Key, f ownership.Fence) (ownership.Done, error) {
				if o := ownerOf(m, k); o.Fence == f && o.Phase == ownership.Committed {
					return ownership.DoneNow, nil
				}
				return m.Settle(ctx, k, f)
			}}
		},
		"restore runs twice": func(m *memstore.Store) ownership.Store {
			return shortcut{Store: m, restore: func(ctx context.Context, k ownership.Key, f ownership.Fence, charge *ownership.Failure) (ownership.Done, error) {
				done, err := m.Restore(ctx, k, f, charge)
				if done == ownership.DoneAlready {
					done = ownership.DoneNow
				}
				return done, err
			}}
		},
		"restore forgets the charge": func(m *memstore.Store) ownership.Store {
			return shortcut{Store: m, restore: func(ctx context.Context, k ownership.Key, f ownership.Fence, _ *ownership.Failure) (ownership.Done, error) {
				return m.Restore(ctx, k, f, nil)
			}}
		},
		"claim looks past a running lease": func(m *memstore.Store) ownership.Store {
			return shortcut{Store: m, claim: func(ctx context.Context, k ownership.Key, c ownership.Claim) (ownership.Claimed, error) {
				got, err := m.Claim(ctx, k, c)
				if got.Verdict == ownership.VerdictBusy {
					c.Supersede = got.Owner.Fence
					return m.Claim(ctx, k, c)
				}
				return got, err
			}}
		},
		"claim looks past a cooldown": func(m *memstore.Store) ownership.Store {
			return shortcut{Store: m, claim: func(ctx context.Context, k ownership.Key, c ownership.Claim) (ownership.Claimed, error) {
				c.Bypass = true
				return m.Claim(ctx, k, c)
			}}
		},
		"claim supersedes whoever works": func(m *memstore.Store) ownership.Store {
			return shortcut{Store: m, claim: func(ctx context.Context, k ownership.Key, c ownership.Claim) (ownership.Claimed, error) {
				if o := ownerOf(m, k); c.Supersede != (ownership.Fence{}) && o.Fence != (ownership.Fence{}) && o.Fence.Attempt != c.Attempt {
					c.Supersede = o.Fence
				}
				return m.Claim(ctx, k, c)
			}}
		},
		"commit compares the generation only": func(m *memstore.Store) ownership.Store {
			return shortcut{Store: m, commit: func(ctx context.Context, k ownership.Key, f ownership.Fence, c ownership.Commit) (ownership.Done, error) {
				if o := ownerOf(m, k); o.Fence.Generation == f.Generation {
					f, c.Checkpoint.Target = o.Fence, o.Target
				}
				return m.Commit(ctx, k, f, c)
			}}
		},
		"clear compares the attempt only": func(m *memstore.Store) ownership.Store {
			return shortcut{Store: m, clear: func(ctx context.Context, k ownership.Key, f ownership.Fence) (ownership.Phase, error) {
				if o := ownerOf(m, k); o.Fence.Attempt == f.Attempt {
					f = o.Fence
				}
				return m.Clear(ctx, k, f)
			}}
		},
		"clear looks first and writes after": func(m *memstore.Store) ownership.Store {
			return shortcut{Store: m, clear: func(ctx context.Context, k ownership.Key, f ownership.Fence) (ownership.Phase, error) {
				if o := ownerOf(m, k); o.Fence != f {
					return m.Clear(ctx, k, f)
				}
				for range 10 {
					runtime.Gosched()
				}
				return m.Clear(ctx, k, ownerOf(m, k).Fence)
			}}
		},
		"raise hits whoever works": func(m *memstore.Store) ownership.Store {
			return shortcut{Store: m, raise: func(ctx context.Context, k ownership.Key, f ownership.Fence, reason string) error {
				if o := ownerOf(m, k); o.Fence != (ownership.Fence{}) {
					f = o.Fence
				}
				return m.Raise(ctx, k, f, reason)
			}}
		},
		"commit keeps the count of strikes": func(m *memstore.Store) ownership.Store {
			return shortcut{Store: m, commit: func(ctx context.Context, k ownership.Key, f ownership.Fence, c ownership.Commit) (ownership.Done, error) {
				c.Strike = false
				return m.Commit(ctx, k, f, c)
			}}
		},
		"commit mixes up handoffs": func(m *memstore.Store) ownership.Store {
			return shortcut{Store: m, commit: func(ctx context.Context, k ownership.Key, f ownership.Fence, c ownership.Commit) (ownership.Done, error) {
				c.Checkpoint.Handoff = []byte("of somebody else")
				return m.Commit(ctx, k, f, c)
			}}
		},
		"finish charges no failure": func(m *memstore.Store) ownership.Store {
			return shortcut{Store: m, finish: func(ctx context.Context, k ownership.Key, f ownership.Fence, e ownership.Ending) error {
				if e.Phase == ownership.Failed {
					e.Failure.Climb = false
				}
				return m.Finish(ctx, k, f, e)
			}}
		},
		"the lease outlives the ceiling": func(m *memstore.Store) ownership.Store {
			return shortcut{
				Store: m,
				claim: func(ctx context.Context, k ownership.Key, c ownership.Claim) (ownership.Claimed, error) {
					c.Ceiling *= 4
					return m.Claim(ctx, k, c)
				},
			}
		},
		"read answers what stood before": func(m *memstore.Store) ownership.Store {
			var mu sync.Mutex
			last := map[ownership.Key]ownership.View{}
			return shortcut{Store: m, read: func(ctx context.Context, k ownership.Key, known []ownership.Fence) (ownership.View, error) {
				v, err := m.Read(ctx, k, nil)
				mu.Lock()
				defer mu.Unlock()
				before, seen := last[k]
				last[k] = v
				if !seen {
					before = v
				}
				before.Now = v.Now
				for i := range before.State.Checkpoints {
					if slices.Contains(known, before.State.Checkpoints[i].Fence) {
						before.State.Checkpoints = slices.Clone(before.State.Checkpoints)
						before.State.Checkpoints[i].Handoff = nil
					}
				}
				return before, err
			}}
		},
		"an acknowledged commit is lost now and then": func(m *memstore.Store) ownership.Store {
			var n atomic.Int64
			return shortcut{Store: m, commit: func(ctx context.Context, k ownership.Key, f ownership.Fence, c ownership.Commit) (ownership.Done, error) {
				if o := ownerOf(m, k); o.Fence == f && o.Phase == ownership.Working && o.Target == c.Checkpoint.Target && n.Add(1)%20 == 0 {
					return ownership.DoneNow, nil
				}
				return m.Commit(ctx, k, f, c)
			}}
		},
		"everything is lost and nobody says so": func(m *memstore.Store) ownership.Store {
			var n atomic.Int64
			return shortcut{Store: m, renew: func(ctx context.Context, k ownership.Key, f ownership.Fence, r ownership.Renewal) error {
				if n.Add(1)%100 == 0 {
					m.Wipe()
				}
				return m.Renew(ctx, k, f, r)
			}}
		},
	}
}

// Every mistake is found, and memory without one makes none.
func TestMutantsAreCaught(t *testing.T) {
	t.Parallel()
	if r, err := explore(t, 1, func(m *memstore.Store) ownership.Store { return shortcut{Store: m} }); err != nil {
		t.Fatalf("without a mistake: %v (%v)", err, r)
	}
	for name, mutate := range mutants() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := explore(t, 1, mutate)
			var v *history.Violation
			if !errors.As(err, &v) {
				t.Fatalf("not caught: %v", r)
			}
			if v.TimedOut || v.Reason != "" {
				t.Errorf("caught for another reason: %v", v)
			}
			t.Logf("caught after %d operations", r.Ops)
		})
	}
}

// A store that says it was not asked, although it was, is told so at once.
func TestUnavailableIsTakenAtItsWord(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	_, err := explore(t, 2, func(m *memstore.Store) ownership.Store {
		return shortcut{Store: m, settle: func(ctx context.Context, k ownership.Key, f ownership.Fence) (ownership.Done, error) {
			if n.Add(1)%50 != 0 {
				return m.Settle(ctx, k, f)
			}
			if answered, ok := history.Try(ctx); ok {
				answered(false)
			}
			return 0, ownership.ErrUnavailable
		}}
	})
	if err == nil || !strings.Contains(err.Error(), "was sent") {
		t.Errorf("not caught: %v", err)
	}
}
