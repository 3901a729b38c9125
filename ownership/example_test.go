package ownership_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	"github.com/foldgate/foldgate/ownership"
	"github.com/foldgate/foldgate/ownership/memstore"
)

// Two replicas want the summary of the same messages. One of them makes it, the
// other waits for that attempt and gets the same checkpoint.
func Example() {
	store := memstore.New(memstore.Options{})
	replica := func(name string) *ownership.Coordinator {
		c, err := ownership.NewCoordinator(ownership.Config{Store: store, Replica: name})
		if err != nil {
			panic(err)
		}
		return c
	}
	a, b := replica("a"), replica("b")

	release := make(chan struct{})
	job := ownership.Job{
		Conversation: ownership.Key(strings.Repeat("0", 40)),
		Target:       ownership.Target{Covered: 12, Digest: sha256.Sum256([]byte("the first twelve messages"))},
		Routes:       []ownership.Route{{Name: "summarizer"}},
		Work: func(_ context.Context, a ownership.Attempt, progress func()) (ownership.Draft, error) {
			fmt.Println("working under generation", a.Fence.Generation)
			progress() // for every piece of text that the model sends
			<-release
			return ownership.Draft{Handoff: []byte("what was said so far"), Tokens: 5, Step: 1}, nil
		},
	}

	first, joined := a.Do(job)
	fmt.Println("joined:", joined)
	_, joined = a.Do(job)
	fmt.Println("joined:", joined)
	close(release)
	<-first.Done()
	fmt.Printf("%s\n", first.Result().Checkpoint.Handoff)

	second, _ := b.Do(job)
	<-second.Done()
	fmt.Printf("%s, made by another replica: %t\n", second.Result().Checkpoint.Handoff, second.Result().Joined)

	ctx := context.Background()
	for _, c := range []*ownership.Coordinator{a, b} {
		if err := c.Shutdown(ctx); err != nil {
			panic(err)
		}
	}
	// Unordered output:
	// joined: false
	// joined: true
	// working under generation 1
	// what was said so far
	// what was said so far, made by another replica: true
}

// A stalled route is left. The next one commits under a newer generation, and what
// the first one returns late is refused by the store.
func ExampleCoordinator_Do_nextRoute() {
	store := memstore.New(memstore.Options{})
	c, err := ownership.NewCoordinator(ownership.Config{Store: store})
	if err != nil {
		panic(err)
	}
	taken := make(chan struct{})
	f, _ := c.Do(ownership.Job{
		Conversation: ownership.Key(strings.Repeat("1", 40)),
		Target:       ownership.Target{Covered: 8, Digest: sha256.Sum256([]byte("the first eight messages"))},
		Routes:       []ownership.Route{{Name: "primary", Idle: time.Millisecond}, {Name: "fallback"}},
		Work: func(_ context.Context, a ownership.Attempt, _ func()) (ownership.Draft, error) {
			if a.Route.Name == "primary" {
				<-taken // silent for longer than its millisecond, and deaf to its context
				return ownership.Draft{Handoff: []byte("too late")}, nil
			}
			close(taken)
			return ownership.Draft{Handoff: []byte("from " + a.Route.Name)}, nil
		},
	})
	<-f.Done()
	res := f.Result()
	fmt.Printf("%s, generation %d\n", res.Checkpoint.Handoff, res.Fence.Generation)
	if err := c.Shutdown(context.Background()); err != nil {
		panic(err)
	}
	// Output: from fallback, generation 2
}
