//go:build unix

package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/foldgate/foldgate/cmd/gateway/internal/telemetry/otlptest"
	"github.com/foldgate/foldgate/internal/semconv"
	"github.com/foldgate/foldgate/redisstore/redistest"
)

// These tests look at traces as a person does who was told a trace's id: two
// replicas, each a process of its own, send real OTLP to a collector.

const (
	clientTrace  = "4bf92f3577b34da6a3ce929d0e0e4736"
	clientSpan   = "00f067aa0ba902b7"
	clientParent = "00-" + clientTrace + "-" + clientSpan + "-01"
	chatRequest  = "POST /v1/chat/completions"
)

// traced is a fleet of two replicas with two routes each, and a collector.
type traced struct {
	*fleet
	otlp *otlptest.Collector
}

func newTraced(t *testing.T, collect func(testing.TB) *otlptest.Collector, args ...string) *traced {
	t.Helper()
	f := &traced{
		fleet: &fleet{t: t, redis: redistest.Start(t), upstream: newBackend(t), model: newModel(t)},
		otlp:  collect(t),
	}
	f.link = newLink(t, f.redis.Addr)
	f.a = f.begin("a", f.link.addr, args)
	f.b = f.begin("b", f.redis.Addr, args)
	f.c = f.b // that asks the admin plane
	f.a.listens()
	f.b.listens()
	return f
}

func (f *traced) begin(name, redis string, args []string) *process {
	f.t.Helper()
	file := filepath.Join(f.t.TempDir(), name+".yaml")
	replaceFile(f.t, file, fmt.Sprintf(`
upstream: %s
redis_url: redis://%s
windows: {"*": 4000}
keepalive: 20ms
summarizer:
  idle: 1s
  routes:
    - {name: primary, url: "%s/%s-primary", model: slow-1}
    - {name: fallback, url: "%s/%s-fallback", model: quick-1}
`, f.upstream.URL, redis, f.model.URL, name, f.model.URL, name))
	environ := append(f.otlp.Environ(), "OTEL_RESOURCE_ATTRIBUTES=service.instance.id="+name)
	return spawnIn(f.t, environ, name, append([]string{"--config", file}, args...)...)
}

// asks takes the next question for a summary, which must be to that route of that
// replica.
func (f *traced) asks(route string) *summaryCall {
	f.t.Helper()
	call := take(f.t, f.model.asked, "a summary call to "+route)
	if call.replica != route {
		f.t.Fatalf("%s was asked for the summary, want %s", call.replica, route)
	}
	return call
}

// joins sends a streaming request and returns once its head came, which is when it
// waits for the summary.
func (p *process) joins(body string) <-chan whole {
	p.t.Helper()
	r, err := http.NewRequestWithContext(context.WithoutCancel(p.t.Context()), http.MethodPost, p.data+"/v1/chat/completions", strings.NewReader(streamed(body)))
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer sk-tenant")
	res, err := client().Do(r)
	if err != nil {
		p.t.Fatalf("replica %s: %v", p.name, err)
	}
	if fold := res.Header.Get("Foldgate-Fold"); fold != "pending" {
		p.t.Errorf("replica %s does not wait, it answers %q", p.name, fold)
	}
	out := make(chan whole, 1)
	go func() {
		defer res.Body.Close()
		raw, err := io.ReadAll(res.Body)
		out <- whole{reply{answer{res.StatusCode, res.Header, string(raw)}, err}, res.Trailer}
	}()
	return out
}

// An attempt stalls, the next route takes over, and what the first one brings late
// is refused; requests of another replica wait for it. One trace shows all of it.
func TestTraceFromStallToFallback(t *testing.T) {
	t.Parallel()
	for name, collect := range map[string]func(testing.TB) *otlptest.Collector{
		"OTLP over HTTP": otlptest.HTTP, "OTLP over gRPC": otlptest.GRPC,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newTraced(t, collect)
			late := f.link.keepBack("SUMMARY-LATE")
			t.Cleanup(late)

			body := longChat("stalled", overTurns)
			own := f.a.ask(body, "Traceparent", clientParent)
			stalled := f.asks("a-primary")
			waiting := []<-chan whole{f.b.joins(body), f.b.joins(body)}
			f.watched(1)
			// The whole answer is there, but it does not end: the silence after it is
			// a stall. Then the worker returns with it, and its commit is on its way
			// until another one stands.
			stalled.stallsAfter("SUMMARY-LATE")
			f.asks("a-fallback").writes("SUMMARY-SECOND")
			r := f.a.got(own, "committed")
			late()
			if attempt := r.header.Get("Foldgate-Attempt"); !strings.Contains(attempt, "generation=2,") {
				t.Errorf("the caller was served by %q", attempt)
			}
			for _, w := range waiting {
				r := take(t, w, "the answer to a request that joined")
				if fold := r.trailer.Get("Foldgate-Fold"); r.err != nil || fold != "committed" {
					t.Errorf("a request that joined was answered %q (%v)", fold, r.err)
				}
			}
			f.never("SUMMARY-LATE")
			f.readStall()
		})
	}
}

// readStall reads the trace that the client gave its request.
func (f *traced) readStall() {
	f.t.Helper()
	all := f.otlp.Wait(f.t, func(s otlptest.Spans) bool {
		return len(s.With(string(semconv.KeyLate), "true")) == 1 && len(s.Named(chatRequest)) == 3 && len(s.Named("POST")) == 3
	})
	// Who settles first and when an attempt says its last word is chance.
	named := map[string]otlptest.Spans{}
	var shown otlptest.Spans
	for _, s := range all.Of(clientTrace) {
		if s.Name != "ownership.settle" && s.Name != "ownership.clear" {
			shown = append(shown, s)
			named[s.Name] = append(named[s.Name], s)
		}
	}
	want := `POST /v1/chat/completions kind=committed generation=2 outcome=committed joined=false
  compression.fold kind=committed
    ownership.read answer=read
    compression.attempt route=primary generation=1 outcome=superseded reason=stalled · claim generation=1 answer=claimed · detach reason=silent · supersede generation=2
      ownership.claim generation=1 answer=claimed
      chat slow-1 route=primary
      ownership.commit generation=1 answer=superseded late=true · commit.refused generation=1 answer=superseded
    compression.attempt route=fallback generation=2 outcome=committed links=1 · claim generation=2 answer=claimed · commit generation=2 answer=done
      ownership.claim generation=2 answer=claimed
      chat quick-1 route=fallback
      ownership.commit generation=2 answer=done · commit generation=2 answer=done
  POST
`
	if got := shown.Tree(read...); got != want {
		f.t.Errorf("the trace is\n%s\nwant\n%s", got, want)
	}
	server := all.Of(clientTrace).Named(chatRequest)[0]
	if server.Parent != clientSpan || server.Service() != "a" {
		f.t.Errorf("the request is below %q in replica %q", server.Parent, server.Service())
	}
	attempts := named[semconv.SpanAttempt]
	first, second := attempts.With("foldgate.route", "primary")[0], attempts.With("foldgate.route", "fallback")[0]
	f.linked(second, first, "1")
	joined := all.Named(chatRequest).With("foldgate.joined", "true")
	if len(joined) != 2 {
		f.t.Fatalf("%d requests joined:\n%s", len(joined), all.Tree(read...))
	}
	for _, r := range joined {
		if r.Service() != "b" || r.Trace == clientTrace {
			f.t.Errorf("a request that joined is in trace %s of replica %q", r.Trace, r.Service())
		}
		f.linked(r, second, "2")
	}
	// From a log line to its trace.
	if line, _ := f.a.log.find("chat"); line["trace_id"] != clientTrace || line["span_id"] != server.ID {
		f.t.Errorf("the request's line names no trace: %v", line)
	}
}

// read are the attributes that these tests read.
var read = []string{
	"foldgate.fold.kind", "foldgate.route", "foldgate.generation", "foldgate.outcome", "foldgate.reason", "foldgate.answer",
	"foldgate.late", "foldgate.joined",
}

// linked wants one link, to the span of the attempt with that generation.
func (f *traced) linked(from, to otlptest.Span, generation string) {
	f.t.Helper()
	if len(from.Links) != 1 || from.Links[0].Trace != to.Trace || from.Links[0].ID != to.ID {
		f.t.Errorf("%s links to %v, want %s/%s", from.Name, from.Links, to.Trace, to.ID)
		return
	}
	about := from.Links[0].Attributes
	if fmt.Sprint(about["foldgate.generation"]) != generation || about["foldgate.attempt.id"] != to.Attributes["foldgate.attempt.id"] {
		f.t.Errorf("%s links to %v, want generation %s of attempt %v", from.Name, about, generation, to.Attributes["foldgate.attempt.id"])
	}
}

// An owner is paused beyond its lease, another replica takes over, and the owner
// learns it when it wakes. Two traces tell it, and links lead from each to the other.
func TestTraceOfATakeoverByAnotherReplica(t *testing.T) {
	t.Parallel()
	f := newTraced(t, otlptest.HTTP, "--lease", "1s")
	body := longChat("paused", overTurns)
	own := f.a.ask(body, "Traceparent", clientParent)
	late := f.asks("a-primary")
	waiting := f.b.joins(body)
	f.watched(1)
	f.a.signal(syscall.SIGSTOP)
	f.asks("b-primary").writes("SUMMARY-SECOND")
	if r := take(t, waiting, "the answer of the other replica"); r.trailer.Get("Foldgate-Fold") != "committed" {
		t.Errorf("the other replica answered %q", r.trailer.Get("Foldgate-Fold"))
	}
	late.writes("SUMMARY-LATE")
	f.a.signal(syscall.SIGCONT)
	f.a.got(own, "committed")

	all := f.otlp.Wait(t, func(s otlptest.Spans) bool {
		return len(s.Named(semconv.SpanAttempt)) == 2 && len(s.Named(chatRequest)) == 2
	})
	paused, successor := all.Named(semconv.SpanAttempt).With("foldgate.generation", "1"), all.Named(semconv.SpanAttempt).With("foldgate.generation", "2")
	if len(paused) != 1 || len(successor) != 1 {
		t.Fatalf("the traces are\n%s", all.Tree(read...))
	}
	if s := paused[0]; s.Service() != "a" || s.Trace != clientTrace || s.Text("foldgate.outcome") != "superseded" || s.Error {
		t.Errorf("the paused owner's attempt: %s", otlptest.Spans{s}.Tree(read...))
	}
	// It is told by whatever it does first, or by two things at once.
	renewal, _ := paused[0].Event(semconv.EventRenewRefused)
	commit, _ := paused[0].Event(semconv.EventCommitRefused)
	if told := renewal.Text("foldgate.answer") + commit.Text("foldgate.answer"); told == "" || strings.ReplaceAll(told, "superseded", "") != "" {
		t.Errorf("the paused owner was told %q: %s", told, otlptest.Spans{paused[0]}.Tree(read...))
	}
	if s := successor[0]; s.Service() != "b" || s.Trace == clientTrace || s.Text("foldgate.outcome") != "committed" {
		t.Errorf("the successor's attempt: %s", otlptest.Spans{s}.Tree(read...))
	}
	f.linked(successor[0], paused[0], "1")
	f.linked(all.Of(clientTrace).Named(chatRequest)[0], successor[0], "2")
	if others := all.Of(successor[0].Trace).Named(chatRequest); len(others) != 1 || others[0].Service() != "b" {
		t.Errorf("the successor's trace is\n%s", all.Of(successor[0].Trace).Tree(read...))
	}
}
