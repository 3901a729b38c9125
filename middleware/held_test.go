package middleware

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/foldgate/foldgate/ownership"
)

// What another replica's operator took back must not be used here for ever: what
// is held is asked about again, once per readAgain.
func TestWhatIsHeldGrowsOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, err := newHeldCheckpoints(8, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		const key = ownership.Key("k")
		if h.old(key) {
			t.Error("nothing is held, and it is old")
		}
		h.add(key, ownership.Checkpoint{Fence: ownership.Fence{Generation: 1, Attempt: "a"}, Handoff: []byte("x")})
		if h.old(key) {
			t.Error("a fresh commit is old")
		}
		time.Sleep(readAgain)
		if !h.old(key) || h.old(key) {
			t.Error("want old once after readAgain")
		}
		h.replace(key, nil)
		if _, ok := h.get(key); ok {
			t.Error("held although the store has none")
		}
	})
}
