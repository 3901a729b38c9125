package admin_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foldgate/foldgate/cmd/gateway/internal/admin"
	"github.com/foldgate/foldgate/ownership"
)

func TestReplica(t *testing.T) {
	t.Parallel()
	p := newPlane(t, withToken)
	p.totals = admin.Totals{
		Folds: map[string]int64{"reused": 3}, Attempts: map[string]int64{"committed": 2},
		Refusals: []admin.RefusalTotal{{Operation: "commit", Answer: "superseded", Count: 1}},
		Saved:    7, Savable: 8, SummaryInput: 5, SummaryOutput: 6, InFlight: 1, Running: 4, Retries: 9, StoreErrors: 10,
	}
	p.record.Refused("commit", "superseded")
	p.record.Refused("clear", "ended")
	got := p.do(call{path: "/v1/replica", header: bearer(nil)})
	want := `"status":"ready","parts":{"store":"ok"},"token_configured":true,"totals":{"folds":{"reused":3},"attempts":{"committed":2},` +
		`"refusals":[{"operation":"commit","answer":"superseded","count":1}],"retries":9,"store_errors":10,"tokens_saved":7,"tokens_savable":8,` +
		`"summary_input_tokens":5,"summary_output_tokens":6,"requests_in_flight":1,"attempts_running":4}`
	if got.status != http.StatusOK || !strings.Contains(got.body, want) {
		t.Errorf("got %d %s, want %s", got.status, got.body, want)
	}
	refusals, _ := got.fields["refusals"].([]any)
	if len(refusals) != 2 || refusals[0].(map[string]any)["operation"] != "clear" {
		t.Errorf("the last refusals are %v", refusals)
	}
	p.draining = true
	if got := p.do(call{path: "/v1/replica", header: bearer(nil)}); got.status != http.StatusOK || got.fields["status"] != "draining" {
		t.Errorf("draining: got %d %s", got.status, got.body)
	}
	p.unread = errors.New("a collector broke")
	if got := p.do(call{path: "/v1/replica", header: bearer(nil)}); got.status != http.StatusInternalServerError || strings.Contains(got.body, "collector") {
		t.Errorf("unread: got %d %s", got.status, got.body)
	}
}

// A record forgets what is older than an hour, and holds a bounded number.
func TestRecord(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	steps := func(query string) string {
		t.Helper()
		got := p.do(call{path: "/v1/tokens" + query})
		if got.status != http.StatusOK {
			t.Fatalf("got %d %s", got.status, got.body)
		}
		_, list, _ := strings.Cut(got.body, `"steps":`)
		return list
	}
	p.record.Counted(10, 4)
	if got := p.do(call{path: "/v1/tokens?limit=720"}); !strings.Contains(got.body, `"seconds":5`) || !strings.Contains(got.body, `"before":10,"after":4}`) {
		t.Errorf("got %s", got.body)
	}
	for _, limit := range []string{"0", "1001", "x", "-1", "1&limit=2"} {
		if got := p.do(call{path: "/v1/tokens?limit=" + limit}); got.status != http.StatusBadRequest || got.code() != "invalid_limit" {
			t.Errorf("limit %s: got %d %s", limit, got.status, got.body)
		}
	}
	if list := steps("?limit=1"); strings.Count(list, `"at"`) != 1 {
		t.Errorf("got %s", list)
	}
	for i := range 100 {
		p.record.Refused(fmt.Sprint("operation ", i), "superseded")
	}
	refusals, _ := p.do(call{path: "/v1/replica"}).fields["refusals"].([]any)
	if len(refusals) != 64 || refusals[0].(map[string]any)["operation"] != "operation 99" || refusals[63].(map[string]any)["operation"] != "operation 36" {
		t.Errorf("got %d refusals: %v", len(refusals), refusals)
	}
}

func TestRecordOverTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var r admin.Record
		at := func(limit int) string { return fmt.Sprint(admin.Lately(&r, limit)) }
		r.Counted(10, 4)
		r.Counted(20, 6)
		time.Sleep(admin.StepLength)
		r.Counted(1, 1)
		if got := at(5); got != "[1 1 1] [2 30 10]" {
			t.Errorf("got %s", got)
		}
		if got := at(1); got != "[1 1 1]" {
			t.Errorf("one: got %s", got)
		}
		time.Sleep(time.Hour - admin.StepLength)
		if got := at(5); got != "[1 1 1]" {
			t.Errorf("an hour after the first: got %s", got)
		}
		r.Counted(5, 5) // in the place of the first
		if got := at(5); got != "[1 5 5] [1 1 1]" {
			t.Errorf("around: got %s", got)
		}
		time.Sleep(2 * time.Hour)
		if got := at(5); got != "" {
			t.Errorf("later: got %s", got)
		}
	})
}

func TestRecordTogether(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				p.record.Counted(2, 1)
				p.record.Refused("clear", "lost")
			}
		})
	}
	all.Go(func() { p.do(call{path: "/v1/tokens"}); p.do(call{path: "/v1/replica"}) })
	all.Wait()
	total := 0.0
	for _, s := range p.do(call{path: "/v1/tokens"}).fields["steps"].([]any) {
		total += s.(map[string]any)["requests"].(float64)
	}
	if total != 800 {
		t.Errorf("counted %v of 800", total)
	}
}

func TestAttemptsOfOneConversation(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	for i := range 6 {
		of := key
		if i%2 == 1 {
			of = unseen
		}
		p.attempts = append(p.attempts, ownership.Info{Fence: ownership.Fence{Generation: ownership.Generation(i + 1), Attempt: first}, Conversation: of, Phase: ownership.Working})
	}
	for query, want := range map[string]int{"": 6, "?limit=2": 2, "?conversation=" + string(key): 3, "?limit=2&conversation=" + string(key): 2, "?conversation=" + strings.Repeat("a", 40): 0} {
		got := p.do(call{path: "/v1/attempts" + query})
		if list, _ := got.fields["attempts"].([]any); got.status != http.StatusOK || len(list) != want {
			t.Errorf("%q: got %d %s, want %d", query, got.status, got.body, want)
		}
	}
	for _, query := range []string{"?conversation=", "?conversation=x", "?conversation=" + string(key) + "&conversation=" + string(key)} {
		if got := p.do(call{path: "/v1/attempts" + query}); got.status != http.StatusBadRequest || got.code() != "invalid_key" {
			t.Errorf("%q: got %d %s", query, got.status, got.body)
		}
	}
}

// With state=1 the store is asked for what is listed, and for nothing else.
func TestStates(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	p.committed(first)
	p.recent = []admin.Touched{{Conversation: key, Kind: "reused"}, {Conversation: unseen, Kind: "none"}}
	got := p.do(call{path: "/v1/conversations?state=1"})
	list := got.fields["conversations"].([]any)
	known, _ := list[0].(map[string]any)["state"].(map[string]any)
	if known["generation"] != 1.0 || known["phase"] != "committed" || known["checkpoints"] != 1.0 || known["live"] != false || known["cooldown_until"] != nil || strings.Contains(got.body, handoff) {
		t.Errorf("got %s", got.body)
	}
	if never, _ := list[1].(map[string]any)["state"].(map[string]any); never["generation"] != 0.0 || never["phase"] != nil {
		t.Errorf("got %s", got.body)
	}
	for query, code := range map[string]string{"?state=2": "invalid_query", "?state=1&limit=101": "invalid_limit", "?state=1&state=1": "invalid_query"} {
		if got := p.do(call{path: "/v1/conversations" + query}); got.status != http.StatusBadRequest || got.code() != code {
			t.Errorf("%s: got %d %s", query, got.status, got.body)
		}
	}
	if plain := p.do(call{path: "/v1/conversations?state=0"}); strings.Contains(plain.body, "state") {
		t.Errorf("nobody asked: got %s", plain.body)
	}
}

// countingStore counts what it is asked, how much at once, and what it was told is known.
type countingStore struct {
	admin.Store

	err               error
	asked, open, most atomic.Int64
	known             atomic.Int64
}

func (s *countingStore) Read(ctx context.Context, k ownership.Key, known []ownership.Fence) (ownership.View, error) {
	s.asked.Add(1)
	s.known.Add(int64(len(known)))
	for now := s.open.Add(1); ; {
		if most := s.most.Load(); now <= most || s.most.CompareAndSwap(most, now) {
			break
		}
	}
	defer s.open.Add(-1)
	if s.err != nil {
		return ownership.View{}, s.err
	}
	return s.Store.Read(ctx, k, known)
}

// A store that is down is not asked for each, and the list comes all the same; one
// that works is asked for few at a time, and for each handoff once.
func TestStatesSpareTheStore(t *testing.T) {
	t.Parallel()
	s := &countingStore{err: ownership.ErrUnavailable}
	p := newPlane(t, func(c *admin.Config) { s.Store = c.Store; c.Store = s })
	p.recent = []admin.Touched{{Conversation: key, Kind: "none"}}
	for i := range 99 {
		p.recent = append(p.recent, admin.Touched{Conversation: ownership.Key(fmt.Sprintf("%040x", i)), Kind: "none"})
	}
	got := p.do(call{path: "/v1/conversations?state=1&limit=100"})
	if n := strings.Count(got.body, `"state":null`); got.status != http.StatusOK || n != 100 {
		t.Errorf("got %d, %d without a state", got.status, n)
	}
	if n := s.asked.Load(); n > 8 {
		t.Errorf("a store that is down was asked %d times", n)
	}
	p.committed(first)
	s.err = nil
	for range 2 {
		got = p.do(call{path: "/v1/conversations?state=1&limit=100"})
	}
	if n := strings.Count(got.body, `"state":{`); n != 100 || s.most.Load() > 8 {
		t.Errorf("%d have a state, %d questions at once", n, s.most.Load())
	}
	if s.known.Load() != 1 {
		t.Errorf("the second list named %d handoffs as known, want 1", s.known.Load())
	}
}
