package ownership

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/trace"
)

// Defaults of Config.
const (
	DefaultLease       = 15 * time.Second
	DefaultIdle        = 120 * time.Second
	DefaultCeiling     = 600 * time.Second
	DefaultMaxAttempts = 16
)

// FirstText is the least silence that is allowed before an attempt's first
// progress: a model that reads a long transcript is silent for minutes.
const FirstText = 300 * time.Second

// Config configures a Coordinator. A zero duration or number takes the default,
// a negative one is an error.
type Config struct {
	// Store is required.
	Store Store
	// Replica is the name in owner records; empty: a random one.
	Replica string
	// Lease is how long this replica's attempts count as alive when it falls
	// silent; 0: DefaultLease. It is renewed every second, or every third of it
	// where that is shorter.
	Lease time.Duration
	// Idle is the silence allowed to a worker; 0: DefaultIdle. See FirstText.
	Idle time.Duration
	// Ceiling bounds one attempt, whatever it does; 0: DefaultCeiling.
	Ceiling time.Duration
	// MaxAttempts bounds the attempts of this replica that work at once;
	// 0: DefaultMaxAttempts. A flight that only watches another replica's attempt
	// does not count, nor does a worker that was detached.
	MaxAttempts int
	// Observer is told what happens; nil: nobody is.
	Observer Observer
	// TracerProvider makes the spans of attempts and of what they ask the store;
	// nil: none are made, at no cost. See the package documentation.
	TracerProvider trace.TracerProvider
}

// Observer is the seam for metrics and logs. Its methods are called from many
// goroutines and must not block.
type Observer interface {
	// AttemptStarted: a's worker is about to be called.
	AttemptStarted(a Attempt)
	// AttemptEnded: a ended as p after d; err says why where p alone does not.
	// Committed with unfenced set means that a draft was made but could not be
	// shared.
	AttemptEnded(a Attempt, p Phase, unfenced bool, d time.Duration, err error)
	// Refused: the store refused a write of this replica as superseded, lost or
	// ended. operation is the Store method's name in lower case.
	Refused(operation string, err error)
	// StoreError: the store could not be asked, did not answer, or failed.
	StoreError(operation string, err error)
}

// Coordinator runs attempts for one replica, at most one flight per
// conversation. It is safe for concurrent use. See the package documentation for
// its rules.
type Coordinator struct {
	conf   Config
	tracer trace.Tracer // nil without a TracerProvider
	slots  chan struct{}
	ring   ring

	mu      sync.Mutex
	flights map[Key]*Flight      // those that later jobs may join
	aloft   map[*Flight]struct{} // those whose goroutine runs, landed ones included
	running int                  // goroutines that Shutdown waits for
	closing bool                 // no new flights
	idle    chan struct{}        // closed when closing and running is zero
}

// NewCoordinator checks c, reporting all its problems at once. A coordinator owns
// no goroutine until the first Do.
func NewCoordinator(c Config) (*Coordinator, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("configure coordinator: %w", err)
	}
	return &Coordinator{
		conf:    c,
		tracer:  tracerOf(c.TracerProvider),
		slots:   make(chan struct{}, c.MaxAttempts),
		flights: make(map[Key]*Flight),
		aloft:   make(map[*Flight]struct{}),
		idle:    make(chan struct{}),
	}, nil
}

func (c Config) withDefaults() (Config, error) {
	var problems []error
	if c.Store == nil {
		problems = append(problems, errors.New("store: missing"))
	}
	if c.Observer == nil {
		c.Observer = nobody{}
	}
	if c.Replica == "" {
		c.Replica = uuid.NewString()
	}
	if len(c.Replica) > maxName {
		problems = append(problems, fmt.Errorf("replica: over %d bytes", maxName))
	}
	for _, d := range []struct {
		name  string
		value *time.Duration
		zero  time.Duration
	}{{"lease", &c.Lease, DefaultLease}, {"idle", &c.Idle, DefaultIdle}, {"ceiling", &c.Ceiling, DefaultCeiling}} {
		switch {
		case *d.value == 0:
			*d.value = d.zero
		case *d.value < time.Millisecond:
			problems = append(problems, fmt.Errorf("%s: %v, want at least a millisecond", d.name, *d.value))
		}
	}
	switch {
	case c.MaxAttempts == 0:
		c.MaxAttempts = DefaultMaxAttempts
	case c.MaxAttempts < 0:
		problems = append(problems, fmt.Errorf("max attempts: %d, want at least 1", c.MaxAttempts))
	}
	return c, errors.Join(problems...)
}

// Do asks for one summary and returns at once. There is one flight per
// conversation: a job whose Matches holds for what that flight works on shares it
// (joined), any other gets a flight that is already done with ResultBusy. After
// Shutdown the flight is done with ResultAbandoned, and a job that breaks the
// contract gets ResultFailed with ErrInvalid.
//
// The flight runs on a context of its own: nothing that happens to the caller
// ends it.
func (c *Coordinator) Do(job Job) (f *Flight, joined bool) {
	if err := job.check(); err != nil {
		return ended(Result{Kind: ResultFailed, Err: err}), false
	}
	c.mu.Lock()
	if c.closing {
		c.mu.Unlock()
		return ended(Result{Kind: ResultAbandoned}), false
	}
	if f := c.flights[job.Conversation]; f != nil {
		c.mu.Unlock()
		if f.serves(job) {
			return f, true
		}
		return ended(Result{Kind: ResultBusy}), false
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	f = newFlight(job.Target, cancel)
	c.flights[job.Conversation] = f
	c.aloft[f] = struct{}{}
	c.running++
	c.mu.Unlock()

	go func() {
		defer c.leave()
		defer c.ground(f)
		r := &run{c: c, f: f, job: job}
		r.fly(ctx)
	}()
	return f, false
}

// Attempts returns what this replica's attempts did, newest first, running ones
// included: at most limit, and no more than the last 256. A limit under one
// returns none.
func (c *Coordinator) Attempts(limit int) []Info { return c.ring.newest(limit) }

// Shutdown ends what runs: flights end as abandoned, their attempts are handed
// over at once, so that another replica need not wait for the lease. It returns
// when every goroutine of the coordinator ended, or with ctx's error. It may be
// called again.
func (c *Coordinator) Shutdown(ctx context.Context) error {
	c.mu.Lock()
	if !c.closing {
		c.closing = true
		if c.running == 0 {
			close(c.idle)
		}
	}
	for f := range c.aloft {
		f.cancel(ErrAbandoned)
	}
	c.mu.Unlock()
	select {
	case <-c.idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for attempts to end: %w", context.Cause(ctx))
	}
}

// spawn runs fn in a goroutine that Shutdown waits for. It is called only from
// such a goroutine, so the count cannot have reached zero.
func (c *Coordinator) spawn(fn func()) {
	c.mu.Lock()
	c.running++
	c.mu.Unlock()
	go func() {
		defer c.leave()
		fn()
	}()
}

// ground is for a flight whose goroutine ends.
func (c *Coordinator) ground(f *Flight) {
	f.cancel(nil)
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.aloft, f)
}

func (c *Coordinator) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running--; c.running == 0 && c.closing {
		close(c.idle)
	}
}

// nobody is the Observer of a coordinator that has none.
type nobody struct{}

func (nobody) AttemptStarted(Attempt)                                  {}
func (nobody) AttemptEnded(Attempt, Phase, bool, time.Duration, error) {}
func (nobody) Refused(string, error)                                   {}
func (nobody) StoreError(string, error)                                {}
