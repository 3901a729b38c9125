package window

import (
	"cmp"
	"time"
)

// lesson is what an upstream taught about one model. Each part is the last word
// on its matter, with the time at which it was said; two replicas' lessons are
// joined by taking the later word of each part. Nothing is ever taken back by
// being deleted, which a copy would undo, but by a later word. The zero lesson is
// nothing.
type lesson struct {
	learned  learnedWord
	accepted acceptedWord
	bytes    bytesWord
	// checked is when the limit was last checked against the upstream. It is this
	// replica's own affair.
	checked time.Time
	// unshared: a part has changed since the lesson was exported.
	unshared bool
}

// learnedWord is a limit that an overflow error named. Total zero: what was
// learned before at is forgotten.
type learnedWord struct {
	Limits
	at, until time.Time
}

// acceptedWord is the largest request that was accepted although something said
// that it could not be.
type acceptedWord struct {
	tokens    Tokens
	at, until time.Time
}

// bytesWord is the longest body that the upstream takes. Zero: forgotten.
type bytesWord struct {
	limit     int64
	at, until time.Time
}

// instant is a time as it is kept and shared: whole milliseconds.
func instant(t time.Time) time.Time { return t.Truncate(time.Millisecond).UTC() }

// after is now, or just after a word that is to be contradicted: a clock that was
// set back, or another replica's that runs ahead, must not keep it in force.
func after(now time.Time, words ...time.Time) time.Time {
	for _, w := range words {
		if !now.After(w) {
			now = w.Add(time.Millisecond)
		}
	}
	return now
}

// limits is what was learned and holds: not expired, and not disproved by a
// larger request that was accepted since.
func (l *lesson) limits(now time.Time) (Limits, bool) {
	w := &l.learned
	if w.Total == 0 || !now.Before(w.until) {
		return Limits{}, false
	}
	if l.accepted.tokens > w.input() && !l.accepted.at.Before(w.at) {
		return Limits{}, false
	}
	return w.Limits, true
}

// most is the largest request that is known to be accepted; a smaller limit that
// was learned since disproves it. Zero: not known.
func (l *lesson) most(now time.Time) Tokens {
	w := &l.accepted
	if !now.Before(w.until) || w.at.Before(l.learned.at) && l.learned.Total > 0 && l.learned.input() < w.tokens {
		return 0
	}
	return w.tokens
}

// bodyLimit is the longest body, zero if not known.
func (l *lesson) bodyLimit(now time.Time) int64 {
	if !now.Before(l.bytes.until) {
		return 0
	}
	return l.bytes.limit
}

// learn keeps limits as the last word.
func (l *lesson) learn(limits Limits, now time.Time) {
	limits.Bytes = 0
	until := now.Add(LearnedFor)
	if limits == l.learned.Limits {
		now = maxTime(now, l.learned.at)
	} else {
		now = after(now, l.learned.at)
	}
	if l.accepted.tokens > limits.input() {
		now = after(now, l.accepted.at)
	}
	l.learned = learnedWord{Limits: limits, at: now, until: until}
	l.unshared = true
}

// forget takes back what was learned and accepted: the upstream is another one
// than it was.
func (l *lesson) forget(now time.Time) {
	if l.learned.at.IsZero() && l.accepted.at.IsZero() {
		return
	}
	until := now.Add(LearnedFor)
	l.learned = learnedWord{at: after(now, l.learned.at), until: until}
	l.accepted = acceptedWord{at: after(now, l.accepted.at), until: until}
	l.unshared = true
}

// accept keeps that so many tokens were accepted.
func (l *lesson) accept(tokens Tokens, now time.Time) {
	l.accepted = acceptedWord{
		tokens: max(tokens, l.most(now)), at: maxTime(now, l.learned.at, l.accepted.at), until: now.Add(LearnedFor),
	}
	l.unshared = true
}

// limitBytes keeps the longest body; zero forgets it.
func (l *lesson) limitBytes(limit int64, now time.Time) {
	at := maxTime(now, l.bytes.at)
	if limit != l.bytes.limit {
		at = after(now, l.bytes.at)
	}
	l.bytes = bytesWord{limit: limit, at: at, until: now.Add(LearnedFor)}
	l.unshared = true
}

// expire drops what holds no longer, so that it is not told to anybody.
func (l *lesson) expire(now time.Time) {
	if !now.Before(l.learned.until) {
		l.learned = learnedWord{}
	}
	if !now.Before(l.accepted.until) {
		l.accepted = acceptedWord{}
	}
	if !now.Before(l.bytes.until) {
		l.bytes = bytesWord{}
	}
}

// join takes the later word of each part. It is the same in whatever order
// lessons are joined, and however often.
func (l *lesson) join(other lesson) {
	if other.learned.compare(l.learned) > 0 {
		l.learned = other.learned
	}
	if other.accepted.compare(l.accepted) > 0 {
		l.accepted = other.accepted
	}
	if other.bytes.compare(l.bytes) > 0 {
		l.bytes = other.bytes
	}
}

// sameWords reports whether two lessons say the same.
func (l *lesson) sameWords(other lesson) bool {
	return l.learned.compare(other.learned) == 0 && l.accepted.compare(other.accepted) == 0 && l.bytes.compare(other.bytes) == 0
}

// compare orders words by time, then so that the more cautious one is the later:
// forgotten before a limit, a small limit before a large one.
func (w learnedWord) compare(o learnedWord) int {
	return cmp.Or(
		w.at.Compare(o.at),
		cmp.Compare(o.Total, w.Total), cmp.Compare(o.Input, w.Input), cmp.Compare(o.Output, w.Output),
		w.until.Compare(o.until),
	)
}

func (w acceptedWord) compare(o acceptedWord) int {
	return cmp.Or(w.at.Compare(o.at), cmp.Compare(w.tokens, o.tokens), w.until.Compare(o.until))
}

func (w bytesWord) compare(o bytesWord) int {
	return cmp.Or(w.at.Compare(o.at), cmp.Compare(o.limit, w.limit), w.until.Compare(o.until))
}

func maxTime(t time.Time, others ...time.Time) time.Time {
	for _, o := range others {
		if o.After(t) {
			t = o
		}
	}
	return t
}
