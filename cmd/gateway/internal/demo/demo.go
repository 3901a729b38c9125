package demo

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/foldgate/foldgate/ownership"
	"github.com/foldgate/foldgate/ownership/memstore"
)

// modelWindow is the built-in model's context window, in tokens. Small, so that
// a conversation of a few minutes outgrows it.
const modelWindow = 1400

// manyAttempts is more than the demo makes.
const manyAttempts = 100

// story is one run of the demo.
type story struct {
	out      io.Writer
	script   []entry
	model    *modelServer
	upstream *server
	store    ownership.Store
	replicas []*replica
	history  []message
	turns    int
	saved    int    // tokens, over all turns
	dead     int    // turns that would have ended in a 400 without the gateway
	release  func() // ends the silence of the first route; nil before it was asked for
	told     map[ownership.Fence]bool
	// late is the attempt that was superseded on purpose, and its conversation.
	late ownership.Fence
	key  ownership.Key
}

// Run plays the demo and writes what happens to out. It returns an error if
// anything differs from what Foldgate promises.
func Run(ctx context.Context, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	s, err := newStory(out)
	if err != nil {
		return err
	}
	err = s.play(ctx)
	return errors.Join(err, s.close(context.WithoutCancel(ctx)))
}

func newStory(out io.Writer) (*story, error) {
	script, err := readScript(conversation)
	if err != nil {
		return nil, err
	}
	s := &story{out: out, script: script, model: &modelServer{window: modelWindow, script: script}, store: memstore.New(memstore.Options{}), told: map[ownership.Fence]bool{}}
	if s.upstream, err = serve(s.model); err != nil {
		return nil, err
	}
	for _, name := range []string{"A", "B"} {
		r, err := newReplica(name, s.upstream.url, s.store)
		if err != nil {
			return nil, err
		}
		s.replicas = append(s.replicas, r)
	}
	return s, nil
}

func (s *story) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if s.release != nil {
		s.release()
	}
	var errs []error
	for _, r := range s.replicas {
		errs = append(errs, r.close(ctx))
	}
	return errors.Join(append(errs, s.upstream.close(ctx))...)
}

func (s *story) printf(format string, args ...any) { fmt.Fprintf(s.out, format, args...) }

// play says the user's lines one after another, alternating between the
// replicas, as a balancer would.
func (s *story) play(ctx context.Context) error {
	s.printf("A chat model with a window of %d tokens on %s, two gateways with one store in front of it.\n", modelWindow, s.upstream.url)
	s.printf("The client sends its whole history every turn, in turns to replica A and to replica B.\n\n")
	s.printf("turn  to  messages  before   after  what the gateway did\n")
	for i := 0; i < len(s.script); i++ {
		m, err := s.script[i].message(i)
		if err != nil {
			return err
		}
		s.history = append(s.history, m)
		if m.Role == "assistant" {
			continue // the answer to the turn before
		}
		if err := s.turn(ctx, i); err != nil {
			return err
		}
	}
	return s.conclude(ctx)
}

// turn sends the history and checks the answer.
func (s *story) turn(ctx context.Context, i int) error {
	r := s.replicas[s.turns%len(s.replicas)]
	s.turns++
	direct, err := s.post(ctx, s.upstream.url.String(), s.history)
	if err != nil {
		return err
	}
	if direct.status != http.StatusOK {
		s.dead++
		if s.dead == 1 {
			s.printf("      ──  from here on the model alone answers %d: %s\n", direct.status, direct.code)
		}
	}
	got, err := s.post(ctx, r.served.url.String(), s.history)
	if err != nil {
		return err
	}
	if got.status != http.StatusOK {
		return fmt.Errorf("turn %d: the gateway answered %d %s", s.turns, got.status, got.code)
	}
	s.saved += max(0, got.before-got.after)
	s.printf("%4d  %s   %8d  %6s  %6s  %s\n", s.turns, r.name, len(s.history), number(got.before), number(got.after), got.explain())
	if got.key == "" {
		return nil
	}
	return s.pause(ctx, ownership.Key(got.key))
}

// pause waits, as the time between two turns would, until no attempt works, and
// tells what became of those that did.
func (s *story) pause(ctx context.Context, key ownership.Key) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	changed := s.store.Watch(ctx, key)
	for {
		v, err := s.store.Read(ctx, key, nil)
		if err != nil {
			return err
		}
		if v.Owner == nil || v.Owner.Phase != ownership.Working {
			s.tell()
			s.stallOnce()
			return nil
		}
		select {
		case <-changed:
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// stallOnce makes the first route fall silent at the second summary, and ends the
// silence once that attempt has been superseded.
func (s *story) stallOnce() {
	switch {
	case s.release == nil && len(s.told) > 0:
		s.release = s.model.stallNext()
	case s.late != (ownership.Fence{}):
		s.release()
	}
}

// tell prints the attempts that ended since it was last called.
func (s *story) tell() {
	var fresh []ownership.Info
	for _, r := range s.replicas {
		for _, i := range r.coordinator.Attempts(manyAttempts) {
			if !i.Ended.IsZero() && !s.told[i.Fence] {
				s.told[i.Fence] = true
				fresh = append(fresh, i)
			}
		}
	}
	slices.SortFunc(fresh, func(a, b ownership.Info) int { return cmp.Compare(a.Fence.Generation, b.Fence.Generation) })
	for _, i := range fresh {
		if s.late == (ownership.Fence{}) && i.Outcome != ownership.Committed {
			s.late, s.key = i.Fence, i.Conversation
		}
		s.printf("      ··  attempt of generation %d on route %q: %s after %d ms %s\n", i.Fence.Generation, i.Route, i.Outcome, i.Ended.Sub(i.Started).Milliseconds(), i.Reason)
	}
}

// conclude shows what a late attempt can do, and sums up.
func (s *story) conclude(ctx context.Context) error {
	if err := s.lateAttempt(ctx); err != nil {
		return err
	}
	s.printf("\n%d turns, %d of which the model alone would have refused; all %d answered. %d tokens not sent.\n", s.turns, s.dead, s.turns, s.saved)
	s.printf("The same in front of a real API: gateway serve --upstream https://api.openai.com\n")
	return nil
}

// lateAttempt writes as a worker would that comes back after its attempt was
// superseded: it commits and restores with that attempt's fence. Neither may
// change anything. (The stalled worker itself brings nothing: its call was cut.)
func (s *story) lateAttempt(ctx context.Context) error {
	if s.late == (ownership.Fence{}) {
		return errors.New("no attempt was superseded")
	}
	before, err := s.store.Read(ctx, s.key, nil)
	if err != nil {
		return err
	}
	_, commitErr := s.store.Commit(ctx, s.key, s.late, ownership.Commit{Checkpoint: ownership.Checkpoint{
		Target: ownership.Target{Covered: 3}, Handoff: []byte("a summary from the past"),
	}})
	_, restoreErr := s.store.Restore(ctx, s.key, s.late, nil)
	after, err := s.store.Read(ctx, s.key, nil)
	if err != nil {
		return err
	}
	if !errors.Is(commitErr, ownership.ErrSuperseded) || !errors.Is(restoreErr, ownership.ErrSuperseded) || !sameView(before, after) {
		return fmt.Errorf("the superseded attempt was not stopped: commit %w, restore %w", commitErr, restoreErr)
	}
	s.printf("\nSomebody who still holds the fence of generation %d writes with it, as a worker would that was paused and comes back\nlate (the conversation is at generation %d):\n", s.late.Generation, after.Generation)
	s.printf("  commit:  %v\n  restore: %v\n  the conversation before and after is the same, byte for byte.\n", commitErr, restoreErr)
	return nil
}

// response is what the client sees.
type response struct {
	status        int
	code          string // of an error
	fold, reason  string
	before, after int // tokens
	key           string
	outcome       string
	generation    string
}

// post sends a chat request.
func (s *story) post(ctx context.Context, base string, history []message) (response, error) {
	body, err := json.Marshal(map[string]any{"model": chatModel, "messages": history})
	if err != nil {
		return response{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		return response{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer demo")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return response{}, err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		return response{}, err
	}
	got := readHeaders(res.Header)
	got.status = res.StatusCode
	var envelope struct {
		Error struct{ Code string }
	}
	_ = json.Unmarshal(raw, &envelope)
	got.code = envelope.Error.Code
	return got, nil
}

// readHeaders reads what the gateway says of a request.
func readHeaders(h http.Header) response {
	fold, _, _ := strings.Cut(h.Get("Foldgate-Fold"), ";")
	_, reason, _ := strings.Cut(h.Get("Foldgate-Fold"), `reason="`)
	reason, _, _ = strings.Cut(reason, `"`)
	tokens, attempt := fieldsOf(h.Get("Foldgate-Tokens")), fieldsOf(h.Get("Foldgate-Attempt"))
	before, _ := strconv.Atoi(tokens["before"])
	after, _ := strconv.Atoi(tokens["after"])
	return response{
		fold: fold, reason: reason, before: before, after: after, key: strings.Trim(h.Get("Foldgate-Key"), `"`),
		outcome: attempt["outcome"], generation: attempt["generation"],
	}
}

// explain says in words what the headers say.
func (r response) explain() string {
	switch {
	case r.fold == "none" && r.reason == "under":
		return "passed through, byte for byte"
	case r.fold == "none" && r.outcome == "running":
		return "fits, passed through; a summary is being prepared"
	case r.fold == "none":
		return "fits, passed through"
	case r.fold == "reused" && r.outcome == "running":
		return "folded with the summary at hand; the next one is being prepared"
	case r.fold == "reused":
		return "folded with the summary at hand"
	case r.fold == "committed":
		return "waited for a summary (generation " + r.generation + "), folded"
	default:
		return r.fold + " (" + r.reason + ")"
	}
}

// sameView compares what two reads found, but for the clock.
func sameView(a, b ownership.View) bool {
	a.Now, b.Now = time.Time{}, time.Time{}
	if a.Owner != nil && b.Owner != nil {
		x, y := *a.Owner, *b.Owner
		x.LeaseLeft, y.LeaseLeft = 0, 0
		a.Owner, b.Owner = &x, &y
	}
	return reflect.DeepEqual(a, b)
}

func number(n int) string {
	if n == 0 {
		return "·"
	}
	return fmt.Sprint(n)
}

// fieldsOf splits a dictionary field.
func fieldsOf(value string) map[string]string {
	out := map[string]string{}
	for part := range strings.SplitSeq(value, ",") {
		name, v, _ := strings.Cut(strings.TrimSpace(part), "=")
		out[name] = strings.Trim(v, `"`)
	}
	return out
}
