//go:build unix

package main

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"syscall"
	"testing"
)

// These tests kill, pause and cut off whole programs. Each ends by comparing the
// store with what it was: an attempt that lost its conversation leaves nothing.

const (
	// overTurns cannot fit the window, so its request waits for a summary.
	overTurns = 40
	// fitTurns is over the trigger and still fits: a summary is prepared beside it.
	fitTurns = 24
)

func TestReplicasOwnerIsKilled(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "--lease", "1s")

	// What stood before: a settled checkpoint.
	first := f.c.ask(longChat("killed", overTurns))
	f.next(f.c).writes("SUMMARY-FIRST")
	f.c.got(first, "committed")
	f.settled()
	before := f.dump()

	grown := longChat("killed", 100)
	lost := f.a.ask(grown)
	call := f.next(f.a)
	dead := f.owner()
	f.a.kill()
	take(t, call.gone, "the end of the dead owner's call")
	if r := take(t, lost, "the dead owner's caller"); r.err == nil {
		t.Errorf("a killed process answered %d", r.status)
	}
	if now := f.dump(); !maps.Equal(now.state(), before.state()) || !now.mentions(dead) {
		t.Errorf("the dead owner %s left %v, before it stood %v", dead, now.state(), before.state())
	}

	next := f.b.ask(grown)
	f.next(f.b).writes("SUMMARY-SECOND")
	f.b.got(next, "committed")
	v := f.settled()
	if v["generation"] != 3.0 || len(v["checkpoints"].([]any)) != 2 || v["cooldown_until"] != nil || v["strikes"] != 0.0 {
		t.Errorf("after the takeover: %v", v)
	}
	after := f.dump()
	if after.mentions(attemptOf(dead)) || !after.mentions("SUMMARY-FIRST") || !after.mentions("SUMMARY-SECOND") {
		t.Errorf("after the takeover from %s: %v", dead, after)
	}
	if deaths := f.field("deaths"); deaths != "" {
		t.Errorf("%s deaths stand after a commit", deaths)
	}
	f.asks(3)
}

func TestReplicasOwnerIsPausedBeyondItsLease(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "--lease", "1s")
	body := longChat("paused", overTurns)

	slow := f.a.ask(body)
	late := f.next(f.a)
	paused := f.owner()
	f.a.signal(syscall.SIGSTOP)
	quick := f.b.ask(body)
	f.next(f.b).writes("SUMMARY-SECOND")
	f.b.got(quick, "committed")
	if v := f.settled(); v["generation"] != 2.0 {
		t.Errorf("the takeover took generation %v", v["generation"])
	}
	before := f.dump()

	late.writes("SUMMARY-LATE")
	f.a.signal(syscall.SIGCONT)
	if r := f.a.got(slow, "committed"); !strings.Contains(r.header.Get("Foldgate-Attempt"), "generation=2") {
		t.Errorf("the paused owner's caller was served by %q", r.header.Get("Foldgate-Attempt"))
	}
	f.a.ends("superseded")
	f.unchanged(before, "the owner that woke up")
	if code := f.a.stop(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
	f.unchanged(before, "its last word")
	if before.mentions(attemptOf(paused)) || before.mentions("SUMMARY-LATE") {
		t.Errorf("the paused owner %s is in the store: %v", paused, before)
	}
	f.never("SUMMARY-LATE")
}

func TestReplicasOwnerIsCutOffFromRedis(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "--lease", "1s")
	body := longChat("cut off", overTurns)

	alone := f.a.ask(body)
	call := f.next(f.a)
	cut := f.owner()
	f.link.cut()
	call.writes("SUMMARY-ALONE")
	f.a.got(alone, "unfenced") // its caller need not suffer

	other := f.b.ask(body)
	f.next(f.b).writes("SUMMARY-SECOND")
	f.b.got(other, "committed")
	if v := f.settled(); v["generation"] != 2.0 {
		t.Errorf("the takeover took generation %v", v["generation"])
	}
	before := f.dump()

	f.link.mend()
	f.a.ends("superseded") // its commit was asked again, and refused
	f.unchanged(before, "the owner that was cut off")
	if code := f.a.stop(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
	f.unchanged(before, "its last word")
	if before.mentions(attemptOf(cut)) || before.mentions("SUMMARY-ALONE") {
		t.Errorf("the owner that was cut off, %s, is in the store: %v", cut, before)
	}
}

func TestReplicasManyEqualRequests(t *testing.T) {
	t.Parallel()
	const each = 8
	f := newFleet(t, "--lease", "60s") // nobody can have waited for it
	body := longChat("herd", overTurns)

	answers := map[*process][]<-chan reply{}
	for range each {
		for _, p := range f.all() {
			answers[p] = append(answers[p], p.ask(body))
		}
	}
	call := take(t, f.model.asked, "a summary call")
	f.watched(2)
	for _, p := range f.all() {
		p.holds(each)
	}
	if g := f.generation(); g != "1" {
		t.Errorf("waiting took a generation: the counter is at %s", g)
	}
	call.writes("SUMMARY-ONCE")
	for p, waiting := range answers {
		waited := 0
		for _, w := range waiting {
			r := p.got(w, "")
			attempt := r.header.Get("Foldgate-Attempt")
			switch {
			case r.fold() == "reused": // it came to look after the commit
			case r.fold() != "committed" || !strings.Contains(attempt, "generation=1,"):
				t.Errorf("replica %s answered %q with %q", p.name, r.fold(), attempt)
			case p.name != call.replica && !strings.Contains(attempt, "joined"):
				t.Errorf("replica %s did not join: %q", p.name, attempt)
			default:
				waited++
			}
		}
		if waited == 0 {
			t.Errorf("nobody waited on replica %s", p.name)
		}
	}
	sent := f.upstream.asked()
	for _, body := range sent {
		if body != sent[0] || !strings.Contains(body, "SUMMARY-ONCE") {
			t.Errorf("the upstream was sent %.300q, and %.300q", body, sent[0])
		}
	}
	if len(sent) != each*3 {
		t.Errorf("the upstream got %d requests, want %d", len(sent), each*3)
	}
	if v := f.settled(); v["generation"] != 1.0 || len(v["checkpoints"].([]any)) != 1 {
		t.Errorf("there stands %v", v)
	}
	f.asks(1)
}

// holds waits until so many requests are under way.
func (p *process) holds(requests int) {
	p.t.Helper()
	want := fmt.Sprintf("\nfoldgate_requests_in_flight %d\n", requests)
	p.polls("its requests under way", func() bool {
		return strings.Contains(p.send(http.MethodGet, p.admin+"/metrics", "").body, want)
	})
}

func TestReplicasCancelFromAnotherOne(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	body := longChat("cancelled", overTurns)

	own := f.a.ask(body)
	call := f.next(f.a)
	waiting := f.c.ask(body)
	f.watched(1)
	got := f.b.send(http.MethodPost, f.b.admin+"/v1/conversations/"+f.key()+"/cancel", `{"reason":"by hand"}`)
	if got.status != http.StatusAccepted {
		t.Fatalf("cancel: %d %s", got.status, got.body)
	}
	take(t, call.gone, "the end of the cancelled call")
	f.a.got(own, `fallback; reason="cancelled"`)
	f.c.got(waiting, `fallback; reason="cancelled"`)
	if attempt := f.a.ends("cancelled"); attempt["reason"] != "by hand" {
		t.Errorf("the attempt ended as %v", attempt)
	}
	if now := f.dump(); f.field("phase") != "cancelled" || len(now.state()) != 0 || f.generation() != "1" {
		t.Errorf("the cancelled attempt left %v", now)
	}
	f.asks(1) // who waits for a cancelled attempt does not begin one
}

func TestReplicasShutdownHandsOver(t *testing.T) {
	t.Parallel()
	// Nobody lives to see this lease end: what follows can only be a handover.
	f := newFleet(t, "--lease", "10m")

	f.a.got(f.a.ask(longChat("handed over", fitTurns)), `none; reason="fits"`)
	call := f.next(f.a)
	waiting := f.b.ask(longChat("handed over", overTurns))
	f.watched(1)
	if code := f.a.stop(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
	take(t, call.gone, "the end of the call that was given up")
	f.next(f.b).writes("SUMMARY-SECOND")
	f.b.got(waiting, "committed")
	v := f.settled()
	if v["generation"] != 2.0 || len(v["checkpoints"].([]any)) != 1 || v["cooldown_until"] != nil {
		t.Errorf("after the handover: %v", v)
	}
	if deaths := f.field("deaths"); deaths != "" {
		t.Errorf("the handover counted as %s deaths", deaths)
	}
}

// A request that waits for its summary is drained with it.
func TestReplicasShutdownWaitsForWaiters(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "--lease", "10m")
	body := longChat("drained", overTurns)
	waiting := f.a.ask(body)
	call := f.next(f.a)
	f.a.cancel()
	f.a.log.wait(t, "draining", f.a.ended)
	call.writes("SUMMARY-DRAINED")
	f.a.got(waiting, "committed")
	if code := f.a.exits(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
	f.settled()
	before := f.dump()
	f.b.got(f.b.ask(body), "reused")
	f.unchanged(before, "the reuse")
	f.asks(1)
}

// Who is cut at the end of the drain leaves no lease behind either.
func TestReplicasShutdownHandsOverWhatIsCut(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "--lease", "10m", "--drain", "0")
	body := longChat("cut", overTurns)
	own := f.a.ask(body)
	call := f.next(f.a)
	waiting := f.b.ask(body)
	f.watched(1)
	if code := f.a.stop(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
	take(t, call.gone, "the end of the call that was given up")
	take(t, own, "the end of the request that was cut")
	f.next(f.b).writes("SUMMARY-SECOND")
	f.b.got(waiting, "committed")
	if v := f.settled(); v["generation"] != 2.0 || v["cooldown_until"] != nil {
		t.Errorf("after the handover: %v", v)
	}
	if deaths := f.field("deaths"); deaths != "" {
		t.Errorf("the handover counted as %s deaths", deaths)
	}
}

func TestReplicasAnotherOneRestores(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	body := longChat("restored", fitTurns)

	f.a.got(f.a.ask(body), `none; reason="fits"`)
	f.next(f.a).writes("SUMMARY-REFUSED")
	f.checkpoint(false)
	committed := f.owner()

	f.upstream.refuses("SUMMARY-REFUSED")
	if r := f.b.got(f.b.ask(body), "none"); !strings.Contains(r.fold(), "retried") {
		t.Errorf("replica b answered %q", r.fold())
	}
	if sent := f.upstream.asked(); len(sent) != 3 || !strings.Contains(sent[1], "SUMMARY-REFUSED") || sent[2] != body {
		t.Errorf("the upstream got %d requests, the last of them %.300q", len(sent), sent[len(sent)-1])
	}
	v := f.c.until("/v1/conversations/"+f.key(), func(v map[string]any) bool {
		return v["owner"].(map[string]any)["phase"] == "restored"
	})
	if v["generation"] != 1.0 || len(v["checkpoints"].([]any)) != 0 || v["last_error"] != "refused_by_upstream" || v["cooldown_until"] == nil {
		t.Errorf("after the restore: %v", v)
	}
	if f.owner() != committed || f.dump().mentions("SUMMARY-REFUSED") || f.dump().mentions(" snap") {
		t.Errorf("after the restore of %s: %v", committed, f.dump())
	}

	// The charge keeps everybody from making the same fold again at once.
	before := f.dump()
	for _, p := range f.all() {
		p.got(p.ask(body), `none; reason="fits"`)
	}
	f.unchanged(before, "the requests after it")
	f.asks(1)
}

func TestReplicasStoreIsWipedMidAttempt(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	body := longChat("wiped", overTurns)

	slow := f.a.ask(body)
	late := f.next(f.a)
	old := f.owner()
	f.a.signal(syscall.SIGSTOP) // so that it learns of nothing before it comes to commit
	f.redis.FlushAll()
	quick := f.b.ask(body)
	f.next(f.b).writes("SUMMARY-SECOND")
	f.b.got(quick, "committed")
	f.settled()
	before := f.dump()
	if again := f.owner(); !strings.HasPrefix(old, "1/") || !strings.HasPrefix(again, "1/") || again == old {
		t.Errorf("owner %s after %s: this test is about a number that repeats", again, old)
	}

	late.writes("SUMMARY-LATE")
	f.a.signal(syscall.SIGCONT)
	f.a.got(slow, "committed")
	f.a.ends("lost")
	f.unchanged(before, "a fence from before the wipe")
	if code := f.a.stop(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
	f.unchanged(before, "its last word")
	if before.mentions(attemptOf(old)) || before.mentions("SUMMARY-LATE") {
		t.Errorf("the lost attempt %s is in the store: %v", old, before)
	}
	f.never("SUMMARY-LATE")
}
