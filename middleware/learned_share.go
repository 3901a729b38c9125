package middleware

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/foldgate/foldgate/compression/window"
)

const (
	// shareFrom is the smallest body, in bytes, whose request has the scope's lessons
	// loaded: about the smallest window that can be learned, in text.
	shareFrom = 4 << 10
	// shareEvery is how often the lessons of scopes in use are loaded: what was
	// announced may have been missed.
	shareEvery = 30 * time.Second
	// inUse is how long after its last request a scope is in use.
	inUse = 2 * shareEvery
	// lastWords bounds what is still told when the middleware ends.
	lastWords = time.Second
)

// sharedScope is a scope whose lessons are shared.
type sharedScope struct {
	name, hash string
	used       time.Time
	load       bool                // its lessons are to be loaded
	tell       map[string]struct{} // models to be told of; at most window.MaxModels
	// mode is that of its last request: who observes writes nothing.
	mode Mode
	// own is how many announcements to expect that are our own.
	own int
}

// use notes that a scope is in use. The first time its lessons are loaded.
func (l *learner) use(ctx context.Context, scope window.Scope, now time.Time, mode Mode) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.scope(scope)
	if s.used.IsZero() {
		s.load = true
		l.awake(ctx)
	}
	s.used, s.mode = now, mode
}

// tell has a model's lesson saved.
func (l *learner) tell(ctx context.Context, scope window.Scope, model string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.scope(scope)
	if len(s.tell) >= window.MaxModels {
		return // the next request on that model finds it untold
	}
	s.tell[model] = struct{}{}
	l.awake(ctx)
}

// scope needs the lock.
func (l *learner) scope(scope window.Scope) *sharedScope {
	s, ok := l.shared.Get(scope)
	if !ok {
		name := scopeName(scope)
		s = &sharedScope{name: name, hash: l.store.Hash(name), tell: map[string]struct{}{}}
		l.shared.Add(scope, s)
		l.byHash[s.hash] = scope
	}
	return s
}

// awake wakes the goroutine that shares, which is started with the first need of
// it. It needs the lock.
func (l *learner) awake(ctx context.Context) {
	if !l.sharing {
		l.sharing = l.start(ctx, l.share)
	}
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// share is the one goroutine that talks to the store, until ctx ends.
func (l *learner) share(ctx context.Context) {
	announced := l.store.Announcements(ctx)
	tick := time.NewTicker(shareEvery)
	defer tick.Stop()
	down := false // the store failed: it is left alone until the next tick
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
			defer cancel()
			l.visit(last, func(s *sharedScope) bool { return len(s.tell) > 0 })
			return
		case <-l.wake:
		case hash, open := <-announced:
			if !open {
				announced = nil // the store is closed, or polling has to do
				continue
			}
			down = down && hash != "" // it is there again
			l.hear(hash)
			for range len(announced) { // what came meanwhile is loaded once
				hash, open := <-announced
				if !open {
					break // and the next one says so
				}
				down = down && hash != ""
				l.hear(hash)
			}
		case now := <-tick.C:
			l.poll(now)
			down = false
		}
		if !down {
			down = !l.visit(ctx, func(s *sharedScope) bool { return s.load || len(s.tell) > 0 })
		}
	}
}

// hear marks a scope that was announced, unless it is not known here, or the
// announcement is as good as our own. Where listening only begins, all in use are
// marked: what was saved between their load and this moment was announced to
// nobody, and is not to be found with the next tick only.
func (l *learner) hear(hash string) {
	if hash == "" {
		l.poll(time.Now())
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	scope, ok := l.byHash[hash]
	if !ok {
		return
	}
	s, _ := l.shared.Peek(scope)
	if s.own > 0 {
		s.own--
		return
	}
	s.load = true
}

// poll marks the scopes that are in use.
func (l *learner) poll(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.shared.Values() {
		s.own = 0
		s.load = s.load || now.Sub(s.used) < inUse
	}
}

// visit loads and saves what is marked, scope by scope. When the store fails it
// answers false, and the rest stays marked for the next time.
func (l *learner) visit(ctx context.Context, marked func(*sharedScope) bool) bool {
	for _, scope := range l.marked(marked) {
		l.mu.Lock()
		s, ok := l.shared.Peek(scope)
		if !ok {
			l.mu.Unlock()
			continue
		}
		tell, mode := s.tell, s.mode
		s.load, s.tell = false, map[string]struct{}{}
		l.mu.Unlock()
		saved, err := l.swap(ctx, scope, s.name, tell, mode)
		l.mu.Lock()
		s.own += saved
		if err != nil { // what was not told is in the book as before
			s.load = true
			maps.Copy(s.tell, tell)
		}
		l.mu.Unlock()
		if err != nil {
			return false
		}
	}
	return true
}

func (l *learner) marked(is func(*sharedScope) bool) []window.Scope {
	l.mu.Lock()
	defer l.mu.Unlock()
	var scopes []window.Scope
	for _, scope := range l.shared.Keys() {
		if s, _ := l.shared.Peek(scope); is(s) {
			scopes = append(scopes, scope)
		}
	}
	return scopes
}

// swap takes in what the store has of a scope, and then saves the models to be
// told of, and those of which this replica turned out to know more: so no replica
// overwrites what another one said. Who observes tells nobody.
func (l *learner) swap(ctx context.Context, scope window.Scope, name string, tell map[string]struct{}, mode Mode) (saved int, err error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	values, err := l.store.Load(ctx, name)
	if err != nil {
		l.failing(ctx, "learned_load", err)
		return 0, err
	}
	models := slices.Sorted(maps.Keys(values))
	for _, model := range models[:min(len(models), window.MaxModels)] {
		merged, err := l.book.Import(scope, model, values[model], time.Now())
		if err == nil && merged.Ahead && mode != ModeObserve { // what cannot be read is left alone
			tell[model] = struct{}{}
		}
	}
	for _, model := range slices.Sorted(maps.Keys(tell)) {
		value := l.book.Export(scope, model, time.Now())
		if value == nil || bytes.Equal(value, values[model]) {
			continue
		}
		if err := l.store.Save(ctx, name, model, value); err != nil {
			l.failing(ctx, "learned_save", err)
			return saved, err
		}
		saved++
	}
	return saved, nil
}

func (l *learner) failing(ctx context.Context, operation string, err error) {
	if ctx.Err() == nil {
		l.observer.StoreError(operation, err)
	}
}
