package history

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/foldgate/foldgate/ownership"
)

// Bounds of a history, so that every check ends.
const (
	// MaxOps bounds the calls of one round.
	MaxOps = 2000
	// MaxUnknown bounds those of them without an answer.
	MaxUnknown = 16
	// MinClients is how many work at once.
	MinClients = 8
)

// Config says what is tried on which store.
type Config struct {
	// Open opens one store for each client. They are independent of one another and
	// share one set of data; only what lives in one process may be given twice. At
	// least MinClients are needed. It is called once.
	Open func() []ownership.Store
	// Ops is how many calls are made at least, over all rounds. Zero: MaxOps.
	Ops int
	// OpsPerRound is how many are made in a round, at most MaxOps. Zero: MaxOps.
	OpsPerRound int
	// Seed makes the choices of the clients, not their interleaving, repeat. Zero: a
	// random one, named in every failure.
	Seed uint64
	// Lost is how many answers in each round are thrown away on purpose, whatever the
	// store: of calls that ran, that never will, and that run late. Zero: none.
	Lost int
	// Faults breaks what is behind the store. Nil: nothing does.
	Faults Injector
	// Clock is the store's clock. Nil: time.Now.
	Clock func() time.Time
	// Skew is how far an instant that the store takes may lie outside of what Clock
	// says before and after; a millisecond for a store that keeps no shorter times.
	Skew time.Duration
	// Pass moves Clock forward. Nil: it moves by itself only.
	Pass func(time.Duration)
	// CheckWithin bounds the check of one conversation. Zero: DefaultCheckWithin.
	CheckWithin time.Duration
}

// DefaultCheckWithin is a thousand times what a check takes that finds an order.
const DefaultCheckWithin = 30 * time.Second

// Report is what was tried.
type Report struct {
	Seed          uint64
	Rounds        int
	Conversations int
	// Ops counts the calls that were answered or of which no answer came, Unknown the
	// tries without an answer, Refused the calls that the store said it did not ask.
	Ops, Unknown, Refused int
	// MostUnknown is the largest number of these in one history.
	MostUnknown int
	// Wipes counts the steps of faults that take data away.
	Wipes int
	// Answers counts decisions by call, such as "commit done".
	Answers map[string]int
	// Took is the whole time, Checking the part of it for looking for orders, and
	// Longest the longest check of one conversation.
	Took, Checking, Longest time.Duration
}

func (r Report) String() string {
	return fmt.Sprintf("%d operations in %d rounds on %d conversations, %d without an answer (at most %d in a round), %d refused, "+
		"%d wipes and evictions; %v, of which %v checking (longest %v); seed %d",
		r.Ops, r.Rounds, r.Conversations, r.Unknown, r.MostUnknown, r.Refused, r.Wipes,
		r.Took.Round(time.Millisecond), r.Checking.Round(time.Millisecond), r.Longest.Round(time.Microsecond), r.Seed)
}

// Run fails the test at the first history that the model does not allow, and
// leaves a page behind that shows it. It is called on the test's own goroutine.
func Run(t testing.TB, c Config) Report {
	t.Helper()
	r, err := Explore(t, c)
	var v *Violation
	if errors.As(err, &v) {
		v.draw(t, cmp.Or(c.CheckWithin, DefaultCheckWithin))
	}
	if err != nil {
		t.Fatalf("%v (%v)", err, r)
	}
	return r
}

// Explore is Run for tests that want a store to be caught: the error is a
// *Violation. Whatever else goes wrong fails the test.
func Explore(t testing.TB, c Config) (Report, error) {
	t.Helper()
	c = c.withDefaults(t)
	stores := c.Open()
	if len(stores) < MinClients {
		t.Fatalf("history: %d clients, at least %d are needed", len(stores), MinClients)
	}
	report := Report{Seed: c.Seed, Answers: map[string]int{}}
	began := time.Now()
	for report.Ops < c.Ops {
		before := report.Ops
		err := newRound(t, &c, report.Rounds, stores).run(&report)
		report.Rounds++
		report.Took = time.Since(began)
		if err != nil {
			return report, err
		}
		if report.Ops == before {
			t.Fatalf("history: a round without an answer: the store is not there")
		}
	}
	return report, nil
}

func (c Config) withDefaults(t testing.TB) Config {
	t.Helper()
	if c.Ops == 0 {
		c.Ops = MaxOps
	}
	if c.OpsPerRound == 0 {
		c.OpsPerRound = MaxOps
	}
	if c.OpsPerRound < 1 || c.OpsPerRound > MaxOps {
		t.Fatalf("history: %d operations in a round, 1 to %d are allowed", c.OpsPerRound, MaxOps)
	}
	if c.Seed == 0 {
		c.Seed = rand.Uint64()
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.CheckWithin == 0 {
		c.CheckWithin = DefaultCheckWithin
	}
	return c
}

// OpsFromEnv is FOLDGATE_HISTORY_OPS, the length of a long run, or else short.
func OpsFromEnv(t testing.TB, short int) int {
	t.Helper()
	text, set := os.LookupEnv("FOLDGATE_HISTORY_OPS")
	if !set || text == "" {
		return short
	}
	n, err := strconv.Atoi(text)
	if err != nil || n <= 0 {
		t.Fatalf("FOLDGATE_HISTORY_OPS is %q, a number of operations is wanted", text)
	}
	return n
}

// WantAnswers fails the test where a decision never came: a run that reached no
// interesting state proves nothing.
func (r Report) WantAnswers(t testing.TB, wanted ...string) {
	t.Helper()
	missing := slices.DeleteFunc(slices.Clone(wanted), func(w string) bool { return r.Answers[w] > 0 })
	if len(missing) > 0 {
		t.Errorf("never answered: %q; answered: %v", missing, r.Answers)
	}
}
