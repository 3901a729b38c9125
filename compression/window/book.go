package window

import (
	"fmt"
	"sync"
	"time"
)

// What a Book remembers, and for how long.
const (
	// LearnedFor is how long a learned window, or an acceptance that contradicts
	// the table, holds. After it the table is right again until shown otherwise.
	LearnedFor = 6 * time.Hour
	// CheckEvery is how often a limit that refuses is checked at most.
	CheckEvery = time.Hour
	// MaxScopes is how many scopes are remembered, and how many corrections.
	MaxScopes = 4096
	// MaxModels is how many models are remembered in a scope.
	MaxModels = 64
	// MaxName is the longest name of a model that is remembered, in bytes.
	MaxName = 256
	// MinLearned and MaxLearned are what is plausible in an overflow error.
	MinLearned Tokens = 1024
	MaxLearned Tokens = 10_000_000
)

// Scope is whose knowledge is meant. Both are any strings; they are compared as
// they are.
type Scope struct{ Tenant, Upstream string }

// Book knows windows and corrections. Make one with NewBook. It is safe for
// concurrent use.
type Book struct {
	rules    []Rule // the one first that wins
	table    table
	fallback Tokens

	mu     sync.RWMutex
	scopes *memory[Scope, *memory[string, *lesson]]

	corrections corrections
}

// lesson is what an upstream taught about one model. The zero value is nothing.
type lesson struct {
	learned      Limits
	learnedUntil time.Time
	// accepted is the largest request that the upstream took although the table
	// said less.
	accepted      Tokens
	acceptedUntil time.Time
	checked       time.Time
}

// NewBook makes a Book. The error names every rule that cannot be.
func NewBook(c BookConfig) (*Book, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	models, err := newTable(modelsText)
	if err != nil {
		return nil, fmt.Errorf("open the table of models: %w", err)
	}
	return &Book{
		rules:       ordered(c.Rules),
		table:       models,
		fallback:    c.Default,
		scopes:      newMemory[Scope, *memory[string, *lesson]](MaxScopes),
		corrections: corrections{estimates: newMemory[pair, *estimate](MaxScopes)},
	}, nil
}

// Lookup answers what the model accepts, from the strongest source that knows.
// It never blocks and never allocates. Total is zero, and Source Unknown, where
// nothing knows.
func (b *Book) Lookup(s Scope, model string, now time.Time) Limits {
	if l, ok := b.configured(model); ok {
		return l
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.taught(b.lesson(s, model), model, now)
}

// Learn keeps limits that an overflow error of the upstream named; either Total
// or Input may be zero. It reports whether they are news: plausible and, when
// something other than a default is known, lower than that. Learning the same
// again prolongs it and is no news. Where a rule is configured Lookup goes on to
// answer that.
func (b *Book) Learn(s Scope, model string, l Limits, now time.Time) bool {
	if len(model) > MaxName {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	have := b.lesson(s, model)
	current, ok := b.configured(model)
	if !ok || have != nil && now.Before(have.learnedUntil) {
		current = b.taught(have, model, now)
	}
	if current.Source == Default {
		current = Limits{}
	}
	l, ok = completed(l, current)
	if !ok {
		return false
	}
	same := current.Source == Learned && l.Total == current.Total && l.Input == current.Input
	if current.Total > 0 && !same && !lowerThan(l, current) {
		return false
	}
	kept := b.remember(s, model)
	kept.learned, kept.learnedUntil = l, now.Add(LearnedFor)
	return !same
}

// Unlearn forgets what Learn kept for the model.
func (b *Book) Unlearn(s Scope, model string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if have := b.lesson(s, model); have != nil {
		have.learned, have.learnedUntil = Limits{}, time.Time{}
	}
}

// AcceptedAbove takes in that the upstream accepted a request of so many tokens,
// as the upstream counts. If that is more than a learned limit, the limit is
// forgotten; if it is more than the table says, the table does not count for
// this scope and model for LearnedFor. Anything else changes nothing, so it may
// be called for every accepted request.
func (b *Book) AcceptedAbove(s Scope, model string, tokens Tokens, now time.Time) {
	if len(model) > MaxName {
		return
	}
	current := b.Lookup(s, model, now)
	if current.Source != Learned && current.Source != Table || tokens <= current.input() {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	have := b.lesson(s, model)
	if have != nil && now.Before(have.learnedUntil) && tokens > have.learned.input() {
		have.learned, have.learnedUntil = Limits{}, time.Time{}
	}
	if l, ok := b.table.lookup(model); ok && tokens > l.input() {
		have = b.remember(s, model)
		have.accepted = max(tokens, have.acceptedAt(now))
		have.acceptedUntil = now.Add(LearnedFor)
	}
}

// CheckDue reports whether the limit of a model that refuses a request is to be
// checked by letting the request go on: at most once in CheckEvery for each scope
// and model, and never for a limit that is configured, or no limit at all. When
// it answers true the check is the caller's; the others are answered false.
func (b *Book) CheckDue(s Scope, model string, now time.Time) bool {
	if len(model) > MaxName {
		return false
	}
	switch b.Lookup(s, model, now).Source {
	case Learned, Advertised, Table:
	default:
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	kept := b.remember(s, model)
	// A clock that was set back must not stop the checks.
	if since := now.Sub(kept.checked); !kept.checked.IsZero() && since >= 0 && since < CheckEvery {
		return false
	}
	kept.checked = now
	return true
}

func (b *Book) configured(model string) (Limits, bool) {
	for _, r := range b.rules {
		if match(r.Glob, model) {
			return Limits{Total: r.Total, Input: r.Input, Source: Config}, true
		}
	}
	return Limits{}, false
}

// taught is Lookup without the configuration. have may be nil.
func (b *Book) taught(have *lesson, model string, now time.Time) Limits {
	var accepted Tokens
	if have != nil {
		if now.Before(have.learnedUntil) {
			return have.learned
		}
		accepted = have.acceptedAt(now)
	}
	if l, ok := b.table.lookup(model); ok && l.input() >= accepted {
		return l
	}
	if b.fallback > 0 && b.fallback >= accepted {
		return Limits{Total: b.fallback, Source: Default}
	}
	return Limits{Source: Unknown}
}

// lesson answers what is remembered, nil if nothing is. It needs the lock.
func (b *Book) lesson(s Scope, model string) *lesson {
	if models, ok := b.scopes.get(s); ok {
		have, _ := models.get(model)
		return have
	}
	return nil
}

// remember answers what is remembered, to be changed. It needs the write lock.
func (b *Book) remember(s Scope, model string) *lesson {
	models, ok := b.scopes.get(s)
	if !ok {
		models = newMemory[string, *lesson](MaxModels)
		b.scopes.put(s, models)
	}
	have, ok := models.get(model)
	if !ok {
		have = new(lesson)
		models.put(model, have)
	}
	return have
}

func (l *lesson) acceptedAt(now time.Time) Tokens {
	if now.Before(l.acceptedUntil) {
		return l.accepted
	}
	return 0
}

// input is the most that a request may hold. Zero: unknown.
func (l Limits) input() Tokens {
	if l.Input > 0 {
		return l.Input
	}
	return l.Total
}

// completed fills in what an overflow error left out from what is known, and
// reports whether the outcome is plausible.
func completed(l, current Limits) (Limits, bool) {
	if l.Total <= 0 && l.Input <= 0 {
		return Limits{}, false
	}
	l.Source = Learned
	if l.Total <= 0 {
		l.Total = max(l.Input, current.Total)
	}
	if l.Input <= 0 || l.Input > l.Total {
		l.Input = 0
	}
	if l.Input == 0 && current.Input > 0 && current.Input < l.Total {
		l.Input = current.Input
	}
	if l.Output <= 0 {
		l.Output = current.Output
	}
	return l, l.Total >= MinLearned && l.Total <= MaxLearned && l.input() >= MinLearned
}

// lowerThan reports whether l allows less than current, in total or as input.
func lowerThan(l, current Limits) bool {
	return l.Total <= current.Total && (l.Total < current.Total || l.input() < current.input())
}
