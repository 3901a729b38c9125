package middleware

import "sync/atomic"

// bodyBudget bounds the bytes of bodies in flight for the whole process. It
// never blocks: a request that would pass it is refused, since a queue of bodies
// is what the bound is there to prevent. Safe for concurrent use.
type bodyBudget struct {
	max  int64
	used *atomic.Int64
}

// newBodyBudget bounds to max bytes; zero or less: no bound, only a count.
func newBodyBudget(max int64) *bodyBudget { return &bodyBudget{max: max, used: new(atomic.Int64)} }

// with is another bound on the same bytes.
func (b *bodyBudget) with(max int64) *bodyBudget { return &bodyBudget{max: max, used: b.used} }

// InFlight is the number of bytes that are held now.
func (b *bodyBudget) InFlight() int64 { return b.used.Load() }

// acquire takes n bytes, or nothing and answers errOverloaded.
func (b *bodyBudget) acquire(n int64) error {
	for {
		used := b.used.Load()
		if b.max > 0 && n > b.max-used {
			return errOverloaded
		}
		if b.used.CompareAndSwap(used, used+n) {
			return nil
		}
	}
}

// giveBack returns n bytes.
func (b *bodyBudget) giveBack(n int64) { b.used.Add(-n) }

// bodyLease is what one request holds of the budget. Not safe for concurrent use,
// but for release, which may be called from anywhere and more than once.
type bodyLease struct {
	budget *bodyBudget
	held   atomic.Int64
}

// grow takes n bytes more.
func (l *bodyLease) grow(n int64) error {
	if n <= 0 {
		return nil
	}
	if err := l.budget.acquire(n); err != nil {
		return err
	}
	l.held.Add(n)
	return nil
}

// shrink returns n bytes early.
func (l *bodyLease) shrink(n int64) {
	if n > 0 {
		l.held.Add(-n)
		l.budget.giveBack(n)
	}
}

// release returns all that is held. Further calls do nothing.
func (l *bodyLease) release() { l.budget.giveBack(l.held.Swap(0)) }
