package history

import "time"

// span is an instant of the store's clock that is known to lie between two, both
// included, in nanoseconds since the epoch. The zero span is no time at all.
type span struct{ lo, hi int64 }

func (s span) none() bool { return s == span{} }

func (s span) plus(d time.Duration) span { return span{s.lo + int64(d), s.hi + int64(d)} }

// sooner is the earlier one of two instants, later the later one; no time counts
// as the earliest.
func sooner(a, b span) span { return span{min(a.lo, b.lo), min(a.hi, b.hi)} }
func later(a, b span) span  { return span{max(a.lo, b.lo), max(a.hi, b.hi)} }

// ahead tells whether s may lie in the future of now.
func (s span) ahead(now span) bool { return !s.none() && s.hi > now.lo }

// past tells whether s may lie in the past of now, or be now.
func (s span) past(now span) bool { return s.none() || s.lo <= now.hi }

// asAhead and asPast are s once it is known to be so.
func (s span) asAhead(now span) span { return span{max(s.lo, now.lo+1), s.hi} }

func (s span) asPast(now span) span {
	if s.none() {
		return s
	}
	return span{s.lo, min(s.hi, now.hi)}
}

// holds tells whether t may be the instant.
func (s span) holds(t time.Time) bool {
	if s.none() || t.IsZero() {
		return s.none() && t.IsZero()
	}
	n := t.UnixNano()
	return s.lo <= n && n <= s.hi
}

// fix makes s the instant that an answer named, if it can be it.
func (s *span) fix(t time.Time) bool {
	if !s.holds(t) {
		return false
	}
	if !s.none() {
		*s = span{t.UnixNano(), t.UnixNano()}
	}
	return true
}
