package ownership_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/foldgate/foldgate/internal/semconv"
	"github.com/foldgate/foldgate/ownership"
)

const (
	callersTrace  = "4bf92f3577b34da6a3ce929d0e0e4736"
	callersSpan   = "00f067aa0ba902b7"
	callersParent = "00-" + callersTrace + "-" + callersSpan + "-01"
	unsampled     = "00-" + callersTrace + "-" + callersSpan + "-00"
)

// recorder collects spans as they end.
type recorder struct {
	*tracetest.SpanRecorder
	*sdktrace.TracerProvider
}

func newRecorder(options ...sdktrace.TracerProviderOption) *recorder {
	spans := tracetest.NewSpanRecorder()
	return &recorder{spans, sdktrace.NewTracerProvider(append(options, sdktrace.WithSpanProcessor(spans))...)}
}

func tracedBy(r *recorder) func(*ownership.Config) {
	return func(c *ownership.Config) { c.TracerProvider = r.TracerProvider }
}

func (r *recorder) named(name string) []sdktrace.ReadOnlySpan {
	var out []sdktrace.ReadOnlySpan
	for _, s := range r.Ended() {
		if s.Name() == name {
			out = append(out, s)
		}
	}
	return out
}

// attempts are the spans of attempts by the name of their route.
func (r *recorder) attempts(t *testing.T) map[string]sdktrace.ReadOnlySpan {
	t.Helper()
	out := map[string]sdktrace.ReadOnlySpan{}
	for _, s := range r.named(semconv.SpanAttempt) {
		out[attributeOf(s.Attributes(), semconv.KeyRoute)] = s
	}
	return out
}

func attributeOf(of []attribute.KeyValue, key attribute.Key) string {
	for _, a := range of {
		if a.Key == key {
			return a.Value.String()
		}
	}
	return ""
}

// events are the names of a span's events, each with its first word.
func events(s sdktrace.ReadOnlySpan) []string {
	var out []string
	for _, e := range s.Events() {
		word := attributeOf(e.Attributes, semconv.KeyAnswer) + attributeOf(e.Attributes, semconv.KeyReason) + attributeOf(e.Attributes, semconv.KeyGeneration)
		out = append(out, strings.TrimSpace(e.Name+" "+word))
	}
	return out
}

func wantEvents(t *testing.T, s sdktrace.ReadOnlySpan, want ...string) {
	t.Helper()
	if got := events(s); !slices.Equal(got, want) {
		t.Errorf("%s: events %q, want %q", s.Name(), got, want)
	}
}

func wantAttributes(t *testing.T, s sdktrace.ReadOnlySpan, want map[attribute.Key]string) {
	t.Helper()
	for key, value := range want {
		if got := attributeOf(s.Attributes(), key); got != value {
			t.Errorf("%s: %s is %q, want %q", s.Name(), key, got, value)
		}
	}
}

// under are the names and answers of the spans below s, in the order of their end.
func (r *recorder) under(s sdktrace.ReadOnlySpan) []string {
	var out []string
	for _, child := range r.Ended() {
		if child.Parent().SpanID() == s.SpanContext().SpanID() {
			out = append(out, child.Name()+" "+attributeOf(child.Attributes(), semconv.KeyAnswer))
		}
	}
	return out
}

func tracedJob(n int, work ownership.Worker, routes ...ownership.Route) ownership.Job {
	job := jobOf(n, work, routes...)
	job.TraceParent = callersParent
	return job
}

func TestTraceOfAnAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, spans := newStore(), newRecorder()
		c := newCoordinator(t, s, tracedBy(spans))
		var seen, told trace.SpanContext
		work := func(ctx context.Context, a ownership.Attempt, _ func()) (ownership.Draft, error) {
			seen, told = trace.SpanContextFromContext(ctx), a.Trace
			return draftOf("text"), nil
		}
		res := do(t, c, tracedJob(3, work, ownership.Route{Name: "primary"}), ownership.ResultCommitted)
		shutdown(t, c)
		got := spans.attempts(t)["primary"]
		if got == nil {
			t.Fatalf("no span of the attempt among %v", spans.Ended())
		}
		if got.Parent().TraceID().String() != callersTrace || got.Parent().SpanID().String() != callersSpan {
			t.Errorf("parent %v, want the caller's", got.Parent())
		}
		if !seen.Equal(got.SpanContext()) || !told.Equal(got.SpanContext()) {
			t.Errorf("the worker sees %v and is told %v, want the attempt's %v", seen, told, got.SpanContext())
		}
		wantAttributes(t, got, map[attribute.Key]string{
			semconv.KeyAttemptID:     string(res.Fence.Attempt),
			semconv.KeyGeneration:    "1",
			semconv.KeyConversation:  string(keyOf("conversation")),
			semconv.KeyRoute:         "primary",
			semconv.KeyCovered:       "3",
			semconv.KeyOutcome:       "committed",
			semconv.KeyTokensHandoff: "4",
		})
		wantEvents(t, got, "claim claimed1", "commit done1")
		if got, want := spans.under(got), []string{"ownership.claim claimed", "ownership.commit done", "ownership.clear committed"}; !slices.Equal(got, want) {
			t.Errorf("operations %q, want %q", got, want)
		}
		if owner := view(t, s).Owner; owner.TraceParent != parentOf(got) {
			t.Errorf("the owner record names %q, want %q", owner.TraceParent, parentOf(got))
		}
	})
}

func parentOf(s sdktrace.ReadOnlySpan) string {
	return fmt.Sprintf("00-%s-%s-01", s.SpanContext().TraceID(), s.SpanContext().SpanID())
}

// What a person looks for first: the stalled attempt, the one that took over, and
// that what the first one brought late was refused.
func TestTraceOfALateWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spans := newRecorder()
		c := newCoordinator(t, newStore(), tracedBy(spans))
		release := make(chan struct{})
		do(t, c, tracedJob(3, byRoute(silent(release, "stale"), writes("fallback", 2*time.Second)), idleRoutes(time.Second)...), ownership.ResultCommitted)
		if len(spans.named(semconv.SpanAttempt)) != 2 {
			t.Fatal("a worker that does not return keeps its attempt out of the trace")
		}
		close(release)
		synctest.Wait()

		attempts := spans.attempts(t)
		first, second := attempts["primary"], attempts["fallback"]
		wantAttributes(t, first, map[attribute.Key]string{semconv.KeyOutcome: "superseded", semconv.KeyGeneration: "1", semconv.KeyReason: "stalled"})
		wantAttributes(t, second, map[attribute.Key]string{semconv.KeyOutcome: "committed", semconv.KeyGeneration: "2"})
		wantEvents(t, first, "claim claimed1", "detach silent", "supersede 2")
		if first.Status().Code != codes.Unset {
			t.Error("being superseded is no error")
		}
		if first.SpanContext().TraceID() != second.SpanContext().TraceID() {
			t.Error("two attempts of one job are in two traces")
		}
		if links := second.Links(); len(links) != 1 || !links[0].SpanContext.Equal(first.SpanContext()) {
			t.Errorf("links %v, want the attempt that was superseded", links)
		}
		var late []sdktrace.ReadOnlySpan
		for _, s := range spans.named("ownership.commit") {
			if attributeOf(s.Attributes(), semconv.KeyLate) == "true" {
				late = append(late, s)
			}
		}
		if len(late) != 1 {
			t.Fatalf("%d late commits in the trace, want 1", len(late))
		}
		if late[0].Parent().SpanID() != first.SpanContext().SpanID() {
			t.Error("the late commit is not under its own attempt")
		}
		wantAttributes(t, late[0], map[attribute.Key]string{semconv.KeyAnswer: "superseded", semconv.KeyGeneration: "1"})
		wantEvents(t, late[0], "commit.refused superseded1")
		if late[0].Status().Code != codes.Unset {
			t.Error("a refusal is an answer and no error")
		}
	})
}

// However an attempt ends, its span says how.
func TestTraceOutcomes(t *testing.T) {
	for _, tc := range []struct {
		name    string
		work    ownership.Worker
		before  func(ctx context.Context, operation string) error
		kind    ownership.ResultKind
		outcome string
		status  codes.Code
		events  []string
	}{
		{
			name: "failed", work: fails(failure("status_500")), kind: ownership.ResultFailed,
			outcome: "failed", status: codes.Error, events: []string{"claim claimed1"},
		},
		{
			name: "ineffective", work: fails(ownership.ErrIneffective), kind: ownership.ResultIneffective,
			outcome: "ineffective", events: []string{"claim claimed1"},
		},
		{
			name: "the store is down", work: writes("text", time.Second), kind: ownership.ResultUnfenced,
			before:  func(context.Context, string) error { return ownership.ErrUnavailable },
			outcome: "unfenced", events: []string{"claim unavailable"},
		},
		{
			name: "forgotten", work: writes("text", time.Second), kind: ownership.ResultLost,
			before: func(_ context.Context, operation string) error {
				if operation == "commit" {
					return ownership.ErrLost
				}
				return nil
			},
			outcome: "lost", events: []string{"claim claimed1", "commit.refused lost1"},
		},
		{
			name: "told by a renewal", work: writes("text", time.Hour), kind: ownership.ResultLost,
			before: func(_ context.Context, operation string) error {
				if operation == "renew" {
					return ownership.ErrLost
				}
				return nil
			},
			outcome: "lost", events: []string{"claim claimed1", "renew.refused lost", "detach lost"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				spans, s := newRecorder(), &faulty{Store: newStore()}
				s.set(tc.before, nil)
				c := newCoordinator(t, s, tracedBy(spans))
				do(t, c, tracedJob(3, tc.work, ownership.Route{Name: "primary"}), tc.kind)
				shutdown(t, c)
				got := spans.attempts(t)["primary"]
				if got == nil {
					t.Fatal("no span")
				}
				wantAttributes(t, got, map[attribute.Key]string{semconv.KeyOutcome: tc.outcome})
				wantEvents(t, got, tc.events...)
				if got.Status().Code != tc.status {
					t.Errorf("status %v, want %v", got.Status(), tc.status)
				}
			})
		})
	}
}

// A claim that begins nothing is no attempt in the trace either.
func TestTraceOfADeclinedClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spans, s := newRecorder(), newStore()
		a, b := newCoordinator(t, s), newCoordinator(t, s, tracedBy(spans))
		working, _ := a.Do(tracedJob(3, writes("text", 10*time.Second)))
		synctest.Wait()
		waiting, _ := b.Do(tracedJob(3, writes("never", time.Second)))
		await(t, working, ownership.ResultCommitted)
		await(t, waiting, ownership.ResultCommitted)
		if n := len(spans.named(semconv.SpanAttempt)); n != 0 {
			t.Errorf("%d attempts in the trace of a replica that made none", n)
		}
		claims := spans.named(semconv.SpanClaim)
		if len(claims) != 1 {
			t.Fatalf("%d claims, want 1", len(claims))
		}
		wantAttributes(t, claims[0], map[attribute.Key]string{semconv.KeyAnswer: "busy"})
	})
}

// A flight knows the span of the attempt that it awaits, another replica's too.
func TestFlightNamesTheAwaitedSpan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spans, s := newRecorder(), newStore()
		a, b := newCoordinator(t, s, tracedBy(spans)), newCoordinator(t, s, tracedBy(newRecorder()))
		own, _ := a.Do(tracedJob(3, writes("text", 10*time.Second), ownership.Route{Name: "primary"}))
		synctest.Wait()
		foreign, _ := b.Do(tracedJob(3, writes("never", time.Second)))
		synctest.Wait()
		early := foreign.TraceParent()
		await(t, own, ownership.ResultCommitted)
		await(t, foreign, ownership.ResultCommitted)
		want := parentOf(spans.attempts(t)["primary"])
		if own.TraceParent() != want || early != want || foreign.TraceParent() != want {
			t.Errorf("own %q, foreign %q, then %q, want %q", own.TraceParent(), early, foreign.TraceParent(), want)
		}
	})
}

// What it learns of the attempt only by its checkpoint counts too: the one that it
// waited for was superseded, and its successor was quick.
func TestFlightNamesTheSpanOfAQuickSuccessor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		first := claimTraced(t, s, "a", ownership.Fence{}, "00-"+callersTrace+"-0000000000000001-01")
		c := newCoordinator(t, s, tracedBy(newRecorder()))
		f, _ := c.Do(tracedJob(3, writes("never", time.Second)))
		synctest.Wait()
		second := "00-" + callersTrace + "-0000000000000002-01"
		fence := claimTraced(t, s, "b", first, second)
		commit := ownership.Commit{Checkpoint: ownership.Checkpoint{Target: targetOf(3), Fence: fence, Handoff: []byte("second")}}
		if _, err := s.Commit(t.Context(), keyOf("conversation"), fence, commit); err != nil {
			t.Fatal(err)
		}
		await(t, f, ownership.ResultCommitted)
		if got := f.TraceParent(); got != second {
			t.Errorf("the flight names %q, want %q", got, second)
		}
	})
}

// Who takes over from another replica's attempt links to it: the two are in two
// traces.
func TestTraceOfATakeover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, spans := newStore(), newRecorder()
		dead := "00-" + callersTrace + "-0000000000000001-01"
		fence := claimTraced(t, s, "dead", ownership.Fence{}, dead)
		c := newCoordinator(t, s, tracedBy(spans))
		do(t, c, jobOf(3, writes("successor", 0), ownership.Route{Name: "primary"}), ownership.ResultCommitted)
		links := spans.attempts(t)["primary"].Links()
		if len(links) != 1 || links[0].SpanContext.SpanID().String() != "0000000000000001" || links[0].SpanContext.TraceID().String() != callersTrace {
			t.Fatalf("links %v, want the attempt that died", links)
		}
		if attempt := attributeOf(links[0].Attributes, semconv.KeyAttemptID); attempt != string(fence.Attempt) {
			t.Errorf("the link names attempt %q, want %q", attempt, fence.Attempt)
		}
	})
}

// claimTraced is an owner that nobody works for, with its trace context.
func claimTraced(t *testing.T, s ownership.Store, id string, supersede ownership.Fence, parent string) ownership.Fence {
	t.Helper()
	got, err := s.Claim(t.Context(), keyOf("conversation"), ownership.Claim{
		Attempt: ownership.AttemptID("00000000-0000-7000-8000-" + string(keyOf(id))[:12]), Target: targetOf(3), Replica: id,
		Lease: 15 * time.Second, Ceiling: 600 * time.Second, Supersede: supersede, TraceParent: parent,
	})
	if err != nil || got.Verdict != ownership.VerdictClaimed {
		t.Fatalf("claim: %+v %v", got, err)
	}
	return got.Fence
}

// Untraced, the caller's context goes into the owner record as it came, whatever
// it is. Not sampled, an attempt is recorded nowhere and still named.
func TestTraceParentInTheRecord(t *testing.T) {
	for _, tc := range []struct {
		name, parent string
		traced       bool
		want         func(got string) bool
	}{
		{"untraced", callersParent, false, func(got string) bool { return got == callersParent }},
		{"untraced, nonsense", "nonsense", false, func(got string) bool { return got == "nonsense" }},
		{"not sampled", unsampled, true, func(got string) bool {
			return got != unsampled && strings.HasPrefix(got, "00-"+callersTrace) && strings.HasSuffix(got, "-00")
		}},
		{"nonsense", "nonsense", true, func(got string) bool { return len(got) == len(callersParent) && strings.HasSuffix(got, "-01") }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				spans, s := newRecorder(), newStore()
				var options []func(*ownership.Config)
				if tc.traced {
					options = append(options, tracedBy(spans))
				}
				job := jobOf(3, writes("text", time.Second))
				job.TraceParent = tc.parent
				do(t, newCoordinator(t, s, options...), job, ownership.ResultCommitted)
				if got := view(t, s).Owner.TraceParent; !tc.want(got) {
					t.Errorf("the record names %q", got)
				}
				if n := len(spans.Ended()); (n > 0) != (tc.name == "nonsense") {
					t.Errorf("%d spans", n)
				}
			})
		})
	}
}

func TestAnswerOf(t *testing.T) {
	for want, err := range map[string]error{
		"":              nil,
		"superseded":    fmt.Errorf("commit: %w", ownership.ErrSuperseded),
		"lost":          ownership.ErrLost,
		"ended":         &ownership.EndedError{Phase: ownership.Failed},
		"cancelled":     &ownership.CancelledError{Reason: "operator's own words"},
		"not_current":   ownership.ErrNotCurrent,
		"invalid":       ownership.ErrInvalid,
		"unavailable":   ownership.ErrUnavailable,
		"indeterminate": ownership.ErrIndeterminate,
		"error":         errors.New("anything"),
	} {
		if got := ownership.AnswerOf(err); got != want {
			t.Errorf("%v: got %q, want %q", err, got, want)
		}
	}
}
