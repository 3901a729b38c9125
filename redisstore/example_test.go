package redisstore_test

import (
	"context"
	"fmt"

	"github.com/alicebob/miniredis/v2"

	"github.com/foldgate/foldgate/ownership"
	"github.com/foldgate/foldgate/redisstore"
)

// An attempt from its claim to its commit, seen by another replica.
func Example() {
	server := miniredis.NewMiniRedis()
	if err := server.Start(); err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()

	ctx := context.Background()
	store, err := redisstore.Open(ctx, redisstore.Config{URL: "redis://" + server.Addr()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = store.Close() }()

	const key ownership.Key = "0123456789abcdef0123456789abcdef01234567"
	target := ownership.Target{Covered: 12, Digest: ownership.Digest{1}}
	claim := ownership.Claim{Attempt: "0190163d-8694-739b-aea5-966c26f8ad91", Target: target, Lease: lease, Ceiling: ceiling}
	mine, err := store.Claim(ctx, key, claim)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("generation", mine.Fence.Generation)

	claim.Attempt = "0190163d-8694-739b-aea5-966c26f8ad92"
	theirs, err := store.Claim(ctx, key, claim)
	fmt.Println("somebody else is told busy:", theirs.Verdict == ownership.VerdictBusy, err)

	_, err = store.Commit(ctx, key, mine.Fence, ownership.Commit{Checkpoint: ownership.Checkpoint{Target: target, Handoff: []byte("summary")}})
	fmt.Println("committed:", err == nil)

	theirs, err = store.Claim(ctx, key, claim)
	fmt.Printf("now there is one: %s %v\n", theirs.Checkpoint.Handoff, err)
	// Output:
	// generation 1
	// somebody else is told busy: true <nil>
	// committed: true
	// now there is one: summary <nil>
}
