package compression

import (
	"github.com/foldgate/foldgate/compression/chat"
	"github.com/foldgate/foldgate/compression/window"
)

// Shares of what there is, in percent.
const (
	tailShare  = 60 // of what head and handoff leave under the trigger: the most that a tail takes
	middlePart = 50 // of the middle: the most that a handoff without a model takes
	headPart   = 40 // of what the head leaves under the trigger: the most that it takes beyond a model's share
)

// minMiddle is the least that a fold must be able to take out: less than that
// is not worth a frame and a broken prompt cache.
const minMiddle Tokens = 160

const (
	carrierFrame = Tokens(8)  // what a message that carries a handoff costs beside its texts
	leftSteps    = Tokens(16) // in which a handoff gives way to a tail that grew
)

// shares are a budget in reference units: corrected tokens divided by the step.
type shares struct {
	usable  Tokens
	trigger Tokens
	keep    Tokens // most of a tail
	handoff Tokens // most of a handoff
	written Tokens // most of one without a model
	recall  Tokens // most of the recalled passages
	fixed   Tokens // head, tools
}

// sharesOf turns a budget and its settings into reference units. ok is false
// where the window is unknown.
func (v *View) sharesOf(b window.Budget, s window.Settings) (shares, bool) {
	if b.Usable <= 0 {
		return shares{}, false
	}
	trigger, total := b.Trigger, b.Total
	if trigger <= 0 {
		trigger = b.Usable
	}
	if total <= 0 {
		total = b.Usable
	}
	step := stepOf(b)
	// Behind a large head the tail would be so short that every other turn folds.
	left := Tokens(float64(trigger)/step) - v.fixedTokens()
	written := min(deterministicTokens(b), max(handoffTokens(b), left*headPart/100))
	return shares{
		usable:  Tokens(float64(b.Usable) / step),
		trigger: Tokens(float64(trigger) / step),
		keep:    Tokens(s.KeepRecent * float64(total) / step),
		handoff: max(handoffTokens(b), written),
		written: written,
		recall:  Tokens(float64(b.Recall) / step),
		fixed:   v.fixedTokens(),
	}, true
}

func stepOf(b window.Budget) float64 { return max(1, b.Step) }

// handoffTokens is the most that a model's handoff may take, in reference units.
func handoffTokens(b window.Budget) Tokens {
	return Tokens(float64(shareOf(b, b.Handoff, 15)) / stepOf(b))
}

// deterministicTokens is the most that a handoff without a model may take, in
// reference units.
func deterministicTokens(b window.Budget) Tokens {
	return Tokens(float64(shareOf(b, b.Deterministic, 30)) / stepOf(b))
}

// shareOf is a share of a budget, or in one made by hand so many percent of what
// is usable.
func shareOf(b window.Budget, n, percent Tokens) Tokens {
	if n > 0 {
		return n
	}
	return b.Usable * percent / 100
}

// cuts says where a cut may stand: where it divides no group, and does not put
// first a user message that no handoff can lead (content that is null, absent or
// of another kind), since the handoff's own message would then stand beside it.
func (v *View) cuts() []bool {
	if v.legal == nil {
		v.legal = v.Cuttable()
		for p := range v.Len() {
			m := &v.Messages[v.Head+p]
			if m.Role == chat.RoleUser && !leadable(m) {
				v.legal[p] = false
			}
		}
	}
	return v.legal
}

// gone is what a cut at p takes out: the messages before it, less the copy of a
// user's that has to stay.
func (v *View) gone(p int) Tokens { return v.sum(p) - v.carried(p) }

// room is the most that the tail behind a cut at p may take.
func (v *View) room(s shares, p int) Tokens {
	left := s.trigger - s.fixed - s.handoff - s.recall - v.carried(p)
	return min(s.keep, max(0, left)*tailShare/100)
}

// cutBefore is the cut after from that keeps the most of the messages before
// position end within a tail, or at least their newest group; from if there is
// none, or nothing worth it would go.
func (v *View) cutBefore(s shares, from, end int) int {
	newest := v.cutUnder(end)
	best := newest
	for p := newest; p > from; p = v.cutUnder(p) {
		tail := v.sum(end) - v.sum(p)
		if tail > s.keep {
			break
		}
		if tail <= v.room(s, p) {
			best = p
		}
	}
	if best <= from || v.gone(best)-v.gone(from) < minMiddle {
		return from
	}
	return best
}

// cutUnder is the last legal cut before position p, at least 0.
func (v *View) cutUnder(p int) int {
	if v.under == nil {
		v.under = make([]int, v.Len()+1)
		for q := 1; q <= v.Len(); q++ {
			v.under[q] = v.under[q-1]
			if v.cuts()[q-1] {
				v.under[q] = q - 1
			}
		}
	}
	return v.under[p]
}

// Target is what an attempt would cover now, beyond the first from messages that
// a checkpoint covers already (0: none). ok is false where there is nothing, or
// nothing more, worth folding.
func (v *View) Target(b window.Budget, s window.Settings, from int) (covered int, ok bool) {
	v.Open()
	sh, ok := v.sharesOf(b, s)
	from = max(from, 0)
	if !ok || from >= v.Len() {
		return 0, false
	}
	sh.handoff = handoffTokens(b) // a model's takes no more
	p := v.cutBefore(sh, from, v.Len())
	return p, p > from
}

// replay walks the messages as the turns brought them and moves the cut as each
// turn would have: whenever what is sent is over the trigger, or leaves no room
// for recalled passages in what is usable, asked for or not. So the cut is a
// function of the messages, and of the checkpoint that it goes on from, and stays
// while the conversation grows. from is what that checkpoint covers and held what
// its handoff takes, both 0 without one; at is how many messages there were when
// the cut moved last.
func (v *View) replay(s shares, from int, held Tokens) (cut, at int) {
	cut, at = from, v.Len()
	next := Tokens(0)
	for end := from + 1; end <= v.Len(); end++ {
		size := s.fixed + v.sum(end) - v.sum(cut)
		switch {
		case cut > 0 && cut == from:
			size += held + v.carried(cut)
		case cut > 0:
			size += s.handoff + v.carried(cut)
		}
		if size <= min(s.trigger, s.usable-s.recall) || v.sum(end) < next {
			continue
		}
		moved := v.cutBefore(s, cut, end)
		if moved == cut { // in vain: look again when enough came that it can help
			next = v.sum(end) + minMiddle
			continue
		}
		cut, at = moved, end
	}
	return cut, at
}

// left is the most that a handoff without a model may take for a cut at p that
// was made when there were end messages: its share, at most a part of what it
// stands for, and no more than what must be sent beside it leaves under the
// trigger. A tail over its share counts as what the exit gate can shrink it to,
// since it will.
func (v *View) left(s shares, p, end int) Tokens {
	tail := v.sum(end) - v.sum(p)
	if tail > s.keep {
		tail = max(s.keep, v.smallest(p, end))
	}
	around := s.fixed + v.carried(p) + carrierFrame
	under := s.trigger
	if under <= around+tail { // no handoff is short enough for that
		under = s.usable
	}
	most := min(s.written, under-around-tail, v.gone(p)*middlePart/100)
	// Where a tail that grew since leaves less than that of what may be used at
	// all, the handoff gives way, in few steps since each writes it anew.
	rest := s.usable - around - v.smallest(p, v.Len())
	step := max(1, most/leftSteps)
	for most > max(0, rest) {
		most -= step
	}
	return max(0, most)
}

// smallest is the least that the messages from p to end can be shrunk to.
func (v *View) smallest(p, end int) Tokens {
	least := form{text: textLevels[len(textLevels)-1], args: argumentLevels[len(argumentLevels)-1], media: allMedia}
	user := v.lastUser(end)
	flight := end == v.Len() && !v.cuts()[end]
	var sum Tokens
	for i := v.Head + end - 1; i >= v.Head+p; i-- {
		f := least
		if m := &v.Messages[i]; len(m.Calls) > 0 && m.MayCall() && flight {
			f.args, flight = 0, false
		}
		if i == user {
			f = form{}
		}
		sum += v.costOf(i, f)
	}
	return sum
}
