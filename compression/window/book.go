package window

import (
	"fmt"
	"sync"
	"time"
)

// What a Book remembers, and for how long.
const (
	// LearnedFor is how long a learned window, or an acceptance that contradicts
	// the table or an advertisement, holds. After it they are right again until
	// shown otherwise.
	LearnedFor = 6 * time.Hour
	// CheckEvery is how often a limit that refuses is checked at most.
	CheckEvery = time.Hour
	// MaxScopes is how many scopes are remembered, and how many corrections.
	MaxScopes = 4096
	// MaxModels is how many models are remembered in a scope: so many lessons, and
	// so many advertisements.
	MaxModels = 64
	// MaxName is the longest name of a model that is remembered, in bytes.
	MaxName = 256
	// MinLearned and MaxLearned are what is plausible in an overflow error or an
	// advertisement.
	MinLearned Tokens = 1024
	MaxLearned Tokens = 10_000_000
	// MinBytes and MaxBytes are what is plausible as the longest body.
	MinBytes int64 = 4 << 10
	MaxBytes int64 = 1 << 40
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
	*lessons
}

// lessons are what upstreams taught: the part of a Book that With hands on.
type lessons struct {
	mu     sync.RWMutex
	scopes *memory[Scope, *knowledge]

	corrections corrections
}

// knowledge is what is remembered of one scope.
type knowledge struct {
	lessons *memory[string, *lesson]
	adverts *memory[string, advert]
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
		rules:    ordered(c.Rules),
		table:    models,
		fallback: c.Default,
		lessons: &lessons{
			scopes:      newMemory[Scope, *knowledge](MaxScopes),
			corrections: corrections{estimates: newMemory[pair, *estimate](MaxScopes)},
		},
	}, nil
}

// With is a Book with other rules and another default that shares everything
// else with b: what either learns, both know, then and later. b stays as it is,
// so whoever holds it goes on with the rules that it began with. The error names
// every rule that cannot be.
func (b *Book) With(c BookConfig) (*Book, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	return &Book{rules: ordered(c.Rules), table: b.table, fallback: c.Default, lessons: b.lessons}, nil
}

// Lookup answers what the model accepts, from the strongest source that knows.
// It never blocks and never allocates. Total is zero, and Source Unknown, where
// nothing knows. Bytes is what was learned, whatever the source of the rest.
func (b *Book) Lookup(s Scope, model string, now time.Time) Limits {
	b.mu.RLock()
	defer b.mu.RUnlock()
	have, ad := b.recall(s, model)
	l, ok := b.configured(model)
	if !ok {
		l = b.taught(have, ad, model, now)
	}
	if have != nil {
		l.Bytes = have.bodyLimit(now)
	}
	return l
}

// Learn keeps limits that an overflow error of the upstream named; of Total,
// Input and Bytes those that it did not name are zero. It reports whether they
// are news: plausible and, when something other than a default is known, lower
// than that. Learning the same again prolongs it and is no news. Where a rule is
// configured Lookup goes on to answer that. What the upstream named only as a
// lower bound is not for Learn.
func (b *Book) Learn(s Scope, model string, l Limits, now time.Time) bool {
	if len(model) > MaxName {
		return false
	}
	now = instant(now)
	b.mu.Lock()
	defer b.mu.Unlock()
	bytes := b.learnBytes(s, model, l.Bytes, now)
	return b.learnTokens(s, model, l, now) || bytes
}

func (b *Book) learnTokens(s Scope, model string, l Limits, now time.Time) bool {
	have, ad := b.recall(s, model)
	current, configured := b.configured(model)
	if configured && have != nil {
		if learned, ok := have.limits(now); ok {
			current = learned
		}
	}
	if !configured {
		current = b.taught(have, ad, model, now)
	}
	if current.Source == Default {
		current = Limits{}
	}
	if l.Input > 0 && l.Input == l.Total {
		l.Total = 0 // an error names one limit: this one is for the input alone
	}
	l, ok := completed(l, current, Learned)
	if !ok {
		return false
	}
	same := current.Source == Learned && l.Total == current.Total && l.Input == current.Input
	if current.Total > 0 && !same && !lowerThan(l, current) {
		return false
	}
	b.remember(s, model).learn(l, now)
	return !same
}

func (b *Book) learnBytes(s Scope, model string, limit int64, now time.Time) bool {
	if limit < MinBytes || limit > MaxBytes {
		return false
	}
	var current int64
	if have, _ := b.recall(s, model); have != nil {
		current = have.bodyLimit(now)
	}
	if current > 0 && limit > current {
		return false
	}
	b.remember(s, model).limitBytes(limit, now)
	return limit != current
}

// Unlearn forgets what errors of the upstream taught of the model, and what it was
// seen to accept beyond its limits.
func (b *Book) Unlearn(s Scope, model string, now time.Time) {
	now = instant(now)
	b.mu.Lock()
	defer b.mu.Unlock()
	have, _ := b.recall(s, model)
	if have == nil {
		return
	}
	have.forget(now)
	if have.bytes.limit > 0 {
		have.limitBytes(0, now)
	}
}

func (b *Book) configured(model string) (Limits, bool) {
	for _, r := range b.rules {
		if match(r.Glob, model) {
			return Limits{Total: r.Total, Input: r.Input, Source: Config}, true
		}
	}
	return Limits{}, false
}

// taught is Lookup without the configuration. have may be nil, ad zero. An
// overflow error is the better witness than an announcement where it allows less.
func (b *Book) taught(have *lesson, ad advert, model string, now time.Time) Limits {
	var accepted Tokens
	if have != nil {
		accepted = have.most(now)
	}
	known := b.announced(ad, model, accepted, now)
	if have != nil {
		if l, ok := have.limits(now); ok && (known.Total == 0 || lowerThan(l, known)) {
			return l
		}
	}
	switch {
	case known.Total > 0:
		return known
	case b.fallback > 0 && b.fallback >= accepted:
		return Limits{Total: b.fallback, Source: Default}
	}
	return Limits{Source: Unknown}
}

// recall answers what is remembered of a model; a nil lesson and a zero advert
// are nothing. It needs the lock.
func (b *Book) recall(s Scope, model string) (*lesson, advert) {
	k, ok := b.scopes.get(s)
	if !ok {
		return nil, advert{}
	}
	have, _ := k.lessons.get(model)
	ad, _ := k.adverts.get(model)
	return have, ad
}

// scope answers what is remembered of a scope, to be changed. It needs the write
// lock.
func (b *Book) scope(s Scope) *knowledge {
	k, ok := b.scopes.get(s)
	if !ok {
		k = &knowledge{lessons: newMemory[string, *lesson](MaxModels), adverts: newMemory[string, advert](MaxModels)}
		b.scopes.put(s, k)
	}
	return k
}

// remember answers the lesson about a model, to be changed. It needs the write
// lock.
func (b *Book) remember(s Scope, model string) *lesson {
	k := b.scope(s)
	have, ok := k.lessons.get(model)
	if !ok {
		have = new(lesson)
		k.lessons.put(model, have)
	}
	return have
}
