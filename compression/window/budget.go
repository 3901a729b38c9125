package window

import "math"

// minMargin is the least safety margin.
const minMargin Tokens = 64

// The shares of usable for a handoff where settings name none: of one by a model,
// and of one without, which says less in the same room.
const (
	handoffShare       = 0.15
	deterministicShare = 0.30
)

// NewBudget answers what one request may use of the limits. named is the output
// limit that the request itself names, the greater of max_tokens and
// max_completion_tokens, zero if none.
//
// The output reserve is named whole, but leaves at least a quarter of the total;
// without a name it is s.ReserveOutput, at most a quarter of the total. For a
// known window 0 < Trigger <= Usable <= Total holds however small it is. For an
// unknown one (Total zero) Usable and Trigger are zero, and so are all limits but
// Bytes.
// Correction and Step are kept; those that are no positive number count as 1,
// and as the step of the correction.
func NewBudget(l Limits, s Settings, named Tokens, correction, step float64) Budget {
	if !(correction > 0) || math.IsInf(correction, 0) {
		correction = 1
	}
	if !(step >= 1) || math.IsInf(step, 0) {
		step = Step(correction)
	}
	b := Budget{Limits: l, Correction: correction, Step: step}
	if l.Total <= 0 {
		b.Limits = Limits{Bytes: l.Bytes, Source: l.Source}
		return b
	}
	quarter := l.Total / 4
	reserve := min(max(s.ReserveOutput, 0), quarter)
	if named > 0 {
		reserve = min(named, l.Total-max(quarter, 1))
	}
	room := l.Total - reserve
	if l.Input > 0 {
		room = min(room, l.Input)
	}
	margin := max(minMargin, (room+24)/25) // 4 %, rounded up
	b.Usable = max(room-margin, 1)
	b.Trigger = share(s.Trigger, b.Usable)
	b.Handoff = Tokens(namedShare(s.Handoff, handoffShare) * float64(b.Usable))
	b.Deterministic = Tokens(namedShare(s.Deterministic, deterministicShare) * float64(b.Usable))
	b.Recall = Tokens(max(s.Recall, 0) * float64(l.Total))
	return b
}

// namedShare is a handoff's share, or the one that holds where none is named.
func namedShare(s, unnamed float64) float64 {
	if s > 0 {
		return min(s, 1)
	}
	return unnamed
}

// Corrected is what the upstream would count for n tokens of ours. What it has
// counted itself (Known) is taken as it said, and the rest is multiplied by the
// correction; fewer tokens than that part has are taken in proportion. A Known
// whose counts are further apart than those of any vocabulary counts as none.
func (b Budget) Corrected(n Tokens) Tokens {
	k, correction := b.Known, b.Correction
	if !(correction > 0) {
		correction = 1
	}
	switch {
	case !k.plausible():
		return Tokens(math.Ceil(float64(n) * correction))
	case n <= k.Counted:
		return Tokens(math.Ceil(float64(n) * float64(k.Reported) / float64(k.Counted)))
	}
	return k.Reported + Tokens(math.Ceil(float64(n-k.Counted)*correction))
}

// How far a known count may lie from ours. Beyond it the upstream truncates, or
// counts something else.
const (
	minKnown = 0.5
	maxKnown = 3
)

// plausible reports whether there is a known count, and one to go by.
func (k Known) plausible() bool {
	if k.Counted <= 0 || k.Reported <= 0 {
		return false
	}
	ratio := float64(k.Reported) / float64(k.Counted)
	return ratio >= minKnown && ratio <= maxKnown
}

// share is a share of n, at least 1 and at most n.
func share(s float64, n Tokens) Tokens {
	if !(s < 1) {
		return n
	}
	return min(max(Tokens(s*float64(n)), 1), n)
}
