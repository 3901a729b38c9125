package middleware

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/foldgate/foldgate/compression/llm"
	"github.com/foldgate/foldgate/compression/window"
	"github.com/foldgate/foldgate/internal/plain"
)

// When an upstream is asked what its models accept.
const (
	// askFrom is the smallest body, in bytes, whose request may have the upstream
	// asked, so that small chats cause no traffic of ours. A server nearby is asked
	// earlier: it may have a window of 4096 tokens, and cut silently.
	askFrom       = 32 << 10
	askFromNearby = 8 << 10
	// askShare is how many bytes for each token of a known window have it asked
	// earlier still: about half a window of text.
	askShare = 2

	// askTimeout bounds one asking.
	askTimeout = 20 * time.Second
	// maxAsking is how many are asked at once. One more is not, and nothing queues.
	maxAsking = 16
	// maxWanted is how many models are asked for together.
	maxWanted = 16
)

// How long an answer is good for.
const (
	askGap      = 30 * time.Second // between two questions in one scope
	askFailed   = 10 * time.Minute // after one that failed
	askChanging = 5 * time.Minute  // a server whose window changes with what it loads
	askSteady   = 3 * time.Hour    // any other
	askNothing  = time.Hour        // it says nothing about that model
	// changingFor is how long an answer of a changing server holds when it cannot
	// be had again.
	changingFor = 3 * askChanging
)

// askedScope is what one tenant's upstream was asked.
type askedScope struct {
	busy   bool                 // it is being asked
	next   time.Time            // nothing is asked before
	models map[string]time.Time // a model is not asked for before
	wanted []string             // models to ask for the next time
}

// worthAsking reports whether a request of so many bytes may need to know more
// about its window than is known.
func (l *learner) worthAsking(known window.Limits, bytes int) bool {
	from := askFrom
	if l.nearby {
		from = askFromNearby
	}
	if known.Total > 0 {
		from = min(from, askShare*int(known.Total))
	}
	return known.Source != window.Config && bytes > from
}

// ask has the request's upstream asked, beside it and in its name, unless that
// was done lately.
func (l *learner) ask(x *exchange) {
	models, ok := l.due(x.scope, x.envelope.Model, x.start)
	if !ok {
		return
	}
	header := llm.CallerHeader(x.r.Header)
	header.Del(headerTraceParent) // a question of ours is no part of the caller's trace
	header.Del(headerTraceState)
	call := llm.AdvertisedCall{Base: askedBase(x.m.cfg.Upstream, x.r.URL), Header: header, Models: models}
	scope := x.scope
	started := l.beside(x.ctx(), func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, askTimeout)
		defer cancel()
		a, err := l.client.Advertised(ctx, call)
		l.answered(scope, models, a, err, time.Now())
		l.logger.LogAttrs(ctx, slog.LevelDebug, "asked the upstream for its windows",
			slog.Int("models", len(a.Models)), slog.Bool("changing", a.Changing), slog.String("error", plain.Error(err)))
	})
	if !started {
		l.answered(scope, nil, llm.Advertisement{}, context.Canceled, x.start)
	}
}

// due reports whether the scope's upstream is to be asked for the model, and for
// which others with it. When it answers true the question is the caller's.
func (l *learner) due(scope window.Scope, model string, now time.Time) (models []string, ok bool) {
	if model == "" || len(model) > window.MaxName {
		return nil, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	s, ok := l.asked.Get(scope)
	if !ok {
		s = &askedScope{models: map[string]time.Time{}}
		l.asked.Add(scope, s)
	}
	if now.Before(s.models[model]) {
		return nil, false
	}
	if s.busy || now.Before(s.next) || l.asking >= maxAsking {
		if len(s.wanted) < maxWanted && !slices.Contains(s.wanted, model) {
			s.wanted = append(s.wanted, model)
		}
		return nil, false
	}
	models = append(slices.DeleteFunc(s.wanted, func(name string) bool { return name == model }), model)
	s.busy, s.wanted = true, nil
	l.asking++
	return models, true
}

// answered takes in what an upstream said.
func (l *learner) answered(scope window.Scope, models []string, a llm.Advertisement, err error, now time.Time) {
	good, until := askSteady, now.Add(window.AdvertisedFor)
	if a.Changing {
		good, until = askChanging, now.Add(changingFor)
	}
	if len(a.Models) > 0 {
		l.book.Advertise(scope, a.Models, now, until)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asking--
	s, ok := l.asked.Peek(scope)
	if !ok {
		return // forgotten meanwhile
	}
	s.busy = false
	if err != nil {
		s.next = now.Add(askFailed)
		return
	}
	s.next = now.Add(askGap)
	nothing := askNothing
	switch {
	case a.Unloaded:
		nothing = askGap // the request that had it asked has it loaded
	case a.Changing:
		nothing = askChanging
	}
	if len(s.models)+len(a.Models)+len(models) > 4*window.MaxModels {
		clear(s.models)
	}
	for _, name := range models {
		s.models[name] = now.Add(nothing)
	}
	for name := range a.Models {
		s.models[name] = now.Add(good)
	}
}
