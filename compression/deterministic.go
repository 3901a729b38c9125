package compression

import (
	"cmp"
	"slices"
	"strings"

	"github.com/foldgate/foldgate/compression/redact"
	"github.com/foldgate/foldgate/compression/window"
)

const (
	rulesEach  = 2 << 10 // bytes of one instruction that fell into the middle
	rulesLeast = 96      // bytes under which one tells nothing
	ruleMark   = 8       // bytes that a cut and a line end add
	rulesShare = 33      // percent of a handoff that all of them take
	writeTries = 6
	fullEnough = 96 // percent of its room that a handoff takes
	bareBody   = "Nothing of it was kept."
)

// Deterministic is a handoff without a model: the same bytes wherever the same
// messages, budget and previous handoff are seen. Its cut is where the turns
// that brought the messages would have left it, so it stays put while the
// conversation grows. It takes over prev where prev is of this conversation,
// and is prev where nothing more need be covered. Where nothing is worth folding
// it covers nothing.
func (v *View) Deterministic(b window.Budget, s window.Settings, prev *Handoff) Handoff {
	v.Open()
	sh, ok := v.sharesOf(b, s)
	if !ok || v.Len() == 0 {
		return Handoff{}
	}
	prev = v.own(prev)
	from, held := 0, Tokens(0)
	if prev != nil {
		from, held = prev.Covered, min(v.tokens(prev.Text), sh.handoff)
	}
	cut, end := v.replay(sh, from, held)
	for part := 3; cut == 0 && part > 0; part-- {
		// Asked for, though the reference count is under the trigger: a lower one
		// keeps the cut as still.
		lower := sh
		lower.trigger = sh.trigger * Tokens(part) / 4
		cut, end = v.replay(lower, 0, 0)
	}
	if cut == 0 {
		cut, end = v.cutBefore(sh, 0, v.Len()), v.Len()
	}
	switch {
	case cut == 0:
		return Handoff{}
	case cut == from:
		return v.bounded(*prev, max(handoffTokens(b), deterministicTokens(b)), b)
	}
	limit := v.left(sh, cut, end)
	return v.handoff(cut, v.writeNotes(cut, prev, limit), b)
}

// own is prev if it stands for messages of this request and can be folded with.
func (v *View) own(prev *Handoff) *Handoff {
	if prev == nil || prev.Covered <= 0 || prev.Covered >= v.Len() || !v.cuts()[prev.Covered] {
		return nil
	}
	if v.Chain(prev.Covered) != prev.Digest {
		return nil
	}
	return prev
}

func (v *View) handoff(cut int, text string, b window.Budget) Handoff {
	return Handoff{Covered: cut, Digest: v.Chain(cut), Text: text, Step: stepOf(b)}
}

// bounded is h, cut to the limit where it was written for a larger window.
func (v *View) bounded(h Handoff, limit Tokens, b window.Budget) Handoff {
	if v.tokens(h.Text) <= limit {
		return h
	}
	body, _ := Body(h.Text)
	rules := v.rules(h.Covered, limit)
	f := fitting(handoffFrames(), limit)
	text := v.fit(f, limit, len(body), rules, func(room int) string { return f.wrap(cutText(body, room), rules) })
	return v.handoff(h.Covered, text, b)
}

// writeNotes writes a handoff of at most limit tokens for the first cut messages.
// It starts from what a model wrote for some of them; what was written without
// one is written anew, since the messages are all there and say more.
func (v *View) writeNotes(cut int, prev *Handoff, limit Tokens) string {
	from, older := 0, ""
	if prev != nil && prev.Model {
		from = prev.Covered
		older, _ = Body(prev.Text)
	}
	n := v.takeNotes(from, cut, older)
	rules := v.rules(cut, limit)
	f := fitting(handoffFrames(), limit)
	around := v.tokens(f.wrap("", rules))
	return v.fit(f, limit, int(limit-around), rules, func(room int) string { return f.wrap(n.write(room), rules) })
}

// fit finds a room whose text takes most of limit and no more.
func (v *View) fit(f frame, limit Tokens, room int, rules string, write func(room int) string) string {
	best := ""
	fits, over := 0, 0 // the largest room that did, the smallest that did not; 0: none
	for range writeTries {
		text := write(room)
		n := v.tokens(text)
		next := room * int(limit) / max(1, int(n))
		if n <= limit {
			if len(text) > len(best) {
				best = text
			}
			if n*100 >= limit*fullEnough || int(n) < room*3/4 { // or nothing more to say
				break
			}
			fits, next = max(fits, room), min(next*99/100+1, room*2)
		} else {
			if over == 0 || room < over {
				over = room
			}
			next = next * 97 / 100
		}
		if over > 0 && (next >= over || next <= fits) {
			next = (fits + over) / 2
		}
		if next <= fits {
			break
		}
		room = next
	}
	if best != "" {
		return best
	}
	if bare := f.wrap(bareBody, rules); v.tokens(bare) <= limit {
		return bare
	}
	return f.wrap(bareBody, "")
}

func (v *View) tokens(text string) Tokens { return Tokens(v.counter.Count([]byte(text))) }

// rules are the system's and developers' messages among the first n after the
// head, which a fold must not silence: verbatim where they are short, by their
// beginning and end where they are long or many; the newest where not all of
// them would be told from each other.
func (v *View) rules(n int, limit Tokens) string {
	room := int(limit) * 4 * rulesShare / 100
	var texts []string
	for p := n - 1; p >= 0 && (len(texts)+1)*rulesLeast <= room; p-- {
		if !v.Messages[v.Head+p].Role.Leading() {
			continue
		}
		if t := strings.TrimSpace(redact.Text(v.Text(v.Head + p))); t != "" {
			texts = append(texts, t)
		}
	}
	slices.Reverse(texts)
	byLength := make([]int, len(texts))
	for i := range byLength {
		byLength[i] = i
	}
	slices.SortStableFunc(byLength, func(a, b int) int { return cmp.Compare(len(texts[a]), len(texts[b])) })
	for k, i := range byLength { // what a short one leaves goes to the longer ones
		texts[i] = cutText(texts[i], min(rulesEach, room/(len(texts)-k)-ruleMark))
		room -= len(texts[i]) + 1
	}
	return strings.Join(texts, "\n")
}
