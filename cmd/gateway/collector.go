package main

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// The garbage collector runs when the heap has doubled. A gateway's heap is small
// but for the bodies that pass, so that it would run for every few large ones, and
// look through everything else each time, to save a few MB. It lets at least this
// much come together first, in bytes; over that it doubles as always.
const collectorSlack = 128 << 20

// spaceCollections keeps to collectorSlack from now on, unless GOGC says what is
// wanted. GOMEMLIMIT counts as ever. It adjusts after each collection.
func spaceCollections() {
	if os.Getenv("GOGC") != "" {
		return
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	now := 100
	type sentinel [2]*byte // large enough to be collected by itself
	var adjust func(*sentinel)
	adjust = func(*sentinel) {
		metrics.Read(live)
		// Setting it stops the world for a moment: not for a few percent.
		if p := collectorPercent(live[0].Value.Uint64()); p < now-now/8 || p > now+now/8 {
			debug.SetGCPercent(p)
			now = p
		}
		runtime.SetFinalizer(new(sentinel), adjust) // runs after the next collection
	}
	adjust(nil)
}

// collectorPercent is the growth, in percent of what lives, that collectorSlack
// comes to: at least 100, and 1000 where next to nothing lives.
func collectorPercent(live uint64) int {
	const most = 1000
	return int(min(max(math.Ceil(collectorSlack*100/math.Max(float64(live), 1)), 100), most))
}
