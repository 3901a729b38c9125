package middleware_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foldgate/foldgate/ownership"
	"github.com/foldgate/foldgate/ownership/memstore"
)

// tally counts the operations of one replica on a store, by name, and the bytes of
// handoffs that its reads brought. Every method of a Store is here, so that none
// goes uncounted.
type tally struct {
	store    ownership.Store
	mu       sync.Mutex
	counts   map[string]int
	handoffs int
}

func newTally(s ownership.Store) *tally { return &tally{store: s, counts: map[string]int{}} }

func (s *tally) note(operation string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[operation]++
}

// take is what was counted since the last take: "claim 1, read 2", and the bytes
// of handoffs.
func (s *tally) take() (operations string, handoffs int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	operations, handoffs = strings.Trim(fmt.Sprint(s.counts), "map[]"), s.handoffs
	s.counts, s.handoffs = map[string]int{}, 0
	return operations, handoffs
}

func (s *tally) Read(ctx context.Context, k ownership.Key, known []ownership.Fence) (ownership.View, error) {
	s.note("read")
	v, err := s.store.Read(ctx, k, known)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range v.State.Checkpoints {
		s.handoffs += len(c.Handoff)
	}
	return v, err
}

func (s *tally) Claim(ctx context.Context, k ownership.Key, c ownership.Claim) (ownership.Claimed, error) {
	s.note("claim")
	return s.store.Claim(ctx, k, c)
}

func (s *tally) Renew(ctx context.Context, k ownership.Key, f ownership.Fence, r ownership.Renewal) error {
	s.note("renew")
	return s.store.Renew(ctx, k, f, r)
}

func (s *tally) Commit(ctx context.Context, k ownership.Key, f ownership.Fence, c ownership.Commit) (ownership.Done, error) {
	s.note("commit")
	return s.store.Commit(ctx, k, f, c)
}

func (s *tally) Settle(ctx context.Context, k ownership.Key, f ownership.Fence) (ownership.Done, error) {
	s.note("settle")
	return s.store.Settle(ctx, k, f)
}

func (s *tally) Restore(ctx context.Context, k ownership.Key, f ownership.Fence, charge *ownership.Failure) (ownership.Done, error) {
	s.note("restore")
	return s.store.Restore(ctx, k, f, charge)
}

func (s *tally) Finish(ctx context.Context, k ownership.Key, f ownership.Fence, e ownership.Ending) error {
	s.note("finish")
	return s.store.Finish(ctx, k, f, e)
}

func (s *tally) Raise(ctx context.Context, k ownership.Key, f ownership.Fence, reason string) error {
	s.note("raise")
	return s.store.Raise(ctx, k, f, reason)
}

func (s *tally) Clear(ctx context.Context, k ownership.Key, f ownership.Fence) (ownership.Phase, error) {
	s.note("clear")
	return s.store.Clear(ctx, k, f)
}

func (s *tally) RestoreOperator(ctx context.Context, k ownership.Key, saw ownership.Fence, by ownership.AttemptID) (ownership.Done, error) {
	s.note("operator")
	return s.store.RestoreOperator(ctx, k, saw, by)
}

func (s *tally) Forget(ctx context.Context, k ownership.Key) (ownership.Generation, error) {
	s.note("forget")
	return s.store.Forget(ctx, k)
}

// Watch is no operation: it waits.
func (s *tally) Watch(ctx context.Context, k ownership.Key) <-chan struct{} {
	return s.store.Watch(ctx, k)
}

var _ ownership.Store = (*tally)(nil)

// slowModel writes a summary a word a second, so that its attempt makes progress.
type slowModel struct{}

func (slowModel) RoundTrip(r *http.Request) (*http.Response, error) {
	out, in := io.Pipe()
	go func() {
		words := strings.SplitAfter(summaryText, " ")
		for left := took; left > 0; left -= time.Second {
			select {
			case <-time.After(min(left, time.Second)):
			case <-r.Context().Done():
				in.CloseWithError(r.Context().Err())
				return
			}
			fmt.Fprintf(in, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%q}}]}\n\n", words[0])
			words = append(words[1:], words[0])
		}
		fmt.Fprintf(in, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%q}}]}\n\n", summaryText)
		_, _ = io.WriteString(in, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
		_ = in.Close()
	}()
	return &http.Response{
		StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: out, Request: r,
	}, nil
}

// tallied is a replica without a network, for a synctest bubble.
type tallied struct {
	*tally
	handler http.Handler
}

func newTallied(t *testing.T, store ownership.Store, replica string) *tallied {
	t.Helper()
	c := &tallied{tally: newTally(store)}
	c.handler = inProcess(t, c.tally, replica, 4000, slowModel{}, time.Hour)
	return c
}

// post sends a conversation and returns how it was folded.
func (c *tallied) post(t *testing.T, m []msg) string {
	raw, err := json.Marshal(request(m))
	if err != nil {
		t.Error(err)
		return ""
	}
	w := httptest.NewRecorder()
	c.handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/chat/completions", bytes.NewReader(raw)))
	if w.Code != http.StatusOK {
		t.Errorf("got %d: %.300s", w.Code, w.Body)
	}
	kind, _, _ := strings.Cut(w.Header().Get("Foldgate-Fold"), ";")
	return kind
}

// took is how long the model of these tests works for one part of a conversation:
// no whole second, so that its end never falls together with a tick of a second.
const took = 20*time.Second + 300*time.Millisecond

// What an oversized request costs the store. The times are those of a synctest
// bubble, so the numbers are exact. Renewals and a waiting replica's reads go by
// time: one a second of an attempt, however many requests wait.
func TestStoreOperations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New(memstore.Options{})
		a, b := newTallied(t, store, "a"), newTallied(t, store, "b")
		m := talk("s", 24)
		for _, step := range []struct {
			name     string
			replica  *tallied
			messages []msg
			after    time.Duration
			fold     string
			want     string
			handoff  bool // whether a handoff comes from the store
		}{
			{"under the trigger", a, talk("s", 2), 0, "none", "", false},
			{"an attempt", a, m, 0, "committed", "claim:1 clear:1 commit:1 read:1 renew:81 settle:1", false},
			{"reused where it was made", a, m, 0, "reused", "", false},
			{"reused elsewhere", b, m, 0, "reused", "read:1 settle:1", true},
			{"reused there again", b, m, 0, "reused", "", false},
			{"asked again beside the request", b, m, 31 * time.Second, "reused", "read:1", false},
		} {
			time.Sleep(step.after)
			if kind := step.replica.post(t, step.messages); kind != step.fold {
				t.Errorf("%s: folded %q, want %q", step.name, kind, step.fold)
			}
			synctest.Wait()
			for _, r := range []*tallied{a, b} {
				got, handoffs := r.take()
				want, handoff := step.want, step.handoff
				if r != step.replica {
					want, handoff = "", false
				}
				if got != want || handoff != (handoffs > 0) {
					t.Errorf("%s: %q with %d bytes of handoffs, want %q, handoffs %v", step.name, got, handoffs, want, handoff)
				}
			}
		}
	})
}

// Requests that join an attempt read once each, and settle what they used unless
// another one did before. Where
// another replica works, theirs claims once for all of them and looks once a
// second, which is what holds where a hint is lost; a hint wakes them at once.
func TestStoreOperationsOfWhoJoins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New(memstore.Options{})
		a, b := newTallied(t, store, "a"), newTallied(t, store, "b")
		m := talk("s", 24)
		var waiting sync.WaitGroup
		join := func(r *tallied, n int) {
			for range n {
				waiting.Go(func() {
					if kind := r.post(t, m); kind != "committed" {
						t.Errorf("folded %q", kind)
					}
				})
			}
			time.Sleep(500 * time.Millisecond)
		}
		join(a, 3)
		join(b, 5)
		waiting.Wait()
		synctest.Wait()
		for _, r := range []struct {
			*tallied
			name, want string
			joined     int
		}{
			{a, "the owner's", "claim:1 clear:1 commit:1 read:3 renew:81", 3},
			{b, "the other", "claim:1 read:86", 5}, // 5 of the requests, 80 of seconds, and the commit's hint
		} {
			settles := r.counts["settle"]
			delete(r.counts, "settle")
			if got, _ := r.take(); got != r.want || settles < 1 || settles > r.joined {
				t.Errorf("%s replica: %q and %d settles, want %q and 1 to %d", r.name, got, settles, r.want, r.joined)
			}
		}
	})
}
