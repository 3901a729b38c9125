package memstore_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/foldgate/foldgate/ownership"
	"github.com/foldgate/foldgate/ownership/memstore"
	linear "github.com/foldgate/foldgate/ownership/ownershiptest/history"
)

// jumpingClock goes on only when somebody passes time, so that what the store
// answers about time can be foretold to the nanosecond.
type jumpingClock struct{ nanos atomic.Int64 }

func newJumpingClock() *jumpingClock {
	c := &jumpingClock{}
	c.nanos.Store(time.Date(2031, 5, 6, 7, 8, 9, 0, time.UTC).UnixNano())
	return c
}

func (c *jumpingClock) Now() time.Time       { return time.Unix(0, c.nanos.Load()) }
func (c *jumpingClock) Pass(d time.Duration) { c.nanos.Add(int64(d)) }

// wiper empties the store while clients work.
type wiper struct{ s *memstore.Store }

func (w wiper) Inject(f *linear.Fault) {
	if f.Rand.IntN(4) == 0 {
		f.Wipe(w.s.Wipe)
	}
}

func (wiper) Heal() {}

// What many clients are answered at once, some order of their calls explains.
func TestLinearizable(t *testing.T) {
	clock := newJumpingClock()
	s := memstore.New(memstore.Options{Now: clock.Now, Retention: 1 << 62})
	report := linear.Run(t, linear.Config{
		Open: func() []ownership.Store {
			clients := make([]ownership.Store, linear.MinClients)
			for i := range clients {
				clients[i] = s
			}
			return clients
		},
		Ops: linear.OpsFromEnv(t, 6000), Lost: 8, Faults: wiper{s}, Clock: clock.Now, Pass: clock.Pass,
	})
	t.Log(report)
	report.WantAnswers(t, linear.Decisions()...)
	if report.Unknown == 0 || report.Wipes == 0 {
		t.Errorf("nothing was lost: %v", report)
	}
}
