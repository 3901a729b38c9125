package window

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"
)

// sharedVersion is the version of the form in which lessons travel. A value of
// another version is left alone.
const sharedVersion = 1

// maxSkew is how far another replica's clock may be ahead for its words to be
// ordered by what they say of their time. It covers clocks that are kept in step,
// and that a word which contradicts another counts as said after it.
const maxSkew = time.Minute

// The form in which lessons travel. Times are Unix milliseconds.
type (
	sharedLesson struct {
		Version    int             `json:"v"`
		Learned    *sharedLearned  `json:"learned,omitempty"`
		Accepted   *sharedAccepted `json:"accepted,omitempty"`
		Bytes      *sharedBytes    `json:"bytes,omitempty"`
		Correction *sharedRatio    `json:"correction,omitempty"`
	}
	sharedLearned struct {
		Total  Tokens `json:"total,omitempty"` // 0: forgotten
		Input  Tokens `json:"input,omitempty"`
		Output Tokens `json:"output,omitempty"`
		sharedTimes
	}
	sharedAccepted struct {
		Tokens Tokens `json:"tokens,omitempty"` // 0: forgotten
		sharedTimes
	}
	sharedBytes struct {
		Limit int64 `json:"limit,omitempty"` // 0: forgotten
		sharedTimes
	}
	sharedTimes struct {
		At    int64 `json:"at"`
		Until int64 `json:"until"`
	}
	sharedRatio struct {
		Count     int     `json:"count"`
		Mean      float64 `json:"mean"`
		Deviation float64 `json:"deviation"`
		At        int64   `json:"at"`
	}
)

// Merged is what Import did.
type Merged struct {
	// News: the book knows something that it did not know before.
	News bool
	// Ahead: the book knows something that the value does not say, corrections
	// aside, so others should be told.
	Ahead bool
}

// Unshared reports whether there is something about the model that is worth
// telling other replicas since the last Export: a limit learned, prolonged,
// forgotten or disproved at once; a correction when it moved by a step, else once
// a minute at most. It is cheap, for every request.
func (b *Book) Unshared(s Scope, model string, now time.Time) bool {
	b.mu.RLock()
	have, _ := b.recall(s, model)
	news := have != nil && have.unshared
	b.mu.RUnlock()
	if news {
		return true
	}
	c := &b.corrections
	c.mu.RLock()
	defer c.mu.RUnlock()
	e, ok := c.estimates.get(pair{s, model})
	return ok && e.unshared(now)
}

// Export answers what upstream and tenant taught about a model in a form for
// other replicas' Import, nil where there is nothing to tell, and notes that it
// was told. Advertisements are not in it: every replica can ask for itself.
func (b *Book) Export(s Scope, model string, now time.Time) []byte {
	out := sharedLesson{Version: sharedVersion}
	b.exportLesson(&out, s, model, instant(now))
	b.exportCorrection(&out, s, model)
	if out == (sharedLesson{Version: sharedVersion}) {
		return nil
	}
	value, err := json.Marshal(out)
	if err != nil { // numbers only, and all of them finite
		return nil
	}
	return value
}

func (b *Book) exportLesson(out *sharedLesson, s Scope, model string, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	have, _ := b.recall(s, model)
	if have == nil {
		return
	}
	have.unshared = false
	have.expire(now)
	if w := have.learned; !w.at.IsZero() {
		out.Learned = &sharedLearned{Total: w.Total, Input: w.Input, Output: w.Output, sharedTimes: times(w.at, w.until)}
	}
	if w := have.accepted; !w.at.IsZero() {
		out.Accepted = &sharedAccepted{Tokens: w.tokens, sharedTimes: times(w.at, w.until)}
	}
	if w := have.bytes; !w.at.IsZero() {
		out.Bytes = &sharedBytes{Limit: w.limit, sharedTimes: times(w.at, w.until)}
	}
}

func (b *Book) exportCorrection(out *sharedLesson, s Scope, model string) {
	c := &b.corrections
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.estimates.get(pair{s, model})
	if !ok || e.count == 0 {
		return
	}
	e.markShared()
	out.Correction = &sharedRatio{Count: e.count, Mean: e.mean, Deviation: e.deviation, At: e.at.UnixMilli()}
}

// Import joins what another replica exported with what the book knows. Of each
// part the later word stands (of corrections the one with more observations, then
// the later), so the outcome does not depend on the order, and a
// value that comes back changes nothing. Nothing lives longer for being passed
// on: expiry is the original one, and at most LearnedFor from now whatever the
// other replica's clock says. What is not plausible is left out. A value of an
// unknown version changes nothing; one that cannot be read is an error.
func (b *Book) Import(s Scope, model string, value []byte, now time.Time) (Merged, error) {
	if len(model) > MaxName {
		return Merged{}, nil
	}
	var in sharedLesson
	var version struct {
		Version int `json:"v"`
	}
	if err := json.Unmarshal(value, &version); err != nil {
		return Merged{}, fmt.Errorf("read a shared lesson: %w", err)
	}
	if version.Version != sharedVersion {
		return Merged{}, nil
	}
	if err := json.Unmarshal(value, &in); err != nil {
		return Merged{}, fmt.Errorf("read a shared lesson: %w", err)
	}
	now = instant(now)
	m := b.importLesson(s, model, in.lesson(now), now)
	m.News = b.importCorrection(s, model, in.Correction, now) || m.News
	return m, nil
}

func (b *Book) importLesson(s Scope, model string, other lesson, now time.Time) Merged {
	b.mu.Lock()
	defer b.mu.Unlock()
	have, _ := b.recall(s, model)
	if have == nil {
		if other.sameWords(lesson{}) {
			return Merged{}
		}
		have = b.remember(s, model)
	}
	have.expire(now)
	before := *have
	have.join(other)
	return Merged{News: !have.sameWords(before), Ahead: !have.sameWords(other)}
}

// importCorrection takes an estimate that more observations stand behind, or
// newer ones.
func (b *Book) importCorrection(s Scope, model string, r *sharedRatio, now time.Time) bool {
	if r == nil || r.Count < 1 || r.Count > steady || !(r.Mean >= minRatio && r.Mean <= maxRatio) ||
		!(r.Deviation >= 0 && r.Deviation <= maxRatio) {
		return false
	}
	other := estimate{count: r.Count, mean: r.Mean, deviation: r.Deviation, at: clamped(r.At, now)}
	c := &b.corrections
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.estimates.get(pair{s, model}); ok && other.compare(e) <= 0 {
		return false
	}
	e := c.remember(pair{s, model})
	e.count, e.mean, e.deviation, e.at = other.count, other.mean, other.deviation, other.at
	e.markShared()
	return true
}

// compare orders estimates: more observations, then newer ones.
func (e *estimate) compare(o *estimate) int {
	return cmp.Or(cmp.Compare(e.count, o.count), e.at.Compare(o.at), cmp.Compare(e.mean, o.mean), cmp.Compare(e.deviation, o.deviation))
}

// lesson is what is plausible of a shared one, and holds.
func (in *sharedLesson) lesson(now time.Time) (l lesson) {
	if w := in.Learned; w != nil && w.holds(now) {
		limits, ok := completed(Limits{Total: w.Total, Input: w.Input, Output: w.Output}, Limits{}, Learned)
		if w.Total == 0 && w.Input == 0 {
			limits, ok = Limits{}, true
		}
		if ok {
			l.learned.Limits = limits
			l.learned.at, l.learned.until = w.span(now)
		}
	}
	if w := in.Accepted; w != nil && w.holds(now) && w.Tokens >= 0 && w.Tokens <= MaxLearned {
		l.accepted.tokens = w.Tokens
		l.accepted.at, l.accepted.until = w.span(now)
	}
	if w := in.Bytes; w != nil && w.holds(now) && (w.Limit == 0 || w.Limit >= MinBytes && w.Limit <= MaxBytes) {
		l.bytes.limit = w.Limit
		l.bytes.at, l.bytes.until = w.span(now)
	}
	return l
}

func times(at, until time.Time) sharedTimes {
	return sharedTimes{At: at.UnixMilli(), Until: until.UnixMilli()}
}

// holds reports whether a word is still good.
func (t sharedTimes) holds(now time.Time) bool {
	_, until := t.span(now)
	return t.At > 0 && now.Before(until)
}

// span is when a word was said and how long it holds, whatever the clock of who
// said it.
func (t sharedTimes) span(now time.Time) (at, until time.Time) {
	at = clamped(t.At, now)
	until = time.UnixMilli(t.Until).UTC()
	for _, latest := range [...]time.Time{at.Add(LearnedFor), now.Add(LearnedFor)} {
		if until.After(latest) {
			until = latest
		}
	}
	return at, until
}

// clamped is a time that is at most maxSkew in the future.
func clamped(ms int64, now time.Time) time.Time {
	at := time.UnixMilli(ms).UTC()
	if latest := now.Add(maxSkew); at.After(latest) {
		return latest
	}
	return at
}
