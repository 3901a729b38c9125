package history

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/foldgate/foldgate/ownership"
)

// Violation is a history that the model does not allow, or one of which that
// could not be told in time.
type Violation struct {
	// Seed, Round and Key tell which conversation it was; Calls is the length of its
	// history, Unknown how many of these had no answer.
	Seed    uint64
	Round   int
	Key     ownership.Key
	Calls   int
	Unknown int
	// TimedOut: no order was found, and not all were tried.
	TimedOut bool
	// Reason is set where no search was needed.
	Reason string
	// Path is a page that shows the history, empty if none was written; Run does.
	Path string

	ops []porcupine.Operation
}

func (v *Violation) Error() string {
	what := "no order of the calls explains the answers"
	switch {
	case v.Reason != "":
		what = v.Reason
	case v.TimedOut:
		what = "the check was not done in time"
	}
	text := fmt.Sprintf("history: %s: conversation %s, round %d, seed %d, %d calls, %d of them without an answer",
		what, v.Key, v.Round, v.Seed, v.Calls, v.Unknown)
	if v.Path != "" {
		text += "; see " + v.Path
	}
	return text
}

// model is the sequential model for one conversation.
func model() porcupine.Model {
	m := porcupine.NondeterministicModel{
		Init: func() []any { return []any{&state{}} },
		Step: func(s, in, out any) []any { return step(s.(*state), in.(*call), out.(*answer)) },
		Equal: func(a, b any) bool {
			x, y := a.(*state), b.(*state)
			return x == y || x.equal(y)
		},
		Hash: func(s any) uint64 { return s.(*state).hash() },
		DescribeOperation: func(in, out any) string {
			return in.(*call).String() + " → " + out.(*answer).String()
		},
		DescribeState: func(s any) string { return s.(*state).String() },
	}
	return m.ToModel()
}

// step is every state after the call that its answer allows. Without an answer
// these are all, and the one before: then it never ran.
func step(s *state, c *call, a *answer) []any {
	var after []any
	if a.unknown() {
		after = append(after, s)
	}
	for _, w := range s.ways(c) {
		if a.unknown() {
			after = append(after, &w.next)
			continue
		}
		if w.says == a.says && (w.shows == nil || w.shows(&w.next, a)) {
			after = append(after, &w.next)
		}
	}
	return after
}

// String is for those who read a history that went wrong.
func (s *state) String() string {
	text := fmt.Sprintf("gen %d, %s %s, %d died", s.counter, short(s.owner.fence), s.owner.phase, s.owner.deaths)
	if s.flag.raised {
		text += fmt.Sprintf(", raised %q", s.flag.reason)
	}
	for _, p := range s.kept.points {
		mark := "provisional"
		if p.settled {
			mark = "settled"
		}
		text += fmt.Sprintf(", %s %s", short(p.fence), mark)
	}
	return text + fmt.Sprintf(", streak %d, strikes %d", s.kept.streak, s.kept.strikes)
}

// verify looks for an order of the calls. Nil: there is one.
func verify(ops []porcupine.Operation, within time.Duration) *Violation {
	m := model()
	result := porcupine.CheckOperationsTimeout(m, ops, within)
	if result == porcupine.Ok {
		return nil
	}
	v := &Violation{Calls: len(ops), TimedOut: result == porcupine.Unknown, ops: ops}
	for _, o := range ops {
		if o.Output.(*answer).unknown() {
			v.Unknown++
		}
	}
	return v
}

// draw writes a page that shows how far an order could be found, and names it in
// v.
func (v *Violation) draw(t testing.TB, within time.Duration) {
	if len(v.ops) == 0 {
		return
	}
	m := model()
	_, info := porcupine.CheckOperationsVerbose(m, v.ops, within)
	dir, err := artifacts(t)
	if err != nil {
		t.Logf("draw the history: %v", err)
		return
	}
	path := filepath.Join(dir, fmt.Sprintf("history-%d-%d-%.8s.html", v.Seed, v.Round, v.Key))
	if err := porcupine.VisualizePath(m, info, path); err != nil {
		t.Logf("draw the history: %v", err)
		return
	}
	v.Path = path
}

// artifacts is a folder that outlives the test: what went wrong once may not do so
// again.
func artifacts(t testing.TB) (string, error) {
	if f := flag.Lookup("test.artifacts"); f != nil && f.Value.String() == "true" {
		return t.ArtifactDir(), nil
	}
	//nolint:usetesting // t.TempDir is removed with the test
	return os.MkdirTemp("", "foldgate-history-")
}
