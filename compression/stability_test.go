package compression_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/foldgate/foldgate/compression"
	"github.com/foldgate/foldgate/compression/window"
)

// Over fifty growing turns of a recorded conversation, what is forwarded up to
// the handoff's end changes only at a fold, and the rest only by what the exit
// gate shrinks and by what recall puts before the last user message. Two replicas
// that know nothing of each other forward the same bytes.
func TestRealConversationsKeepTheirPrefix(t *testing.T) {
	runs := 0
	for _, h := range realMessages(t) {
		if len(h.messages) < 50 {
			continue
		}
		for _, withModel := range []bool{false, true} {
			if runs++; runs%either(1, 3) != 0 { // under the race detector some with a model, others without
				continue
			}
			t.Run(fmt.Sprintf("%s/model %v", h.name, withModel), func(t *testing.T) {
				keepsItsPrefix(t, h, withModel)
			})
		}
	}
}

func keepsItsPrefix(t *testing.T, h history, withModel bool) {
	ends := requestEnds(h.messages)
	ends = ends[max(0, len(ends)-either(50, 12)):]
	replicas := [2]*compression.Memo{compression.NewMemo(1 << 13), compression.NewMemo(1 << 13)}
	body := func(end int) string { return h.before + "[" + strings.Join(h.messages[:end], ",") + "]" + h.after }
	half := int(replicas[0].View(parse(t, body(ends[len(ends)/2]))).Total())
	b := budget(half / 2)
	b.Recall = window.Tokens(float64(b.Total) * settings().Recall)

	var checkpoint *compression.Handoff
	last, lastShrunk, covered, folds, same, bytes := "", 0, 0, 0, 0, 0
	for _, end := range ends {
		body := body(end)
		views := [2]*compression.View{replicas[0].View(parse(t, body)), replicas[1].View(parse(t, body))}
		if views[0].Total() <= b.Trigger {
			continue
		}
		handoff := views[0].Deterministic(b, settings(), checkpoint)
		if withModel {
			checkpoint = nextCheckpoint(t, views[0], checkpoint, b, end)
			if checkpoint != nil {
				handoff = *checkpoint
			}
		}
		f, err := views[0].Fold(handoff, b)
		allowed(t, err)
		judgeAll(t, fmt.Sprint("turn ", end), body, f, handoff, b)
		other := handoff
		if !withModel {
			other = views[1].Deterministic(b, settings(), nil)
		}
		if g, _ := views[1].Fold(other, b); string(g.Body) != string(f.Body) {
			t.Fatalf("turn %d: another replica forwards other bytes", end)
		}

		sent := string(f.Body)
		kept := commonPrefix(last, sent)
		switch {
		case last == "" || f.Covered != covered:
			if f.Covered < covered {
				t.Fatalf("turn %d: the cut went back from %d to %d", end, covered, f.Covered)
			}
			folds++
		default:
			need := endOfHandoff(last, handoff.Text)
			if f.Shrunk == 0 && lastShrunk == 0 {
				need = max(need, strings.LastIndex(last, `"role":"user"`)-200) // about where the last user message begins
			}
			if kept < min(need, len(last)) {
				t.Fatalf("turn %d: byte %d changed, and all up to %d should stay", end, kept, need)
			}
			same++
			bytes += len(last) - kept
		}
		last, lastShrunk, covered = sent, f.Shrunk, f.Covered
	}
	t.Logf("%d turns, %d folds, %d of them kept the prefix; %d bytes of it changed in the mean", len(ends), folds, same, bytes/max(same, 1))
	if folds+same < 10 || folds*2 > folds+same+2 {
		t.Errorf("%d folds in %d turns", folds, folds+same)
	}
}

// nextCheckpoint is the checkpoint after a turn: a new one where the one at hand
// leaves the request over the trigger.
func nextCheckpoint(t *testing.T, v *compression.View, c *compression.Handoff, b window.Budget, seed int) *compression.Handoff {
	t.Helper()
	from := 0
	if c != nil {
		from = c.Covered
		if f, err := v.Fold(*c, b); err == nil && f.Tokens <= b.Trigger {
			return c
		}
	}
	target, ok := v.Target(b, settings(), from)
	if !ok {
		return c
	}
	made, err := v.Accept(compression.Answer{Text: "## Done\nSo far: " + words(seed, 60)}, c, target, b)
	if err != nil {
		return c
	}
	return &made
}

func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// endOfHandoff is where a handoff ends in a body, 0 where it is not found.
func endOfHandoff(body, text string) int {
	quoted := quote(text)
	quoted = quoted[1 : len(quoted)-1]
	if i := strings.Index(body, quoted); i >= 0 {
		return i + len(quoted)
	}
	return 0
}
