package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/foldgate/foldgate/redisstore/redistest"
)

// tenantsWorld is an upstream that answers each credential with its own texts, and
// fails or holds those that it is told to.
type tenantsWorld struct {
	*httptest.Server
	mu     sync.Mutex
	bodies map[string][]string // by credential, what it was asked; summaries apart
	sums   map[string]int      // by credential, how many summaries it wrote
	fails  map[string]bool     // whose summaries fail
	holds  map[string]chan struct{}
	held   chan string
	limit  map[string]int // bytes that a credential's requests may have; 0: any
}

func newTenantsWorld(t *testing.T) *tenantsWorld {
	t.Helper()
	w := &tenantsWorld{
		bodies: map[string][]string{}, sums: map[string]int{}, fails: map[string]bool{}, holds: map[string]chan struct{}{},
		held: make(chan string, 10), limit: map[string]int{},
	}
	w.Server = httptest.NewServer(http.HandlerFunc(w.serve))
	t.Cleanup(w.Close)
	return w
}

func (w *tenantsWorld) serve(rw http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	who := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	summary := strings.Contains(string(raw), `"stream":true`)
	w.mu.Lock()
	fails, hold, limit := w.fails[who], w.holds[who], w.limit[who]
	if summary {
		w.sums[who]++
	} else {
		w.bodies[who] = append(w.bodies[who], string(raw))
	}
	w.mu.Unlock()
	switch {
	case summary && fails:
		rw.WriteHeader(http.StatusInternalServerError)
	case summary:
		if hold != nil {
			w.held <- who
			select {
			case <-hold:
			case <-r.Context().Done():
				return
			}
		}
		stream(rw, "SUMMARY: written for "+who+" and for nobody else, nothing is open.", "stop")
	case limit > 0 && len(raw) > limit:
		refuseWith(rw, http.StatusBadRequest, "This model's maximum context length is 5000 tokens. However, your messages resulted in 9000 tokens.", "invalid_request_error")
	default:
		fmt.Fprintf(rw, `{"choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}]}`)
	}
}

func (w *tenantsWorld) set(change func()) { w.mu.Lock(); defer w.mu.Unlock(); change() }

func (w *tenantsWorld) summaries(who string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sums[who]
}

// nothingCrosses wants that nothing which was sent for one tenant holds another's summary.
func (w *tenantsWorld) nothingCrosses(t *testing.T) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for who, bodies := range w.bodies {
		for _, body := range bodies {
			for rest := body; ; {
				_, after, found := strings.Cut(rest, "written for ")
				if !found {
					break
				}
				if !strings.HasPrefix(after, who+" ") {
					t.Errorf("a request of %s holds what was %.40q", who, "written for "+after)
				}
				rest = after
			}
		}
	}
}

func as(who string, more ...string) []string {
	return append([]string{"Authorization", "Bearer " + who}, more...)
}

func foldOf(a answer) string { return a.header.Get("Foldgate-Fold") }

// Two tenants hold the same conversation, word for word and under the same id, at the
// same replicas over one store. Nothing of the one reaches the other.
func TestTenantsAreApart(t *testing.T) {
	t.Parallel()
	w, redis := newTenantsWorld(t), redistest.Start(t)
	args := []string{"--upstream", w.URL, "--redis-url", redis.URL, "--window", "4000"}
	env := []string{"FOLDGATE_TENANT_SECRET=s"}
	a, b := start(t, env, args...), start(t, env, args...)

	t.Run("summaries", func(t *testing.T) {
		body := longChat("summaries", overTurns)
		first := a.chat(body, as("one")...)
		if got := foldOf(b.chat(body, as("one")...)); !strings.HasPrefix(got, "reused") {
			t.Errorf("the tenant's own, at another replica: %s", got)
		}
		for i, r := range []*replica{a, b} {
			second := r.chat(body, as(fmt.Sprint("two-", i))...)
			if !strings.HasPrefix(foldOf(first), "committed") || !strings.HasPrefix(foldOf(second), "committed") || w.summaries(fmt.Sprint("two-", i)) == 0 {
				t.Errorf("%s, then %s", foldOf(first), foldOf(second))
			}
			if k := first.header.Get("Foldgate-Key"); k == "" || k == second.header.Get("Foldgate-Key") {
				t.Errorf("both have the key %s", k)
			}
		}
	})
	t.Run("by an id, or by another's key as an id", func(t *testing.T) {
		body := longChat("id", overTurns)
		mine := a.chat(body, as("one", "Foldgate-Conversation", "plan-77")...)
		before := w.summaries("one")
		key := strings.Trim(mine.header.Get("Foldgate-Key"), `"`)
		for _, id := range []string{"plan-77", `"plan-77"`, key, `"` + key + `"`, "foldgate:1:{" + key + "}:conversation", "{" + key + "}"} {
			got := a.chat(longChat("id", overTurns), as("two", "Foldgate-Conversation", id)...)
			if strings.Contains(got.header.Get("Foldgate-Key"), key) || !strings.HasPrefix(foldOf(got), "committed") && !strings.HasPrefix(foldOf(got), "reused") {
				t.Errorf("%s: %s, key %s", id, foldOf(got), got.header.Get("Foldgate-Key"))
			}
		}
		if n := w.summaries("one"); n != before {
			t.Errorf("one's credential was used for %d summaries of two's", n-before)
		}
	})
	t.Run("a header that nobody configured", func(t *testing.T) {
		body := longChat("spoofed", overTurns)
		mine := a.chat(body, as("one")...)
		for _, name := range []string{"X-Team", "X-Tenant", "Tenant", "Foldgate-Tenant", "X-Foldgate-Tenant", "Openai-Organization", "Openai-Project"} {
			got := a.chat(body, as("two", name, "one")...)
			if got.header.Get("Foldgate-Key") == mine.header.Get("Foldgate-Key") {
				t.Errorf("%s makes two one", name)
			}
			if own := a.chat(body, as("one", name, "two")...); own.header.Get("Foldgate-Key") != mine.header.Get("Foldgate-Key") || !strings.HasPrefix(foldOf(own), "reused") {
				t.Errorf("%s makes one somebody else: %s", name, foldOf(own))
			}
		}
	})
	t.Run("an attempt under way is not joined", func(t *testing.T) {
		release := make(chan struct{})
		w.set(func() { w.holds["one"] = release })
		body := longChat("joins", overTurns)
		slow := make(chan answer, 1)
		go func() {
			got, err := try(t.Context(), http.MethodPost, a.data+"/v1/chat/completions", body, as("one")...)
			if err != nil {
				t.Error(err)
			}
			slow <- got
		}()
		take(t, w.held, "one's summary call")
		for _, r := range []*replica{a, b} { // answered while one's still works: nothing waits for it
			got := r.chat(body, as("three-"+r.data)...)
			if !strings.HasPrefix(foldOf(got), "committed") || strings.Contains(got.header.Get("Foldgate-Attempt"), "joined") || !strings.Contains(got.header.Get("Foldgate-Attempt"), "generation=1") {
				t.Errorf("%s %s", foldOf(got), got.header.Get("Foldgate-Attempt"))
			}
		}
		close(release)
		if got := take(t, slow, "one's answer"); !strings.HasPrefix(foldOf(got), "committed") {
			t.Errorf("one: %s", foldOf(got))
		}
		w.set(func() { w.holds = map[string]chan struct{}{} })
	})
	t.Run("a failure and its cooldown", func(t *testing.T) {
		w.set(func() { w.fails["one"] = true })
		body := longChat("fails", overTurns)
		for _, want := range []string{`"routes"`, `"cooling"`} {
			if got := foldOf(a.chat(body, as("one")...)); !strings.Contains(got, want) {
				t.Errorf("one: %s, want %s", got, want)
			}
		}
		if got := foldOf(a.chat(body, as("two")...)); !strings.HasPrefix(got, "committed") {
			t.Errorf("two: %s", got)
		}
		w.set(func() { w.fails = map[string]bool{} })
	})
	w.nothingCrosses(t)

	// What the store and the admin plane hold of a tenant is hashes.
	seen := a.send("GET", a.admin+"/v1/conversations?limit=100", "").body + a.send("GET", a.admin+"/v1/attempts?limit=100", "").body + a.send("GET", a.admin+"/metrics", "").body
	for _, key := range redis.Client().Keys(t.Context(), "*").Val() {
		seen += key
	}
	for _, text := range []string{"two-0", "three-", "Bearer", "plan-77", "written for"} {
		if strings.Contains(seen, text) {
			t.Errorf("%q is told", text)
		}
	}
}

// Windows, corrections and counts that one tenant's answers taught are its own, here
// and at other replicas.
func TestWindowsOfTenantsAreApart(t *testing.T) {
	t.Parallel()
	w, redis := newTenantsWorld(t), redistest.Start(t)
	w.limit["one"] = 30_000
	args := []string{"--upstream", w.URL, "--redis-url", redis.URL, "--wait", "0", "--prepare=false", "--advertised=false"}
	env := []string{"FOLDGATE_TENANT_SECRET=s"}
	a, b := start(t, env, args...), start(t, env, args...)
	tokens := func(r *replica, who string) string {
		return r.chat(longChat("small", 12), as(who)...).header.Get("Foldgate-Tokens")
	}
	if got := a.chat(longChat("long", 120), as("one")...); !strings.Contains(foldOf(got), "retried") {
		t.Fatalf("one: %d %s", got.status, foldOf(got))
	}
	eventually(t, "one's window at the other replica", func() bool { return strings.Contains(tokens(b, "one"), "window=5000") })
	for _, r := range []*replica{a, b} {
		if got := tokens(r, "two"); !strings.Contains(got, "source=unknown") {
			t.Errorf("two is told of one's window: %s", got)
		}
		if got := r.chat(longChat("long", 120), as("two")...); !strings.HasPrefix(foldOf(got), "none") {
			t.Errorf("two is folded to one's window: %s", foldOf(got))
		}
	}
	w.nothingCrosses(t)
}

// With a header configured, it names the tenant: callers of one team share, whoever
// lacks the header is told apart by the credential and cannot reach in by it.
func TestTheConfiguredHeaderNamesTheTenant(t *testing.T) {
	t.Parallel()
	w := newTenantsWorld(t)
	g := start(t, []string{"FOLDGATE_TENANT_SECRET=s"}, "--upstream", w.URL, "--window", "4000", "--tenant-header", "X-Team")
	body := longChat("team", overTurns)
	first := g.chat(body, as("one", "X-Team", "red")...)
	mate := g.chat(body, as("two", "X-Team", "red")...)
	if !strings.HasPrefix(foldOf(mate), "reused") || mate.header.Get("Foldgate-Key") != first.header.Get("Foldgate-Key") {
		t.Errorf("the same team: %s", foldOf(mate))
	}
	keys := map[string]bool{first.header.Get("Foldgate-Key"): true}
	for _, header := range [][]string{
		as("one", "X-Team", "blue"), as("one"), as("red"), as("two", "X-Team", "Red"), as("two", "X-Team", "red,"), as("two", "X-Team", ""), as("two", "Foldgate-Conversation", "red"),
	} {
		got := g.chat(body, header...)
		if k := got.header.Get("Foldgate-Key"); keys[k] {
			t.Errorf("%q shares a key", header)
		} else {
			keys[k] = true
		}
	}
}
